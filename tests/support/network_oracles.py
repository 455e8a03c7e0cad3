"""All graphs of a few vertices at once, as adjacency matrices, with their neighbours and statistics."""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from math import comb
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.simple_graph import SimpleGraph

Batch = Callable[[IntArray], IntArray]


def pairs(n: int) -> list[tuple[int, int]]:
    """All pairs of n vertices."""
    return list(combinations(range(n), 2))


def all_graphs(n: int) -> IntArray:
    """Every labelled simple graph, shape (2^C(n,2), n, n); graph number g has pair p where bit p of g is 1."""
    bits = np.arange(2 ** comb(n, 2))[:, None] >> np.arange(comb(n, 2)) & 1
    return from_bits(bits, n)


def from_bits(bits: IntArray, n: int) -> IntArray:
    """Adjacency matrices of graphs given by one bit a pair."""
    u, v = np.array(pairs(n)).T
    graphs = np.zeros((len(bits), n, n), dtype=np.int64)
    graphs[:, u, v] = graphs[:, v, u] = bits
    return graphs


def edge_neighbors(n: int) -> tuple[IntArray, IntArray]:
    """Numbers of all pairs of graphs where the second lacks one edge of the first."""
    numbers = np.arange(2 ** comb(n, 2))
    found = [(numbers[numbers >> p & 1 == 1], 1 << p) for p in range(comb(n, 2))]
    return np.concatenate([g for g, _ in found]), np.concatenate([g - bit for g, bit in found])


def vertex_neighbors(n: int) -> tuple[IntArray, IntArray]:
    """Numbers of all pairs of graphs where the second lacks all edges of one vertex."""
    numbers = np.arange(2 ** comb(n, 2))
    masks = [sum(1 << p for p, pair in enumerate(pairs(n)) if v in pair) for v in range(n)]
    return np.tile(numbers, n), np.concatenate([numbers & ~mask for mask in masks])


def degrees(graphs: IntArray) -> IntArray:
    summed: IntArray = graphs.sum(axis=2)
    return summed


def histogram(graphs: IntArray) -> IntArray:
    n = graphs.shape[1]
    counts: IntArray = (degrees(graphs)[:, :, None] == np.arange(n)).sum(axis=1)
    return counts


def triangles(graphs: IntArray) -> IntArray:
    closed: IntArray = np.trace(graphs @ graphs @ graphs, axis1=1, axis2=2)[:, None] // 6
    return closed


def k_stars(k: int) -> Batch:
    return lambda graphs: np.array([comb(d, k) for d in range(graphs.shape[1])])[degrees(graphs)].sum(axis=1)[:, None]


def project(graphs: IntArray, bound: int, order: Sequence[tuple[int, int]]) -> IntArray:
    """Greedy projection of every graph, pairs in the given order."""
    kept = np.zeros_like(graphs)
    for u, v in order:
        take = (graphs[:, u, v] == 1) & (kept[:, u].sum(axis=1) < bound) & (kept[:, v].sum(axis=1) < bound)
        kept[take, u, v] = kept[take, v, u] = 1
    return kept


def keep_first_at_both_ends(graphs: IntArray, bound: int) -> IntArray:
    """The truncation to refuse: an edge stays if it is among the first D at both ends, by vertex number."""
    first = graphs * (np.cumsum(graphs, axis=2) <= bound)
    return first * first.transpose(0, 2, 1)


def change(values: IntArray, neighbors: tuple[IntArray, IntArray], power: int = 1) -> int:
    """Largest sum of |difference|^power over neighbours, of a vector statistic of each graph."""
    return int((np.abs(values[neighbors[0]] - values[neighbors[1]]) ** power).sum(axis=1).max())


def local_sensitivity(values: IntArray, neighbors: tuple[IntArray, IntArray], distance: int) -> IntArray:
    """For each graph the largest change by one edge within so many edits, by spreading outwards."""
    first, second = neighbors
    reached = np.zeros(len(values), dtype=np.int64)
    for one in neighbors:
        np.maximum.at(reached, one, np.abs(values[first] - values[second]))
    for _ in range(distance):
        further = reached.copy()
        np.maximum.at(further, first, reached[second])
        np.maximum.at(further, second, reached[first])
        reached = further
    return reached


def ladder_laws_hold(
    widths: IntArray, values: IntArray, neighbors: tuple[IntArray, IntArray], kept: BoolArray | None = None
) -> bool:
    """Rung 0 covers every change, and a rung is at most the next one of each neighbour; among the kept graphs."""
    both = slice(None) if kept is None else kept[neighbors[0]] & kept[neighbors[1]]
    first, second = (each[both] for each in neighbors)
    change = np.abs(values[first] - values[second])
    return all(
        (change <= widths[one, 0]).all() and (widths[one, :-1] <= widths[other, 1:]).all()
        for one, other in ((first, second), (second, first))
    )


@lru_cache(maxsize=1)
def simple_graphs(n: int) -> list[SimpleGraph]:
    """The graphs of `all_graphs`, in their order."""
    every = np.array(pairs(n))
    return [graph_of(n, every[number >> np.arange(comb(n, 2)) & 1 == 1]) for number in range(2 ** comb(n, 2))]


def numbered(n: int, number: int) -> SimpleGraph:
    """Graph ``number`` of `all_graphs`."""
    return simple_graphs(n)[number]


@lru_cache(maxsize=4)
def stored_graph(name: str) -> SimpleGraph:
    """A real graph of the shared folder, ids from 0."""
    folder = os.environ.get("DPLIB_SHARED")
    if folder is None:
        pytest.skip("needs the shared folder of real graphs")
    lines = np.loadtxt(Path(folder) / "data" / "graphs" / name, dtype=np.int64, comments="#")
    vertices, ends = np.unique(lines, return_inverse=True)
    return SimpleGraph.from_edges(len(vertices), *ends.reshape(lines.shape).T)


def graph_of(n: int, edges: Iterable[tuple[int, int]] | IntArray) -> SimpleGraph:
    """The graph with these edges."""
    return SimpleGraph.from_edges(n, *np.array(list(edges), dtype=np.int64).reshape(-1, 2).T)


def random_graph(n: int, p: float, seed: int) -> SimpleGraph:
    """A graph that has each edge with one probability."""
    chosen = np.random.default_rng(seed).random(comb(n, 2)) < p
    return graph_of(n, [pair for pair, there in zip(pairs(n), chosen, strict=True) if there])


def to_networkx(graph: SimpleGraph) -> nx.Graph:
    peer = nx.empty_graph(graph.n_vertices)
    peer.add_edges_from(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
    return peer
