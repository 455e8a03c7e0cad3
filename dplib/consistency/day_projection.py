"""The weighted projection of every day (or every node) onto its own constraints, shared by the iterative solvers.

Days with equal constraints and equal variances share one projector, so that a round costs one small matrix product a
day.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.equal_rows import ClassIndex, pair_classes, row_classes
from dplib.constraints.day_constraints import DayConstraints
from dplib.projection.affine import particular, projector


@dataclass(frozen=True, eq=False)
class DayClasses:
    """Days that share constraints and variances.

    Attributes:
        index: class of each day.
        daily: the constraints of each class.
        variance: variances of each class, shape (n_classes, n_series).
    """

    index: ClassIndex
    daily: tuple[DayConstraints, ...]
    variance: FloatArray


def day_classes(day_constraints: Sequence[DayConstraints], variance: FloatArray) -> DayClasses:
    """Group the days.

    Args:
        day_constraints: consecutive day constraints.
        variance: of each day's leaf, shape (n_days, n_series).
    """
    constraints_of_day = np.repeat(
        np.arange(len(day_constraints)), [daily.end - daily.first for daily in day_constraints]
    )
    of, first = pair_classes(row_classes(variance)[0], constraints_of_day)
    return DayClasses(
        ClassIndex(of, len(first)), tuple(day_constraints[m] for m in constraints_of_day[first]), variance[first]
    )


@dataclass(frozen=True, eq=False)
class RowProjection:
    """``x -> p + P (x - p)`` on chosen rows, P a projector by class, p a point of each row's affine set.

    Attributes:
        rows: which rows, shape (n,).
        index: class of each.
        projectors: shape (n_classes, n_series, n_series).
        points: p, shape (n, n_series); None for 0.
    """

    rows: IntArray
    index: ClassIndex
    projectors: FloatArray
    points: FloatArray | None

    def __call__(self, values: FloatArray) -> FloatArray:
        """A copy of the values with the chosen rows projected."""
        projected = values.copy()
        moved = values[self.rows]
        if self.points is None:
            projected[self.rows] = self.index.apply(self.projectors, moved)
        else:
            projected[self.rows] = self.points + self.index.apply(self.projectors, moved - self.points)
        return projected


def project_days(day_constraints: Sequence[DayConstraints], variance: FloatArray, leaves: IntArray) -> RowProjection:
    """Every day onto its constraints.

    Args:
        day_constraints: consecutive day constraints.
        variance: of the nodes, shape (n_nodes, n_series), finite at the leaves.
        leaves: node of each day.
    """
    classes = day_classes(day_constraints, variance[leaves])
    matrices = [projector(daily, row).matrix for daily, row in zip(classes.daily, classes.variance, strict=True)]
    return RowProjection(leaves, classes.index, np.array(matrices), day_points(day_constraints))


def day_points(day_constraints: Sequence[DayConstraints]) -> FloatArray | None:
    """A point of each day's affine set, shape (n_days, n_series); None if 0 is one for all days."""
    if all(daily.is_homogeneous for daily in day_constraints):
        return None
    return np.repeat(
        [particular(daily) for daily in day_constraints], [daily.end - daily.first for daily in day_constraints], axis=0
    )
