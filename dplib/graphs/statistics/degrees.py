"""Exact statistics of the degrees of a simple undirected graph.

Every statistic here is a function of the degrees alone, so a distributed job counts degrees (or only how many vertices
have each degree) and calls the same functions. Nothing here is private: noise comes afterwards, with the sensitivities
of `dplib.graphs.statistics.network_sensitivity`.

Notation: n vertices 0..n-1, all of them declared, hence isolated vertices have degree 0; m edges.

Cost: O(n + m).

References:
    Hay, Li, Miklau, Jensen: Accurate estimation of the degree distribution of private networks. ICDM 2009 (the sorted
    sequence); Karwa, Raskhodnikova, Smith, Yaroslavtsev: Private analysis of graph structure. PVLDB 4(11), 2011
    (k-stars); Day, Li, Lyu: Publishing graph degree distribution with node differential privacy. SIGMOD 2016
    (the cumulative histogram).
"""

from math import comb

import numpy as np

from dplib.arrays import IntArray
from dplib.validate import at_least


def edge_count(degrees: IntArray) -> int:
    """The number of edges: half the sum of the degrees."""
    return int(degrees.sum()) // 2


def largest_degree(degrees: IntArray) -> int:
    """The largest degree; 0 for a graph without vertices."""
    return int(degrees.max(initial=0))


def second_largest_degree(degrees: IntArray) -> int:
    """The second entry of the degrees in descending order (equal to the first where two vertices share it)."""
    return int(np.partition(degrees, -2)[-2]) if len(degrees) > 1 else 0


def degree_histogram(degrees: IntArray, largest: int) -> IntArray:
    """Count the vertices of each degree from 0 to ``largest``, shape (largest + 1,); higher ones count as ``largest``.

    That is a public setting: bins made from the data would tell the largest degree.
    """
    at_least("largest degree", largest, 0)
    return np.bincount(np.minimum(degrees, largest), minlength=largest + 1).astype(np.int64)


def cumulative_histogram(histogram: IntArray) -> IntArray:
    """Count the vertices of degree at most j, for each bin j but the last, whose count is the public n; (largest,)."""
    return np.cumsum(histogram)[:-1]


def sorted_degrees(degrees: IntArray) -> IntArray:
    """The degrees in ascending order, without the vertices they belong to; shape (n,)."""
    return np.sort(degrees)


def sorted_degrees_from_histogram(histogram: IntArray) -> IntArray:
    """The sorted degrees of vertices counted by degree; shape (n,)."""
    return np.repeat(np.arange(len(histogram), dtype=np.int64), histogram)


def k_stars(degrees: IntArray, k: int) -> int:
    """Count the stars of ``k`` edges: one center and k of its neighbours, sum of C(d, k). Exact at any size."""
    at_least("k", k, 1)
    values, counts = np.unique(degrees, return_counts=True)
    return sum(comb(value, k) * count for value, count in zip(values.tolist(), counts.tolist(), strict=True))
