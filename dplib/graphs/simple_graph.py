"""A simple undirected graph without weights, in one form that is checked once.

With weights a graph is a `dplib.graphs.edges.Graph`, of the same form.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.validate import require


@dataclass(frozen=True, eq=False)
class SimpleGraph:
    """Vertices and edges, each edge once: no loops, the smaller end first, sorted.

    Attributes:
        n_vertices: n, the declared vertices 0 .. n - 1, with or without edges.
        source: the smaller end of each edge, shape (m,), sorted by ``(source, target)``.
        target: the greater end, same shape.

    Raises:
        ConfigError: the edges are of another form. (Of edges that were read from rows none is: `from_edges` and
            `dplib.spark.graphs.edges.collect_edges` make the form.)
    """

    n_vertices: int
    source: IntArray
    target: IntArray

    def __post_init__(self) -> None:
        source, target = self.source, self.target
        require(source.ndim == 1 and source.shape == target.shape, "edges", "have two ends each", "other shapes")
        inside = bool(np.all((source >= 0) & (source < target) & (target < self.n_vertices)))
        require(inside, "edges", "have 0 <= source < target < n_vertices", "another edge")
        one, next_one = source[:-1], source[1:]
        rising = bool(np.all((one < next_one) | ((one == next_one) & (target[:-1] < target[1:]))))
        require(rising, "edges", "be sorted, each pair once", "another order")

    @classmethod
    def from_edges(cls, n_vertices: int, one: IntArray, other: IntArray) -> Self:
        """The graph with these edges, shape (m,) each end, in any order, either way round, repeated or loops."""
        apart = one != other
        low, high = (each[apart].astype(np.int64) for each in (np.minimum(one, other), np.maximum(one, other)))
        order = np.lexsort((high, low))
        low, high = low[order], high[order]
        first = np.ones(len(low), dtype=np.bool_)
        first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
        return cls(n_vertices, low[first], high[first])

    @property
    def n_edges(self) -> int:
        """M."""
        return len(self.source)

    def only(self, kept: BoolArray) -> "SimpleGraph":
        """The graph with some of the edges, shape (m,)."""
        return SimpleGraph(self.n_vertices, self.source[kept], self.target[kept])

    def degrees(self) -> IntArray:
        """The number of edges at each vertex, shape (n,)."""
        n = self.n_vertices
        return np.bincount(self.source, minlength=n) + np.bincount(self.target, minlength=n)
