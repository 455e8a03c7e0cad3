"""Exchangeable series: those with equal variances that stand in the same equations on all days.

Inside a *class* of n such series the differences between them meet no equation: they are estimated on each series' own
tree. Only the class's sum, one number with n times the variance, meets the others. So a problem over many series is
one over few sums, and

    x_s = T_s + (sum - sum of T over the class) / n,      T the tree estimate of each series by itself,
    Var x_s = Var T_s (1 - 1/n) + Var sum / n^2,          Cov of two of a class: - Var T / n + Var sum / n^2.

Guarantee: exact. Cost: O(non-zeros of the equations).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.equal_rows import pair_classes, row_classes
from dplib.constraints.day_constraints import DayConstraints, SparseFloat, equal
from dplib.hashing import hashed


@dataclass(frozen=True, eq=False)
class SeriesClasses:
    """Classes of series.

    Attributes:
        of: class of each series, shape (n_series,).
        first: one series of each class, shape (n_classes,).
        size: series of each class, shape (n_classes,).
    """

    of: IntArray
    first: IntArray
    size: IntArray

    @property
    def are_single(self) -> bool:
        """Whether no two series are exchangeable."""
        return len(self.first) == len(self.of)

    @cached_property
    def _adding(self) -> "csr_array[np.float64, tuple[int, int]]":
        n_series = len(self.of)
        return csr_array((np.ones(n_series), (np.arange(n_series), self.of)), shape=(n_series, len(self.first)))

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums over each class, shape (n, n_classes), of values of shape (n, n_series)."""
        return np.asarray(values @ self._adding, dtype=np.float64)

    def spread(self, sums: FloatArray) -> FloatArray:
        """Each series' equal part of its class's sum, shape (n, n_series)."""
        return np.asarray((sums / self.size)[:, self.of], dtype=np.float64)

    def contrasts(self, values: FloatArray) -> FloatArray:
        """Values less the mean of their class, shape of ``values``."""
        return values - self.spread(self.sums(values))

    def variance(self, variance: FloatArray) -> FloatArray:
        """Variances of the classes' sums, shape (n_nodes, n_classes)."""
        return np.asarray(variance[:, self.first] * self.size, dtype=np.float64)

    def day_constraints(self, day_constraints: Sequence[DayConstraints]) -> tuple[DayConstraints, ...]:
        """The equations of the classes' sums."""
        return tuple(self._of_sums(daily) for daily in day_constraints)

    def _of_sums(self, daily: DayConstraints) -> DayConstraints:
        matrix, generators = daily.matrix[:, self.first], daily.generators
        if generators is None or bool((np.abs(matrix.data) == 1.0).all()):
            return DayConstraints(daily.first, daily.end, matrix, daily.rhs)
        # Where equations have large numbers the generators' are smaller, and so is the span's error.
        summed = csr_array(self._adding.T.astype(np.int64) @ generators)
        return DayConstraints(daily.first, daily.end, matrix, daily.rhs, summed, daily.generator_names)


def series_classes(variance: FloatArray, day_constraints: Sequence[DayConstraints]) -> SeriesClasses:
    """The coarsest classes of exchangeable series.

    Args:
        variance: shape (n_nodes, n_series); may be a broadcast view.
        day_constraints: consecutive day constraints.
    """
    # Views that repeat a row are compared once.
    rows = variance[:1] if variance.strides[0] == 0 else variance
    of, _ = row_classes(np.ascontiguousarray(rows.T))
    different: list[DayConstraints] = []
    last: list[SparseFloat] = []
    for daily in day_constraints:
        # Some matrices are made when they are asked for: once each, and two are kept.
        matrix = daily.matrix
        if not any(equal(matrix, known) for known in last):
            different.append(daily)
            last = [*last[-1:], matrix]
            of, _ = pair_classes(of, _column_marks(matrix))
    _, first, size = np.unique(of, return_index=True, return_counts=True)
    found = SeriesClasses(of, first.astype(np.int64), size.astype(np.int64))
    good = all(_same_columns(daily, found) for daily in different)
    one_each = np.arange(len(of))
    return found if good else SeriesClasses(one_each, one_each, np.ones(len(of), dtype=np.int64))


def _column_marks(matrix: SparseFloat) -> IntArray:
    """A hash of each series' entries in the equations, shape (n_series,)."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    mark = hashed(hashed(row + 1) ^ matrix.data.view(np.uint64))
    found = np.zeros(matrix.shape[1], dtype=np.uint64)
    np.add.at(found, matrix.indices, mark)
    return found.view(np.int64)


def _same_columns(daily: DayConstraints, classes: SeriesClasses) -> bool:
    """Whether the series of a class have equal entries: two hashes might have met."""
    turned = daily.matrix.T.tocsr()
    turned.sort_indices()
    return equal(turned, turned[classes.first[classes.of]])
