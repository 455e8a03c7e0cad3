"""All minimum cuts of a graph as one structure."""
