"""The only package that imports pyspark: reading, bounding, counting and distributed solving."""
