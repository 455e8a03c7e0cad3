"""Noisy network statistics on worst-case neighbours: the claim holds, and planted wrong sensitivities are caught."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.graphs.statistics.degrees import (
    cumulative_histogram,
    degree_histogram,
    edge_count,
    sorted_degrees,
)
from dplib.graphs.statistics.network_sensitivity import Bounding, DegreeBound, Statistic, sensitivity
from dplib.graphs.statistics.truncation import project_graph
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.privacy.neighbors import Neighbors
from dplib.randomness.keyed import KeyedStream
from tests.support.goodness_of_fit import epsilon_lower_bound
from tests.support.network_oracles import graph_of, keep_first_at_both_ends

KEY = bytes(range(32))
RUNS = 200_000
Edges = list[tuple[int, int]]


def _degrees(n: int, edges: Edges, bound: int | None = None) -> IntArray:
    graph = graph_of(n, edges)
    return (graph if bound is None else project_graph(graph, bound, 1)).degrees()


def _first_at_both_ends(n: int, edges: Edges, bound: int) -> IntArray:
    graph = np.zeros((1, n, n), dtype=np.int64)
    for u, v in edges:
        graph[0, u, v] = graph[0, v, u] = 1
    kept: IntArray = keep_first_at_both_ends(graph, bound).sum(axis=(1, 2))
    return kept


def _measured_epsilon(values: tuple[IntArray, IntArray], claimed_sensitivity: int, epsilon: Fraction) -> float:
    """Lower bound of epsilon from noisy values of two neighbours, scored by the likelihood ratio."""
    scale = claimed_sensitivity / epsilon
    moved = np.flatnonzero(values[0] != values[1])
    scores = []
    for number, value in enumerate(values):
        noise = draw_discrete_laplace(KeyedStream(KEY, "audit", number), scale, RUNS * len(moved))
        noisy = value[moved] + noise.reshape(RUNS, len(moved))
        loss = np.abs(noisy - values[1][moved]) - np.abs(noisy - values[0][moved])
        scores.append(loss.sum(axis=1) / float(scale))
    return max(epsilon_lower_bound(scores[0], scores[1]), epsilon_lower_bound(-scores[1], -scores[0]))


STAR: Edges = [(0, leaf) for leaf in range(1, 6)]
TREE: Edges = [(0, 1), (2, 3)]  # the edge (0, 2) moves two vertices from degree 1 to degree 2
CASES: dict[str, tuple[Statistic, Neighbors, DegreeBound, int, Edges, Edges, Callable[[IntArray], IntArray]]] = {
    "edges between edge neighbours": (
        *(Statistic.EDGE_COUNT, Neighbors.EDGE, DegreeBound(Bounding.NONE), 6),
        *(STAR, STAR[1:], lambda d: np.array([edge_count(d)])),
    ),
    "histogram between edge neighbours": (
        *(Statistic.DEGREE_HISTOGRAM, Neighbors.EDGE, DegreeBound(Bounding.NONE), 6),
        *([*TREE, (0, 2)], TREE, lambda d: degree_histogram(d, 5)),
    ),
    "cumulative histogram between edge neighbours": (
        *(Statistic.CUMULATIVE_HISTOGRAM, Neighbors.EDGE, DegreeBound(Bounding.NONE), 6),
        *([*TREE, (0, 2)], TREE, lambda d: cumulative_histogram(degree_histogram(d, 5))),
    ),
    "sorted degrees between edge neighbours": (
        *(Statistic.SORTED_DEGREES, Neighbors.EDGE, DegreeBound(Bounding.NONE), 6),
        *([*TREE, (0, 2)], TREE, sorted_degrees),
    ),
    "edges of a projection between vertex neighbours": (
        *(Statistic.EDGE_COUNT, Neighbors.VERTEX, DegreeBound(Bounding.PROJECTED, 2), 6),
        *(STAR, [], lambda d: np.array([edge_count(d)])),
    ),
    "histogram of a projection between vertex neighbours": (
        *(Statistic.DEGREE_HISTOGRAM, Neighbors.VERTEX, DegreeBound(Bounding.PROJECTED, 1), 6),
        *(STAR, [], lambda d: degree_histogram(d, 1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_claim_holds_on_worst_case_neighbours_and_is_used(name: str) -> None:
    statistic, level, bound, n, edges, fewer, of_degrees = CASES[name]
    cut = bound.largest if bound.bounding is Bounding.PROJECTED else None
    values = of_degrees(_degrees(n, edges, cut)), of_degrees(_degrees(n, fewer, cut))
    claimed = sensitivity(statistic, level, n, bound).l1
    assert np.abs(values[0] - values[1]).sum() == claimed
    measured = _measured_epsilon(values, claimed, Fraction(1))
    assert 0.7 < measured <= 1
    # planted: half the noise
    assert _measured_epsilon(values, claimed, Fraction(2)) > 1.2


def test_histogram_sensitivity_2_is_caught() -> None:
    """The wrong claim sees one vertex move between two bins and forgets the edge's other end."""
    values = degree_histogram(_degrees(6, [*TREE, (0, 2)]), 5), degree_histogram(_degrees(6, TREE), 5)
    assert _measured_epsilon(values, 2, Fraction(1)) > 1.5


def test_histogram_sensitivity_2d_plus_1_is_caught_with_a_declared_vertex_set() -> None:
    values = degree_histogram(_degrees(6, STAR, 1), 1), degree_histogram(_degrees(6, [], 1), 1)
    assert _measured_epsilon(values, 2 * 1 + 1, Fraction(1)) > 1.15


def test_truncation_to_the_first_edges_is_caught() -> None:
    """A hub first in every list; edge count with the sensitivity D = 1 that the greedy projection would have."""
    pairs = [(1 + 2 * i, 2 + 2 * i) for i in range(8)]
    hub = [(0, v) for v in range(1, 17)]
    values = _first_at_both_ends(17, [*pairs, *hub], 1) // 2, _first_at_both_ends(17, pairs, 1) // 2
    assert np.abs(values[0] - values[1]).sum() > 1
    assert _measured_epsilon(values, 1, Fraction(1)) > 3
    # The greedy projection of the same neighbours is within its claim.
    projected = [np.array([edge_count(_degrees(17, edges, 1))]) for edges in ([*pairs, *hub], pairs)]
    assert np.abs(projected[0] - projected[1]).sum() <= 1
