"""The console script ``dplib``."""
