"""Greedy packings of spanning trees and the cuts that cross a tree in at most two edges.

Add spanning trees one by one, each of least total load for its weight, where the load of an edge is the number of
trees that use it. With ``T`` trees and ``c = max load / weight`` every tree counts ``1 / c``, so that no edge is used
beyond its weight: the packing has value ``tau = T / c``. A cut of value ``w`` is crossed ``w / tau`` times by the trees
on average; so where ``3 tau > B`` every cut of value up to ``B`` crosses some tree in one or two edges. That is the
*certificate*. By Nash-Williams' theorem ``tau`` gets as close to half of the minimum cut value as one likes, at least.

All cuts that cross a tree in at most two edges are found row by row: for a subtree, the weight between it and every
other vertex, added up over the other subtrees by differences of prefix sums in preorder.

Cost: O(m log m) a tree; O(n^2 + m depth) for the cuts of a tree of ``n`` vertices, O(n^2 / 64) memory words.

Notation: ``position`` numbers vertices in preorder, vertex 0 first; the subtree at ``p`` is ``p .. end[p] - 1``.

References: Karger, "Minimum cuts in near-linear time", J. ACM 47 (2000), sections 2 to 5; Plotkin, Shmoys, Tardos,
"Fast approximation algorithms for fractional packing and covering problems", Math. Oper. Res. 20 (1995) (greedy
packing); Nash-Williams, "Edge-disjoint spanning trees of finite graphs", J. London Math. Soc. 36 (1961).
"""

from dataclasses import dataclass

import numpy as np

from dplib.compiled import compiled
from dplib.graphs.cut_list import CutList, enter, new_table, sorted_cuts, with_room
from dplib.graphs.edges import Graph, IntArray, WordArray, components, find, neighbor_lists, word_count
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


def cuts_of_trees(graph: Graph, trees: IntArray, bound: int, limit: int) -> tuple[CutList, bool]:
    """Return all cuts of value up to a bound that cross one of the trees in at most two edges.

    Args:
        graph: connected.
        trees: shape (n_trees, n_vertices - 1), any of a packing's; one tree is one task where trees are shared out.
        bound: at least 0.
        limit: give up beyond this many cuts.

    Returns:
        The cuts, and whether these are all (else there are ``limit`` of them).
    """
    n, n_words = graph.n_vertices, word_count(graph.n_vertices)
    room = 256
    packed, values = np.zeros((room, n_words), dtype=np.uint64), np.zeros(room, dtype=np.int64)
    table, n_cuts, below = new_table(room), 0, True
    for tree in trees:
        order, end = _preorder(n, graph.source[tree], graph.target[tree])
        position = np.empty(n, dtype=np.int64)
        position[order] = np.arange(n)
        first, neighbor, heavy, _ = neighbor_lists(n, position[graph.source], position[graph.target], graph.weight)
        subtree = _subtree_words(order, end, n_words)
        packed, values, table, n_cuts = _two_respecting(
            end, first, neighbor, heavy, subtree, bound, limit, packed, values, table, n_cuts
        )
        if n_cuts > limit:
            below, n_cuts = False, limit
            break
    return sorted_cuts(np.arange(n), packed[:n_cuts], values[:n_cuts]), below


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


@compiled
def _preorder(n: int, source: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
    """Vertices of a tree in preorder from vertex 0, and the end of each position's subtree."""
    first, neighbor, _, _ = neighbor_lists(n, source, target, source)
    order, end = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    above, place = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    stack[0], n_stack = 0, 1
    for position in range(n):
        n_stack -= 1
        vertex = stack[n_stack]
        order[position], place[vertex], end[position] = vertex, position, position + 1
        for arc in range(first[vertex], first[vertex + 1]):
            if neighbor[arc] != above[vertex]:
                above[neighbor[arc]] = vertex
                stack[n_stack] = neighbor[arc]
                n_stack += 1
    for position in range(n - 1, 0, -1):
        parent = place[above[order[position]]]
        end[parent] = max(end[parent], end[position])
    return order, end


@compiled
def _subtree_words(order: IntArray, end: IntArray, n_words: int) -> WordArray:
    """The vertices of each position's subtree as packed rows."""
    n = len(order)
    words = np.zeros((n, n_words), dtype=np.uint64)
    for position in range(n - 1, -1, -1):
        vertex = order[position]
        words[position, vertex >> 6] |= np.uint64(1) << np.uint64(vertex & 63)
        child = position + 1
        while child < end[position]:
            for word in range(n_words):
                words[position, word] |= words[child, word]
            child = end[child]
    return words


@compiled
def _two_respecting(
    end: IntArray,
    first: IntArray,
    neighbor: IntArray,
    heavy: IntArray,
    subtree: WordArray,
    bound: int,
    limit: int,
    packed: WordArray,
    values: IntArray,
    table: IntArray,
    n_cuts: int,
) -> tuple[WordArray, IntArray, IntArray, int]:
    """Enter the new cuts of one tree, of at most ``limit + 1`` in all; vertices are positions here."""
    n = len(end)
    single = np.zeros(n, dtype=np.int64)  # value of the cut around each subtree
    below = np.zeros(n + 1, dtype=np.int64)
    for position in range(n - 1, 0, -1):
        _across(position, end, first, neighbor, heavy, below)
        single[position] = below[end[position]]
        for other in range(position, n):
            value = single[position]
            if other > position:
                value += single[other] - 2 * (below[end[other]] - below[other])
            if value > bound:
                continue
            packed, values, table = with_room(packed, values, table, n_cuts)
            _write(packed[n_cuts], subtree, position, other)
            values[n_cuts] = value
            if enter(packed, n_cuts, table):
                n_cuts += 1
                if n_cuts > limit:
                    return packed, values, table, n_cuts
    return packed, values, table, n_cuts


@compiled
def _across(
    position: int, end: IntArray, first: IntArray, neighbor: IntArray, heavy: IntArray, below: IntArray
) -> None:
    """Weight between the vertices and the other side of a subtree, summed over positions from it on: in ``below``."""
    below[position:] = 0
    for inside in range(position, end[position]):
        for arc in range(first[inside], first[inside + 1]):
            outside = neighbor[arc]
            if outside < position:
                below[inside + 1] += heavy[arc]
            elif outside >= end[position]:
                below[inside + 1] += heavy[arc]
                below[outside + 1] += heavy[arc]
    for vertex in range(position, len(end)):
        below[vertex + 1] += below[vertex]


@compiled
def _write(row: WordArray, subtree: WordArray, position: int, other: int) -> None:
    """Write the side of the cut at one or two subtrees."""
    for word in range(len(row)):
        row[word] = subtree[position, word]
        if other > position:
            row[word] ^= subtree[other, word]
