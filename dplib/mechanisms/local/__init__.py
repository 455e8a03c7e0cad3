"""Randomizers of the local model and the server's side of each."""
