"""Contraction of what no small cut separates: sparse kernels that keep every cut up to a bound.

Scan the vertices so that the next one is always most strongly attached to those before. When an edge is scanned, its
*certificate* is the weight that joins its unscanned end to the scanned vertices, itself included. The ends of an edge
are at least as well connected as its certificate says. So an edge with certificate above a bound lies in no cut of
value up to the bound and its ends may become one vertex. Attachments above the bound need not be told apart: then the
vertex that comes next may be any of them, and the queue holds only the weakly attached ones.

Cost: O(m + n log n) a scan at worst, near linear where the bound is small; a few scans. The kernel keeps every cut up
to the bound with its value, and no other promise is made about its size.

References: Nagamochi, Ibaraki, "Computing edge-connectivity in multigraphs and capacitated graphs", SIAM J. Discrete
Math. 5 (1992); Nagamochi, Ono, Ibaraki, "Implementing an efficient minimum capacity cut algorithm", Math. Programming
67 (1994); Henzinger, Noe, Schulz, Strash, "Practical minimum cut algorithms", ALENEX 2018 (bounded queues).
"""

from dataclasses import dataclass

import numpy as np

from dplib.compiled import compiled
from dplib.graphs.edges import Graph, IntArray, find, merge_edges, neighbor_lists, number_classes, weighted_degrees
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
    """Contract the ends of edges that are certified to be connected better than ``bound``.

    Args:
        graph: any, connected or not.
        bound: at least 0; cuts of at most this value are kept.

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
        order, _, _ = scan(first, neighbor, heavy, degree, start % n, strong, leader)
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
    order = np.empty(n, dtype=np.int64)
    stack = np.empty(n, dtype=np.int64)
    keys, items = np.empty(len(neighbor) + 1, dtype=np.int64), np.empty(len(neighbor) + 1, dtype=np.int64)
    n_stack, n_heap, fresh = 0, 0, 0
    least, length, value = np.iinfo(np.int64).max, 0, 0
    vertex = start
    for place in range(n):
        order[place] = vertex
        scanned[vertex] = True
        value += degree[vertex] - 2 * attached[vertex]
        if value < least and place < n - 1:
            least, length = value, place + 1
        for arc in range(first[vertex], first[vertex + 1]):
            other = neighbor[arc]
            if scanned[other]:
                continue
            before = attached[other]
            attached[other] = before + heavy[arc]
            if attached[other] >= strong:
                one, two = find(leader, vertex), find(leader, other)
                leader[max(one, two)] = min(one, two)
                if before < strong:
                    stack[n_stack] = other
                    n_stack += 1
            else:
                n_heap = push(keys, items, n_heap, attached[other], other)
        if n_stack > 0:
            n_stack -= 1
            vertex = stack[n_stack]
            continue
        while n_heap > 0 and (scanned[items[0]] or keys[0] != attached[items[0]]):
            n_heap = pop(keys, items, n_heap)
        if n_heap > 0:
            vertex = items[0]
            continue
        while fresh < n and scanned[fresh]:  # another component, or the end
            fresh += 1
        vertex = fresh
    return order, least, length


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
