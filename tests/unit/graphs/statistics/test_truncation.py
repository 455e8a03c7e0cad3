"""The greedy ordered projection: the sequence, the order is public, the stability lemma holds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.graphs.statistics.degrees import cumulative_histogram, degree_histogram
from dplib.graphs.statistics.network_sensitivity import Bounding, DegreeBound, Statistic, sensitivity
from dplib.graphs.statistics.truncation import edge_order, project_graph
from dplib.privacy.neighbors import Neighbors
from tests.support import network_oracles as oracle


def _reference(n: int, edges: list[tuple[int, int]], bound: int) -> list[bool]:
    degree = [0] * n
    kept = []
    for u, v in edges:
        kept.append(degree[u] < bound and degree[v] < bound)
        degree[u] += kept[-1]
        degree[v] += kept[-1]
    return kept


@settings(max_examples=15, deadline=None)
@given(n=st.integers(1, 14), p=st.floats(0, 1), seed=st.integers(0, 10**6), bound=st.integers(1, 6))
def test_edges_are_kept_while_both_ends_have_room(n: int, p: float, seed: int, bound: int) -> None:
    graph = oracle.random_graph(n, p, seed)
    order = edge_order(graph.source, graph.target, seed)
    in_order = list(zip(graph.source[order].tolist(), graph.target[order].tolist(), strict=True))
    kept = project_graph(graph, bound, seed)
    expected = [edge for edge, keep in zip(in_order, _reference(n, in_order, bound), strict=True) if keep]
    assert list(zip(kept.source.tolist(), kept.target.tolist(), strict=True)) == sorted(expected)
    assert kept.degrees().max(initial=0) <= bound
    assert bound < n - 1 or kept.n_edges == graph.n_edges


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), bound=st.integers(1, 6), p=st.floats(0.1, 1))
def test_stability_on_larger_graphs(seed: int, bound: int, p: float) -> None:
    """The proof's two inequalities, and the sensitivities that follow, for 16 vertices."""
    n = 16
    graph = oracle.random_graph(n, p, seed)
    number = np.arange(graph.n_edges)
    fewer = (number >= 0, graph.source > 0, number > 0)  # source is the smaller end
    degrees = [project_graph(graph.only(kept), bound, seed).degrees() for kept in fewer]
    without_vertex = np.abs(degrees[0] - degrees[1])
    assert without_vertex[1:].sum() <= without_vertex[0] <= bound
    assert np.abs(degrees[0] - degrees[2]).sum() <= 2
    limit = DegreeBound(Bounding.PROJECTED, bound)
    for other, level in ((degrees[1], Neighbors.VERTEX), (degrees[2], Neighbors.EDGE)):
        histograms = [degree_histogram(d, bound) for d in (degrees[0], other)]
        sums = [cumulative_histogram(h) for h in histograms]
        for statistic, (one, two) in ((Statistic.DEGREE_HISTOGRAM, histograms), (Statistic.CUMULATIVE_HISTOGRAM, sums)):
            claimed = sensitivity(statistic, level, n, limit)
            assert np.abs(one - two).sum() <= claimed.l1
            assert ((one - two) ** 2).sum() <= claimed.l2_squared


def test_the_order_depends_on_the_pair_and_the_salt_alone() -> None:
    """A pair keeps its place among others in every graph, whichever way round it is written."""
    graph = oracle.random_graph(12, 0.8, 1)
    source, target = graph.source, graph.target
    some = np.arange(0, len(source), 3)
    whole = edge_order(source, target, 7)
    part = edge_order(target[some], source[some], 7)
    assert some[part].tolist() == [edge for edge in whole.tolist() if edge % 3 == 0]
    assert edge_order(source, target, 8).tolist() != whole.tolist()


def test_the_order_is_spread_evenly() -> None:
    """First places go to all vertices alike: no vertex's edges come systematically early."""
    n = 60
    graph = oracle.random_graph(n, 1.1, 0)
    source, target = graph.source, graph.target
    first = np.concatenate([edge_order(source, target, salt)[:200] for salt in range(40)])
    hits = np.bincount(np.concatenate([source[first], target[first]]), minlength=n)
    expected = 2 * len(first) / n
    assert ((hits - expected) ** 2 / expected).sum() < n + 8 * (2 * n) ** 0.5


@pytest.mark.parametrize("bound", [1, 2, 3])
def test_stability_lemma_on_all_small_graphs_with_the_kernel_itself(bound: int) -> None:
    """Kept degrees change by k <= D at the vertex and by at most k elsewhere; by at most 2 for one edge."""
    n = 5
    graphs = oracle.simple_graphs(n)
    kept_degrees = np.stack([project_graph(graph, bound, 5).degrees() for graph in graphs])
    first, second = oracle.vertex_neighbors(n)
    vertex = np.repeat(np.arange(n), len(graphs))
    delta = np.abs(kept_degrees[first] - kept_degrees[second])
    at_vertex = delta[np.arange(len(vertex)), vertex]
    assert (delta.sum(axis=1) - at_vertex <= at_vertex).all()
    assert at_vertex.max() == bound
    assert oracle.change(kept_degrees, oracle.edge_neighbors(n)) <= 2


def test_bound_is_checked() -> None:
    with pytest.raises(ConfigError, match="degree bound must be at least 1"):
        project_graph(oracle.graph_of(3, []), 0, 0)
