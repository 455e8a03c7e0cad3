"""Weighted graphs in one canonical form, their components and cuts.

A graph is its number of vertices and sorted arrays of edges, each pair once with a positive integer weight. Loops and
weights of 0 change no cut and are dropped; edges side by side are one edge with their total weight. A *cut* is given
by one of its sides. In canonical form that is the side without vertex 0, packed into words: vertex ``v`` is bit
``v % 64`` of word ``v // 64``, so that two cuts are equal exactly if their words are.

Cost: the canonical form takes two counting sorts, linear in vertices and edges.

Notation: ``side`` is a boolean array over the vertices; ``sides`` a boolean matrix, one row a cut.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, IntArray, WordArray
from dplib.compiled import compiled
from dplib.errors import ConfigError
from dplib.validate import require

MAX_VERTICES = 2**31 - 1
MAX_TOTAL_WEIGHT = 2**60  # sums of a few cut values stay within 64 bits


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with positive integer weights; make one by `canonical`.

    Attributes:
        n_vertices: the vertices are ``0 .. n_vertices - 1``, with or without edges.
        source: the smaller end of each edge, shape (n_edges,), sorted by ``(source, target)``.
        target: the greater end, same shape.
        weight: positive, same shape; the total is below 2^60.
    """

    n_vertices: int
    source: IntArray
    target: IntArray
    weight: IntArray

    @property
    def n_edges(self) -> int:
        """Number of pairs of vertices with an edge."""
        return len(self.source)

    @property
    def total_weight(self) -> int:
        """The sum of all weights."""
        return int(self.weight.sum())

    def degrees(self) -> IntArray:
        """Return the total weight at each vertex, shape (n_vertices,)."""
        return weighted_degrees(self.n_vertices, self.source, self.target, self.weight)


def canonical(
    n_vertices: int, source: npt.ArrayLike, target: npt.ArrayLike, weight: npt.ArrayLike | None = None
) -> Graph:
    """Return the canonical graph of any list of edges.

    Args:
        n_vertices: number of vertices, at least 0.
        source: one end of each edge, shape (n,), whole numbers from 0 to ``n_vertices - 1``.
        target: the other end, same shape.
        weight: whole numbers from 0 on, same shape; 1 each by default.

    Raises:
        ConfigError: an array has another shape or type, an end is no vertex, a weight is negative or the total is
            2^60 or more.
    """
    require(0 <= n_vertices <= MAX_VERTICES, "n_vertices", f"lie from 0 to {MAX_VERTICES}", n_vertices)
    one, other = _whole("source", source), _whole("target", target)
    heavy = np.ones(len(one), dtype=np.int64) if weight is None else _whole("weight", weight)
    require(len(one) == len(other) == len(heavy), "edges", "have two ends and one weight each", "other lengths")
    for name, ends in (("source", one), ("target", other)):
        inside = len(ends) == 0 or (int(ends.min()) >= 0 and int(ends.max()) < n_vertices)
        require(inside, name, f"hold vertices from 0 to {n_vertices - 1}", "another one")
    require(len(heavy) == 0 or int(heavy.min()) >= 0, "weight", "be at least 0", "a negative one")
    # The sum in floating point is off by far less than the factor to where 64 bits end.
    require(float(heavy.sum(dtype=np.float64)) < MAX_TOTAL_WEIGHT, "weight", "add up to less than 2^60", "more")
    return Graph(n_vertices, *merge_edges(n_vertices, one, other, heavy))


def components(graph: Graph) -> tuple[int, IntArray]:
    """Return the number of connected components and each vertex's, shape (n_vertices,), numbered by first vertex."""
    n_components, label = connected_labels(graph.n_vertices, graph.source, graph.target)
    return int(n_components), label


