"""The jobs: each is thin and independent of the others."""
