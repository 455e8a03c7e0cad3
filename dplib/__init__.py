"""Differentially private releases as batch jobs on Apache Spark: the shared library."""

__version__ = "0.1.0"
