"""All cuts that cross a spanning tree in at most two edges, and the least of them.

Such a cut is the side of one subtree, or of two subtrees without each other (one may hold the other). Its value is the
sum of the values around the two, less twice the weight between them: between the two where they are apart, between the
inner one and all outside the outer one where one holds the other. Row by row, for the subtree at one position, these
weights are found for all later positions: in a shallow tree by walking up from the edges that leave the subtree, in a
deep one by differences of prefix sums. Two subtrees with no weight between them need no look where the bound is below
twice the least value around a single one.

Cost: O(n^2 + m depth) a tree at worst (the least cut alone: O(m log^3 n) where that is less, by
`dplib.graphs.cuts.path_masses`); O(m depth^2) for shallow trees and near bounds; O(n^2 / 64) words for lists.

Notation: ``position`` numbers vertices in preorder, vertex 0 first; the subtree at ``p`` is ``p .. end[p] - 1``;
``above[p]`` is the position of its parent.

References: Karger, "Minimum cuts in near-linear time", J. ACM 47 (2000), section 5.
"""

import numpy as np

from dplib.arrays import BoolArray, Int32Array, IntArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.cuts.cut_list import CutList, enter, new_table, sorted_cuts, with_room
from dplib.graphs.cuts.heavy_paths import HeavyPaths, heavy_paths
from dplib.graphs.cuts.path_masses import Decay, least_pair, rows_are_cheaper
from dplib.graphs.edges import Graph, word_count

# Prefix sums for a pair of subtrees take about as long as this many steps up a tree.
_PREFIX_SUMS = 8


def cuts_of_trees(graph: Graph, trees: Int32Array, bound: int, limit: int) -> tuple[CutList, bool]:
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
        paths = heavy_paths(graph, tree)
        subtree = _subtree_words(paths.order, paths.end, n_words)
        packed, values, table, n_cuts = _enter_cuts(paths, subtree, bound, limit, packed, values, table, n_cuts)
        if n_cuts > limit:
            below, n_cuts = False, limit
            break
    return sorted_cuts(np.arange(n), packed[:n_cuts], values[:n_cuts]), below


def least_cut_of_trees(graph: Graph, trees: Int32Array) -> tuple[int, BoolArray]:
    """Return the least value of a cut that crosses one of the trees in at most two edges, and a side of such a cut.

    Args:
        graph: connected, at least two vertices.
        trees: shape (n_trees, n_vertices - 1), any of a packing's, at least one.
    """
    least, side = graph.total_weight, np.zeros(graph.n_vertices, dtype=np.bool_)
    for tree in trees:
        paths = heavy_paths(graph, tree)
        value, position, other = _least(paths) if rows_are_cheaper(paths) else least_pair(paths)
        if value < least or not side.any():
            least = int(value)
            side[:] = False
            side[paths.order[position : paths.end[position]]] = True
            if other != position:
                side[paths.order[other : paths.end[other]]] ^= True
    return least, side


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
def _enter_cuts(
    tree: HeavyPaths,
    subtree: WordArray,
    bound: int,
    limit: int,
    packed: WordArray,
    values: IntArray,
    table: IntArray,
    n_cuts: int,
) -> tuple[WordArray, IntArray, IntArray, int]:
    """Enter the new cuts of one tree, of at most ``limit + 1`` in all."""
    n, single = len(tree.end), tree.single
    walks = is_shallow(tree) and bound < 2 * single[1:].min()
    sums, between, touched = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    for position in range(n - 1, 0, -1):
        n_touched = _row(tree, position, walks, sums, between, touched)
        for rank in range(-1, n_touched):
            other, value = position, single[position]
            if rank >= 0:
                other = touched[rank]
                value += single[other] - 2 * between[other]
                between[other] = 0
            if value > bound:
                continue
            packed, values, table = with_room(packed, values, table, n_cuts)
            _write(packed[n_cuts], subtree, position, other)
            values[n_cuts] = value
            n_cuts += enter(packed, n_cuts, table)
            if n_cuts > limit:
                return packed, values, table, n_cuts
    return packed, values, table, n_cuts


@compiled
def _least(tree: HeavyPaths) -> tuple[int, int, int]:
    """The least value of a cut at one or two subtrees, and their positions (the same one twice for one)."""
    n, single = len(tree.end), tree.single
    one = two = 1 + int(np.argmin(single[1:]))
    least, walks = single[one], is_shallow(tree)
    sums, between, touched = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    for position in range(n - 1, 0, -1):
        n_touched = _row(tree, position, walks, sums, between, touched)
        for rank in range(n_touched):
            other = touched[rank]
            value = single[position] + single[other] - 2 * between[other]
            between[other] = 0
            if value < least:
                least, one, two = value, position, other
    return least, one, two


