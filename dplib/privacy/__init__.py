"""Budgets, neighbours, accounting and calibration: pure definitions in exact arithmetic."""
