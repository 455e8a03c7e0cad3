"""Packings of spanning trees and the cuts that cross a tree in at most two edges.

Add spanning trees one by one, each as often as its lightest edge is heavy (its *amount* y). The load x of an edge is
the amounts of its trees over its weight. With ``X = max x`` every tree counts ``y / X``, so that no edge is used beyond
its weight: the packing has value ``tau = sum y / X``. A cut of value ``w`` is crossed ``w / tau`` times by the trees on
average; so where ``3 tau > B`` every cut of value up to ``B`` crosses some tree in one or two edges. That is the
*certificate*.

The next tree is the least one by keys of its edges. Keys x, heavier edges first among equals, need the fewest trees
wherever this was measured: 31 for a torus, one for a ring or a path, about n for a complete graph. Keys ``x - ln(w) /
e`` come with a proof (*careful* keys, `certified_trees`). They order edges by the lengths ``l = e^(e x) / w``. Let ``D
= sum w l``, and beta the value of the best packing, at least half of the minimum cut value Phi (Nash-Williams), so that
a least tree is no longer than ``D / beta`` (duality). A tree multiplies its lengths by ``e^(e y / w) <= 1 + (e + e^2) y
/ w``, as ``y <= w`` and e <= 1, hence adds at most ``(e + e^2) y D / beta`` to D. At the end ``e^(e X) <= D <= 1.2 m
e^((e + e^2) sum y / beta)``, where 1.2 is room for logarithms read off the bits of w. So ``tau >= beta (1 - ln(1.2 m) /
(e X)) / (1 + e)``. A tree adds 1 to the load of its lightest edge, so ``X >= n_trees / m``, and ``m ln(1.2 m) / e^2``
trees give ``tau >= beta (1 - e) / (1 + e)``. With e = 1/64 that is above ``0.9692 Phi / 2``, a certificate for ``B =
1.45 Phi`` on every graph, whatever its weights are.

`dplib.graphs.cuts.two_respecting` lists these cuts, `dplib.graphs.cuts.packed_cuts` draws from them.

Cost: O(m log m) a tree; 4 bytes a tree and vertex.

References: Karger, "Minimum cuts in near-linear time", J. ACM 47 (2000), sections 2 to 4; Garg, Koenemann, "Faster and
simpler algorithms for multicommodity flow and other fractional packing problems", SIAM J. Computing 37 (2007), section
3 (amounts, lengths and the bound); Plotkin, Shmoys, Tardos, "Fast approximation algorithms for fractional packing and
covering problems", Math. Oper. Res. 20 (1995); Nash-Williams, "Edge-disjoint spanning trees of finite graphs", J.
London Math. Soc. 36 (1961).
"""

from dataclasses import dataclass
from math import ceil, log

import numpy as np

from dplib.arrays import FloatArray, Int32Array, IntArray
from dplib.compiled import compiled
from dplib.graphs.edges import Graph, components, find
from dplib.validate import at_least, require

MAX_TREES = 512
MAX_UNPROVED_TREES = 8192
# Far above rounding, whose share grows with the number of sums: a certificate is never taken for granted because of it.
_CAREFUL, _ROUNDING = 1 + 1e-9, 2.0**-50
_TIES = 2.0**-30  # of a logarithm: only tells equal loads apart
_FIRST_TREES = 16


@dataclass(frozen=True, eq=False)
class TreePacking:
    """Spanning trees of a connected graph.

    Attributes:
        trees: the edges' numbers of each tree, shape (n_trees, n_vertices - 1).
        amounts: y, of each tree, shape (n_trees,).
        bound: the value up to which the packing was asked to certify.
        certified: whether every cut of value up to ``bound`` crosses some tree in at most two edges.
    """

    trees: Int32Array
    amounts: FloatArray
    bound: int
    certified: bool


def pack_trees(graph: Graph, bound: int, most_trees: int = MAX_TREES) -> TreePacking:
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
    return _packing(graph, bound, most_trees, _TIES)


def certified_trees(graph: Graph, bound: int, most_unproved: int = MAX_UNPROVED_TREES) -> TreePacking:
    """Add trees until every cut up to a bound crosses one of them in at most two edges, however many that takes.

    Args:
        graph: connected, at least two vertices.
        bound: at most 1.45 times the minimum cut value: then this ends, as the module proves.
        most_unproved: trees with the keys that need fewer but have no proof; then careful keys take over.

    Raises:
        ConfigError: as `pack_trees`.
    """
    packing = pack_trees(graph, bound, most_unproved)
    precision = 0.5
    while not packing.certified:
        precision /= 2
        enough = ceil(graph.n_edges * log(1.2 * graph.n_edges + 1) / precision**2)
        packing = _packing(graph, bound, enough, log(2) / precision)
    return packing


def _packing(graph: Graph, bound: int, most_trees: int, scale: float) -> TreePacking:
    fraction, exponent = np.frexp(graph.weight.astype(np.float64))
    logarithm = exponent + 2 * fraction  # to base 2, but for less than 0.09 and what all have in common
    edges = graph.source, graph.target, graph.weight
    found = _pack(graph.n_vertices, *edges, scale * logarithm, float(bound), most_trees)
    return TreePacking(found[0], found[1], bound, bool(found[2]))


@compiled
def _pack(
    n: int,
    source: IntArray,
    target: IntArray,
    weight: IntArray,
    preferred: FloatArray,
    bound: float,
    most_trees: int,
) -> tuple[Int32Array, FloatArray, bool]:
    load = np.zeros(len(source))
    room = min(_FIRST_TREES, most_trees)
    trees, amounts = np.empty((room, n - 1), dtype=np.int32), np.empty(room)
    total = 0.0
    for number in range(most_trees):
        if number == room:
            room = min(2 * room, most_trees)
            more, more_amounts = np.empty((room, n - 1), dtype=np.int32), np.empty(room)
            more[:number], more_amounts[:number] = trees, amounts
            trees, amounts = more, more_amounts
        lightest = _add_least_tree(
            n, source, target, weight, np.argsort(load - preferred, kind="mergesort"), trees[number]
        )
        for edge in trees[number]:
            load[edge] += lightest / weight[edge]
        amounts[number] = lightest
        total += lightest
        if 3.0 * total > bound * load.max() * (_CAREFUL + number * _ROUNDING):
            return trees[: number + 1].copy(), amounts[: number + 1].copy(), True
    return trees, amounts, False


@compiled
def _add_least_tree(
    n: int, source: IntArray, target: IntArray, weight: IntArray, order: IntArray, tree: Int32Array
) -> float:
    """Write the tree of the edges that come first in an order; the weight of its lightest edge."""
    leader = np.arange(n)
    n_taken, lightest = 0, np.inf
    for edge in order:
        one, other = find(leader, source[edge]), find(leader, target[edge])
        if one != other:
            leader[max(one, other)] = min(one, other)
            lightest = min(lightest, float(weight[edge]))
            tree[n_taken] = edge
            n_taken += 1
            if n_taken == n - 1:
                break
    return lightest
