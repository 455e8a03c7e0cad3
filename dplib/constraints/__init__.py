"""Linear constraints of each day's counts, derived exactly from packages, totals and equations."""
