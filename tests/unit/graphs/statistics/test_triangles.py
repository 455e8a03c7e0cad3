"""Exact triangle counts, whole and in colour blocks, against networkx, sparse products and published numbers."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from dplib.errors import ConfigError
from dplib.graphs.mixing import vertex_colours
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.triangles import (
    colour_tasks,
    count_task_triangles,
    count_triangles,
    split_for_tasks,
    tasks_of_edges,
)
from tests.support.network_oracles import graph_of, random_graph, stored_graph, to_networkx


def _by_sparse_products(graph: SimpleGraph) -> int:
    shape = (graph.n_vertices, graph.n_vertices)
    half = sparse.csr_array((np.ones(graph.n_edges, dtype=np.int64), (graph.source, graph.target)), shape=shape)
    whole = half + half.T
    return int((whole @ whole).multiply(whole).sum()) // 6


def _in_blocks(graph: SimpleGraph, n_colours: int) -> list[int]:
    source, target = graph.source, graph.target
    needed = tasks_of_edges(source, target, n_colours)
    held = [(needed == task).any(axis=1) for task in colour_tasks(n_colours)]
    return [
        count_task_triangles(source[mine], target[mine], n_colours, int(task))
        for task, mine in zip(colour_tasks(n_colours), held, strict=True)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int) -> None:
    n = 25
    graph = random_graph(n, 0.1 + 0.15 * seed, seed)
    expected = sum(nx.triangles(to_networkx(graph)).values()) // 3
    assert count_triangles(graph) == expected
    for n_colours in (1, 2, 3, 5):
        assert sum(_in_blocks(graph, n_colours)) == expected


def test_each_task_counts_the_triangles_of_its_colours() -> None:
    n, n_colours = 20, 3
    graph = random_graph(n, 0.6, 4)
    colour = vertex_colours(np.arange(n), n_colours)
    expected = dict.fromkeys(colour_tasks(n_colours).tolist(), 0)
    for triangle in nx.enumerate_all_cliques(to_networkx(graph)):
        if len(triangle) == 3:
            i, j, k = sorted(colour[triangle].tolist())
            expected[(i * n_colours + j) * n_colours + k] += 1
    assert _in_blocks(graph, n_colours) == list(expected.values())
    assert len(set(expected.values())) > 1


@pytest.mark.parametrize("n_colours", [1, 2, 4, 7])
def test_each_edge_goes_to_one_task_a_colour(n_colours: int) -> None:
    graph = random_graph(15, 0.5, 1)
    source, target = graph.source, graph.target
    needed = tasks_of_edges(source, target, n_colours)
    assert needed.shape == (len(source), n_colours)
    assert all(len(set(row)) == n_colours for row in needed.tolist())
    assert set(needed.ravel().tolist()) <= set(colour_tasks(n_colours).tolist())
    assert len(colour_tasks(n_colours)) == (n_colours + 2) * (n_colours + 1) * n_colours // 6


@pytest.mark.parametrize("n", [0, 1, 9])
@pytest.mark.parametrize("n_colours", [1, 3, 4])
def test_edges_are_split_for_the_tasks_that_need_them(n: int, n_colours: int) -> None:
    graph = random_graph(n, 0.5, 2)
    source, target = graph.source, graph.target
    needed = tasks_of_edges(source, target, n_colours)
    found = split_for_tasks(source, target, n_colours)
    assert set(found) == set(needed.ravel().tolist())
    assert all(found[task].tolist() == np.flatnonzero((needed == task).any(axis=1)).tolist() for task in found)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 8])
def test_complete_and_empty_graphs(n: int) -> None:
    assert count_triangles(random_graph(n, 2.0, 0)) == n * (n - 1) * (n - 2) // 6
    assert count_triangles(graph_of(n, [])) == 0
    none = np.zeros(0, dtype=np.int64)
    assert count_task_triangles(none, none, 2, 1) == 0


def test_number_of_colours_is_checked() -> None:
    with pytest.raises(ConfigError, match="number of colours must"):
        vertex_colours(np.arange(3), 0)


@pytest.mark.parametrize(
    ("name", "published"),
    [("facebook_combined.txt", 1_612_010), ("ca-GrQc.txt", 48_260), ("Email-Enron.txt.gz", 727_044)],
)
def test_real_graphs(name: str, published: int) -> None:
    graph = stored_graph(name)
    assert count_triangles(graph) == published
    if graph.n_vertices < 30_000:
        assert sum(_in_blocks(graph, 4)) == published
        assert _by_sparse_products(graph) == published
