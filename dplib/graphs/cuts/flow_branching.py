"""All cuts up to any bound by deciding vertex by vertex, with a maximum flow to tell which decisions still lead to one.

Put the vertices one after the other on either side of vertex 0's cut. Some cut agrees with the decisions so far and has
value at most ``B`` exactly if the maximum flow between the two decided sets is at most ``B``; all other branches end at
once. So every branch that goes on ends in a cut, each cut is met once, and none is missing, whatever the ratio of
``B`` to the minimum. A flow stays valid when one more vertex is decided and is only added to.

Cost: at most ``2 n`` searches for augmenting paths to an end, and the paths themselves, for a cut; O(n m) memory.
Tree packings (`dplib.graphs.cuts.tree_packing`) are much faster where they certify.

References: Vazirani, Yannakakis, "Suboptimal cuts: their enumeration, weight and number", ICALP 1992; Edmonds, Karp,
"Theoretical improvements in algorithmic efficiency for network flow problems", J. ACM 19 (1972).
"""

import numpy as np

from dplib.arrays import IntArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.cuts.cut_list import CutList, sorted_cuts
from dplib.graphs.edges import Graph, neighbor_lists
from dplib.validate import at_least, require

MAX_FLOW_ENTRIES = 20_000_000  # residual capacities held at once, 160 MB
MAX_STEPS = 2_000_000_000  # arcs looked at: several seconds

_OPEN, _HOME, _AWAY = -1, 0, 1


def branched_cuts(graph: Graph, bound: int, limit: int, most_steps: int = MAX_STEPS) -> tuple[CutList, bool]:
    """Return all cuts of value up to a bound, and whether these are all.

    Args:
        graph: any with two vertices at least whose vertices times edges are at most 10 million.
        bound: at least 0.
        limit: give up beyond this many cuts, at least 1.
        most_steps: give up after looking at this many arcs, the same number on every machine.

    Raises:
        ConfigError: the graph is too small or too large, or a number is out of range.
    """
    at_least("bound", bound, 0)
    at_least("limit", limit, 1)
    at_least("most_steps", most_steps, 1)
    n = graph.n_vertices
    require(n > 1, "graph", "have at least two vertices", n)
    require(can_branch(graph), "graph", "fit into memory once a vertex", "a larger one")
    arcs = neighbor_lists(n, graph.source, graph.target, graph.weight)
    sides, values, finished = _branch(n, *arcs, bound, limit, most_steps)
    return sorted_cuts(np.arange(n), sides, values), bool(finished)


def can_branch(graph: Graph) -> bool:
    """Return whether the residual capacities of one graph a vertex fit into memory."""
    return (graph.n_vertices + 1) * 2 * graph.n_edges <= MAX_FLOW_ENTRIES


