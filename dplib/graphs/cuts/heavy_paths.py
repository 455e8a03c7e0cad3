"""Spanning trees cut into heavy paths, so that the way between any two vertices is a few ranges of positions.

Root the tree at vertex 0 and number the vertices in preorder, the child with the largest subtree first. Then every
subtree is a range ``p .. end[p] - 1``, and so is every *path* of such children, which begins at its ``head``. A way up
leaves at most log2 n paths, since the subtree doubles at least at each.

Cost: O(n + m) a tree.

Notation: ``position`` is the place in this preorder; ``above[p]`` is the position of the parent, -1 at the root. An
edge of the tree is named by the position of its lower end.

References: Sleator, Tarjan, "A data structure for dynamic trees", J. Computer and System Sciences 26 (1983), section 5
(heavy paths).
"""

from typing import NamedTuple

import numpy as np

from dplib.arrays import Int32Array, IntArray
from dplib.compiled import compiled
from dplib.graphs.edges import Graph, neighbor_lists


class HeavyPaths(NamedTuple):
    """A rooted tree of a graph; neighbours in the graph are positions.

    Attributes:
        order: the vertex at each position, shape (n,).
        end: one past the subtree of each position, shape (n,).
        above: the parent's position, shape (n,).
        head: where the path of each position begins, shape (n,).
        first: neighbours of position p stand at ``first[p] .. first[p + 1] - 1``, shape (n + 1,).
        neighbor: their positions, shape (2 n_edges,).
        heavy: the edges' weights, same shape.
        single: the value of the cut around each subtree, shape (n,); 0 at the root.
    """

    order: IntArray
    end: IntArray
    above: IntArray
    head: IntArray
    first: IntArray
    neighbor: IntArray
    heavy: IntArray
    single: IntArray


def heavy_paths(graph: Graph, tree: IntArray | Int32Array) -> HeavyPaths:
    """Return the heavy paths of a spanning tree of a connected graph, given by its edges, shape (n_vertices - 1,)."""
    n = graph.n_vertices
    order, end, above, head = _decompose(n, graph.source[tree], graph.target[tree])
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    first, neighbor, heavy, _ = neighbor_lists(n, position[graph.source], position[graph.target], graph.weight)
    single = _single_values(end, above, head, first, neighbor, heavy)
    return HeavyPaths(order, end, above, head, first, neighbor, heavy, single)


@compiled
def _decompose(n: int, source: IntArray, target: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The vertices in preorder, larger subtrees first, with the end, the parent and the head of each position."""
    first, neighbor, _, _ = neighbor_lists(n, source, target, source)
    reached, parent = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    reached[0], n_reached = 0, 1
    for place in range(n):
        vertex = reached[place]
        for arc in range(first[vertex], first[vertex + 1]):
            if neighbor[arc] != parent[vertex]:
                parent[neighbor[arc]] = vertex
                reached[n_reached] = neighbor[arc]
                n_reached += 1
    size = np.ones(n, dtype=np.int64)
    for place in range(n - 1, 0, -1):
        size[parent[reached[place]]] += size[reached[place]]
    return _placed(first, neighbor, reached, parent, size)


@compiled
def _placed(
    first: IntArray, neighbor: IntArray, reached: IntArray, parent: IntArray, size: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    n = len(size)
    order, end, above = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    head, at = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for place in range(n):  # parents come before their children
        vertex = reached[place]
        here = at[vertex]
        order[here], end[here] = vertex, here + size[vertex]
        largest = -1
        for arc in range(first[vertex], first[vertex + 1]):
            child = neighbor[arc]
            if child != parent[vertex] and (largest < 0 or size[child] > size[largest]):
                largest = child
        if largest < 0:
            continue
        at[largest], head[here + 1], above[here + 1] = here + 1, head[here], here
        free = here + 1 + size[largest]
        for arc in range(first[vertex], first[vertex + 1]):
            child = neighbor[arc]
            if child != parent[vertex] and child != largest:
                at[child], head[free], above[free] = free, free, here
                free += size[child]
    return order, end, above, head


@compiled
def _single_values(
    end: IntArray, above: IntArray, head: IntArray, first: IntArray, neighbor: IntArray, heavy: IntArray
) -> IntArray:
    """The value of the cut around each subtree: weight at its vertices less twice what lies within."""
    n = len(end)
    values = np.zeros(n, dtype=np.int64)
    for position in range(n):
        for arc in range(first[position], first[position + 1]):
            values[position] += heavy[arc]
            if neighbor[arc] < position:
                one, other = position, neighbor[arc]
                while head[one] != head[other]:
                    # The path that begins later does not hold the meeting point.
                    if head[one] > head[other]:
                        one = above[head[one]]
                    else:
                        other = above[head[other]]
                values[min(one, other)] -= 2 * heavy[arc]
    for position in range(n - 1, 0, -1):
        values[above[position]] += values[position]
    return values
