"""The days' constraints as a linear system for `conjugate_gradients`: residuals, multipliers and a preconditioner.

Rows of the constraints have length 1, and every day has as many as the menu with the most (zero rows do nothing), so
that residuals and multipliers are arrays of shape (n_days, height). Days are independent of each other here, so a block
of days has the numbers of the whole.
"""

from collections.abc import Sequence

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.day_projection import day_classes
from dplib.constraints.menu import Menu


class DayMultipliers:
    """Constraints ``E v = b`` of consecutive days with their weights.

    Args:
        menus: consecutive menus that cover the days.
        variance: of each day's series, finite, shape (n_days, n_series).
    """

    def __init__(self, menus: Sequence[Menu], variance: FloatArray) -> None:
        self.variance = variance
        self.height = max(len(menu.matrix) for menu in menus)
        self._days = [slice(menu.first, menu.end) for menu in menus]
        self._rows = [_padded(menu, self.height) for menu in menus]
        classes = day_classes(menus, variance)
        self._index = classes.index
        inverses = []
        for menu, row in zip(classes.menu, classes.variance, strict=True):
            matrix = self._rows[menus.index(menu)][0]
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


def _padded(menu: Menu, height: int) -> tuple[FloatArray, FloatArray]:
    lengths = np.linalg.norm(menu.matrix, axis=1)
    matrix, rhs = np.zeros((height, menu.n_series)), np.zeros(height)
    matrix[: len(lengths)] = menu.matrix / lengths[:, None]
    rhs[: len(lengths)] = menu.rhs / lengths
    return matrix, rhs
