"""What noisy degrees that every vertex reported say about functions of the degrees. Post-processing only.

A report is r = d + Z with discrete Laplace noise, P(Z = k) proportional to q^|k|, q = e^(-1/b). The noise's inverse
under convolution has three taps: for *every* function f of an integer

    g(r) = f(r) - c (f(r - 1) - 2 f(r) + f(r + 1)),   c = q / (1 - q)^2,

has E g(d + Z) = f(d) exactly. (The generating function of the noise is (1 - q)^2 / ((1 - q z)(1 - q / z)).) So
sum g(r_v) estimates sum f(d_v) without bias, and sum g(r_v)^2 less the same estimate for f^2 estimates its variance.

number of a range of degrees   f = 1 on the range. Degrees are not negative, so a range from 0 begins at minus infinity,
                               which halves its noisy ends.
k-stars                        f(d) = C(d, k) as a polynomial.
edges                          f(d) = d / 2 (or d, where each edge is counted by one end), g = f.

Where some vertices did not report, estimates are scaled up by n / reports, which is right if silence does not go by
degree.

Cost: O(n log n).

References:
    Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing privacy mechanisms. STOC 2009 (the noise).
    Imola, Murakami, Chaudhuri: Locally differentially private analysis of graph statistics. USENIX Security 2021,
    section 4.1 (k-stars from noisy degrees, there cut to a bound and biased; here without).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, expm1

import numpy as np

from dplib.arrays import FloatArray, IntArray

OfDegree = Callable[[IntArray], FloatArray]


def in_range(low: int, high: int | None) -> OfDegree:
    """1 for degrees from ``low`` to ``high``, both inclusive; 0 is open below, None open above."""

    def inside(degree: IntArray) -> FloatArray:
        found = np.ones(degree.shape, dtype=bool) if low == 0 else degree >= low
        return np.asarray(found if high is None else found & (degree <= high), dtype=np.float64)

    return inside


def stars_of(k: int) -> OfDegree:
    """C(d, k) as a polynomial in d."""

    def stars(degree: IntArray) -> FloatArray:
        found = np.ones(degree.shape)
        for i in range(k):
            found = found * (degree - i) / (i + 1)
        return found

    return stars


@dataclass(frozen=True, eq=False)
class Tally:
    """How often each noisy degree was reported; many sums are estimated from one.

    Attributes:
        values: increasing, shape (n_values,).
        times: shape (n_values,).
    """

    values: IntArray
    times: IntArray

    @classmethod
    def of(cls, reports: IntArray) -> "Tally":
        """Count reports, shape (n_reports,)."""
        return cls(*np.unique(reports, return_counts=True))


def estimate_sum(f: OfDegree, reports: IntArray | Tally, scale: float, n_vertices: int) -> tuple[float, float]:
    """Estimate the sum of f over the degrees of all vertices.

    Args:
        f: any function of a degree.
        reports: noisy degrees, shape (n_reports,), or how often each was reported.
        scale: b of their noise.
        n_vertices: n, at least the number of reports.

    Returns:
        The estimate and its variance, which is estimated itself and never below 0.
    """
    tally = reports if isinstance(reports, Tally) else Tally.of(reports)
    values, times = tally.values, tally.times
    if len(values) == 0:
        return 0.0, float("inf")
    beside = [f(values + step) for step in (-1, 0, 1)]
    unbiased = _unbiased(beside, scale)
    squared = _unbiased([each**2 for each in beside], scale)
    more = n_vertices / int(times.sum())
    variance = max(0.0, float(times @ (unbiased**2 - squared)))
    return float(times @ unbiased) * more, variance * more**2


def worst_bin_variance(scale: float, n_vertices: int) -> float:
    """At most this is the variance of an estimated number of vertices of one degree, whatever the graph."""
    q = exp(-1 / scale)
    less = -expm1(-1 / scale)
    c = q / less**2

    def mass(k: int) -> float:
        return float(less / (1 + q) * q ** abs(k))

    # A vertex of the bin's degree, one next to it, one further away: it counts 1 + 2c at the bin and -c beside it.
    each = [(1 + 2 * c) ** 2 * mass(k) + c**2 * (mass(k - 1) + mass(k + 1)) - (k == 0) for k in range(3)]
    return n_vertices * max(each)


def _unbiased(beside: list[FloatArray], scale: float) -> FloatArray:
    """The unbiased estimate from a function's values before, at and after each report."""
    (before, middle, after), c = beside, exp(-1 / scale) / expm1(-1 / scale) ** 2
    return np.asarray(middle - c * (before - 2 * middle + after))
