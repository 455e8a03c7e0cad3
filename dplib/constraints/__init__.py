"""Linear constraints that hold for each day, and what follows from them."""
