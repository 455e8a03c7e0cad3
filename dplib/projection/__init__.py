"""Projections on convex sets, and ways to combine them."""
