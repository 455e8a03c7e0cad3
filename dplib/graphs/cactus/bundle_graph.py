"""The structure graph of a bundle of p-cuts: the graph with every outer side of the bundle drawn together.

Where a t-cut belongs to the bundle, the structure graph is a ring of the outer sides alone, each edge of half the
minimum cut value. That is the ring which the cactus has in the bundle's place.

References: Zhou, "Finding approximate minimum cut in differential privacy" (thesis, in Chinese), Jilin University 2025,
definitions 3.1.10 and 3.1.11, theorem 3.1.7; Dinitz, Karzanov, Lomonosov 1976.
"""

import numpy as np

from dplib.arrays import BoolArray, IntArray


def bundle_graph(source: IntArray, target: IntArray, weight: IntArray, outer_sides: BoolArray) -> IntArray:
    """Return the structure graph's weights as a symmetric matrix with zero diagonal.

    The outer sides come first, in their order, then the vertices on none, ascending.

    Args:
        source: one end of each edge, shape (n_edges,).
        target: the other end, likewise.
        weight: integers, likewise.
        outer_sides: of the bundle's p-cuts, shape (n_cuts, n_vertices); they are disjoint.
    """
    n_sides = len(outer_sides)
    inside = ~outer_sides.any(axis=0)
    place = np.where(inside, n_sides + np.cumsum(inside) - 1, outer_sides.argmax(axis=0) if n_sides else 0)
    size = n_sides + int(inside.sum())
    weights = np.zeros((size, size), dtype=np.int64)
    np.add.at(weights, (place[source], place[target]), weight)
    weights += weights.T
    np.fill_diagonal(weights, 0)
    return weights


def is_ring(weights: IntArray, min_cut_value: int) -> bool:
    """Return whether a graph is one ring of at least three vertices with edges of half the minimum cut value.

    Args:
        weights: symmetric, shape (n, n).
        min_cut_value: twice the weight of each edge.
    """
    n = len(weights)
    joined = weights > 0
    if n < 3 or (2 * weights[joined] != min_cut_value).any() or (joined.sum(axis=1) != 2).any():
        return False
    reached = np.zeros(n, dtype=np.bool_)
    reached[0] = True
    for _ in range(n):
        reached |= joined[reached].any(axis=0)
    return bool(reached.all())
