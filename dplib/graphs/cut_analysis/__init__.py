"""Analyses of graphs that may be seen: how the number of minimum cuts moves. NOT PRIVATE."""
