"""Measures of error and of consistency."""
