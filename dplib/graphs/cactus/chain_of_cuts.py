"""All minimum cuts that separate two neighbouring vertices: they form a chain.

Two minimum cuts that cross have no edge between opposite corners. Cuts that separate the ends of one edge would have
these ends in opposite corners if they crossed; so they are nested: ``V_1 < V_1 + V_2 < ...`` for parts ``V_1`` (with
one end) to ``V_r`` (with the other). A maximum flow shows them: they are the sets that no residual arc leaves, and
the parts are strongly connected components of the residual graph.

Cost: a maximum flow that is given up beyond the minimum cut value (Dinic), then linear.

References: Karzanov, Timofeev, "Efficient algorithm for finding all minimal edge cuts of a nonoriented graph", 1986;
Picard, Queyranne, "On the structure of all minimum cuts in a network", 1980; Dinic 1970; Tarjan 1972.
"""

import numpy as np

from dplib.arrays import IntArray
from dplib.compiled import compiled


@compiled
def chain_parts(
    n: int, source: IntArray, target: IntArray, weight: IntArray, start: int, end: int, value: int
) -> tuple[int, IntArray]:
    """Return the maximum flow between two neighbours and the part of each vertex.

    Args:
        n: number of vertices.
        source: one end of each edge, shape (n_edges,).
        target: the other end, same shape.
        weight: positive integers, same shape.
        start: a vertex.
        end: a vertex that shares an edge with it.
        value: the minimum cut value of the graph.

    Returns:
        The flow, ``value + 1`` for any above ``value``; and, for a flow of ``value``, the number of each vertex's part,
        0 with ``start`` to the largest with ``end``, shape (n,).
    """
    first, arcs, heads = _arcs(n, source, target)
    left = np.repeat(weight, 2)  # arc 2 e runs from source[e] to target[e], arc 2 e + 1 back
    level = np.empty(n, dtype=np.int64)
    flow = 0
    while flow <= value and _levels(first, arcs, heads, left, level, start, end):
        flow += _blocking_flow(first, arcs, heads, left, level, start, end, value + 1 - flow)
    part = np.full(n, -1, dtype=np.int64)
    if flow != value:
        return min(flow, value + 1), part
    for vertex in range(n):  # the last search did not reach the end
        if level[vertex] >= 0:
            part[vertex] = 0
    _reach_back(first, arcs, heads, left, part, end)
    n_parts = _components(first, arcs, heads, left, part)
    for vertex in range(n):
        if part[vertex] == -2:
            part[vertex] = n_parts
    return flow, part


@compiled
def _arcs(n: int, source: IntArray, target: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Outgoing arcs of each vertex: ``arcs[first[v] : first[v + 1]]``, and the head of each arc."""
    heads = np.empty(2 * len(source), dtype=np.int64)
    first = np.zeros(n + 1, dtype=np.int64)
    for edge in range(len(source)):
        heads[2 * edge], heads[2 * edge + 1] = target[edge], source[edge]
        first[source[edge] + 1] += 1
        first[target[edge] + 1] += 1
    first = np.cumsum(first)
    place = first[:-1].copy()
    arcs = np.empty(2 * len(source), dtype=np.int64)
    for arc in range(len(arcs)):
        tail = heads[arc ^ 1]
        arcs[place[tail]] = arc
        place[tail] += 1
    return first, arcs, heads


@compiled
def _levels(
    first: IntArray, arcs: IntArray, heads: IntArray, left: IntArray, level: IntArray, start: int, end: int
) -> bool:
    """Breadth-first distances from ``start`` in the residual graph; whether ``end`` was reached."""
    level[:] = -1
    level[start] = 0
    queue = np.empty(len(level), dtype=np.int64)
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        vertex = queue[head]
        head += 1
        for at in range(first[vertex], first[vertex + 1]):
            other = heads[arcs[at]]
            if left[arcs[at]] > 0 and level[other] < 0:
                level[other] = level[vertex] + 1
                queue[tail] = other
                tail += 1
    return bool(level[end] >= 0)


@compiled
def _blocking_flow(
    first: IntArray,
    arcs: IntArray,
    heads: IntArray,
    left: IntArray,
    level: IntArray,
    start: int,
    end: int,
    most: int,
) -> int:
    """Push up to ``most`` along shortest paths until none is left; the amount pushed."""
    place = first[:-1].copy()
    path = np.empty(len(level), dtype=np.int64)
    length, vertex, pushed = 0, start, 0
    while True:
        if vertex == end:
            amount = most - pushed
            for at in range(length):
                amount = min(amount, left[path[at]])
            for at in range(length):
                left[path[at]] -= amount
                left[path[at] ^ 1] += amount
            pushed += amount
            if pushed == most:
                return pushed
            length, vertex = 0, start
            continue
        moved = False
        while place[vertex] < first[vertex + 1]:
            arc = arcs[place[vertex]]
            if left[arc] > 0 and level[heads[arc]] == level[vertex] + 1:
                path[length] = arc
                length += 1
                vertex = heads[arc]
                moved = True
                break
            place[vertex] += 1
        if not moved:
            if length == 0:
                return pushed
            length -= 1
            vertex = heads[path[length] ^ 1]
            place[vertex] += 1


@compiled
def _reach_back(first: IntArray, arcs: IntArray, heads: IntArray, left: IntArray, part: IntArray, end: int) -> None:
    """Mark by -2 the vertices from which the residual graph leads to ``end``."""
    stack = [end]
    part[end] = -2
    while stack:
        vertex = stack.pop()
        for at in range(first[vertex], first[vertex + 1]):
            other = heads[arcs[at]]
            if left[arcs[at] ^ 1] > 0 and part[other] == -1:
                part[other] = -2
                stack.append(other)


@compiled
def _components(first: IntArray, arcs: IntArray, heads: IntArray, left: IntArray, part: IntArray) -> int:
    """Number the strongly connected components of the vertices still at -1, sinks first, from 1; the next number.

    The closed sets being nested, that order is the only one.
    """
    n = len(part)
    index = np.full(n, -1, dtype=np.int64)
    low = np.zeros(n, dtype=np.int64)
    place = first[:-1].copy()
    waiting, path = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    n_waiting, counter, number = 0, 0, 1
    for root in range(n):
        if part[root] != -1:
            continue
        path[0], depth = root, 1
        while depth > 0:
            vertex = path[depth - 1]
            if index[vertex] < 0:
                index[vertex] = low[vertex] = counter
                counter += 1
                waiting[n_waiting] = vertex
                n_waiting += 1
            onward = -1
            while place[vertex] < first[vertex + 1] and onward < 0:
                arc = arcs[place[vertex]]
                other = heads[arc]
                if left[arc] > 0 and part[other] == -1:
                    if index[other] < 0:
                        onward = other
                        break
                    low[vertex] = min(low[vertex], low[other])
                place[vertex] += 1
            if onward >= 0:
                path[depth] = onward
                depth += 1
                continue
            if low[vertex] == index[vertex]:
                n_waiting = _name(waiting, n_waiting, vertex, part, number)
                number += 1
            depth -= 1
    return number


@compiled
def _name(waiting: IntArray, n_waiting: int, root: int, part: IntArray, number: int) -> int:
    """Give a number to the vertices that wait from ``root`` on; how many wait still."""
    while True:
        n_waiting -= 1
        part[waiting[n_waiting]] = number
        if waiting[n_waiting] == root:
            return n_waiting
