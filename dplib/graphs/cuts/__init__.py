"""Exact and near-minimum cuts of weighted graphs."""
