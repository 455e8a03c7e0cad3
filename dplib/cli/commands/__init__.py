"""The commands that no job owns."""
