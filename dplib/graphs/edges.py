"""Weighted graphs in one form: each pair once, ``source < target``, sorted, positive integer weights.

Parallel edges are summed; loops and edges of weight 0 are dropped, they cross no cut. No vertex, one vertex and
several components are graphs like all others. Weights are integers so that ties between cuts are ties; their total is
held below 2^53, where sums of them are exact as integers and as floats.

Notation: a cut is a boolean row over the vertices, True on one side; its one form has vertex 0 on the False side. The
value of a cut is the weight of the edges between its sides. A *label* maps vertices to the vertices of a contracted
graph.

Cost: linear (counting sort) in vertices and edges.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dplib.compiled import compiled
from dplib.validate import at_least, require

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MOST_WEIGHT = 2**53


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted graph in its one form; made by `canonical`.

    Attributes:
        n_vertices: number of vertices, at least 0; vertices are ``0 .. n_vertices - 1``.
        source: smaller end of each edge, shape (n_edges,), sorted.
        target: larger end, likewise; sorted where sources are equal.
        weight: positive integers, likewise.
    """

    n_vertices: int
    source: IntArray
    target: IntArray
    weight: IntArray

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.source)

    @cached_property
    def adjacency(self) -> "Adjacency":
        """The neighbours of each vertex."""
        return Adjacency(*adjacency_arrays(self.n_vertices, self.source, self.target, self.weight))

    @cached_property
    def degree(self) -> IntArray:
        """The weight of the edges at each vertex, shape (n_vertices,)."""
        return weighted_degrees(self.n_vertices, self.source, self.target, self.weight)

    @cached_property
    def component(self) -> IntArray:
        """The component of each vertex, numbered by smallest vertex, shape (n_vertices,)."""
        return component_labels(self.n_vertices, self.source, self.target)

    @property
    def n_components(self) -> int:
        """Number of components; 0 without vertices."""
        return int(self.component.max(initial=-1)) + 1

    def cut_value(self, side: npt.ArrayLike) -> int:
        """Return the weight of the edges between a side, shape (n_vertices,), and the rest."""
        row = np.asarray(side, dtype=np.bool_)
        require(row.shape == (self.n_vertices,), "side", "have one entry a vertex", row.shape)
        return int(self.weight[row[self.source] != row[self.target]].sum())

    def cut_values(self, sides: npt.ArrayLike) -> IntArray:
        """Return the values of many cuts, shape (n_cuts,), of rows with shape (n_cuts, n_vertices)."""
        rows = np.ascontiguousarray(sides, dtype=np.bool_)
        require(rows.ndim == 2 and rows.shape[1] == self.n_vertices, "sides", "have one column a vertex", rows.shape)
        return _cut_values(rows, self.source, self.target, self.weight)

    def contracted(self, label: IntArray, n_vertices: int) -> "Graph":
        """Return the graph with all vertices of one label made one.

        Args:
            label: shape (n_vertices,), values ``0 .. n_vertices - 1`` of the new graph.
            n_vertices: number of labels.
        """
        edges = summed_edges(n_vertices, label[self.source], label[self.target], self.weight)
        return Graph(n_vertices, *edges)

    def induced(self, vertices: IntArray) -> "Graph":
        """Return the graph on some vertices, ascending, shape (n_kept,), with the edges between them."""
        number = np.full(self.n_vertices, -1, dtype=np.int64)
        number[vertices] = np.arange(len(vertices))
        source, target = number[self.source], number[self.target]
        kept = (source >= 0) & (target >= 0)
        return Graph(len(vertices), source[kept], target[kept], self.weight[kept])


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Neighbours of all vertices; vertex ``v`` has the entries ``start[v] .. start[v + 1] - 1``, ascending.

    Attributes:
        start: shape (n_vertices + 1,).
        neighbor: shape (2 n_edges,).
        weight: shape (2 n_edges,).
    """

    start: IntArray
    neighbor: IntArray
    weight: IntArray


def canonical(
    n_vertices: int, source: npt.ArrayLike, target: npt.ArrayLike, weight: npt.ArrayLike | None = None
) -> Graph:
    """Return the graph of a list of edges in its one form.

    Args:
        n_vertices: number of vertices, at least 0.
        source: one end of each edge, shape (n_edges,), in any order; a pair may come more than once, by either end.
        target: the other end, likewise.
        weight: integers from 0, likewise; 1 each if not given.

    Raises:
        ConfigError: an end is no vertex, a weight is negative or no integer, or the total reaches 2^53.
    """
    at_least("n_vertices", n_vertices, 0)
    ends = [_integers(name, end) for name, end in (("source", source), ("target", target))]
    weights = np.ones(len(ends[0]), dtype=np.int64) if weight is None else _integers("weight", weight)
    require(len(ends[0]) == len(ends[1]) == len(weights), "edges", "have two ends and a weight each", "other lengths")
    for end in ends:
        inside = bool(((end >= 0) & (end < n_vertices)).all())
        require(inside, "edges", f"join vertices from 0 to {n_vertices - 1}", "another vertex")
    require(bool((weights >= 0).all()), "weight", "be at least 0", "a negative weight")
    require(float(weights.sum(dtype=np.float64)) < MOST_WEIGHT, "weight", "total less than 2^53", "more")
    return Graph(n_vertices, *summed_edges(n_vertices, ends[0], ends[1], weights))


def _integers(name: str, values: npt.ArrayLike) -> IntArray:
    given = np.asarray(values)
    require(given.ndim == 1, name, "have one dimension", given.ndim)
    if given.size == 0:
        return np.zeros(0, dtype=np.int64)
    require(given.dtype.kind in "biuf", name, "hold integers", given.dtype)
    if given.dtype.kind == "f":
        whole = bool((np.isfinite(given) & (np.rint(given) == given) & (np.abs(given) < MOST_WEIGHT)).all())
        require(whole, name, "hold integers below 2^53", "another number")
    elif given.dtype.kind == "u":
        require(bool((given < MOST_WEIGHT).all()), name, "hold integers below 2^53", "another number")
    return given.astype(np.int64)


@compiled
def summed_edges(
    n_vertices: int, source: IntArray, target: IntArray, weight: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return edges in their one form: ``source < target``, sorted, parallel ones summed, loops and zeros dropped."""
    n_edges = len(source)
    by_target = np.zeros(n_vertices + 1, dtype=np.int64)
    by_source = np.zeros(n_vertices + 1, dtype=np.int64)
    for edge in range(n_edges):
        low, high = min(source[edge], target[edge]), max(source[edge], target[edge])
        if low != high and weight[edge] != 0:
            by_target[high + 1] += 1
            by_source[low + 1] += 1
    for vertex in range(n_vertices):
        by_target[vertex + 1] += by_target[vertex]
        by_source[vertex + 1] += by_source[vertex]
    n_kept = by_target[n_vertices]
    half_sorted = np.empty(n_kept, dtype=np.int64)
    for edge in range(n_edges):
        high = max(source[edge], target[edge])
        if source[edge] != target[edge] and weight[edge] != 0:
            half_sorted[by_target[high]] = edge
            by_target[high] += 1
    order = np.empty(n_kept, dtype=np.int64)
    for edge in half_sorted:
        low = min(source[edge], target[edge])
        order[by_source[low]] = edge
        by_source[low] += 1
    return _merged(source, target, weight, order)


