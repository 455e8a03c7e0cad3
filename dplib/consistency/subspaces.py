"""The subspaces that counts of days, and of sums of days, can lie in.

A day has counts in the span of its constraints' generators (plus a shift where the right-hand sides are not 0);
a node has counts in the sum of its days' spans. Few different subspaces occur, whatever the number of days, and all
covariance algebra is done in orthonormal coordinates of them: whether a direction is free is then decided once, from
the day constraints' integers, and never from the size of a variance.
"""

from collections.abc import Iterable

import numpy as np
import scipy

from dplib.arrays import FloatArray
from dplib.constraints.day_constraints import DayConstraints
from dplib.projection.affine import span_basis

RANK_TOL = 1e-9


class Spans:
    """Numbered subspaces of the series' space.

    Attributes:
        bases: an orthonormal basis of each, shape (n_series, dimension).
        of_constraints: number of each of the day constraints' span.
    """

    def __init__(self, day_constraints: Iterable[DayConstraints]) -> None:
        self.bases: list[FloatArray] = []
        self._unions: dict[frozenset[int], int] = {}
        self.of_constraints = np.array([self._number(span_basis(daily)) for daily in day_constraints], dtype=np.int64)

    def union(self, numbers: Iterable[int]) -> int:
        """Number of the sum of subspaces."""
        key = frozenset(numbers)
        if len(key) == 1:
            return next(iter(key))
        if key not in self._unions:
            joined = np.concatenate([self.bases[number] for number in sorted(key)], axis=1)
            basis = scipy.linalg.orth(joined, rcond=RANK_TOL) if joined.size else joined[:, :0]
            self._unions[key] = self._number(basis)
        return self._unions[key]

    def _number(self, basis: FloatArray) -> int:
        for number, known in enumerate(self.bases):
            same_size = known.shape == basis.shape
            if same_size and np.abs(basis - known @ (known.T @ basis)).max(initial=0.0) < RANK_TOL:
                return number
        self.bases.append(basis)
        return len(self.bases) - 1


def complement(rows: FloatArray, dimension: int) -> tuple[FloatArray, FloatArray]:
    """Orthonormal bases of the row space and of the null space.

    Args:
        rows: shape (m, dimension), entries of order 1.
        dimension: length of the rows.

    Returns:
        (row space, null space), shapes (dimension, rank) and (dimension, dimension - rank).
    """
    if not len(rows):
        return np.zeros((dimension, 0)), np.eye(dimension)
    _, singular, right = np.linalg.svd(rows, full_matrices=True)
    rank = int((singular > RANK_TOL).sum())
    return right[:rank].T, right[rank:].T
