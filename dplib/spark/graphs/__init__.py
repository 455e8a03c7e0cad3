"""Edge lists on Spark: reading, the public row rules, counts in blocks."""
