"""The public space that points live in: a ball or a box, and its grid of integers.

A row becomes a vector of integers, `UNITS` of them to the radius, clipped to the ball (along the ray from its center)
or to the box (each coordinate by itself). The bounds are settings; nothing of the data decides them. Each row is mapped
by itself, with operations whose result does not depend on the other rows or on the row's place, so that adding a
row adds one vector and changes no other.

Guarantee. Every vector has squared length at most ``norm_squared`` and sum of magnitudes at most ``l1``, exactly, in
integers: that is what sums of points get their sensitivity from. Integers also make distances and sums exact in any
order, so no rounding can depend on how rows meet in a partition.

Nothing raises on a row: a row with a missing coordinate (NaN, null, of the wrong length) is left out, an infinite
coordinate is clipped.

References:
    Mironov: On significance of the least significant bits for differential privacy. CCS 2012 (why integers).
    Casacuberta, Shoemate, Vadhan, Wagaman: Widespread underestimation of sensitivity in differentially private
    libraries. CCS 2022 (sums of floating-point numbers).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import as_written, compiled
from dplib.validate import positive, require

UNITS = 1 << 16
"""Integers to the radius of a ball, or to half the widest side of a box."""
MAX_DIMENSION = 1 << 12
_INSIDE = 1 - 2.0**-40  # more than all rounding errors of a norm and a quotient at the largest dimension
_FAR = 2.0**60
_FEW = 16
"""Numbers that are mapped before compiled code is loaded: the one point of a user's own device."""


@dataclass(frozen=True)
class Space:
    """A public ball or box.

    Attributes:
        center: the middle, in the units of the data, shape (d,).
        unit: length of one integer step, in the units of the data.
        half_widths: largest magnitude of each integer coordinate, shape (d,).
        round: whether points are clipped to the ball of radius `UNITS` too.
    """

    center: tuple[float, ...]
    unit: float
    half_widths: tuple[int, ...]
    round: bool

    @classmethod
    def ball(cls, center: Sequence[float], radius: float) -> Self:
        """The ball of points within ``radius`` of ``center``.

        Raises:
            ConfigError: if the center is empty or not finite, or the radius not a number above 0.
        """
        _require_center(center)
        return cls(tuple(map(float, center)), positive("radius", float(radius)) / UNITS, (UNITS,) * len(center), True)

    @classmethod
    def box(cls, lows: Sequence[float], highs: Sequence[float]) -> Self:
        """The box of points between ``lows`` and ``highs``, shape (d,) each; all coordinates keep one unit.

        Raises:
            ConfigError: if the bounds differ in number, are not finite, or a low one is not below its high one.
        """
        require(len(lows) == len(highs), "bounds", "be as many low as high ones", f"{len(lows)} and {len(highs)}")
        center = [low / 2 + high / 2 for low, high in zip(lows, highs, strict=True)]
        _require_center(center)
        halves = [high / 2 - low / 2 for low, high in zip(lows, highs, strict=True)]
        for half in halves:
            require(math.isfinite(half) and half > 0, "bounds", "be finite, the low one below the high one", half)
        unit = max(halves) / UNITS
        return cls(tuple(center), unit, tuple(max(1, min(UNITS, math.ceil(half / unit))) for half in halves), False)

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return len(self.half_widths)

    @property
    def norm_squared(self) -> int:
        """Largest squared length of a vector, in square units."""
        return UNITS**2 if self.round else sum(half**2 for half in self.half_widths)

    @property
    def l1(self) -> int:
        """Largest sum of the magnitudes of a vector's coordinates, in units."""
        return math.isqrt(self.dimension * UNITS**2) if self.round else sum(self.half_widths)

    def to_units(self, rows: FloatArray) -> IntArray:
        """Map rows of shape (n, d) to vectors of integers in their order, those with a NaN left out: (n_kept, d)."""
        rows = np.asarray(rows, dtype=np.float64).reshape(-1, self.dimension)
        units = np.empty(rows.shape, dtype=np.int64)
        center, half = np.array(self.center), np.array(self.half_widths, dtype=np.float64)
        with as_written(rows.size <= _FEW), np.errstate(over="ignore"):
            return units[: _fill(np.ascontiguousarray(rows), center, self.unit, half, self.round, units)]

    def to_data(self, units: FloatArray) -> FloatArray:
        """Map vectors in units, shape (m, d), back to the data's units."""
        return np.asarray(np.asarray(units, dtype=np.float64) * self.unit + np.array(self.center))

    def clip(self, units: FloatArray) -> FloatArray:
        """The nearest vectors in the box, and along the ray in the ball; shape (m, d)."""
        if not self.round:
            half = np.array(self.half_widths, dtype=np.float64)
            return np.clip(units, -half, half)
        norms = np.sqrt((units**2).sum(axis=1, keepdims=True))
        return np.asarray(units * np.minimum(1.0, UNITS / np.maximum(norms, 1.0)))


@compiled
def _fill(rows: FloatArray, center: FloatArray, unit: float, half: FloatArray, to_ball: bool, units: IntArray) -> int:
    """Fill in the vectors of the rows without NaN; how many they are."""
    d = rows.shape[1]
    moved = np.empty(d)
    kept = 0
    for i in range(len(rows)):
        squared = 0.0
        for c in range(d):
            moved[c] = min(max((rows[i, c] - center[c]) / unit, -_FAR), _FAR) if rows[i, c] == rows[i, c] else np.nan
            squared += moved[c] * moved[c]
        if np.isnan(squared):
            continue
        factor = min(1.0, UNITS * _INSIDE / np.sqrt(max(squared, 1.0))) if to_ball else 1.0
        for c in range(d):
            units[kept, c] = np.int64(min(max(moved[c] * factor, -half[c]), half[c]))
        kept += 1
    return kept


def _require_center(center: Sequence[float]) -> None:
    require(1 <= len(center) <= MAX_DIMENSION, "dimension", f"lie between 1 and {MAX_DIMENSION}", len(center))
    for coordinate in center:
        require(math.isfinite(coordinate), "center", "be finite", coordinate)
