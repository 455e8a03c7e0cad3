"""The exact value of a minimum cut and one side of it, deterministically.

Keep the least value seen: of single vertices, of all beginnings of a scan by attachment. Then contract what cannot
lie in a smaller cut: edges whose ends are certified to be connected at least that well (`dplib.graphs.cuts.kernel`);
and any single vertex into a neighbour that holds at least half of its weight, because a cut that separates the two does
not get greater when the vertex changes sides (its own cut has been seen). Each scan certifies its last edge at least,
so the graph shrinks to one vertex. Graphs like the hypercube give a scan hardly more than that. After a few idle scans
flows between neighbours finish them where ways around an edge are short (`dplib.graphs.cuts.local_flows`), else packed
trees (`dplib.graphs.cuts.tree_packing`), with the certificate for every cut below the least one seen.

Cost: a few scans on most graphs; else about linear on grids, and for each of a few trees on what is left the less of
O(n^2 + m depth) and O(m log^3 n). Rings, which give a scan one edge to contract, fall to the second rule in one pass.

References: Nagamochi, Ono, Ibaraki, "Implementing an efficient minimum capacity cut algorithm", Math. Programming 67
(1994); Padberg, Rinaldi, "An efficient algorithm for the minimum capacity cut problem", Math. Programming 47 (1990),
test 2; Stoer, Wagner, "A simple min-cut algorithm", J. ACM 44 (1997).
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.compiled import compiled
from dplib.graphs.cuts.kernel import join, join_by_triangles, scan
from dplib.graphs.cuts.local_flows import least_by_flows
from dplib.graphs.cuts.tree_packing import pack_trees
from dplib.graphs.cuts.two_respecting import least_cut_of_trees
from dplib.graphs.edges import (
    Graph,
    components,
    find,
    merge_edges,
    neighbor_lists,
    number_classes,
    weighted_degrees,
)

# A scan is of use if it joins one vertex in this many. After idle ones a large graph is left to trees.
_USEFUL, _PATIENCE, _LARGE = 32, 4, 400
_TREES = (64, 512)
# Flows may look at this many arcs a vertex, at most this part of all pairs of vertices: grids need a few hundred.
_FLOWS_ARCS, _FLOWS_SHARE = 1000, 8


@dataclass(frozen=True, eq=False)
class MinimumCut:
    """A minimum cut.

    Attributes:
        value: its value; 0 for a graph that is not connected, and, by convention, where there is no cut.
        side: True on the side without vertex 0, shape (n_vertices,); all False with fewer than two vertices, where
            there is no cut.
    """

    value: int
    side: BoolArray

    @property
    def exists(self) -> bool:
        """Whether the graph has a cut: it has at least two vertices."""
        return len(self.side) > 1


def minimum_cut(graph: Graph) -> MinimumCut:
    """Return a minimum cut; the same for the same graph on every machine.

    Of a graph with several components, the cut of value 0 around the component of vertex 0.
    """
    if graph.n_vertices < 2:
        return MinimumCut(0, np.zeros(graph.n_vertices, dtype=np.bool_))
    edges = (graph.source, graph.target, graph.weight)
    value, side, label, n_left, *left_edges = _scan_down(graph.n_vertices, *edges, _PATIENCE)
    if value == 0:
        return MinimumCut(0, components(graph)[1] > 0)
    if n_left > 1:
        less, its_side = _finished(Graph(n_left, *left_edges), int(value))
        if less < value:
            value, side = less, its_side[label]
    return MinimumCut(int(value), side ^ side[0])


def _finished(graph: Graph, seen: int) -> tuple[int, BoolArray]:
    """The minimum cut of a connected graph, if it is below ``seen``; else ``seen`` or more, with any side."""
    n = graph.n_vertices
    value, side, done = least_by_flows(graph, seen, n * min(n // _FLOWS_SHARE, _FLOWS_ARCS))
    if done:
        return value, side
    less, its_side = _finished_by_trees(graph, value)
    return (less, its_side) if less < value else (value, side)


def _finished_by_trees(graph: Graph, seen: int) -> tuple[int, BoolArray]:
    """The minimum cut of a connected graph, if it is below ``seen``; else some other cut."""
    for most_trees in _TREES:
        packing = pack_trees(graph, seen - 1, most_trees)
        value, side = least_cut_of_trees(graph, packing.trees)
        if packing.certified:
            return value, side
        seen = min(seen, value + 1)  # certify the cut just found, too
    value, side, *_ = _scan_down(graph.n_vertices, graph.source, graph.target, graph.weight, graph.n_vertices)
    return int(value), side


def count_zero_cuts(graph: Graph) -> int:
    """Return the number of cuts of value 0: ``2^(c - 1) - 1`` for ``c`` connected components, 0 without vertices."""
    n_components, _ = components(graph)
    return int(2 ** max(n_components - 1, 0) - 1)


@compiled
def _scan_down(
    n: int, source: IntArray, target: IntArray, weight: IntArray, patience: int
) -> tuple[int, BoolArray, IntArray, int, IntArray, IntArray, IntArray]:
    """Scan and contract to one vertex, or until ``patience`` scans in a row were of little use on a large graph.

    Returns:
        The least value seen, its side, the vertex that each became part of, and the graph left.
    """
    label = np.arange(n)
    idle = 0
    best = np.iinfo(np.int64).max
    side = np.zeros(n, dtype=np.bool_)
    start = 0
    while n > 1 and best > 0 and idle < patience:
        first, neighbor, heavy, _ = neighbor_lists(n, source, target, weight)
        degree = weighted_degrees(n, source, target, weight)
        lightest = int(np.argmin(degree))
        if degree[lightest] < best:
            best = degree[lightest]
            side = label == lightest
        leader = np.arange(n)
        order, value, length = scan(first, neighbor, heavy, degree, start, best, leader)
        if value < best:
            best = value
            beginning = np.zeros(n, dtype=np.bool_)
            beginning[order[:length]] = True
            side = beginning[label]
        _join_heavy(first, neighbor, heavy, degree, leader)
        if 2 * number_classes(leader)[0] > n:  # a dense graph, where a scan may certify one edge only
            join_by_triangles(first, neighbor, heavy, best, leader)
        n_left, joined = number_classes(leader)
        idle = idle + 1 if n_left > _LARGE and (n - n_left) * _USEFUL < n else 0
        n = n_left
        start = joined[order[-1]]
        label = joined[label]
        source, target, weight = merge_edges(n, joined[source], joined[target], weight)
    return best, side, label, n, source, target, weight


@compiled
def _join_heavy(first: IntArray, neighbor: IntArray, heavy: IntArray, degree: IntArray, leader: IntArray) -> None:
    """Join each vertex that is still alone to a neighbour with half of its weight."""
    n = len(degree)
    alone = np.ones(n, dtype=np.bool_)
    for vertex in range(n):
        root = find(leader, vertex)
        if root != vertex:
            alone[vertex] = alone[root] = False
    for vertex in range(n):
        if not alone[vertex]:
            continue
        for arc in range(first[vertex], first[vertex + 1]):
            if 2 * heavy[arc] >= degree[vertex]:
                join(leader, vertex, neighbor[arc])
                alone[vertex] = alone[neighbor[arc]] = False
                break
