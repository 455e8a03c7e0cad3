"""Least-squares estimation from noisy tree counts under constraints."""
