"""Contraction of what no small cut separates: sparse kernels that keep every cut up to a bound.

Scan the vertices so that the next one is always most strongly attached to those before. When an edge is scanned, its
*certificate* is the weight that joins its unscanned end to the scanned vertices, itself included. The ends of an edge
are at least as well connected as its certificate says. So an edge with certificate above a bound lies in no cut of
value up to the bound and its ends may become one vertex; so may the ends of an edge that carries more than the bound
together with the paths over one common neighbour. Attachments above the bound need not be told apart: then the
vertex that comes next may be any of them, and the queue holds only the weakly attached ones.

Cost: O(m + n log n) a scan at worst, near linear where the bound is small; a few scans. The kernel keeps every cut up
to the bound with its value, and no other promise is made about its size.

References: Nagamochi, Ibaraki, "Computing edge-connectivity in multigraphs and capacitated graphs", SIAM J. Discrete
Math. 5 (1992); Nagamochi, Ono, Ibaraki, "Implementing an efficient minimum capacity cut algorithm", Math. Programming
67 (1994); Padberg, Rinaldi, "An efficient algorithm for the minimum capacity cut problem", Math. Programming 47
(1990), tests 1 and 3; Henzinger, Noe, Schulz, Strash, "Practical minimum cut algorithms", ALENEX 2018 (bounded queues).
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.compiled import compiled
from dplib.graphs.edges import (
    Graph,
    find,
    merge_edges,
    neighbor_lists,
    number_classes,
    weighted_degrees,
)
from dplib.validate import at_least

# A scan that joins fewer vertices than one in this many is the last: it costs more than it saves.
_WORTH_ANOTHER_SCAN = 64


@dataclass(frozen=True, eq=False)
class Kernel:
    """A contracted graph with the same cuts of value up to ``bound``.

    Attributes:
        graph: the contracted graph; its vertex 0 holds vertex 0.
        label: the vertex of ``graph`` that each original vertex became part of, shape (n_vertices,).
        bound: every cut of at most this value separates no original vertices of one label.
    """

    graph: Graph
    label: IntArray
    bound: int


def kernel(graph: Graph, bound: int) -> Kernel:
    """Contract the ends of edges that are certified to be connected better than ``bound``: cuts up to it are kept.

    Raises:
        ConfigError: the bound is negative.
    """
    at_least("bound", bound, 0)
    if bound >= graph.total_weight:  # nothing is connected better than that
        return Kernel(graph, np.arange(graph.n_vertices), bound)
    n, source, target, weight, label = _kernel(graph.n_vertices, graph.source, graph.target, graph.weight, bound + 1)
    return Kernel(Graph(n, source, target, weight), label, bound)


@compiled
def _kernel(
    n: int, source: IntArray, target: IntArray, weight: IntArray, strong: int
) -> tuple[int, IntArray, IntArray, IntArray, IntArray]:
    label = np.arange(n)
    start = 0
    while n > 1:
        first, neighbor, heavy, _ = neighbor_lists(n, source, target, weight)
        degree = weighted_degrees(n, source, target, weight)
        leader = np.arange(n)
        order, _, _ = scan(first, neighbor, heavy, degree, start, strong, leader)
        if 2 * number_classes(leader)[0] > n:  # a dense graph, where a scan may certify one edge only
            join_by_triangles(first, neighbor, heavy, strong, leader)
        n_joined, joined = number_classes(leader)
        start = joined[order[n - 1]]
        label = joined[label]
        source, target, weight = merge_edges(n_joined, joined[source], joined[target], weight)
        enough = (n - n_joined) * _WORTH_ANOTHER_SCAN >= n
        n = n_joined
        if not enough:
            break
    return n, source, target, weight, label


@compiled
def scan(
    first: IntArray, neighbor: IntArray, heavy: IntArray, degree: IntArray, start: int, strong: int, leader: IntArray
) -> tuple[IntArray, int, int]:
    """Scan all vertices by attachment and join the ends of edges with a certificate of at least ``strong``.

    Args:
        first: neighbours of each vertex as `neighbor_lists` gives them; so ``neighbor``, ``heavy``.
        neighbor: see ``first``.
        heavy: weights, see ``first``.
        degree: total weight at each vertex.
        start: the first vertex.
        strong: at least 1; stronger attachments are not told apart.
        leader: classes of vertices for `find`; joins are made here.

    Returns:
        The order of the vertices, the least value of a cut between a beginning of the order and the rest (the largest
        number where there is no such cut), and the length of that beginning.
    """
    n = len(degree)
    attached = np.zeros(n, dtype=np.int64)
    scanned = np.zeros(n, dtype=np.bool_)
    order, stack = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    keys, items = np.empty(len(neighbor) + 1, dtype=np.int64), np.empty(len(neighbor) + 1, dtype=np.int64)
    sizes = np.zeros(2, dtype=np.int64)  # of the stack of strongly attached vertices, of the heap of the others
    least, length, value = np.iinfo(np.int64).max, 0, 0
    vertex, fresh = start, 0
    for place in range(n):
        order[place] = vertex
        scanned[vertex] = True
        value += degree[vertex] - 2 * attached[vertex]
        if value < least and place < n - 1:
            least, length = value, place + 1
        root = find(leader, vertex)
        for arc in range(first[vertex], first[vertex + 1]):
            other = neighbor[arc]
            if scanned[other]:
                continue
            attached[other] += heavy[arc]
            if attached[other] < strong:
                sizes[1] = push(keys, items, sizes[1], attached[other], other)
            else:
                root = join(leader, root, other)
                if attached[other] - heavy[arc] < strong:
                    stack[sizes[0]] = other
                    sizes[0] += 1
        while sizes[1] > 0 and (scanned[items[0]] or keys[0] != attached[items[0]]):
            sizes[1] = pop(keys, items, sizes[1])
        if sizes[0] > 0:
            sizes[0] -= 1
            vertex = stack[sizes[0]]
        elif sizes[1] > 0:
            vertex = items[0]
        else:
            fresh = _unscanned(scanned, fresh)  # in another component
            vertex = fresh
    return order, least, length


@compiled
def _unscanned(scanned: BoolArray, vertex: int) -> int:
    """The first vertex from a given one on that is not scanned; the number of vertices at the end."""
    while vertex < len(scanned) and scanned[vertex]:
        vertex += 1
    return vertex


@compiled
def join_by_triangles(first: IntArray, neighbor: IntArray, heavy: IntArray, strong: int, leader: IntArray) -> None:
    """Join the ends of some edges that carry ``strong`` together with the paths over one common neighbour.

    Every vertex's neighbours are gone through twice at most, so that the time is linear.
    """
    n = len(first) - 1
    spent = np.zeros(n, dtype=np.bool_)
    near = np.zeros(n, dtype=np.int64)
    for vertex in range(n):
        if spent[vertex]:
            continue
        spent[vertex] = True
        for arc in range(first[vertex], first[vertex + 1]):
            near[neighbor[arc]] = heavy[arc]
        for arc in range(first[vertex], first[vertex + 1]):
            other = neighbor[arc]
            if spent[other]:
                continue
            spent[other] = True
            flow = heavy[arc]
            for beyond in range(first[other], first[other + 1]):
                flow += min(near[neighbor[beyond]], heavy[beyond])
            if flow >= strong:
                join(leader, vertex, other)
        for arc in range(first[vertex], first[vertex + 1]):
            near[neighbor[arc]] = 0


@compiled
def join(leader: IntArray, one: int, other: int) -> int:
    """Make the classes of two vertices one; the smaller leader leads and is returned."""
    first, second = find(leader, one), find(leader, other)
    if first < second:
        leader[second] = first
        return first
    leader[first] = second
    return second


@compiled
def push(keys: IntArray, items: IntArray, size: int, key: int, item: int) -> int:
    """Add to a heap with the greatest key on top; its new size."""
    place = size
    while place > 0 and keys[(place - 1) >> 1] < key:
        keys[place], items[place] = keys[(place - 1) >> 1], items[(place - 1) >> 1]
        place = (place - 1) >> 1
    keys[place], items[place] = key, item
    return size + 1


@compiled
def pop(keys: IntArray, items: IntArray, size: int) -> int:
    """Remove the top of a heap; its new size."""
    size -= 1
    key, item = keys[size], items[size]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[place], items[place] = keys[child], items[child]
        place = child
    keys[place], items[place] = key, item
    return size
