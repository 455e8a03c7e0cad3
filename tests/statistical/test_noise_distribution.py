"""Keyed draws of each sampler against the exact law, and against laws 30 % off."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.mechanisms.discrete_gaussian import (
    discrete_gaussian_probability,
    draw_discrete_gaussian,
)
from dplib.mechanisms.discrete_laplace import (
    discrete_laplace_probability,
    draw_discrete_laplace,
)
from dplib.mechanisms.tree_counts import SAMPLERS
from dplib.privacy.noise import Law
from dplib.randomness.keyed import KeyedStream
from tests.support.goodness_of_fit import PASS, REJECT, chi_square_p_value, kolmogorov_p_value

KEY = bytes(range(32))
DRAWS = 300_000
SCALES = [Fraction(1, 3), Fraction(1), Fraction(17, 4), Fraction(55), Fraction(1234567, 1000)]
OFF = [Fraction(7, 10), Fraction(13, 10)]


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("scale", SCALES)
def test_noise_has_its_law_and_no_other(scale: Fraction, law: Law) -> None:
    power, probability = (1, discrete_laplace_probability) if law is Law.LAPLACE else (2, discrete_gaussian_probability)
    draws = SAMPLERS[law](KeyedStream(KEY, law.removeprefix("discrete_")), scale**power, DRAWS)
    for p_value in (chi_square_p_value, kolmogorov_p_value):
        assert p_value(draws, lambda k: probability(k, scale**power)) > PASS
        for factor in OFF:
            assert p_value(draws, lambda k, b=(scale * factor) ** power: probability(k, b)) < REJECT


@pytest.mark.parametrize("scale", [Fraction(55), Fraction(2**30), Fraction(2**39)])
def test_moments_at_scales_too_large_for_cells(scale: Fraction) -> None:
    """Mean and variance within 7 standard errors (kurtosis 6 and 3), also where no cell can be counted."""
    n = 100_000
    laplace = draw_discrete_laplace(KeyedStream(KEY, "moments"), scale, n).astype(np.float64)
    gaussian = draw_discrete_gaussian(KeyedStream(KEY, "moments"), scale**2, n).astype(np.float64)
    for draws, variance, kurtosis in (
        (laplace, Law.LAPLACE.variance(scale), 6),
        (gaussian, Law.GAUSSIAN.variance(scale**2), 3),
    ):
        assert abs(draws.mean()) < 7 * (variance / n) ** 0.5
        assert abs((draws**2).mean() / variance - 1) < 7 * ((kurtosis - 1) / n) ** 0.5


def test_every_digit_of_a_large_scale_is_fair() -> None:
    """At scale 2^30 the low digits of a draw are uniform: none is stuck, shifted or shared."""
    draws = draw_discrete_laplace(KeyedStream(KEY, "digits"), Fraction(2**30), 60_000)
    bits = draws[:, np.newaxis] >> np.arange(24) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 7 * 0.5 / len(draws) ** 0.5
    assert np.abs(np.corrcoef(bits.T) - np.eye(24)).max() < 7 / len(draws) ** 0.5