@compiled
def _merged(
    source: IntArray, target: IntArray, weight: IntArray, order: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    lows, highs, weights = np.empty_like(order), np.empty_like(order), np.empty_like(order)
    n_found = 0
    for edge in order:
        low, high = min(source[edge], target[edge]), max(source[edge], target[edge])
        if n_found > 0 and lows[n_found - 1] == low and highs[n_found - 1] == high:
            weights[n_found - 1] += weight[edge]
        else:
            lows[n_found], highs[n_found], weights[n_found] = low, high, weight[edge]
            n_found += 1
    return lows[:n_found].copy(), highs[:n_found].copy(), weights[:n_found].copy()


@compiled
def adjacency_arrays(
    n_vertices: int, source: IntArray, target: IntArray, weight: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the arrays of `Adjacency`; neighbours ascend where the edges are in their one form."""
    start = np.zeros(n_vertices + 2, dtype=np.int64)
    for edge in range(len(source)):
        start[source[edge] + 2] += 1
        start[target[edge] + 2] += 1
    for vertex in range(n_vertices + 1):
        start[vertex + 1] += start[vertex]
    neighbor = np.empty(2 * len(source), dtype=np.int64)
    weights = np.empty(2 * len(source), dtype=np.int64)
    # Smaller neighbours first: all edges by their larger end, then all by their smaller end.
    for edge in range(len(source)):
        slot = start[target[edge] + 1]
        neighbor[slot], weights[slot] = source[edge], weight[edge]
        start[target[edge] + 1] += 1
    for edge in range(len(source)):
        slot = start[source[edge] + 1]
        neighbor[slot], weights[slot] = target[edge], weight[edge]
        start[source[edge] + 1] += 1
    return start[: n_vertices + 1].copy(), neighbor, weights


@compiled
def weighted_degrees(n_vertices: int, source: IntArray, target: IntArray, weight: IntArray) -> IntArray:
    """Return the weight of the edges at each vertex, shape (n_vertices,)."""
    degree = np.zeros(n_vertices, dtype=np.int64)
    for edge in range(len(source)):
        degree[source[edge]] += weight[edge]
        degree[target[edge]] += weight[edge]
    return degree


@compiled
def find_leader(leader: IntArray, vertex: int) -> int:
    """Return the leader of a vertex's set, halving the path to it."""
    while leader[vertex] != vertex:
        leader[vertex] = leader[leader[vertex]]
        vertex = leader[vertex]
    return vertex


@compiled
def leader_labels(leader: IntArray) -> tuple[IntArray, int]:
    """Return the number of each vertex's set, sets numbered by smallest vertex, and the number of sets."""
    label = np.full(len(leader), -1, dtype=np.int64)
    n_sets = 0
    for vertex in range(len(leader)):
        top = find_leader(leader, vertex)
        if label[top] < 0:
            label[top] = n_sets
            n_sets += 1
        label[vertex] = label[top]
    return label, n_sets


@compiled
def component_labels(n_vertices: int, source: IntArray, target: IntArray) -> IntArray:
    """Return the component of each vertex, numbered by smallest vertex, shape (n_vertices,)."""
    leader = np.arange(n_vertices)
    for edge in range(len(source)):
        one, other = find_leader(leader, source[edge]), find_leader(leader, target[edge])
        leader[max(one, other)] = min(one, other)
    label, _ = leader_labels(leader)
    return label


@compiled
def _cut_values(sides: BoolArray, source: IntArray, target: IntArray, weight: IntArray) -> IntArray:
    values = np.zeros(len(sides), dtype=np.int64)
    for cut in range(len(sides)):
        for edge in range(len(source)):
            if sides[cut, source[edge]] != sides[cut, target[edge]]:
                values[cut] += weight[edge]
    return values
