"""Locality-sensitive buckets of few dimensions: a grid, shifted at random, that sends near points to one bucket."""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Buckets:
    """A shifted grid.

    Attributes:
        half_widths: of the space, shape (d,).
        sides: of a bucket, in units, shape (d,).
        shifts: of the grid, from 0 to side - 1, shape (d,).
        n_cells: buckets an axis.
    """

    half_widths: tuple[int, ...]
    sides: tuple[int, ...]
    shifts: tuple[int, ...]
    n_cells: int

    @classmethod
    def at_scale(cls, half_widths: tuple[int, ...], scale: int, seed: int) -> "Buckets":
        """The grid of side 2^-scale of the space's, shifted by public randomness."""
        generator = np.random.default_rng([seed, scale])
        sides = tuple(-(-(2 * half + 1) // (1 << scale)) for half in half_widths)
        shifts = tuple(int(shift) for shift in generator.integers(0, sides))
        return cls(half_widths, sides, shifts, (1 << scale) + 1)

    @property
    def n_values(self) -> int:
        """Number of buckets."""
        return int(self.n_cells ** len(self.sides))

    def values(self, points: IntArray) -> IntArray:
        """The bucket of each point, shape (n,)."""
        values = np.zeros(len(points), dtype=np.int64)
        for coordinate, half, side, shift in zip(points.T, self.half_widths, self.sides, self.shifts, strict=True):
            values = values * self.n_cells + (coordinate + half + shift) // side
        return values

    def middles(self, values: IntArray) -> FloatArray:
        """Middles of buckets, in units, shape (m, d)."""
        cells = np.stack(np.unravel_index(values, (self.n_cells,) * len(self.sides)), axis=-1)
        corner = np.array(self.half_widths) + np.array(self.shifts)
        return np.asarray((cells + 0.5) * np.array(self.sides) - corner - 0.5)
