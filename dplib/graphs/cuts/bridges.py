"""The bridges of a graph: the edges whose removal separates their ends.

Cost: one depth-first search, without recursion.

References: Tarjan, "A note on finding the bridges of a graph", 1974.
"""

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.compiled import compiled
from dplib.graphs.edges import neighbor_lists


@compiled
def bridges(n: int, source: IntArray, target: IntArray) -> BoolArray:
    """Return which edges of a graph, connected or not, are bridges, shape (n_edges,); edges side by side are none."""
    first, _, _, touching = neighbor_lists(n, source, target, np.ones(len(source), dtype=np.int64))
    place = first[:-1].copy()
    found = np.zeros(len(source), dtype=np.bool_)
    index, low = np.full(n, -1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    path, above = np.empty(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    counter = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        path[0], depth = root, 1
        index[root] = low[root] = counter
        counter += 1
        while depth > 0:
            vertex = path[depth - 1]
            if place[vertex] == first[vertex + 1]:
                depth -= 1
                if depth > 0:
                    parent = path[depth - 1]
                    low[parent] = min(low[parent], low[vertex])
                    found[above[vertex]] = low[vertex] > index[parent]
                continue
            edge = touching[place[vertex]]
            place[vertex] += 1
            other = source[edge] + target[edge] - vertex
            if index[other] < 0:
                above[other], path[depth] = edge, other
                index[other] = low[other] = counter
                counter += 1
                depth += 1
            elif edge != above[vertex]:
                low[vertex] = min(low[vertex], index[other])
    return found
