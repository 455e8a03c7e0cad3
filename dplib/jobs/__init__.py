"""The jobs, each whole in a package of its own and independent of the others."""
