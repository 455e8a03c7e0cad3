"""Empirical privacy of the measurement on worst-case neighbours: below the claim, near it, and broken ones caught.

Every cell of a level is one independent run of the mechanism on that level, so many runs are one call.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.discrete_gaussian import discrete_gaussian_probability
from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.noise import Law, Noise
from dplib.randomness.keyed import derive_key
from tests.support.goodness_of_fit import clopper_pearson, epsilon_between

RUNS = 200_000
KEY = bytes(range(32))


Mechanism = Callable[[list[IntArray], list[Noise], bytes], list[IntArray]]


def _sound(counts: list[IntArray], noise: list[Noise], key: bytes) -> list[IntArray]:
    return measure_levels(counts, noise, key, "audit", 0)


def _half_the_noise(counts: list[IntArray], noise: list[Noise], key: bytes) -> list[IntArray]:
    factor = {Law.LAPLACE: Fraction(1, 2), Law.GAUSSIAN: Fraction(1, 4)}
    return _sound(counts, [replace(each, parameter=each.parameter * factor[each.law]) for each in noise], key)


def _empty_cells_skipped(counts: list[IntArray], noise: list[Noise], key: bytes) -> list[IntArray]:
    return [np.where(c == 0, 0, m) for c, m in zip(counts, _sound(counts, noise, key), strict=True)]


def _one_level_without_noise(counts: list[IntArray], noise: list[Noise], key: bytes) -> list[IntArray]:
    return [*_sound(counts, noise, key)[:-1], counts[-1]]


def _twice_the_sensitivity(counts: list[IntArray], noise: list[Noise], key: bytes) -> list[IntArray]:
    return _sound([2 * c for c in counts], noise, key)


BROKEN = [_half_the_noise, _empty_cells_skipped, _one_level_without_noise, _twice_the_sensitivity]


def _runs(mechanism: Mechanism, noise: list[Noise], unit: int) -> list[IntArray]:
    """Independent runs on counts that hold one unit (1) or none (0); the key depends on the counts."""
    counts = [np.full(RUNS, unit, dtype=np.int64) for _ in noise]
    return mechanism(counts, noise, derive_key(KEY, "digest of the counts", unit))


def _epsilon(
    mechanism: Mechanism, noise: list[Noise], loss: Callable[[int, IntArray], FloatArray], delta: float
) -> float:
    """The larger of the bounds for the two orders of the neighbours."""
    without, with_unit = (
        sum((loss(level, k) for level, k in enumerate(_runs(mechanism, noise, unit))), np.zeros(RUNS))
        for unit in (0, 1)
    )
    return epsilon_between(with_unit, without, delta)


LAPLACE = [Noise(Law.LAPLACE, Fraction(b), Fraction(1)) for b in (2, 4, 4)]
GAUSSIAN = [Noise(Law.GAUSSIAN, Fraction(8), Fraction(1))] * 2


def _laplace_loss(level: int, k: IntArray) -> FloatArray:
    return np.where(k >= 1, 1.0, -1.0) / float(LAPLACE[level].parameter)


def _gaussian_loss(level: int, k: IntArray) -> FloatArray:
    return (2 * k - 1) / (2 * float(GAUSSIAN[level].parameter))


def _gaussian_delta(epsilon: float) -> float:
    """The exact privacy profile of both levels together, summed over a grid that holds all mass."""
    k = np.arange(-60, 61)
    here, there = (discrete_gaussian_probability(k - unit, Fraction(8)) for unit in (1, 0))
    return float(np.maximum(np.outer(here, here) - np.exp(epsilon) * np.outer(there, there), 0).sum())


CLAIMS = {
    Law.LAPLACE: (LAPLACE, _laplace_loss, 1.0, 0.0, 0.85),  # epsilon 1/2 + 1/4 + 1/4
    Law.GAUSSIAN: (GAUSSIAN, _gaussian_loss, 0.5, _gaussian_delta(0.5), 0.7),
}


@pytest.mark.parametrize("law", CLAIMS)
def test_stays_below_its_claim_and_comes_near_it_and_broken_ones_are_caught(law: Law) -> None:
    noise, loss, epsilon, delta, near = CLAIMS[law]
    assert near * epsilon < _epsilon(_sound, noise, loss, delta) <= epsilon
    for broken in BROKEN:
        assert _epsilon(broken, noise, loss, delta) > 1.2 * epsilon, broken


def test_gaussian_meets_the_zcdp_conversion() -> None:
    """The levels are rho-zCDP with rho = 2/(2*8); epsilon = rho + 2 sqrt(rho ln(1/delta)) holds at every delta."""
    rho = sum(1 / (2 * float(law.parameter)) for law in GAUSSIAN)
    for delta in (1e-2, 1e-3, 1e-4):
        claim = rho + 2 * np.sqrt(rho * np.log(1 / delta))
        assert _gaussian_delta(claim) <= delta
        assert _epsilon(_sound, GAUSSIAN, _gaussian_loss, delta) <= claim


def test_clopper_pearson_covers() -> None:
    assert clopper_pearson(0, 100, 0.05)[0] == 0
    assert clopper_pearson(100, 100, 0.05)[1] == 1
    low, high = clopper_pearson(np.random.default_rng(3).binomial(50, 0.2, size=1000), 50, 0.05)
    assert np.mean(low > 0.2) <= 0.05 + 0.02
    assert np.mean(high < 0.2) <= 0.05 + 0.02
