"""Exact graph statistics, their sensitivities, and what noisy ones say."""
