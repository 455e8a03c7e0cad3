"""Exact triangle counts: of a whole graph in one process, or of colour blocks that tasks count apart.

Whole graph. Vertices are ranked by degree and every edge points from the lower to the higher rank, so that no vertex
has more than sqrt(2m) edges going out. A triangle u < v < w is met once, at u: the masked product of sparse matrices
sum_{u,w} (A A)_{uw} A_{uw} over the oriented adjacency A, of which no entry outside the mask A is ever written down.

Colour blocks. Vertices get one of c colours by a public hash. A task is a multiset of three colours {i, j, k}; it needs
the three pieces of edges with colours ij, jk and ik, and counts the triangles whose vertices have exactly these
colours. Each triangle belongs to one task and each edge goes to c tasks, so c m edges travel and no wedges do. Each
task ranks its vertices by itself: no degrees need to be joined.

Cost: O(m^{3/2}) steps at worst, a few a wedge of the oriented graph; O(n + m) memory. With colours, C(c + 2, 3)
tasks of about 6m/c^2 edges.

References:
    Schank, Wagner: Finding, counting and listing all triangles in large graphs. WEA 2005 (algorithm "forward").
    Suri, Vassilvitskii: Counting triangles and the curse of the last reducer. WWW 2011, section 4 (partitions of the
    vertices); Park, Silvestri, Kang, Pagh: MapReduce triangle enumeration with guarantees. CIKM 2014 (each triangle in
    one task).
"""

from itertools import combinations_with_replacement

import numpy as np

from dplib.arrays import IntArray
from dplib.compiled import compiled
from dplib.graphs.mixing import vertex_colours
from dplib.graphs.simple_graph import SimpleGraph


def count_triangles(graph: SimpleGraph) -> int:
    """Count the triangles of a graph."""
    n = graph.n_vertices
    return _count(n, graph.source, graph.target, np.zeros(n, dtype=np.int64), False)


def colour_tasks(n_colours: int) -> IntArray:
    """All tasks of ``n_colours`` colours, as the numbers that `tasks_of_edges` gives; shape (C(c + 2, 3),)."""
    triples = np.array(list(combinations_with_replacement(range(n_colours), 3)), dtype=np.int64)
    return _task_number(triples, n_colours)


def tasks_of_edges(source: IntArray, target: IntArray, n_colours: int) -> IntArray:
    """The tasks that need each edge: one for each third colour, shape (m, n_colours)."""
    ends = np.stack([vertex_colours(source, n_colours), vertex_colours(target, n_colours)], axis=1)
    triples = np.empty((len(source), n_colours, 3), dtype=np.int64)
    triples[:, :, :2] = ends[:, np.newaxis]
    triples[:, :, 2] = np.arange(n_colours)
    return _task_number(np.sort(triples, axis=2), n_colours)


def split_for_tasks(source: IntArray, target: IntArray, n_colours: int) -> dict[int, IntArray]:
    """Which edges each task needs, as `tasks_of_edges` says.

    Returns:
        For each task that needs any, their positions, ascending.
    """
    one, other = vertex_colours(source, n_colours), vertex_colours(target, n_colours)
    pair = np.minimum(one, other) * n_colours + np.maximum(one, other)
    by_pair = np.argsort(pair, kind="stable")
    first = np.flatnonzero(np.diff(pair[by_pair], prepend=-1))
    tasks = tasks_of_edges(source[by_pair][first], target[by_pair][first], n_colours)
    found: dict[int, list[IntArray]] = {}
    for edges, needed in zip(np.split(by_pair, first[1:]), tasks.tolist(), strict=False):
        for task in needed:
            found.setdefault(task, []).append(edges)
    return {task: np.sort(np.concatenate(parts)) for task, parts in found.items()}


def _task_number(triples: IntArray, n_colours: int) -> IntArray:
    return np.asarray((triples[..., 0] * n_colours + triples[..., 1]) * n_colours + triples[..., 2])


def count_task_triangles(source: IntArray, target: IntArray, n_colours: int, task: int) -> int:
    """Count the triangles of one task, from the edges that `tasks_of_edges` sends to it, in any order, shape (m,).

    The sum over all tasks is the graph's count.
    """
    vertices, ends = np.unique(np.concatenate([source, target]), return_inverse=True)
    one_colour = task % n_colours == task // n_colours**2
    colours = vertex_colours(vertices, n_colours)
    return _count(len(vertices), ends[: len(source)], ends[len(source) :], colours, not one_colour)


def _count(n_vertices: int, source: IntArray, target: IntArray, colours: IntArray, mixed: bool) -> int:
    degrees = np.bincount(source, minlength=n_vertices) + np.bincount(target, minlength=n_vertices)
    by_degree = np.argsort(degrees, kind="stable")
    rank = np.empty(n_vertices, dtype=np.int64)
    rank[by_degree] = np.arange(n_vertices)
    low, high = np.minimum(rank[source], rank[target]), np.maximum(rank[source], rank[target])
    start = np.concatenate([[0], np.cumsum(np.bincount(low, minlength=n_vertices))]).astype(np.int64)
    return int(_masked_product(start, _gather(start, low, high), colours[by_degree], mixed))


@compiled
def _gather(start: IntArray, low: IntArray, high: IntArray) -> IntArray:
    """The higher ends in the order of the lower ones: the columns of the sparse rows that begin at ``start``."""
    place = start[:-1].copy()
    columns = np.empty(len(low), dtype=np.int64)
    for edge in range(len(low)):
        row = low[edge]
        columns[place[row]] = high[edge]
        place[row] += 1
    return columns


@compiled
def _masked_product(start: IntArray, columns: IntArray, colours: IntArray, mixed: bool) -> int:
    """Sum of (A A)_{uw} over the entries uw of A; with ``mixed``, without triangles of one colour."""
    total = 0
    reached = np.full(len(start) - 1, -1, dtype=np.int64)
    for u in range(len(start) - 1):
        for entry in range(start[u], start[u + 1]):
            reached[columns[entry]] = u
        for entry in range(start[u], start[u + 1]):
            v = columns[entry]
            for after in range(start[v], start[v + 1]):
                w = columns[after]
                if reached[w] == u and not (mixed and colours[u] == colours[v] and colours[v] == colours[w]):
                    total += 1
    return total
