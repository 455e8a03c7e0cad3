"""The frontier of common neighbours against every pair by definition, whole and in blocks."""

import numpy as np
import pytest

from dplib.graphs.statistics.common_neighbors import (
    Neighborhoods,
    common_neighbor_frontier,
    merge_frontiers,
    pair_frontier,
)
from tests.support.network_oracles import graph_of, random_graph


def _by_definition(n: int, source: np.ndarray, target: np.ndarray) -> list[int]:
    graph = np.zeros((n, n), dtype=np.int64)
    graph[source, target] = graph[target, source] = 1
    frontier: dict[int, int] = {}
    for i in range(n):
        for j in range(i):
            others = np.delete(graph[[i, j]], [i, j], axis=1).sum(axis=0)
            a, b = int((others == 2).sum()), int((others == 1).sum())
            frontier[a] = max(frontier.get(a, -1), b)
    return [frontier.get(a, -1) for a in range(max(frontier, default=0) + 1)]


@pytest.mark.parametrize("seed", range(12))
def test_whole_graph_and_blocks(seed: int) -> None:
    n = 3 + 2 * seed
    graph = random_graph(n, [0.05, 0.3, 0.9][seed % 3], seed)
    source, target = graph.source, graph.target
    expected = _by_definition(n, source, target)
    assert common_neighbor_frontier(graph).tolist() == expected
    parts = [np.flatnonzero(np.arange(n) % 3 == part) for part in range(3)]
    sides = []
    for part in parts:
        mine = np.isin(source, part) | np.isin(target, part)  # what a task would get
        sides.append(Neighborhoods.from_edges(part, source[mine], target[mine]))
    frontiers = [pair_frontier(n, sides[i], sides[j]) for i in range(3) for j in range(i, 3)]
    assert merge_frontiers(frontiers).tolist() == expected


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_graphs_without_edges(n: int) -> None:
    assert common_neighbor_frontier(graph_of(n, [])).tolist() == [0 if n > 1 else -1]
