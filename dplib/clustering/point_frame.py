"""How a row's numbers become a point of the public space, and places of the space numbers again."""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.clustering.space import UNITS, Space


@dataclass(frozen=True)
class PointFrame:
    """How a row's numbers become a point.

    Attributes:
        space: the ball or box, in scaled coordinates.
        shifts: subtracted from each coordinate, shape (d,).
        divisors: what each is divided by afterwards, shape (d,).
        constant: what stands for missing numbers, unscaled; None where such rows are dropped.
    """

    space: Space
    shifts: tuple[float, ...]
    divisors: tuple[float, ...]
    constant: tuple[float, ...] | None = None

    def given(self, rows: FloatArray) -> BoolArray:
        """Which rows have every coordinate, shape (n,)."""
        if self.constant is not None:
            return np.ones(len(rows), dtype=np.bool_)
        return np.asarray(~np.isnan(rows).any(axis=1))

    def scaled(self, rows: FloatArray) -> FloatArray:
        """Rows, shape (n, d), with constants for missing numbers, shifted and divided."""
        if self.constant is not None:
            rows = np.where(np.isnan(rows), np.array(self.constant), rows)
        with np.errstate(over="ignore"):
            return np.asarray((rows - np.array(self.shifts)) / np.array(self.divisors))

    def to_units(self, rows: FloatArray) -> IntArray:
        """Points of the rows that have every coordinate, in their order, shape (n_kept, d)."""
        return self.space.to_units(self.scaled(rows))

    def outside(self, rows: FloatArray) -> BoolArray:
        """Which rows that have every coordinate lie outside the box or ball and are clipped, shape (n,)."""
        away = np.abs(self.scaled(rows) - np.array(self.space.center))
        if not self.space.round:
            return np.asarray((away > np.array(self.space.half_widths) * self.space.unit).any(axis=1))
        with np.errstate(over="ignore"):
            return np.asarray((away**2).sum(axis=1) > (UNITS * self.space.unit) ** 2)

    def to_data(self, units: FloatArray) -> FloatArray:
        """Places in units, shape (m, d), in the coordinates of the rows."""
        return np.asarray(self.space.to_data(units) * np.array(self.divisors) + np.array(self.shifts))

    def lengths(self, units: FloatArray) -> FloatArray:
        """Lengths along each coordinate, in units, in the coordinates of the rows, shape (m, d)."""
        return np.asarray(units * self.space.unit * np.array(self.divisors))
