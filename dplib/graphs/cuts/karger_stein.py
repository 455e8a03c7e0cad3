"""Cuts by recursive random contraction: two branches share the early, safe contractions.

Contract only until a wanted cut has survived with probability one half, then go on twice from there. Cuts of at most
``a`` times the minimum cut value survive from ``i`` to ``j`` vertices with probability at least
``q = prod (1 - 2 a / i)``. Level ``l`` contracts to the smallest size with ``q_l >= 1 / 2``; graphs of a few vertices
are looked at exhaustively. So a run finds a given cut with probability at least ``P_0``, where
``P_l = 1 - (1 - q_l P_{l+1})^2`` and ``P = 1`` for the last level: of the order of ``1 / log n`` instead of
``n^(-2 a)``.

Cost: O(n^(2 a) log n) a run on a dense matrix, O(n^2) memory: for graphs of at most a few thousand vertices.

References: Karger, Stein, "A new approach to the minimum cut problem", J. ACM 43 (1996), sections 4 and 8.
"""

from fractions import Fraction
from itertools import pairwise
from math import ceil, comb, prod

import numpy as np

from dplib.arrays import IntArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.cuts.contraction import stream_of, uniform
from dplib.graphs.cuts.cut_list import MAX_CUTS, CutList, sorted_cuts
from dplib.graphs.cuts.karger import ROUNDING, TrialPlan, entered, no_cuts, planned, require_trials
from dplib.graphs.edges import Graph
from dplib.validate import between, require

MAX_VERTICES = 4_000
_LAST_LEVEL = 7  # 63 cuts
_MAX_RATIO = 4


def plan_runs(n_vertices: int, ratio: Fraction | int, failure: float) -> TrialPlan:
    """Return how many runs find every cut of at most ``ratio`` times the minimum cut value.

    Args:
        n_vertices: from 2 to 4,000.
        ratio: from 1 to 4.
        failure: the allowed probability that a cut is missing, strictly between 0 and 1.

    Raises:
        ConfigError: a number is out of range.
    """
    between("failure", failure, 0, 1)
    exact = Fraction(ratio)
    sizes = _sizes(n_vertices, exact)
    success = 1.0
    for larger, smaller in reversed(list(pairwise(sizes))):
        success = 1 - (1 - _survival(larger, smaller, exact) * success) ** 2
    success *= 1 - ROUNDING if len(sizes) > 1 else 1
    return planned(n_vertices, exact, sizes[-1], success, failure)


def karger_stein_cuts(
    graph: Graph, bound: int, ratio: Fraction | int, seed: int, first_run: int, n_runs: int, limit: int = MAX_CUTS
) -> CutList:
    """Run a range of recursive contractions and return the different cuts found.

    Args:
        graph: connected, from 2 to 4,000 vertices.
        bound: list cuts of at most this value.
        ratio: from 1 to 4; shapes the recursion as `plan_runs` has it.
        seed: from 0 to 2^64 - 1; with a run's number, all that the run depends on.
        first_run: number of the first run, at least 0.
        n_runs: how many, at least 0.
        limit: stop once there are more cuts than this, which then is one more; at least 1.

    Raises:
        ConfigError: the graph is not connected, or a number is out of range.
    """
    sizes = np.array(_sizes(graph.n_vertices, Fraction(ratio)), dtype=np.int64)
    require_trials(graph, seed, first_run, n_runs, limit)
    weights = np.zeros((graph.n_vertices, graph.n_vertices), dtype=np.int64)
    weights[graph.source, graph.target] = weights[graph.target, graph.source] = graph.weight
    found = _runs(weights, sizes, bound, np.uint64(seed), first_run, n_runs, limit)
    return sorted_cuts(np.arange(graph.n_vertices), *found)


