"""The values of all cuts of a small graph: the oracle of last resort, and the range of a choice among all cuts.

The cut that holds vertex ``v`` besides a set ``S`` of smaller vertices is worth ``value(S) + degree(v) - 2 w(v, S)``;
both terms double with each vertex.

Cost: O(2^n) time and memory, 64 MB for 24 vertices.

Notation: cut number ``i`` of ``n`` vertices has vertex ``v >= 1`` on its side where bit ``v - 1`` of ``i`` is 1; number
0 is the empty side, no cut. Weights may be negative here (noisy pairs).
"""

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cuts.cut_list import CutList, sorted_cuts
from dplib.graphs.edges import Graph
from dplib.validate import require

MAX_LISTED_VERTICES = 24


def all_cut_values(n_vertices: int, source: npt.ArrayLike, target: npt.ArrayLike, weight: npt.ArrayLike) -> IntArray:
    """Return the value of every cut by number, shape (2^(n_vertices - 1),); entry 0, the empty side, is 0.

    Args:
        n_vertices: from 1 to 24.
        source: one end of each edge, shape (n_edges,); pairs may repeat.
        target: the other end, same shape.
        weight: whole numbers of any sign, same shape.

    Raises:
        ConfigError: there is no vertex, or there are more than 24.
    """
    rule = f"lie from 1 to {MAX_LISTED_VERTICES} for a list of all cuts"
    require(1 <= n_vertices <= MAX_LISTED_VERTICES, "n_vertices", rule, n_vertices)
    between = np.zeros((n_vertices, n_vertices), dtype=np.int64)
    ends = np.asarray(source, dtype=np.int64), np.asarray(target, dtype=np.int64)
    np.add.at(between, ends, np.asarray(weight, dtype=np.int64))
    between += between.T
    np.fill_diagonal(between, 0)
    degree = between.sum(axis=1)
    values = np.zeros(2 ** (n_vertices - 1), dtype=np.int64)
    to_set = np.zeros(max(2 ** (n_vertices - 2), 1) if n_vertices > 1 else 1, dtype=np.int64)
    for vertex in range(1, n_vertices):
        size = 1 << (vertex - 1)
        for smaller in range(1, vertex):
            half = 1 << (smaller - 1)
            to_set[half : 2 * half] = to_set[:half] + between[vertex, smaller]
        values[size : 2 * size] = values[:size] + degree[vertex] - 2 * to_set[:size]
    return values


def numbered_sides(numbers: IntArray, n_vertices: int) -> BoolArray:
    """Return the sides, without vertex 0, of the cuts with these numbers, shape (n_numbers, n_vertices)."""
    bits = numbers[:, None] >> np.arange(n_vertices - 1) & 1
    return np.concatenate([np.zeros((len(numbers), 1), dtype=np.bool_), bits.astype(np.bool_)], axis=1)


def listed_cuts(graph: Graph, bound: int) -> CutList:
    """Return all cuts of value up to a bound of a graph with 1 to 24 vertices.

    Raises:
        ConfigError: as `all_cut_values`.
    """
    values = all_cut_values(graph.n_vertices, graph.source, graph.target, graph.weight)
    number = np.flatnonzero(values[1:] <= bound) + 1
    packed = (number.astype(np.uint64) << np.uint64(1))[:, None]
    return sorted_cuts(np.arange(graph.n_vertices), packed, values[number])
