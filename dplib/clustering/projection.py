"""Public random projections to few dimensions (Johnson, Lindenstrauss), row by row and exact.

The matrix is normal, rounded to integers; products are exact integers in double precision. Projected points are
clipped to a ball as long as the space's own points are, so one row's cost stays bounded whatever the matrix.

References:
    Johnson, Lindenstrauss: Extensions of Lipschitz mappings into a Hilbert space. 1984.
    Makarychev, Makarychev, Razenshteyn: Performance of Johnson-Lindenstrauss transform for k-means and k-medians
    clustering. STOC 2019.
"""

import math
from dataclasses import dataclass

import numpy as np

from dplib.arrays import IntArray
from dplib.clustering.space import UNITS, Space

_STEPS = 1 << 12


@dataclass(frozen=True)
class Projection:
    """From a space to one of fewer dimensions.

    Attributes:
        matrix: integers, shape (d, p); None where the space itself is small enough.
        space: where projected points are.
    """

    matrix: IntArray | None
    space: Space

    @classmethod
    def to_dimension(cls, space: Space, p: int, seed: int) -> "Projection":
        """A projection to p dimensions, or none where the space has no more."""
        if space.dimension <= p:
            return cls(None, space)
        drawn = np.random.default_rng([seed, p, space.dimension, 1]).normal(size=(space.dimension, p))
        length = math.sqrt(space.norm_squared * p) * _STEPS
        return cls(np.rint(drawn * _STEPS).astype(np.int64), Space.ball([0.0] * p, length))

    def __call__(self, points: IntArray) -> IntArray:
        """Project points, shape (n, d), to shape (n, p)."""
        if self.matrix is None:
            return points
        return self.space.to_units(points.astype(np.float64) @ self.matrix.astype(np.float64))


def largest_squared_distance(space: Space) -> int:
    """Of two points of the space, in square units: the square of twice the radius."""
    return 4 * (UNITS**2 if space.round else space.norm_squared)
