"""Public random hyperplanes: near points get codes with a long common beginning.

Bit j of a point's code says on which side of hyperplane j it lies. Hyperplanes pass through a public (or noisy) middle.
Vectors are normal, rounded to integers, so that every product is exact in double precision and a row's code depends on
this row alone.

References:
    Charikar: Similarity estimation techniques from rounding algorithms. STOC 2002 (random hyperplanes).
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.code_tree import counts_by_code
from dplib.clustering.source import Keyed
from dplib.clustering.sums import sums_by_label
from dplib.compiled import compiled

_STEPS = 1 << 12  # integers to the standard deviation of a vector's coordinate


@dataclass(frozen=True)
class SimHash:
    """Hyperplanes.

    Attributes:
        vectors: integers, shape (d, n_bits).
        offsets: integers; a point x has bit j where ``x . vectors[:, j] >= offsets[j]``; shape (n_bits,).
    """

    vectors: IntArray
    offsets: IntArray

    @classmethod
    def through(cls, middle: IntArray, n_bits: int, seed: int) -> "SimHash":
        """Hyperplanes through one point, shape (d,)."""
        drawn = np.random.default_rng([seed, n_bits, len(middle)]).normal(size=(len(middle), n_bits))
        vectors = np.rint(drawn * _STEPS).astype(np.int64)
        return cls(vectors, middle @ vectors)

    def codes(self, points: IntArray) -> IntArray:
        """The code of each point, its first bit the highest, shape (n,)."""
        codes = np.empty(len(points), dtype=np.int64)
        _codes(points, self.vectors.astype(np.float64), self.offsets.astype(np.float64), codes)
        return codes


@dataclass(frozen=True)
class HashCounts:
    """Summary by code: number of points."""

    hashing: SimHash
    width = 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        return counts_by_code(self.hashing.codes(points))


@dataclass(frozen=True)
class LeafSums:
    """Summary by leaf of a code tree: sum of the points.

    Attributes:
        hashing: gives the codes.
        first_codes: smallest code of each leaf, increasing, the first 0, shape (m,).
    """

    hashing: SimHash
    first_codes: IntArray

    @property
    def width(self) -> int:
        """A sum for each coordinate."""
        return len(self.hashing.vectors)

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        leaf = np.searchsorted(self.first_codes, self.hashing.codes(points), side="right") - 1
        return np.arange(len(self.first_codes)), sums_by_label(points, leaf, len(self.first_codes))[:, 1:]


@compiled
def _codes(points: IntArray, vectors: FloatArray, offsets: FloatArray, codes: IntArray) -> None:
    n, d = points.shape
    n_bits = len(offsets)
    sides = np.empty(n_bits)
    for i in range(n):
        for j in range(n_bits):
            sides[j] = -offsets[j]
        for c in range(d):
            place = float(points[i, c])
            for j in range(n_bits):
                sides[j] += place * vectors[c, j]
        code = 0
        for j in range(n_bits):
            code = 2 * code + (1 if sides[j] >= 0 else 0)
        codes[i] = code
