"""A small private graph as the cut sampler asks for it, by enumeration of all cuts."""

from fractions import Fraction

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.mechanisms.cuts.cut_draws import ListedCuts
from tests.support.cut_mechanism_laws import all_cuts, all_sides


class DensePaddedGraph:
    """All cuts of a graph with given weights of all pairs; the cycle is laid by hand, edge after edge.

    Attributes:
        bounds: what `cuts_up_to` was asked for.
    """

    def __init__(self, n_vertices: int, pair_weights: IntArray, order: IntArray | None = None) -> None:
        self.n_vertices = n_vertices
        self.sides = all_sides(n_vertices)
        self.cuts = all_cuts(n_vertices, pair_weights)
        self.order = np.arange(len(self.cuts)) if order is None else order
        self.bounds: list[int] = []

    def _padded(self, padding: int) -> IntArray:
        cuts = self.cuts.copy()
        for edge in range(padding):
            u, v = edge % self.n_vertices, (edge + 1) % self.n_vertices
            cuts += self.sides[:, u] ^ self.sides[:, v]
        return cuts

    def minimum_cut(self, padding: int, /) -> int:
        return int(self._padded(padding).min())

    def cuts_up_to(self, padding: int, bound: int, rate: Fraction, /) -> ListedCuts | None:
        self.bounds.append(bound)
        cuts = self._padded(padding)[self.order]
        near = cuts <= bound
        words = self.sides[self.order][near] @ (1 << np.arange(self.n_vertices))
        return ListedCuts(cuts[near], words.astype(np.uint64)[:, None], rate)

    def weight(self, padding: int, side: BoolArray, /) -> int:
        canonical = side ^ side[0]
        return int(self._padded(padding)[np.flatnonzero((self.sides == canonical).all(axis=1))[0]])
