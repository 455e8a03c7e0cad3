"""Projection on the non-negative orthant and on boxes.

The nearest point is found coordinate by coordinate, so it is the same for every diagonal weighting.

Cost: O(n).

References:
    Boyd, Vandenberghe, "Convex Optimization", 2004, section 8.1.1.
"""

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray


def project_nonnegative(values: FloatArray) -> FloatArray:
    """The nearest array without negative entries; any shape."""
    return np.maximum(values, 0.0)


def project_box(values: FloatArray, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
    """The nearest array with ``low <= entry <= high``.

    Args:
        values: any shape.
        low: lower bounds, broadcast to ``values``; ``-inf`` for none.
        high: upper bounds, at least ``low``; ``inf`` for none.
    """
    projected: FloatArray = np.clip(values, np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    return projected
