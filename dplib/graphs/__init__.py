"""Graphs as arrays: edges, degrees, triangles, degree bounding, sensitivities, cuts."""