def _sizes(n_vertices: int, ratio: Fraction) -> list[int]:
    """Numbers of vertices of the levels, the exhaustive one last."""
    require(2 <= n_vertices <= MAX_VERTICES, "n_vertices", f"lie from 2 to {MAX_VERTICES}", n_vertices)
    require(1 <= ratio <= _MAX_RATIO, "ratio", f"lie from 1 to {_MAX_RATIO}", ratio)
    last = max(_LAST_LEVEL, ceil(2 * ratio) + 1)
    sizes = [n_vertices]
    while sizes[-1] > last:
        smaller = sizes[-1] - 1
        while smaller > last and _survival(sizes[-1], smaller - 1, ratio) >= 1 / 2:
            smaller -= 1
        sizes.append(smaller)
    return sizes


def _survival(larger: int, smaller: int, ratio: Fraction) -> float:
    if ratio == 1:
        return comb(smaller, 2) / comb(larger, 2)
    return float(prod(1 - float(2 * ratio) / i for i in range(smaller + 1, larger + 1)))


@compiled
def _runs(
    weights: IntArray, sizes: IntArray, bound: int, seed: np.uint64, first_run: int, n_runs: int, limit: int
) -> tuple[WordArray, IntArray]:
    n, last = len(weights), len(sizes) - 1
    packed, values, table, n_cuts = no_cuts(n)
    levels = [np.zeros((size, size), dtype=np.int64) for size in sizes]
    levels[0][:] = weights
    labels = np.zeros((len(sizes), n), dtype=np.int64)
    labels[0] = np.arange(n)
    branches = np.zeros(len(sizes), dtype=np.int64)
    for run in range(first_run, first_run + n_runs):
        state = stream_of(seed, run)
        level = 0
        branches[0] = 0
        while level >= 0 and n_cuts <= limit:
            if level == last:
                between, classes = _home_first(levels[level], labels[level])
                packed, values, table, n_cuts = entered(between, classes, bound, limit, packed, values, table, n_cuts)
                level -= 1
            elif branches[level] == 2:
                level -= 1
            else:
                branches[level] += 1
                where = _contract(levels[level], levels[level + 1], state)
                labels[level + 1] = where[labels[level]]
                level += 1
                branches[level] = 0
    return packed[:n_cuts].copy(), values[:n_cuts].copy()


@compiled
def _contract(larger: IntArray, smaller: IntArray, state: WordArray) -> IntArray:
    """Contract one matrix into a smaller one; the new place of each vertex."""
    size = len(larger)
    work, degree = larger.copy(), larger.sum(axis=1)
    where = np.arange(size)
    total = degree.sum()
    while size > len(smaller):
        one = _drawn(degree, size, total, state)
        other = _drawn(work[one], size, degree[one], state)
        lost = work[one, other]
        total -= 2 * lost
        degree[one] += degree[other] - 2 * lost
        size -= 1
        for vertex in range(size + 1):
            work[one, vertex] += work[other, vertex]
            work[vertex, one] = work[one, vertex]
        work[one, one] = 0
        for vertex in range(size + 1):  # the last vertex takes the free place
            work[other, vertex] = work[size, vertex]
            work[vertex, other] = work[vertex, size]
        work[other, other] = 0
        degree[other] = degree[size]
        for vertex in range(len(where)):
            if where[vertex] == other:
                where[vertex] = one
            if where[vertex] == size:
                where[vertex] = other
    smaller[:] = work[:size, :size]
    return where


@compiled
def _drawn(weight: IntArray, size: int, total: int, state: WordArray) -> int:
    """A place below ``size``, drawn proportionally to ``weight``."""
    rest = int(uniform(state) * total)
    for place in range(size):
        rest -= weight[place]
        if rest < 0:
            return place
    return int(np.argmax(weight[:size]))  # by rounding of totals above 2^53 only


@compiled
def _home_first(matrix: IntArray, label: IntArray) -> tuple[IntArray, IntArray]:
    """The weights between classes, each pair once, and the class of each vertex, that of vertex 0 made number 0."""
    home = label[0]
    name = np.arange(len(matrix))
    name[0], name[home] = home, 0
    between = matrix[name][:, name]
    for one in range(len(matrix)):
        between[one, :one] = 0
    return between, name[label]
