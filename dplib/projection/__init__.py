"""Projections onto convex sets in a weighted norm, and their alternation."""