@compiled
def _branch(
    n: int,
    first: IntArray,
    neighbor: IntArray,
    heavy: IntArray,
    edge: IntArray,
    bound: int,
    limit: int,
    most_steps: int,
) -> tuple[WordArray, IntArray, bool]:
    back = reverse_arcs(edge)
    residual = np.empty((n + 1, len(neighbor)), dtype=np.int64)
    residual[1] = heavy
    side = np.full(n, _OPEN, dtype=np.int64)
    side[0] = _HOME
    flow, tried = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    packed, values = np.zeros((64, (n + 63) // 64), dtype=np.uint64), np.zeros(64, dtype=np.int64)
    n_cuts, n_away, steps, depth = 0, 0, 0, 1
    while depth > 0:
        if depth == n or tried[depth] == 2:
            if depth == n and n_away > 0:
                if n_cuts == limit:
                    return packed[:n_cuts].copy(), values[:n_cuts].copy(), False
                packed, values = _with_cut(packed, values, n_cuts, side, flow[n])
                n_cuts += 1
            depth -= 1
            n_away -= side[depth] == _AWAY
            side[depth] = _OPEN
            continue
        side[depth] = _AWAY if tried[depth] == 0 else _HOME
        tried[depth] += 1
        n_away += side[depth] == _AWAY
        residual[depth + 1] = residual[depth]
        more, looked = 0, 0
        if n_away > 0:
            more, looked = _augment(first, neighbor, back, residual[depth + 1], side, bound + 1 - flow[depth])
        steps += looked
        if steps > most_steps:
            return packed[:n_cuts].copy(), values[:n_cuts].copy(), False
        if flow[depth] + more > bound:
            n_away -= side[depth] == _AWAY
            side[depth] = _OPEN
            continue
        depth += 1
        flow[depth] = flow[depth - 1] + more
        tried[depth] = 0
    return packed[:n_cuts].copy(), values[:n_cuts].copy(), True


@compiled
def reverse_arcs(edge: IntArray) -> IntArray:
    """The arc of the same edge in the other direction."""
    seen = np.full(len(edge) // 2, -1, dtype=np.int64)
    back = np.empty(len(edge), dtype=np.int64)
    for arc in range(len(edge)):
        other = seen[edge[arc]]
        if other < 0:
            seen[edge[arc]] = arc
        else:
            back[arc], back[other] = other, arc
    return back


@compiled
def _augment(
    first: IntArray, neighbor: IntArray, back: IntArray, residual: IntArray, side: IntArray, most: int
) -> tuple[int, int]:
    """Add flow between the decided sets until it is maximal or ``most`` was added; the flow and the arcs looked at."""
    n = len(side)
    added, looked = 0, 0
    by, queue = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    while added < most:
        end, seen = _search(first, neighbor, residual, side, by, queue)
        looked += seen
        if end < 0:
            break
        room, vertex = most - added, end
        while by[vertex] >= 0:
            room = min(room, residual[by[vertex]])
            vertex = neighbor[back[by[vertex]]]
        vertex = end
        while by[vertex] >= 0:
            residual[by[vertex]] -= room
            residual[back[by[vertex]]] += room
            vertex = neighbor[back[by[vertex]]]
        added += room
    return added, looked


@compiled
def _search(
    first: IntArray, neighbor: IntArray, residual: IntArray, side: IntArray, by: IntArray, queue: IntArray
) -> tuple[int, int]:
    """Breadth first from the far side; the vertex of the home side reached (-1 for none), and the arcs looked at.

    ``by`` is written: the arc by which each vertex was reached, -1 where the search began.
    """
    reached = np.zeros(len(side), dtype=np.bool_)
    n_queue, looked = 0, 0
    for vertex in range(len(side)):
        if side[vertex] == _AWAY:
            queue[n_queue], by[vertex], reached[vertex] = vertex, -1, True
            n_queue += 1
    head = 0
    while head < n_queue:
        vertex = queue[head]
        head += 1
        for arc in range(first[vertex], first[vertex + 1]):
            other = neighbor[arc]
            looked += 1
            if residual[arc] == 0 or reached[other]:
                continue
            by[other], reached[other] = arc, True
            if side[other] == _HOME:
                return other, looked
            queue[n_queue] = other
            n_queue += 1
    return -1, looked + len(side)


@compiled
def _with_cut(
    packed: WordArray, values: IntArray, n_cuts: int, side: IntArray, value: int
) -> tuple[WordArray, IntArray]:
    """The rows with one more cut, in arrays of twice the length where they were full."""
    if n_cuts == len(values):
        more, more_values = np.zeros((2 * n_cuts, packed.shape[1]), np.uint64), np.zeros(2 * n_cuts, np.int64)
        more[:n_cuts], more_values[:n_cuts] = packed, values
        packed, values = more, more_values
    for vertex in range(len(side)):
        if side[vertex] == _AWAY:
            packed[n_cuts, vertex >> 6] |= np.uint64(1) << np.uint64(vertex & 63)
    values[n_cuts] = value
    return packed, values
