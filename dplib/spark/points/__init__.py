"""Rows of numbers on Spark: reading, the public row rules, totals of summaries."""
