"""The exact value of a minimum cut and one side of it, deterministically.

Keep the least value seen: of single vertices, of all beginnings of a scan by attachment. Then contract what cannot
lie in a smaller cut: edges whose ends are certified to be connected at least that well (`dplib.graphs.kernel`); and
any single vertex into a neighbour that holds at least half of its weight, because a cut that separates the two does not
get greater when the vertex changes sides (its own cut has been seen). Each scan certifies its last edge at least, so
the graph shrinks to one vertex.

Cost: O(n (m + n log n)) at worst; a few scans on most graphs. Rings, which give a scan one edge to contract, fall to
the second rule in one pass.

References: Nagamochi, Ono, Ibaraki, "Implementing an efficient minimum capacity cut algorithm", Math. Programming 67
(1994); Padberg, Rinaldi, "An efficient algorithm for the minimum capacity cut problem", Math. Programming 47 (1990),
test 2; Stoer, Wagner, "A simple min-cut algorithm", J. ACM 44 (1997).
"""

from dataclasses import dataclass

import numpy as np

from dplib.compiled import compiled
from dplib.graphs.edges import (
    BoolArray,
    Graph,
    IntArray,
    components,
    find,
    merge_edges,
    neighbor_lists,
    number_classes,
    weighted_degrees,
)
from dplib.graphs.kernel import join, join_by_triangles, scan


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

    Args:
        graph: any. Of a graph with several components, the cut of value 0 around the component of vertex 0.
    """
    if graph.n_vertices < 2:
        return MinimumCut(0, np.zeros(graph.n_vertices, dtype=np.bool_))
    value, side = _minimum_cut(graph.n_vertices, graph.source, graph.target, graph.weight)
    if value == 0:
        return MinimumCut(0, components(graph)[1] > 0)
    return MinimumCut(int(value), side ^ side[0])


def count_zero_cuts(graph: Graph) -> int:
    """Return the number of cuts of value 0: ``2^(c - 1) - 1`` for ``c`` connected components, 0 without vertices."""
    n_components, _ = components(graph)
    return int(2 ** max(n_components - 1, 0) - 1)


@compiled
def _minimum_cut(n: int, source: IntArray, target: IntArray, weight: IntArray) -> tuple[int, BoolArray]:
    label = np.arange(n)
    best = np.iinfo(np.int64).max
    side = np.zeros(n, dtype=np.bool_)
    start = 0
    while n > 1 and best > 0:
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
        n, joined = number_classes(leader)
        start = joined[order[-1]]
        label = joined[label]
        source, target, weight = merge_edges(n, joined[source], joined[target], weight)
    return best, side


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
