"""The days' constraints as a linear system for `conjugate_gradients`: residuals, multipliers and a preconditioner.

Rows of the constraints have length 1, and every day has as many as the day constraints with the most (zero rows do
nothing), so that residuals and multipliers are arrays of shape (n_days, height). Days are independent of each other
here, so a block of days has the numbers of the whole.
"""

from collections.abc import Sequence

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.day_projection import day_classes
from dplib.constraints.day_constraints import DayConstraints


class DayMultipliers:
    """Constraints ``E v = b`` of consecutive days with their weights.

    Args:
        day_constraints: consecutive day constraints that cover the days.
        variance: of each day's series, finite, shape (n_days, n_series).
    """

    def __init__(self, day_constraints: Sequence[DayConstraints], variance: FloatArray) -> None:
        self.variance = variance
        self.height = max(daily.n_constraints for daily in day_constraints)
        self._days = [slice(daily.first, daily.end) for daily in day_constraints]
        self._rows = [_padded(daily, self.height) for daily in day_constraints]
        classes = day_classes(day_constraints, variance)
        self._index = classes.index
        inverses = []
        for daily, row in zip(classes.daily, classes.variance, strict=True):
            matrix = self._rows[day_constraints.index(daily)][0]
            inverses.append(np.linalg.pinv(matrix * row @ matrix.T, rcond=1e-12, hermitian=True))
        self._inverses = np.array(inverses)

    def residual(self, days: FloatArray) -> FloatArray:
        """``E v - b`` of values of shape (n_days, n_series)."""
        left = np.empty((len(days), self.height))
        for which, (matrix, rhs) in zip(self._days, self._rows, strict=True):
            left[which] = days[which] @ matrix.T - rhs
        return left

    def moves(self, multipliers: FloatArray) -> FloatArray:
        """``W^-1 E^T lambda``, shape (n_days, n_series)."""
        moved = np.empty_like(self.variance)
        for which, (matrix, _) in zip(self._days, self._rows, strict=True):
            moved[which] = self.variance[which] * (multipliers[which] @ matrix)
        return moved

    def precondition(self, left: FloatArray) -> FloatArray:
        """``(E W^-1 E^T)^+`` of each day applied to residuals."""
        return self._index.apply(self._inverses, left)


def _padded(daily: DayConstraints, height: int) -> tuple[FloatArray, FloatArray]:
    rows = daily.matrix.toarray()
    lengths = np.linalg.norm(rows, axis=1)
    matrix, rhs = np.zeros((height, daily.n_series)), np.zeros(height)
    matrix[: len(lengths)] = rows / lengths[:, None]
    rhs[: len(lengths)] = daily.rhs / lengths
    return matrix, rhs
