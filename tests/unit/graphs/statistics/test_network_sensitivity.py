"""Every sensitivity against all graphs of five vertices; the well-known wrong ones fail the same check."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.graphs.statistics.network_sensitivity import (
    UNBOUNDED,
    Bounding,
    DegreeBound,
    Statistic,
    known_statistic,
    sensitivity,
)
from dplib.privacy.neighbors import Neighbors
from tests.support import network_oracles as oracle

N = 5
GRAPHS = oracle.all_graphs(N)
NEIGHBORS = {Neighbors.EDGE: oracle.edge_neighbors(N), Neighbors.VERTEX: oracle.vertex_neighbors(N)}
UPPER = np.triu_indices(N, 1)
GROUPS = np.array([[0, 0, 0, 1, 1], [0, 1, 1, 1, 1], [0, 0, 1, 1, 2], [0, 0, 0, 0, 0]])
SEEDS = ([0], [1, 3], [0, 2, 4])


def _split(graphs: IntArray) -> IntArray:
    """Edges inside the groups, and inside less cut, for several splits: one column each."""
    edges = graphs[:, UPPER[0], UPPER[1]]
    inside = GROUPS[:, UPPER[0]] == GROUPS[:, UPPER[1]]
    return np.concatenate([edges @ inside.T, edges @ (2 * inside - 1).T], axis=1)


def _coverage(graphs: IntArray) -> IntArray:
    reached = [(graphs[:, seeds].any(axis=1) | np.isin(np.arange(N), seeds)).sum(axis=1) for seeds in SEEDS]
    return np.stack(reached, axis=1)


OF_DEGREES: dict[Statistic, Callable[[IntArray], IntArray]] = {
    Statistic.EDGE_COUNT: lambda g: oracle.degrees(g).sum(axis=1)[:, None] // 2,
    Statistic.LARGEST_DEGREE: lambda g: oracle.degrees(g).max(axis=1)[:, None],
    Statistic.DEGREE_HISTOGRAM: oracle.histogram,
    Statistic.CUMULATIVE_HISTOGRAM: lambda g: np.cumsum(oracle.histogram(g), axis=1)[:, :-1],
    Statistic.DEGREE_SEQUENCE: oracle.degrees,
    Statistic.SORTED_DEGREES: lambda g: np.sort(oracle.degrees(g), axis=1),
    Statistic.K_STARS: oracle.k_stars(2),
}
OF_EDGES: dict[Statistic, Callable[[IntArray], IntArray]] = {
    Statistic.TRIANGLES: oracle.triangles,
    Statistic.ADJACENCY: lambda g: g[:, UPPER[0], UPPER[1]],
    Statistic.SPLIT: _split,
    Statistic.COVERAGE: _coverage,
}
COLUMNWISE = (Statistic.SPLIT, Statistic.COVERAGE)  # a candidate is a column: its score alone has the sensitivity


def _orders(count: int) -> list[list[tuple[int, int]]]:
    rng = np.random.default_rng(11)
    return [[oracle.pairs(N)[i] for i in rng.permutation(10)] for _ in range(count)]


@cache
def _projections(bound: int) -> list[IntArray]:
    return [oracle.project(GRAPHS, bound, order) for order in _orders(20)]


def _largest_changes(statistic: Statistic, values: IntArray, level: Neighbors, member: IntArray) -> tuple[int, int]:
    """L1 and squared L2, over neighbours that are both members of the family."""
    first, second = NEIGHBORS[level]
    both = member[first] & member[second]
    pairs = first[both], second[both]
    if statistic in COLUMNWISE:
        l1, l2_squared = (max(oracle.change(values[:, [c]], pairs, p) for c in range(values.shape[1])) for p in (1, 2))
        return l1, l2_squared
    return oracle.change(values, pairs), oracle.change(values, pairs, 2)


@pytest.mark.parametrize("level", [Neighbors.EDGE, Neighbors.VERTEX])
@pytest.mark.parametrize("statistic", list(Statistic))
def test_sensitivity_without_and_with_a_promise(statistic: Statistic, level: Neighbors) -> None:
    """Never exceeded; and attained, so that no smaller number would do, without a promise and with each D."""
    values = (OF_DEGREES | OF_EDGES)[statistic](GRAPHS)
    for D in (4, 1, 2, 3):
        member = oracle.degrees(GRAPHS).max(axis=1) <= D
        bound = UNBOUNDED if D == 4 else DegreeBound(Bounding.PROMISED, D)
        claimed = sensitivity(statistic, level, N, bound)
        found = _largest_changes(statistic, values, level, member)
        assert found[0] == claimed.l1
        assert found[1] <= claimed.l2_squared


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("level", [Neighbors.EDGE, Neighbors.VERTEX])
def test_k_stars_of_every_size(k: int, level: Neighbors) -> None:
    claimed = sensitivity(Statistic.K_STARS, level, N, stars=k).l1
    assert oracle.change(oracle.k_stars(k)(GRAPHS), NEIGHBORS[level]) == claimed


@pytest.mark.parametrize("level", [Neighbors.EDGE, Neighbors.VERTEX])
@pytest.mark.parametrize("statistic", list(OF_DEGREES))
def test_sensitivity_after_the_projection(statistic: Statistic, level: Neighbors) -> None:
    """Over 20 orders: never exceeded; attained for the statistics whose number the documents quote."""
    everyone = np.ones(len(GRAPHS), dtype=bool)
    for D in (1, 2, 3):
        claimed = sensitivity(statistic, level, N, DegreeBound(Bounding.PROJECTED, D))
        found = [_largest_changes(statistic, OF_DEGREES[statistic](g), level, everyone) for g in _projections(D)]
        l1, l2_squared = np.max(found, axis=0)
        assert l1 <= claimed.l1
        assert l2_squared <= claimed.l2_squared
        if statistic in (Statistic.EDGE_COUNT, Statistic.DEGREE_HISTOGRAM, Statistic.CUMULATIVE_HISTOGRAM):
            expected = {Statistic.EDGE_COUNT: D, Statistic.DEGREE_HISTOGRAM: 2 * D + 2}
            if level is Neighbors.VERTEX:
                assert l1 == expected.get(statistic, max(D + 1, 2 * D)) == claimed.l1


def test_squared_l2_of_the_histograms_is_attained() -> None:
    edge = NEIGHBORS[Neighbors.EDGE]
    assert oracle.change(oracle.histogram(GRAPHS), edge, 2) == 8
    cumulative = OF_DEGREES[Statistic.CUMULATIVE_HISTOGRAM](GRAPHS)
    for level, claimed in ((Neighbors.EDGE, 4), (Neighbors.VERTEX, 4**2 + 3 * 4)):
        assert oracle.change(cumulative, NEIGHBORS[level], 2) == claimed
        assert sensitivity(Statistic.CUMULATIVE_HISTOGRAM, level, N).l2_squared == claimed


# --- the wrong ones ---


def test_planted_wrong_sensitivities_are_exceeded_by_some_graph() -> None:
    histogram_change = oracle.change(oracle.histogram(GRAPHS), NEIGHBORS[Neighbors.EDGE])
    assert histogram_change > 2  # one bin down and one up forgets the other end
    for D in (1, 2, 3):
        worst = max(oracle.change(oracle.histogram(g), NEIGHBORS[Neighbors.VERTEX]) for g in _projections(D))
        assert worst > 2 * D + 1  # right only where the vertex vanishes


def test_truncation_to_the_first_edges_is_unbounded() -> None:
    """A hub that is first in every list: 50 pairs keep one edge with it, and 50 without."""
    n, pairs = 101, 50
    graph = np.zeros((2, n, n), dtype=np.int64)
    for i in range(pairs):
        u, v = 1 + 2 * i, 2 + 2 * i
        graph[:, u, v] = graph[:, v, u] = 1
    graph[0, 0, 1:] = graph[0, 1:, 0] = 1
    assert (oracle.keep_first_at_both_ends(graph, 1).sum(axis=(1, 2)) // 2).tolist() == [1, 50]


def test_triangles_after_a_projection_exceed_the_bounded_degree_numbers() -> None:
    """D = 2 on six vertices: one vertex changes 2 triangles (C(2, 2) = 1), one edge too (D - 1 = 1)."""
    rng = np.random.default_rng(5)
    n, worst = 6, {Neighbors.EDGE: 0, Neighbors.VERTEX: 0}
    graphs = oracle.all_graphs(n)
    neighbors = {Neighbors.EDGE: oracle.edge_neighbors(n), Neighbors.VERTEX: oracle.vertex_neighbors(n)}
    for _ in range(2):
        order = [oracle.pairs(n)[i] for i in rng.permutation(15)]
        values = oracle.triangles(oracle.project(graphs, 2, order))
        worst = {level: max(worst[level], oracle.change(values, neighbors[level])) for level in worst}
    assert min(worst.values()) > 1


@pytest.mark.parametrize("statistic", list(OF_EDGES))
@pytest.mark.parametrize("level", [Neighbors.EDGE, Neighbors.VERTEX])
def test_statistics_of_edges_are_refused_after_a_projection(statistic: Statistic, level: Neighbors) -> None:
    with pytest.raises(ConfigError, match="chain of swapped edges"):
        sensitivity(statistic, level, 100, DegreeBound(Bounding.PROJECTED, 5))


def test_refusals_by_name_give_the_reason() -> None:
    with pytest.raises(ConfigError, match="a hub that comes first"):
        DegreeBound("top_edges", 5)  # type: ignore[arg-type]  # as a configuration's text
    with pytest.raises(ConfigError, match="push two vertices over D"):
        DegreeBound("drop_vertices", 5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="only bridge"):
        known_statistic("influence_spread")
    with pytest.raises(ConfigError, match="statistic must be one of"):
        known_statistic("diameter")
    with pytest.raises(ConfigError, match="neighbors must be one of edge, vertex"):
        sensitivity(Statistic.EDGE_COUNT, Neighbors.REPLACE_ONE, 5)


def test_bounds_are_checked() -> None:
    for bounding, largest in ((Bounding.NONE, 3), (Bounding.PROMISED, None), (Bounding.PROJECTED, 0)):
        with pytest.raises(ConfigError, match="degree bound must"):
            DegreeBound(bounding, largest)
    assert DegreeBound(Bounding.PROJECTED, 100).within(5) == 4
    assert sensitivity(Statistic.TRIANGLES, Neighbors.EDGE, 1).l1 == 0
