"""The minimum cut by flows between neighbours, for graphs in which these are short walks: grids, tori, meshes.

Every cut separates the ends of some edge of a spanning tree. So the least of the maximum flows between the ends of the
tree's edges is the minimum cut value, and a cut that stops that flow is a minimum cut. Each flow is given up once it
reaches the least value seen. Searches for a way go out from both ends in turn, so that a flow whose ways are short
looks at few arcs, however large the graph is; a flow that ends below the least value seen looks at all that one side
can reach, but that happens at most once a value.

Cost: the arcs looked at, a few hundred a vertex on a square grid; given up beyond a limit, since on graphs without
short ways around an edge packed trees are faster (`dplib.graphs.cuts.minimum_cut`).

References: Ford, Fulkerson, "Maximal flow through a network", Canad. J. Math. 8 (1956); Pohl, "Bi-directional search",
Machine Intelligence 6 (1971). That the ends of a spanning tree's edges suffice follows from the first line.
"""

from typing import NamedTuple

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.compiled import compiled
from dplib.graphs.cuts.flow_branching import reverse_arcs
from dplib.graphs.edges import Graph, neighbor_lists


class _Arcs(NamedTuple):
    """Arcs by vertex: where those of a vertex begin, where each leads, and the arc of the same edge back."""

    first: IntArray
    neighbor: IntArray
    back: IntArray


class _Search(NamedTuple):
    """State of one search: who reached a vertex in which round, by which arc, and the queues of both ends."""

    mark: IntArray
    by: IntArray
    queue: IntArray  # shape (2, n)


def least_by_flows(graph: Graph, seen: int, most_steps: int) -> tuple[int, BoolArray, bool]:
    """Return the least cut value below ``seen`` and its side, or ``seen`` where there is none.

    Args:
        graph: connected, at least two vertices.
        seen: positive; a value that the minimum cut value does not exceed.
        most_steps: give up after about this many arcs.

    Returns:
        The value, a side of a cut of that value where it is below ``seen``, and whether the search came to its end;
        otherwise there may be smaller cuts.
    """
    first, neighbor, heavy, edge = neighbor_lists(graph.n_vertices, graph.source, graph.target, graph.weight)
    value, side, finished = _least(_Arcs(first, neighbor, reverse_arcs(edge)), heavy, seen, most_steps)
    return int(value), side, bool(finished)


@compiled
def _least(arcs: _Arcs, heavy: IntArray, best: int, most_steps: int) -> tuple[int, BoolArray, bool]:
    n = len(arcs.first) - 1
    residual = heavy.copy()
    changed = np.empty(len(heavy), dtype=np.int64)
    search = _Search(np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty((2, n), dtype=np.int64))
    side = np.zeros(n, dtype=np.bool_)
    order, parent = _spanning_tree(arcs)
    steps, turn = 0, 0
    for place in range(1, n):
        start, end = order[place], parent[order[place]]
        flow, n_changed = 0, 0
        while flow < best:
            turn += 1
            arc, loser, looked = _meet(arcs, residual, search, start, end, turn)
            steps += looked
            if steps > most_steps:
                return best, side, False
            if arc < 0:
                best = flow
                side[:] = search.mark == 2 * turn + loser
                break
            more, n_changed = _push(arcs, residual, search.by, start, end, arc, best - flow, changed, n_changed)
            flow += more
        if n_changed == len(changed):
            residual[:] = heavy
        for each in range(n_changed):
            arc = changed[each]
            residual[arc], residual[arcs.back[arc]] = heavy[arc], heavy[arcs.back[arc]]
    return best, side, True


@compiled
def _spanning_tree(arcs: _Arcs) -> tuple[IntArray, IntArray]:
    """The vertices breadth first from vertex 0, and the one from which each was reached."""
    n = len(arcs.first) - 1
    order, parent = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    parent[0], n_reached = 0, 1
    for place in range(n):
        vertex = order[place]
        for arc in range(arcs.first[vertex], arcs.first[vertex + 1]):
            other = arcs.neighbor[arc]
            if parent[other] < 0:
                parent[other], order[n_reached] = vertex, other
                n_reached += 1
    return order, parent


@compiled
def _meet(arcs: _Arcs, residual: IntArray, search: _Search, start: int, end: int, turn: int) -> tuple[int, int, int]:
    """Search from both ends: the arc where they meet (-1 for none), the end that ran out, and the arcs looked at."""
    mark, by, queue = search
    queue[0, 0], queue[1, 0] = start, end
    mark[start], mark[end] = 2 * turn, 2 * turn + 1
    head, size = np.zeros(2, dtype=np.int64), np.ones(2, dtype=np.int64)
    looked = 0
    while True:
        which = 0 if size[0] - head[0] <= size[1] - head[1] else 1
        if head[which] == size[which]:
            return -1, which, looked
        vertex = queue[which, head[which]]
        head[which] += 1
        for place in range(arcs.first[vertex], arcs.first[vertex + 1]):
            looked += 1
            arc = place if which == 0 else arcs.back[place]
            other = arcs.neighbor[place]
            if residual[arc] == 0 or mark[other] == 2 * turn + which:
                continue
            if mark[other] == 2 * turn + 1 - which:
                return arc, -1, looked
            mark[other], by[other] = 2 * turn + which, arc
            queue[which, size[which]] = other
            size[which] += 1


@compiled
def _push(
    arcs: _Arcs,
    residual: IntArray,
    by: IntArray,
    start: int,
    end: int,
    middle: int,
    most: int,
    changed: IntArray,
    n_changed: int,
) -> tuple[int, int]:
    """Send as much as fits, ``most`` at most, on the way through an arc; how much, and the arcs changed so far.

    ``changed`` is full where more were changed than it holds.
    """
    way = [middle]
    vertex = arcs.neighbor[arcs.back[middle]]
    while vertex != start:
        way.append(by[vertex])
        vertex = arcs.neighbor[arcs.back[by[vertex]]]
    vertex = arcs.neighbor[middle]
    while vertex != end:
        way.append(by[vertex])
        vertex = arcs.neighbor[by[vertex]]
    more = most
    for arc in way:
        more = min(more, residual[arc])
    for arc in way:
        residual[arc] -= more
        residual[arcs.back[arc]] += more
        if n_changed < len(changed):
            changed[n_changed] = arc
            n_changed += 1
    return more, n_changed
