"""Estimates, errors and published integers from noisy statistics; sees no edge and draws no noise.

estimates    Single numbers and the cumulative histogram: as drawn, unbiased. Degree histogram: the nearest numbers
             whose sum is the public n; with B bins of variance v a sum of k bins has the variance v (k - k^2 / B),
             exactly. Sorted degrees: isotonic regression, whose error depends on the degrees and is not stated.
published    Integers that a graph could have: within their public range; histograms not negative with sum n; cumulative
             histograms and sorted degrees ascending.

References:
    Hay, Li, Miklau, Jensen: Accurate estimation of the degree distribution of private networks. ICDM 2009.
"""

from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from dplib.graphs.degree_estimates import estimate_from_cumulative, estimate_histogram, estimate_sorted_degrees
from dplib.graphs.network_sensitivity import Statistic
from dplib.network_statistics.design import Design
from dplib.network_statistics.tables import noise_variance
from dplib.projection.rounding import round_to_totals

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_MOST = 2**62


@dataclass(frozen=True, eq=False)
class Results:
    """What is made of a measurement, by statistic, each of shape (size,).

    Attributes:
        estimate: see the module's text.
        std_error: NaN where it is not stated.
        count: published integers.
    """

    estimate: dict[Statistic, FloatArray]
    std_error: dict[Statistic, FloatArray]
    count: dict[Statistic, IntArray]


def make_results(design: Design, noisy: dict[Statistic, npt.NDArray[np.generic]]) -> Results:
    """Make estimates, errors and integers of all statistics."""
    results = Results({}, {}, {})
    for each in design.measurements:
        drawn = noisy[each.statistic].astype(np.float64)
        results.std_error[each.statistic] = np.full(each.size, std_error(design, each.statistic))
        results.estimate[each.statistic] = _estimate(design, each.statistic, drawn)
        results.count[each.statistic] = _integers(design, each.statistic, drawn, noisy[each.statistic])
    return results


def std_error(design: Design, statistic: Statistic, n_bins: int = 1) -> float:
    """Standard error of an estimate; NaN where it is not stated.

    Args:
        design: the design.
        statistic: a measured one.
        n_bins: of a degree histogram: error of the sum of so many bins.
    """
    measured = next(each for each in design.measurements if each.statistic is statistic)
    if statistic is Statistic.SORTED_DEGREES:
        return float("nan")
    variance = noise_variance(measured)
    if statistic is Statistic.DEGREE_HISTOGRAM:
        variance *= n_bins - n_bins**2 / measured.size
    return float(np.sqrt(variance))


def _estimate(design: Design, statistic: Statistic, drawn: FloatArray) -> FloatArray:
    if statistic is Statistic.DEGREE_HISTOGRAM:
        return np.asarray(drawn - (drawn.sum() - design.n_vertices) / len(drawn))
    if statistic is Statistic.SORTED_DEGREES:
        return estimate_sorted_degrees(drawn, design.largest_degree)
    return drawn


def _integers(design: Design, statistic: Statistic, drawn: FloatArray, noisy: npt.NDArray[np.generic]) -> IntArray:
    n = design.n_vertices
    match statistic:
        case Statistic.DEGREE_HISTOGRAM:
            return _whole(estimate_histogram(drawn, n), n)
        case Statistic.CUMULATIVE_HISTOGRAM:
            return np.cumsum(_whole(estimate_from_cumulative(drawn, n), n))[:-1].astype(np.int64)
        case Statistic.SORTED_DEGREES:
            return np.rint(estimate_sorted_degrees(drawn, design.largest_degree)).astype(np.int64)
    return np.clip(noisy.astype(np.int64), 0, largest_value(design, statistic))


def largest_value(design: Design, statistic: Statistic) -> int:
    """The largest value that a single number can have in any graph under the degree bound."""
    n, largest, stars = design.n_vertices, design.largest_degree, design.config.graph.stars
    most = {
        Statistic.EDGE_COUNT: n * largest // 2,
        Statistic.LARGEST_DEGREE: largest,
        Statistic.K_STARS: n * comb(largest, stars),
        Statistic.TRIANGLES: n * comb(largest, 2) // 3,
    }
    return min(most[statistic], _MOST)


def _whole(histogram: FloatArray, n: int) -> IntArray:
    """Non-negative numbers with sum n, rounded by largest remainders."""
    offsets = np.zeros(1, dtype=np.int64)
    return round_to_totals(histogram[:, np.newaxis], offsets, np.array([[n]], dtype=np.int64))[:, 0]
