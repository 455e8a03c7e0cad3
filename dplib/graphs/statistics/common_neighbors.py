"""Common neighbours of all pairs of vertices, reduced to what the sensitivity of triangles needs.

For a pair of vertices i, j let a be the number of vertices adjacent to both and b the number adjacent to exactly one of
them (i and j left out). Toggling the edge ij changes the triangle count by a. After t other edges have been toggled it
may be up to a + floor((t + min(t, b)) / 2): for a given a only the largest b counts. The *frontier* of a graph is that
array: ``frontier[a]`` is the largest b of the pairs with a common neighbours, -1 where there is no such pair.

The work is done for a block of rows i against a block of columns j, each given with all of its neighbours, so blocks
can be tasks; frontiers of blocks merge by taking the larger entry.

Cost: one step for each path i - k - j (the sum of squared degrees for the whole graph), a few nanoseconds each, O(n +
m) memory; pairs without a common neighbour are only looked at where they could raise ``frontier[0]``.

References:
    Nissim, Raskhodnikova, Smith: Smooth sensitivity and sampling in private data analysis. STOC 2007 (full version,
    claim 3.13: a, b and the local sensitivity at distance t).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dplib.arrays import Int32Array, IntArray
from dplib.compiled import compiled
from dplib.graphs.simple_graph import SimpleGraph


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """Some vertices with all of their neighbours.

    Attributes:
        vertex: the vertices, those of the highest degree first, shape (k,).
        start: first neighbour of each, with the end appended, shape (k + 1,).
        neighbor: neighbours of the first vertex, then of the second, and so on; any vertices of the graph.
    """

    vertex: IntArray
    start: IntArray
    neighbor: IntArray

    @classmethod
    def from_edges(cls, vertex: IntArray, source: IntArray, target: IntArray) -> Self:
        """Collect the neighbours of ``vertex`` from edges that contain all of theirs (others are passed over)."""
        center, other = np.concatenate([source, target]), np.concatenate([target, source])
        n = int(max(vertex.max(initial=-1), center.max(initial=-1))) + 1
        degrees = np.bincount(center, minlength=n)
        vertex = vertex[np.argsort(-degrees[vertex], kind="stable")]
        place = np.full(n, -1, dtype=np.int64)
        place[vertex] = np.arange(len(vertex))
        held = np.flatnonzero(place[center] >= 0)
        by_place = held[np.argsort(place[center[held]], kind="stable")]
        start = np.concatenate([[0], np.cumsum(degrees[vertex])]).astype(np.int64)
        return cls(vertex, start, other[by_place])


def pair_frontier(n_vertices: int, rows: Neighborhoods, columns: Neighborhoods) -> IntArray:
    """The frontier of the pairs of one vertex of ``rows`` and another of ``columns``.

    Returns:
        Shape (largest number of common neighbours + 1,), at least one entry.
    """
    place = np.full(n_vertices, -1, dtype=np.int64)
    place[columns.vertex] = np.arange(len(columns.vertex))
    # For each middle vertex, the columns next to it, by rising place.
    middle_start = np.concatenate([[0], np.cumsum(np.bincount(columns.neighbor, minlength=n_vertices))])
    column = np.repeat(np.arange(len(columns.vertex), dtype=np.int32), np.diff(columns.start))
    reached = column[np.argsort(columns.neighbor, kind="stable")]
    most = int(min(np.diff(rows.start).max(initial=0), np.diff(columns.start).max(initial=0)))
    frontier = np.full(most + 1, -1, dtype=np.int64)
    own = place[rows.vertex]
    # A block against itself meets each pair twice; the second time is left out.
    once = rows is columns
    _fill_frontier(own, rows.start, rows.neighbor, np.diff(columns.start), place, middle_start, reached, once, frontier)
    return merge_frontiers([frontier])


def common_neighbor_frontier(graph: SimpleGraph) -> IntArray:
    """The frontier of a whole graph; see `pair_frontier`."""
    everything = Neighborhoods.from_edges(np.arange(graph.n_vertices), graph.source, graph.target)
    return pair_frontier(graph.n_vertices, everything, everything)


def merge_frontiers(frontiers: Sequence[IntArray]) -> IntArray:
    """The frontier of all pairs of several blocks; without trailing empty entries, but with at least one."""
    merged = np.full(max([1, *map(len, frontiers)]), -1, dtype=np.int64)
    for frontier in frontiers:
        np.maximum(merged[: len(frontier)], frontier, out=merged[: len(frontier)])
    return merged[: max(1, int(np.flatnonzero(merged >= 0).max(initial=0)) + 1)]


@compiled
def _fill_frontier(
    own: IntArray,
    row_start: IntArray,
    row_neighbor: IntArray,
    column_degree: IntArray,
    place: IntArray,
    middle_start: IntArray,
    reached: Int32Array,
    once: bool,
    frontier: IntArray,
) -> None:
    begin = middle_start[:-1].copy()
    common = np.zeros(len(column_degree), dtype=np.int32)
    adjacent = np.full(len(column_degree), -1, dtype=np.int32)
    touched = np.empty(len(column_degree), dtype=np.int32)
    for row in range(len(own)):
        n_touched = 0
        degree = row_start[row + 1] - row_start[row]
        for entry in range(row_start[row], row_start[row + 1]):
            middle = row_neighbor[entry]
            if place[middle] >= 0:
                adjacent[place[middle]] = row
            if once:
                # Rows come in the order of the columns: the row itself is the next column of each of its neighbours.
                begin[middle] += 1
            for path in range(begin[middle], middle_start[middle + 1]):
                column = reached[path]
                if common[column] == 0:
                    touched[n_touched] = column
                    n_touched += 1
                common[column] += 1
        first = own[row] + 1 if once else 0
        known = frontier[0]
        for column in range(first, len(column_degree)):
            # Columns come by falling degree, so the first that cannot do better ends the search.
            if degree + column_degree[column] <= known:
                break
            if common[column] == 0 and column != own[row]:
                known = max(known, degree + column_degree[column] - 2 * (adjacent[column] == row))
        frontier[0] = known
        _settle(touched[:n_touched], degree, own[row], row, column_degree, common, adjacent, frontier)


@compiled
def _settle(
    touched: Int32Array,
    degree: int,
    own: int,
    row: int,
    column_degree: IntArray,
    common: Int32Array,
    adjacent: Int32Array,
    frontier: IntArray,
) -> None:
    """Enter the row's pairs with common neighbours into the frontier, and forget them."""
    for column in touched:
        a = common[column]
        common[column] = 0
        # A vertex is no pair with itself.
        if column != own:
            differing = degree + column_degree[column] - 2 * a - 2 * (adjacent[column] == row)
            frontier[a] = max(frontier[a], differing)
