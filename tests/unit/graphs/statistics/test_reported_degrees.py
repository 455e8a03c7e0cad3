"""Estimates from noisy degrees, against exact sums over the law of the noise."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from dplib.arrays import FloatArray, IntArray
from dplib.graphs.statistics.reported_degrees import (
    OfDegree,
    Tally,
    estimate_sum,
    in_range,
    stars_of,
    worst_bin_variance,
)
from dplib.mechanisms.discrete_laplace import discrete_laplace_probability

FUNCTIONS: dict[str, OfDegree] = {
    "degree 3": in_range(3, 3),
    "degree 0": in_range(0, 0),
    "degrees 2 to 4": in_range(2, 4),
    "degree 4 or more": in_range(4, None),
    "2-stars": stars_of(2),
    "4-stars": stars_of(4),
    "parity": lambda degree: np.asarray(degree % 2, dtype=np.float64),
}


def law(scale: float) -> tuple[IntArray, FloatArray]:
    """Noise up to where its mass is below e^-32, and its masses."""
    reach = int(32 * scale) + 2
    noise = np.arange(-reach, reach + 1)
    return noise, np.asarray(discrete_laplace_probability(noise, Fraction(scale)))


def told(f: OfDegree, noise: IntArray, scale: float, degrees: Sequence[int]) -> list[FloatArray]:
    """For each degree what is estimated from its report with each noise; a report is looked at once."""
    first, end = int(noise[0] + min(degrees)), int(noise[-1] + max(degrees)) + 1
    each = np.array([estimate_sum(f, np.array([report]), scale, 1)[0] for report in range(first, end)])
    return [each[degree + noise - first] for degree in degrees]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("scale", [0.5, 4.0])
def test_every_function_of_a_degree_is_unbiased_and_so_is_its_variance(name: str, scale: float) -> None:
    f, (noise, mass), degrees = FUNCTIONS[name], law(scale), (0, 3, 6)
    for degree, estimates in zip(degrees, told(f, noise, scale, degrees), strict=True):
        mean = mass @ estimates
        expected = float(f(np.array([degree]))[0])
        assert mean == pytest.approx(expected, abs=1e-6)
        # The variance of one report cannot be negative, and is clipped; of all reports at once it is not.
        reports = Tally(degree + noise, np.rint(mass * 2e6).astype(np.int64))
        n_reports = int(reports.times.sum())
        variance = estimate_sum(f, reports, scale, n_reports)[1] / n_reports
        assert variance == pytest.approx(mass @ (estimates - mean) ** 2, rel=0.05, abs=1e-3)


def test_stars_are_binomials_and_the_ranges_add_up() -> None:
    degrees = np.arange(12)
    for k in (1, 2, 5):
        assert stars_of(k)(degrees).tolist() == pytest.approx([comb(int(d), k) for d in degrees])
    reports = np.random.default_rng(1).integers(-4, 15, 300)
    bins = [estimate_sum(in_range(d, None if d == 9 else d), reports, 2.0, 300)[0] for d in range(10)]
    assert sum(bins) == pytest.approx(300)
    assert estimate_sum(in_range(2, 6), reports, 2.0, 300)[0] == pytest.approx(sum(bins[2:7]))


@pytest.mark.parametrize("scale", [0.25, 4.0])
def test_no_graph_has_a_worse_bin_than_the_stated_one(scale: float) -> None:
    (noise, mass), worst = law(scale), worst_bin_variance(scale, 1)
    met = [float(mass @ each**2 - (mass @ each) ** 2) for each in told(in_range(5, 5), noise, scale, range(2, 8))]
    assert max(met) == pytest.approx(worst)
    assert worst_bin_variance(scale, 70) == pytest.approx(70 * worst)


def test_silence_is_scaled_up() -> None:
    reports = np.array([3, 3, 3, 8])
    full = estimate_sum(in_range(3, 3), reports, 1.0, 4)
    scaled = estimate_sum(in_range(3, 3), reports, 1.0, 8)
    assert scaled == pytest.approx((2 * full[0], 4 * full[1]))
    assert estimate_sum(in_range(3, 3), np.zeros(0, dtype=np.int64), 1.0, 8) == (0.0, float("inf"))
