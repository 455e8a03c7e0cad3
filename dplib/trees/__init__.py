"""Interval trees: shapes and levels, without values."""
