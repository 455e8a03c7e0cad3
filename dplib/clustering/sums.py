"""Counts, sums and assignments of points to centers: exact in integers, one pass each.

Distances are compared as ``|c|^2 - 2 x . c``. Points and centers are integers of at most 2^17 a coordinate, so with at
most 2^12 coordinates every product and partial sum is an integer below 2^53: double precision computes it exactly, in
any order, and ties go to the first center. A row's assignment therefore depends on this row alone, which is what
disjoint clusters and their parallel noise rest on.

Cost: n k d multiplications.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.source import Keyed
from dplib.clustering.space import UNITS
from dplib.compiled import compiled


@dataclass(frozen=True)
class PointCount:
    """Summary under key 0: number of points."""

    width = 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        return np.zeros(1, dtype=np.int64), np.array([[len(points)]], dtype=np.int64)


@dataclass(frozen=True)
class Moments:
    """Summary under key 0: number of points, sum of their squared lengths in steps of `UNITS`, and their sum."""

    dimension: int

    @property
    def width(self) -> int:
        """One count, one sum of squares, d sums."""
        return 2 + self.dimension

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        # Steps, rounded down row by row, keep the sum within 64 bits.
        squares = ((points**2).sum(axis=1) // UNITS).sum()
        return np.zeros(1, dtype=np.int64), np.concatenate([[len(points), squares], points.sum(axis=0)])[np.newaxis]


@dataclass(frozen=True)
class ClusterSums:
    """Summary by nearest center: number of points and their sum.

    Attributes:
        centers: integers, shape (k, d).
    """

    centers: IntArray

    @property
    def width(self) -> int:
        """One count and d sums."""
        return 1 + int(self.centers.shape[1])

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        k = len(self.centers)
        return np.arange(k), sums_by_label(points, nearest(points, self.centers), k)


def nearest(points: IntArray, centers: IntArray) -> IntArray:
    """Position of each point's nearest center, the first of equals; shape (n,)."""
    labels = np.empty(len(points), dtype=np.int64)
    columns = np.ascontiguousarray(centers.T, dtype=np.float64)
    _nearest(points, columns, (columns**2).sum(axis=0), labels)
    return labels


def sums_by_label(points: IntArray, labels: IntArray, k: int) -> IntArray:
    """Number of points of each label and their sums, shape (k, 1 + d)."""
    totals = np.zeros((k, 1 + points.shape[1]), dtype=np.int64)
    _add_points(points, labels, totals)
    return totals


def squared_distances(points: IntArray, centers: IntArray) -> IntArray:
    """Exact squared distances, shape (n, k)."""
    found = np.empty((len(points), len(centers)), dtype=np.int64)
    columns = np.ascontiguousarray(centers.T, dtype=np.float64)
    _distances(points, columns, (columns**2).sum(axis=0), found)
    return found


def rounded(centers: FloatArray) -> IntArray:
    """Centers on the integer grid, cut towards zero: no farther out than before, shape (k, d)."""
    return np.asarray(np.trunc(centers), dtype=np.int64)


@compiled
def _nearest(points: IntArray, columns: FloatArray, squares: FloatArray, labels: IntArray) -> None:
    n, d = points.shape
    k = len(squares)
    scores = np.empty(k)
    for i in range(n):
        for j in range(k):
            scores[j] = squares[j]
        for c in range(d):
            twice = 2.0 * points[i, c]
            for j in range(k):  # along the centers, so that the machine does several at a time
                scores[j] -= twice * columns[c, j]
        best = 0
        for j in range(1, k):
            if scores[j] < scores[best]:
                best = j
        labels[i] = best


@compiled
def _distances(points: IntArray, columns: FloatArray, squares: FloatArray, found: IntArray) -> None:
    n, d = points.shape
    k = len(squares)
    scores = np.empty(k)
    for i in range(n):
        norm = 0.0
        for j in range(k):
            scores[j] = squares[j]
        for c in range(d):
            norm += float(points[i, c]) * points[i, c]
            twice = 2.0 * points[i, c]
            for j in range(k):
                scores[j] -= twice * columns[c, j]
        for j in range(k):
            found[i, j] = np.int64(scores[j] + norm)


@compiled
def _add_points(points: IntArray, labels: IntArray, totals: IntArray) -> None:
    for i in range(len(points)):
        totals[labels[i], 0] += 1
        for c in range(points.shape[1]):
            totals[labels[i], 1 + c] += points[i, c]
