"""Settings of the tests that start no Spark."""

import gc

# Seldom through all that is not frozen, which grows with every test: 2 of 100 CPU s were that.
gc.set_threshold(3_000, 10, 100)
