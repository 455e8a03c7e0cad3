"""Configuration files: loading and checking."""
