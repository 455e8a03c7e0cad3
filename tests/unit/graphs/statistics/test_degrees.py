"""Statistics of degrees against networkx and by definition."""

from itertools import combinations

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics import degrees as kernel
from dplib.graphs.statistics.triangles import count_triangles
from tests.support.network_oracles import graph_of, random_graph, to_networkx


@pytest.mark.parametrize("seed", range(5))
def test_degrees_and_what_is_made_of_them(seed: int) -> None:
    n = 12
    graph = random_graph(n, 0.1 + 0.2 * seed, seed)
    found, peer = graph.degrees(), to_networkx(graph)
    expected = [peer.degree[v] for v in range(n)]
    assert found.tolist() == expected
    assert kernel.edge_count(found) == peer.number_of_edges()
    assert kernel.largest_degree(found) == max(expected)
    assert kernel.second_largest_degree(found) == sorted(expected)[-2]
    assert kernel.sorted_degrees(found).tolist() == sorted(expected)
    histogram = kernel.degree_histogram(found, n - 1)
    assert histogram.tolist() == [expected.count(d) for d in range(n)]
    assert kernel.cumulative_histogram(histogram).tolist() == [sum(e <= d for e in expected) for d in range(n - 1)]
    assert kernel.sorted_degrees_from_histogram(histogram).tolist() == sorted(expected)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_stars_are_centers_with_k_neighbours(k: int) -> None:
    graph = random_graph(9, 0.5, 3)
    peer = to_networkx(graph)
    stars = sum(1 for v in peer for _ in combinations(peer[v], k))
    assert kernel.k_stars(graph.degrees(), k) == stars


def test_high_degrees_share_the_last_bin() -> None:
    histogram = kernel.degree_histogram(np.array([0, 1, 5, 9, 2]), 3)
    assert histogram.tolist() == [1, 1, 1, 2]
    with pytest.raises(ConfigError, match="largest degree must be at least 0"):
        kernel.degree_histogram(np.array([1]), -1)


def test_messy_edges_make_a_simple_graph() -> None:
    """Both orientations, duplicates and loops."""
    graph = SimpleGraph.from_edges(6, np.array([0, 1, 1, 2, 2, 4]), np.array([1, 0, 1, 0, 1, 4]))
    assert (graph.source.tolist(), graph.target.tolist()) == ([0, 0, 1], [1, 2, 2])
    assert graph.degrees().tolist() == [2, 2, 2, 0, 0, 0]
    assert count_triangles(graph) == 1
    assert graph.only(np.array([True, False, True])).target.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        ([1], [0], "0 <= source < target < n_vertices"),
        ([1], [1], "0 <= source < target < n_vertices"),
        ([-1], [1], "0 <= source < target < n_vertices"),
        ([1], [3], "0 <= source < target < n_vertices"),
        ([0, 0], [1, 1], "be sorted, each pair once"),
        ([0, 0], [2, 1], "be sorted, each pair once"),
        ([1, 0], [2, 1], "be sorted, each pair once"),
        ([0, 1], [2], "have two ends each"),
    ],
)
def test_edges_of_another_form_are_refused(source: list[int], target: list[int], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        SimpleGraph(3, np.array(source), np.array(target))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_graphs_without_edges(n: int) -> None:
    found = graph_of(n, []).degrees()
    assert found.tolist() == [0] * n
    assert (kernel.edge_count(found), kernel.largest_degree(found), kernel.second_largest_degree(found)) == (0, 0, 0)
    assert kernel.k_stars(found, 2) == 0
    assert kernel.degree_histogram(found, 2).tolist() == [n, 0, 0]
