"""Statistics of degrees against networkx and by definition."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.graphs.edges import canonical
from dplib.graphs.statistics import degrees as kernel
from dplib.graphs.statistics.triangles import count_triangles
from tests.support.network_oracles import random_edges, stored_graph, to_networkx


@pytest.mark.parametrize("seed", range(5))
def test_degrees_and_what_is_made_of_them(seed: int) -> None:
    n = 12
    source, target = random_edges(n, 0.1 + 0.2 * seed, seed)
    graph = to_networkx(n, source, target)
    found = kernel.vertex_degrees(n, source, target)
    expected = [graph.degree[v] for v in range(n)]
    assert found.tolist() == expected
    assert kernel.edge_count(found) == graph.number_of_edges()
    assert kernel.largest_degree(found) == max(expected)
    assert kernel.second_largest_degree(found) == sorted(expected)[-2]
    assert kernel.sorted_degrees(found).tolist() == sorted(expected)
    histogram = kernel.degree_histogram(found, n - 1)
    assert histogram.tolist() == [expected.count(d) for d in range(n)]
    assert kernel.cumulative_histogram(histogram).tolist() == [sum(e <= d for e in expected) for d in range(n - 1)]
    assert kernel.sorted_degrees_from_histogram(histogram).tolist() == sorted(expected)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_k_stars_are_centers_with_k_neighbours(k: int) -> None:
    source, target = random_edges(9, 0.5, 3)
    graph = to_networkx(9, source, target)
    stars = sum(1 for v in graph for _ in combinations(graph[v], k))
    assert kernel.k_stars(kernel.vertex_degrees(9, source, target), k) == stars


def test_k_stars_do_not_overflow() -> None:
    assert kernel.k_stars(np.array([10**6, 10**6]), 5) == 2 * comb(10**6, 5)


def test_high_degrees_share_the_last_bin() -> None:
    histogram = kernel.degree_histogram(np.array([0, 1, 5, 9, 2]), 3)
    assert histogram.tolist() == [1, 1, 1, 2]
    with pytest.raises(ConfigError, match="largest degree must be at least 0"):
        kernel.degree_histogram(np.array([1]), -1)


def test_messy_edges_in_canonical_form() -> None:
    """Both orientations, duplicates and loops: a simple graph; weights of edges side by side do not count."""
    source, target = np.array([0, 1, 1, 2, 2, 4]), np.array([1, 0, 1, 0, 1, 4])
    graph = canonical(6, source, target)
    found = kernel.vertex_degrees(graph.n_vertices, graph.source, graph.target)
    assert found.tolist() == [2, 2, 2, 0, 0, 0]
    assert count_triangles(graph.n_vertices, graph.source, graph.target) == 1


@pytest.mark.parametrize("n", [0, 1, 3])
def test_graphs_without_edges(n: int) -> None:
    none = np.zeros(0, dtype=np.int64)
    found = kernel.vertex_degrees(n, none, none)
    assert found.tolist() == [0] * n
    assert (kernel.edge_count(found), kernel.largest_degree(found), kernel.second_largest_degree(found)) == (0, 0, 0)
    assert kernel.k_stars(found, 2) == 0
    assert kernel.degree_histogram(found, 2).tolist() == [n, 0, 0]


@pytest.mark.parametrize(
    ("name", "vertices", "edges"),
    [("facebook_combined.txt", 4039, 88234), ("ca-GrQc.txt", 5242, 14484), ("Email-Enron.txt.gz", 36692, 183831)],
)
def test_real_graphs(name: str, vertices: int, edges: int) -> None:
    """Vertices and edges as the collection publishes them; degrees as networkx counts them."""
    n, source, target = stored_graph(name)
    found = kernel.vertex_degrees(n, source, target)
    assert (n, kernel.edge_count(found)) == (vertices, edges)
    graph = to_networkx(n, source, target)
    assert found.tolist() == [graph.degree[v] for v in range(n)]
    assert kernel.k_stars(found, 2) == sum(d * (d - 1) // 2 for _, d in graph.degree)
