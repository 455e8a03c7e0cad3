"""The weighted projection of one node's series onto its constraints, in the form that costs least.

*Span form*: dense in the span of the generators, for few series. *Dual form*: by equations, without a matrix of series
by series (`dual_projection`), for all others. Where packages imply equations with large numbers the span is the better
conditioned one and is taken up to `MAX_SPAN` series.

Notation: H the projector, ``x = H y + origin``; V the variances, ``Cov x = H V H^T``.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.dual_projection import DualProjection
from dplib.constraints.day_constraints import DayConstraints
from dplib.projection.affine import AffineProjector, projector

FEW = 48
"""Series up to which the span form is taken."""
MAX_SPAN = 2_000
"""The same where equations have numbers other than 0, 1 and -1."""


class SeriesProjection(Protocol):
    """What solvers and errors need of a projection."""

    @property
    def identifiable(self) -> bool:
        """Whether every series is determined."""
        ...

    @property
    def n_series(self) -> int:
        """Number of series."""
        ...

    def __call__(self, values: FloatArray) -> FloatArray:
        """Project rows of shape (n, n_series), all right-hand sides being 0."""
        ...

    def origin(self) -> FloatArray:
        """What 0 is projected to with the constraints' right-hand sides, shape (n_series,)."""
        ...

    def coefficients(self, answer: FloatArray) -> FloatArray:
        """With which coefficient each noisy count enters ``answer^T x``: ``H^T answer``, 0 where not measured."""
        ...

    def variances(self, series: IntArray | None = None) -> FloatArray:
        """Variances of some series (all where None), shape (k,)."""
        ...

    def squares(self, column: IntArray, n_columns: int, series: IntArray | None = None) -> FloatArray:
        """Sums of squared coefficients of some series over the noisy series of each column, shape (n_columns, k)."""
        ...


@dataclass(frozen=True, eq=False)
class SpanProjection:
    """The dense form.

    Attributes:
        projector: H and the origin.
        variance: V, 0 where not measured, shape (n_series,).
        is_measured: whether a series is, as numbers 0 and 1, shape (n_series,).
    """

    projector: AffineProjector
    variance: FloatArray
    is_measured: FloatArray

    @classmethod
    def of(cls, daily: DayConstraints, variance: FloatArray) -> "SpanProjection":
        """The projection onto a day's constraints for variances of shape (n_series,), ``inf`` where not measured."""
        known = np.isfinite(variance)
        return cls(projector(daily, variance), np.where(known, variance, 0.0), known.astype(np.float64))

    @property
    def identifiable(self) -> bool:
        """Whether every series is determined."""
        return self.projector.identifiable

    @property
    def n_series(self) -> int:
        """Number of series."""
        return len(self.variance)

    def __call__(self, values: FloatArray) -> FloatArray:
        """``H`` applied to rows."""
        return np.asarray(values @ self.projector.matrix.T, dtype=np.float64)

    def origin(self) -> FloatArray:
        """What 0 is projected to."""
        return self.projector.offset

    def coefficients(self, answer: FloatArray) -> FloatArray:
        """``H^T answer``."""
        return np.asarray((answer @ self.projector.matrix) * self.is_measured, dtype=np.float64)

    def variances(self, series: IntArray | None = None) -> FloatArray:
        """The diagonal of ``H V H^T``."""
        rows = self.projector.matrix if series is None else self.projector.matrix[series]
        return np.asarray(rows**2 @ self.variance, dtype=np.float64)

    def squares(self, column: IntArray, n_columns: int, series: IntArray | None = None) -> FloatArray:
        """Row sums of squares of H, column by column."""
        rows = self.projector.matrix if series is None else self.projector.matrix[series]
        return np.array([rows**2 @ ((column == number) * self.is_measured) for number in range(n_columns)])


def series_projection(daily: DayConstraints, variance: FloatArray) -> SeriesProjection:
    """The projection in the form that costs least.

    Args:
        daily: the constraints.
        variance: shape (n_series,), above 0, ``inf`` where not measured.
    """
    plain = bool((np.abs(daily.matrix.data) == 1.0).all())
    few = daily.n_series <= (FEW if plain else MAX_SPAN)
    return SpanProjection.of(daily, variance) if few else DualProjection.of(daily, variance)


def covariance(projection: SeriesProjection, variance: FloatArray) -> FloatArray:
    """``H V H^T``, shape (n_series, n_series): for few series only."""
    spread = projection(np.eye(projection.n_series) * np.where(np.isfinite(variance), 1.0, 0.0))
    known = np.where(np.isfinite(variance), variance, 0.0)
    return np.asarray((spread.T * known) @ spread, dtype=np.float64)