def induced(graph: Graph, inside: npt.ArrayLike) -> tuple[Graph, IntArray]:
    """Return the graph on some vertices alone, True in ``inside``, shape (n_vertices,), and these, ascending."""
    kept = _side(graph, inside)
    vertices = np.flatnonzero(kept)
    name = np.cumsum(kept) - 1
    edges = kept[graph.source] & kept[graph.target]
    ends = name[graph.source[edges]], name[graph.target[edges]]
    return Graph(len(vertices), *ends, graph.weight[edges]), vertices


def cut_value(graph: Graph, side: npt.ArrayLike) -> int:
    """Return the total weight of the edges with one end on either side; ``side`` of shape (n_vertices,).

    Raises:
        ConfigError: ``side`` has another shape.
    """
    inside = _side(graph, side)
    return int(graph.weight[inside[graph.source] != inside[graph.target]].sum())


def cut_values(graph: Graph, packed: WordArray) -> IntArray:
    """Return the value of each cut, shape (n_cuts,), of sides as `pack_sides` makes them, shape (n_cuts, n_words)."""
    return _cut_values(graph.source, graph.target, graph.weight, packed)


def word_count(n_vertices: int) -> int:
    """Return how many words hold the side of a cut."""
    return -(-n_vertices // 64)


def pack_sides(sides: npt.ArrayLike) -> WordArray:
    """Return cuts, True on either side, (n_cuts, n_vertices), as words of sides without vertex 0, (n_cuts, n_words)."""
    given = np.asarray(sides, dtype=np.bool_)
    require(given.ndim == 2, "sides", "be a matrix with one row a cut", given.shape)
    padded = np.zeros((len(given), 64 * word_count(given.shape[1])), dtype=np.bool_)
    padded[:, : given.shape[1]] = given ^ given[:, :1]
    octets = np.packbits(padded, axis=1, bitorder="little")
    return octets.view("<u8").astype(np.uint64)


def unpack_sides(packed: WordArray, n_vertices: int) -> BoolArray:
    """Return the boolean matrix, shape (n_cuts, n_vertices), of packed sides; the inverse of `pack_sides`."""
    octets = np.ascontiguousarray(packed).astype("<u8").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=n_vertices, bitorder="little")
    return bits.astype(np.bool_)


