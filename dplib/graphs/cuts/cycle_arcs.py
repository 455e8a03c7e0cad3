"""The least value of the cuts that cross a cycle through all vertices twice, whatever part of the cycle is added.

Pair p of the cycle joins vertices p and p + 1 mod n. A cut that crosses two pairs p < q only has the *arc* ``p + 1 ..
q`` as a side. When j rounds of the cycle and its first r pairs are added to a graph, with weight 1 each, the arc weighs
its value in the graph, 2 j, and 1 for each of p and q below r. `Arcs` knows the least of these n (n - 1) / 2 sums for
every j and r.

The arcs from p on are swept for p = 0, 1, ...: when vertex p + 1 leaves them all, the ones that end at q change by
twice its weight to vertices up to q, less its total weight. These are additions to all q from some place on, made in a
binary tree over q that also keeps the least value that each q ever had (additions that raise values come first, so that
no value in between is below both of its neighbours in time).

Cost: O((n + m) log n) once, O(1) a sum.
"""

import numpy as np

from dplib.arrays import IntArray
from dplib.compiled import compiled
from dplib.graphs.edges import Graph, neighbor_lists

UNUSED = 2**61


class Arcs:
    """The least values of a graph's arcs."""

    def __init__(self, graph: Graph) -> None:
        n = graph.n_vertices
        first, neighbor, heavy, _ = neighbor_lists(n, graph.source, graph.target, graph.weight)
        row, crossing, column = _sweep(graph.degrees(), first, neighbor, heavy)
        # Least values with p and q from r on, with p below r alone, and with both below r, for r = 0 .. n - 1.
        none = np.minimum.accumulate(row[::-1])[::-1]
        both = np.append(UNUSED, np.minimum.accumulate(column)[:-1])
        self._least = np.minimum(none, np.minimum(crossing + 1, both + 2))
        self._n = n

    def least(self, padding: int) -> int:
        """The least value of an arc in the graph with the first ``padding`` edges of the cycle, round after round."""
        rounds, rest = divmod(padding, self._n)
        return int(self._least[rest]) + 2 * rounds


@compiled
def _sweep(
    degree: IntArray, first: IntArray, neighbor: IntArray, heavy: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Least values of arcs from pair p, by p; from one before r to r or a later one, by r; to q, by q."""
    n = len(degree)
    tree = _beginnings(degree, first, neighbor, heavy)
    n_leaves = tree.shape[1] >> 1
    row, crossing = np.full(n, UNUSED, dtype=np.int64), np.full(n, UNUSED, dtype=np.int64)
    for pair in range(n - 1):
        row[pair], crossing[pair + 1] = _add_from(tree, pair + 1, 0, False)
        vertex = pair + 1
        _add_from(tree, vertex, UNUSED, True)  # no arc is empty
        for arc in range(first[vertex], first[vertex + 1]):
            if neighbor[arc] > vertex:
                _add_from(tree, neighbor[arc], 2 * heavy[arc], False)
        if vertex + 1 < n:
            _add_from(tree, vertex + 1, -degree[vertex], False)
    column = np.full(n, UNUSED, dtype=np.int64)
    for node in range(1, n_leaves):
        _push(tree, node)
    column[1:] = tree[1, n_leaves + 1 : n_leaves + n]
    return row, crossing, column


@compiled
def _add_from(tree: IntArray, start: int, value: int, alone: bool) -> tuple[int, int]:
    """Add to all places from ``start`` on, or to it alone; the least value there now and ever."""
    n_leaves = tree.shape[1] >> 1
    leaf = n_leaves + start
    height = 0
    while leaf >> height > 1:
        height += 1
    for level in range(height, 0, -1):
        _push(tree, leaf >> level)
    _apply(tree, leaf, value, value)
    now, ever = tree[0, leaf], tree[1, leaf]
    node = leaf
    while node > 1:
        if not alone and node & 1 == 0:
            _apply(tree, node + 1, value, value)
            now, ever = min(now, tree[0, node + 1]), min(ever, tree[1, node + 1])
        node >>= 1
        tree[0, node] = min(tree[0, 2 * node], tree[0, 2 * node + 1])
        tree[1, node] = min(tree[1, 2 * node], tree[1, 2 * node + 1])
    return now, ever


@compiled
def _apply(tree: IntArray, node: int, value: int, least: int) -> None:
    """Add to a node's part what came in all, and ``least`` at the moment at which that was least."""
    tree[1, node] = min(tree[1, node], tree[0, node] + least)
    tree[0, node] += value
    tree[3, node] = min(tree[3, node], tree[2, node] + least)
    tree[2, node] += value


@compiled
def _push(tree: IntArray, node: int) -> None:
    for part in (2 * node, 2 * node + 1):
        _apply(tree, part, tree[2, node], tree[3, node])
    tree[2, node] = tree[3, node] = 0


@compiled
def _beginnings(degree: IntArray, first: IntArray, neighbor: IntArray, heavy: IntArray) -> IntArray:
    """The binary tree for the arcs that begin after pair 0.

    Its rows: least value now, least value ever, what to add below, the least that was to be added below at any time.
    """
    n = len(degree)
    n_leaves = 2
    while n_leaves < n:
        n_leaves *= 2
    tree = np.full((4, 2 * n_leaves), UNUSED, dtype=np.int64)
    tree[2:] = 0
    value = 0
    for vertex in range(1, n):
        value += degree[vertex]
        for arc in range(first[vertex], first[vertex + 1]):
            if 0 < neighbor[arc] < vertex:
                value -= 2 * heavy[arc]
        tree[:2, n_leaves + vertex] = value
    for node in range(n_leaves - 1, 0, -1):
        tree[:2, node] = np.minimum(tree[:2, 2 * node], tree[:2, 2 * node + 1])
    return tree