@compiled
def is_shallow(tree: HeavyPaths) -> bool:
    """Whether walks up the tree from all edges that leave each subtree cost less than prefix sums."""
    n = float(len(tree.end))
    depth = (tree.end - np.arange(len(tree.end))).sum() / n  # mean size of a subtree is mean depth and one
    return bool(len(tree.neighbor) * depth * depth < _PREFIX_SUMS * n * n)


@compiled
def _row(tree: HeavyPaths, position: int, walks: bool, sums: IntArray, between: IntArray, touched: IntArray) -> int:
    """Find the weight ``between`` a subtree and those at later positions, which are ``touched``; their number.

    Walks leave out the positions with no weight between; ``between`` is 0 there.
    """
    end, n_touched = tree.end[position], 0
    if not walks:
        sums[position:] = 0
    for inside in range(position, end):
        for arc in range(tree.first[inside], tree.first[inside + 1]):
            outside, weight = tree.neighbor[arc], tree.heavy[arc]
            if position <= outside < end:
                continue
            if walks:
                n_touched = _walk(tree, inside, position, weight, between, touched, n_touched)
                n_touched = _walk(tree, outside, position, weight, between, touched, n_touched)
            else:
                sums[inside + 1] += weight
                if outside > position:
                    sums[outside + 1] += weight
    return n_touched if walks else _all_later(tree, position, sums, between, touched)


@compiled
def _walk(
    tree: HeavyPaths, start: int, position: int, weight: int, between: IntArray, touched: IntArray, n_touched: int
) -> int:
    """Add a weight at the vertices above ``start`` that come after ``position``; the number touched."""
    vertex = start
    while vertex > position:
        if between[vertex] == 0:
            touched[n_touched] = vertex
            n_touched += 1
        between[vertex] += weight
        vertex = tree.above[vertex]
    return n_touched


@compiled
def _all_later(tree: HeavyPaths, position: int, sums: IntArray, between: IntArray, touched: IntArray) -> int:
    """Add up over subtrees what is counted in ``sums`` at single vertices; the number of later positions."""
    n = len(tree.end)
    for vertex in range(position, n):
        sums[vertex + 1] += sums[vertex]
    for other in range(position + 1, n):
        between[other] = sums[tree.end[other]] - sums[other]
        touched[other - position - 1] = other
    return n - 1 - position


@compiled
def listed_row_masses(tree: HeavyPaths, walks: bool, least: int, bound: int, decay: Decay) -> IntArray:
    """Upper bounds of the sum of ``e^(-r (w - least))`` over the row of each position, shape (n,); see `PackedCuts`.

    A row holds the cut around the subtree at its position and those with one subtree more, at a later position, of
    values up to the bound. ``walks`` as in `_row`; it needs a bound below twice the least value around a subtree.
    """
    n = len(tree.end)
    masses = np.zeros(n, dtype=np.int64)
    sums, between, touched = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    for position in range(n - 1, 0, -1):
        n_touched = _row(tree, position, walks, sums, between, touched)
        if tree.single[position] <= bound:
            masses[position] = decay.table[(tree.single[position] - least) >> decay.shift]
        for rank in range(n_touched):
            other = touched[rank]
            value = tree.single[position] + tree.single[other] - 2 * between[other]
            between[other] = 0
            if value <= bound:
                masses[position] += decay.table[(value - least) >> decay.shift]
    return masses


@compiled
def entry_of_row(
    tree: HeavyPaths, walks: bool, least: int, bound: int, decay: Decay, position: int, place: int
) -> tuple[int, int, int]:
    """The entry of a row that holds a place, as `listed_row_masses` counts them: other position, value, mass."""
    n = len(tree.end)
    sums, between, touched = np.zeros(n + 1, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    n_touched = _row(tree, position, walks, sums, between, touched)
    for rank in range(-1, n_touched):
        other, value = position, tree.single[position]
        if rank >= 0:
            other = touched[rank]
            value += tree.single[other] - 2 * between[other]
        if value <= bound:
            mass = decay.table[(value - least) >> decay.shift]
            if place < mass:
                return other, value, mass
            place -= mass
    return position, -1, 0  # no place of this row


@compiled
def _write(row: WordArray, subtree: WordArray, position: int, other: int) -> None:
    """Write the side of the cut at one or two subtrees."""
    for word in range(len(row)):
        row[word] = subtree[position, word]
        if other > position:
            row[word] ^= subtree[other, word]
