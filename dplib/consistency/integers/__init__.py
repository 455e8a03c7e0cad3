"""Non-negative integer tables that satisfy all constraints."""