def _whole(name: str, values: npt.ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    fits = array.ndim == 1 and array.dtype.kind in "iu" and np.can_cast(array.dtype, np.int64)
    if not fits:
        raise ConfigError(
            name, "be one row of whole numbers of at most 64 bits", f"{array.dtype} of shape {array.shape}"
        )
    # Compiled code is made for each kind of array.
    return np.require(array, np.int64, ["C", "W"])


def _side(graph: Graph, side: npt.ArrayLike) -> BoolArray:
    inside = np.asarray(side, dtype=np.bool_)
    require(inside.shape == (graph.n_vertices,), "side", "have one entry a vertex", f"shape {inside.shape}")
    return inside


@compiled
def weighted_degrees(n: int, source: IntArray, target: IntArray, weight: IntArray) -> IntArray:
    """Total weight at each of ``n`` vertices."""
    degree = np.zeros(n, dtype=np.int64)
    for edge in range(len(source)):
        degree[source[edge]] += weight[edge]
        degree[target[edge]] += weight[edge]
    return degree


@compiled
def merge_edges(n: int, source: IntArray, target: IntArray, weight: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Edges with ends in order, sorted, each pair once, without loops and weights of 0."""
    by_target = np.zeros(n + 1, dtype=np.int64)
    by_source = np.zeros(n + 1, dtype=np.int64)
    n_kept = 0
    for edge in range(len(source)):
        if source[edge] != target[edge] and weight[edge] > 0:
            by_target[max(source[edge], target[edge]) + 1] += 1
            by_source[min(source[edge], target[edge]) + 1] += 1
            n_kept += 1
    for vertex in range(n):
        by_target[vertex + 1] += by_target[vertex]
        by_source[vertex + 1] += by_source[vertex]
    order = np.empty(n_kept, dtype=np.int64)
    for edge in range(len(source)):
        if source[edge] != target[edge] and weight[edge] > 0:
            high = max(source[edge], target[edge])
            order[by_target[high]] = edge
            by_target[high] += 1
    low_end, high_end, total = np.empty(n_kept, np.int64), np.empty(n_kept, np.int64), np.empty(n_kept, np.int64)
    for rank in range(n_kept):
        edge = order[rank]
        low = min(source[edge], target[edge])
        place = by_source[low]
        by_source[low] += 1
        low_end[place], high_end[place], total[place] = low, max(source[edge], target[edge]), weight[edge]
    last = -1
    for place in range(n_kept):
        if last >= 0 and low_end[last] == low_end[place] and high_end[last] == high_end[place]:
            total[last] += total[place]
        else:
            last += 1
            low_end[last], high_end[last], total[last] = low_end[place], high_end[place], total[place]
    return low_end[: last + 1].copy(), high_end[: last + 1].copy(), total[: last + 1].copy()


@compiled
def neighbor_lists(
    n: int, source: IntArray, target: IntArray, weight: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The neighbours of vertex ``v``, ascending, at places ``first[v] .. first[v + 1] - 1`` of the other arrays.

    Returns:
        first, shape (n + 1,); neighbours, weights and numbers of the edges, shape (2 n_edges,) each.
    """
    first = np.zeros(n + 2, dtype=np.int64)
    for edge in range(len(source)):
        first[source[edge] + 2] += 1
        first[target[edge] + 2] += 1
    for vertex in range(n):
        first[vertex + 2] += first[vertex + 1]
    neighbor = np.empty(2 * len(source), dtype=np.int64)
    heavy, number = np.empty_like(neighbor), np.empty_like(neighbor)
    # Sorted edges: all smaller neighbours of a vertex come, ascending, before its greater ones.
    for edge in range(len(source)):
        place = first[target[edge] + 1]
        neighbor[place], heavy[place], number[place] = source[edge], weight[edge], edge
        first[target[edge] + 1] += 1
    for edge in range(len(source)):
        place = first[source[edge] + 1]
        neighbor[place], heavy[place], number[place] = target[edge], weight[edge], edge
        first[source[edge] + 1] += 1
    return first[: n + 1].copy(), neighbor, heavy, number


@compiled
def find(leader: IntArray, vertex: int) -> int:
    """The leader of a vertex's class; halves the path on the way."""
    while leader[vertex] != vertex:
        leader[vertex] = leader[leader[vertex]]
        vertex = leader[vertex]
    return vertex


@compiled
def number_classes(leader: IntArray) -> tuple[int, IntArray]:
    """The number of classes and each vertex's, numbered by first vertex."""
    label = np.full(len(leader), -1, dtype=np.int64)
    name = np.full(len(leader), -1, dtype=np.int64)
    n_classes = 0
    for vertex in range(len(leader)):
        root = find(leader, vertex)
        if name[root] < 0:
            name[root] = n_classes
            n_classes += 1
        label[vertex] = name[root]
    return n_classes, label


@compiled
def connected_labels(n: int, source: IntArray, target: IntArray) -> tuple[int, IntArray]:
    """The connected components, numbered by first vertex."""
    leader = np.arange(n)
    for edge in range(len(source)):
        one, other = find(leader, source[edge]), find(leader, target[edge])
        leader[max(one, other)] = min(one, other)
    return number_classes(leader)


@compiled
def _cut_values(source: IntArray, target: IntArray, weight: IntArray, packed: WordArray) -> IntArray:
    values = np.zeros(len(packed), dtype=np.int64)
    for cut in range(len(packed)):
        side = packed[cut]
        for edge in range(len(source)):
            one, other = source[edge], target[edge]
            if ((side[one >> 6] >> np.uint64(one & 63)) ^ (side[other >> 6] >> np.uint64(other & 63))) & np.uint64(1):
                values[cut] += weight[edge]
    return values
