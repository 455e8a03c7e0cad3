"""Greedy packings of spanning trees and the cuts that cross a tree in at most two edges.

Add spanning trees one by one, each of least total load for its weight, where the load of an edge is the number of
trees that use it. With ``T`` trees and ``c = max load / weight`` every tree counts ``1 / c``, so that no edge is used
beyond its weight: the packing has value ``tau = T / c``. A cut of value ``w`` is crossed ``w / tau`` times by the trees
on average; so where ``3 tau > B`` every cut of value up to ``B`` crosses some tree in one or two edges. That is the
*certificate*. By Nash-Williams' theorem ``tau`` gets as close to half of the minimum cut value as one likes, at least.

`dplib.graphs.two_respecting` lists these cuts.

Cost: O(m log m) a tree.

References: Karger, "Minimum cuts in near-linear time", J. ACM 47 (2000), sections 2 to 4; Plotkin, Shmoys, Tardos,
"Fast approximation algorithms for fractional packing and covering problems", Math. Oper. Res. 20 (1995) (greedy
packing); Nash-Williams, "Edge-disjoint spanning trees of finite graphs", J. London Math. Soc. 36 (1961).
"""

from dataclasses import dataclass

import numpy as np

from dplib.compiled import compiled
from dplib.graphs.edges import Graph, IntArray, components, find
from dplib.validate import at_least, require

MOST_TREES = 512
_CAREFUL = 1 + 1e-9  # far above rounding: a certificate is never taken for granted because of it


@dataclass(frozen=True, eq=False)
class TreePacking:
    """Spanning trees of a connected graph.

    Attributes:
        trees: the edges' numbers of each tree, shape (n_trees, n_vertices - 1).
        bound: the value up to which the packing was asked to certify.
        certified: whether every cut of value up to ``bound`` crosses some tree in at most two edges.
    """

    trees: IntArray
    bound: int
    certified: bool


def pack_trees(graph: Graph, bound: int, most_trees: int = MOST_TREES) -> TreePacking:
    """Add trees until every cut up to a bound is certified to cross one of them in at most two edges.

    Args:
        graph: connected, at least two vertices.
        bound: at least 0. From 1.5 times the minimum cut value on there may be no certificate.
        most_trees: give up beyond; the packing is then not certified.

    Raises:
        ConfigError: the graph is not connected or has one vertex, or a number is out of range.
    """
    at_least("bound", bound, 0)
    at_least("most_trees", most_trees, 1)
    require(graph.n_vertices > 1, "graph", "have at least two vertices", graph.n_vertices)
    require(components(graph)[0] == 1, "graph", "be connected", "separate parts")
    # No packing is worth more than all edges together hold trees.
    if 3 * graph.total_weight <= bound * (graph.n_vertices - 1):
        most_trees = 1
    trees, certified = _pack(graph.n_vertices, graph.source, graph.target, graph.weight, float(bound), most_trees)
    return TreePacking(trees, bound, bool(certified))


@compiled
def _pack(
    n: int, source: IntArray, target: IntArray, weight: IntArray, bound: float, most_trees: int
) -> tuple[IntArray, bool]:
    m = len(source)
    load = np.zeros(m, dtype=np.int64)
    trees = np.empty((most_trees, n - 1), dtype=np.int64)
    for number in range(most_trees):
        # Heavier edges first while all loads are equal: they are worth more trees.
        order = np.argsort((load + 0.5) / weight, kind="mergesort")
        leader = np.arange(n)
        n_taken = 0
        for rank in range(m):
            edge = order[rank]
            one, other = find(leader, source[edge]), find(leader, target[edge])
            if one != other:
                leader[max(one, other)] = min(one, other)
                load[edge] += 1
                trees[number, n_taken] = edge
                n_taken += 1
                if n_taken == n - 1:
                    break
        busiest = (load / weight).max()
        if 3.0 * (number + 1) > bound * busiest * _CAREFUL:
            return trees[: number + 1].copy(), True
    return trees, False
