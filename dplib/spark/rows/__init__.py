"""Event rows on Spark: reading, the public row rules, bounding and counting."""
