"""Graphs whose number of minimum cuts changes much with one unit of weight between two vertices.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
lemma 4.1.1, the construction after theorem 4.2.3 and that of section 4.3.
"""

import numpy as np

from dplib.graphs.edges import Graph, canonical

Sensitive = tuple[Graph, int, int]
"""A graph and the two vertices."""


def pendant_ring(n: int) -> Sensitive:
    """A ring of ``n - 1`` vertices and one more that hangs from it; one unit doubles the pendant edge."""
    ring = np.arange(1, n)
    return canonical(n, np.append(ring, 0), np.append(np.roll(ring, -1), 1)), 0, 1


def path_and_ring(n: int, length: int, half: int = 1) -> Sensitive:
    """A path that ends on a ring of this length, whose edges weigh half of the minimum cut value."""
    path, ring = np.arange(n - length), np.arange(n - length, n)
    source, target = np.concatenate([path, ring]), np.concatenate([path + 1, np.roll(ring, -1)])
    graph = canonical(n, source, target, np.repeat([2 * half, half], [len(path), length]))
    return graph, 0, n - length + length // 2


def heavy_ends(core: Sensitive, n_each: int) -> Sensitive:
    """Crowds of vertices tied fast to both ends: a unit between the crowds does what one between the ends does."""
    graph, u, v = core
    crowd = graph.n_vertices + np.arange(2 * n_each)
    source, target = np.append(graph.source, crowd), np.append(graph.target, np.repeat([u, v], n_each))
    heavy = np.append(graph.weight, np.full(2 * n_each, 2 * graph.total_weight))
    return canonical(graph.n_vertices + 2 * n_each, source, target, heavy), u, v
