"""Which axis counts are drawn on: a logarithmic one where few of them are many times the others."""

import math

import numpy as np
import numpy.typing as npt

SKEWED = 50
"""How many times the others the largest count is on a logarithmic axis."""


def linear_to(estimate: npt.ArrayLike, half_width: npt.ArrayLike | None = None) -> float | None:
    """Up to which size, on both sides of 0, the axis stays linear, so that noise is not blown up; None: everywhere.

    Args:
        estimate: what is drawn; at least one number.
        half_width: of the intervals, NaN or None where not stated.
    """
    size = np.abs(np.asarray(estimate, dtype=float))
    noise = 0.0 if half_width is None else float(np.nan_to_num(np.asarray(half_width, dtype=float)).max(initial=0.0))
    common = max(float(np.median(size)), noise, 1.0)
    return common if float(size.max()) > SKEWED * common else None


def powers(low: float, high: float, linear: float) -> list[float]:
    """Ticks of a logarithmic axis: 0, and the powers of ten of either sign from its linear part on."""
    first, last = math.ceil(math.log10(linear)), math.floor(math.log10(max(high, -low, linear)))
    sizes = [10.0**power for power in range(first, last + 1)]
    found = [*(-size for size in reversed(sizes)), 0.0, *sizes]
    return [value for value in found if low <= value <= high]
