"""Ladder functions on all graphs of five vertices: both laws, and the exact one against local sensitivity itself."""

from functools import cache

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.graphs.statistics.common_neighbors import common_neighbor_frontier
from dplib.graphs.statistics.degrees import second_largest_degree
from dplib.graphs.statistics.ladder_rungs import (
    Rungs,
    common_neighbor_rungs,
    exact_rungs,
    largest_rung,
    second_degree_rungs,
)
from tests.support import network_oracles as oracle

N, DISTANCES = 5, 8
TRIANGLES = oracle.triangles(oracle.all_graphs(N))[:, 0]
NEIGHBORS = oracle.edge_neighbors(N)


@cache
def _graphs() -> list[tuple[int, IntArray]]:
    """Second largest degree and frontier of every graph."""
    graphs = oracle.simple_graphs(N)
    return [(second_largest_degree(graph.degrees()), common_neighbor_frontier(graph)) for graph in graphs]


@cache
def _rungs(kind: str) -> list[Rungs]:
    cap = largest_rung(N)
    if kind == "degree":
        return [second_degree_rungs(degree, cap) for degree, _ in _graphs()]
    make = {"common": common_neighbor_rungs, "exact": exact_rungs}[kind]
    return [make(frontier, cap) for _, frontier in _graphs()]


@cache
def _widths(kind: str) -> IntArray:
    return np.stack([rungs.widths(0, DISTANCES) for rungs in _rungs(kind)])


@pytest.mark.parametrize("kind", ["degree", "common", "exact"])
def test_ladder_laws(kind: str) -> None:
    widths = _widths(kind)
    assert oracle.ladder_laws_hold(widths, TRIANGLES, NEIGHBORS)
    assert (np.diff(widths, axis=1) >= 0).all()
    assert widths.max() == N - 2


def test_exact_rungs_are_the_local_sensitivity_at_each_distance() -> None:
    widths = _widths("exact")
    for distance in range(DISTANCES):
        assert widths[:, distance].tolist() == oracle.local_sensitivity(TRIANGLES, NEIGHBORS, distance).tolist()


def test_the_three_are_ordered() -> None:
    exact, common, degree = (_widths(kind) for kind in ("exact", "common", "degree"))
    assert (exact <= common).all()
    assert (common <= degree).all()
    assert (exact < degree).any()


def test_cap_is_public() -> None:
    assert [largest_rung(n) for n in (0, 1, 2, 10)] == [0, 0, 0, 8]
    assert largest_rung(10, promised_degree=4) == 3
    with pytest.raises(ConfigError, match="number of vertices"):
        largest_rung(-1)


@pytest.mark.parametrize("promised", [1, 2, 3])
def test_ladder_laws_with_the_cap_of_promised_degrees(promised: int) -> None:
    """Among graphs that keep the promise: the cap D - 1 leaves both laws true."""
    member = oracle.degrees(oracle.all_graphs(N)).max(axis=1) <= promised
    cap = largest_rung(N, promised)
    widths = np.stack([Rungs(rungs.pairs, cap).widths(0, DISTANCES) for rungs in _rungs("exact")])
    assert oracle.ladder_laws_hold(widths, TRIANGLES, NEIGHBORS, member)
    assert widths.max() == promised - 1


def test_widths_from_anywhere() -> None:
    rungs = exact_rungs(np.array([9, 4, -1, 2]), 100)
    assert rungs.widths(0, 40)[7:20].tolist() == rungs.widths(7, 13).tolist()
    by_pairs = [max(a + (t + min(t, b)) // 2 for a, b in ((0, 9), (1, 4), (3, 2))) for t in range(40)]
    assert rungs.widths(0, 40).tolist() == by_pairs
