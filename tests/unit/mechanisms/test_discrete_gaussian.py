"""The discrete Gaussian sampler: acceptance decided exactly, moments as summed."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.mechanisms import discrete_gaussian as module
from dplib.mechanisms.discrete_gaussian import (
    discrete_gaussian_probability,
    draw_discrete_gaussian,
)
from dplib.privacy.noise import Law
from dplib.randomness.digits import ExpNegative
from dplib.randomness.keyed import KeyedStream
from tests.support.streams import ScriptedStream

KEY = bytes(range(32))
PARAMETERS = [
    Fraction(1, 1000),
    Fraction(1, 3),
    Fraction(1),
    Fraction(55**2),
    Fraction(1234567, 1000),
    Fraction(2**78),
]
parameters = st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=10**6)


def _exponent(magnitude: int, sigma_squared: Fraction) -> Fraction:
    """The exponent of algorithm 3 of the paper, from its definition."""
    t = 1
    while t * t <= sigma_squared:
        t += 1
    return (magnitude - sigma_squared / t) ** 2 / (2 * sigma_squared)


@settings(deadline=None)
@given(parameters, st.integers(0, 3000))
def test_acceptance_flips_exactly_at_the_threshold(sigma_squared: Fraction, magnitude: int) -> None:
    law = ExpNegative(_exponent(magnitude, sigma_squared))
    digits = law.prefix(96)
    first, second = digits >> 64, digits & (2**64 - 1)
    for word, more, expected in (
        (first - 1, [], True),
        (first + 1, [], False),
        (first, [second - 1], True),
        (first, [second + 1], False),
    ):
        if 0 <= word < 2**32 and all(0 <= further < 2**64 for further in more):
            stream = ScriptedStream(uint32=[word], uint64=more)
            assert module._accept(stream, np.array([magnitude]), sigma_squared).tolist() == [expected]
            assert stream.used_up


def test_a_probability_that_rounds_to_one_is_still_resolved() -> None:
    """At sigma^2 = 2^-100, e^-g = 1 - 2^-101 is 1 in floating point; only the digits from 101 on tell."""
    sigma_squared = Fraction(1, 2**100)
    third = ExpNegative(_exponent(0, sigma_squared)).prefix(160) & (2**64 - 1)
    for last, expected in ((third - 1, True), (third + 1, False)):
        stream = ScriptedStream(uint32=[2**32 - 1], uint64=[2**64 - 1, last])
        assert module._accept(stream, np.array([0]), sigma_squared).tolist() == [expected]
        assert stream.used_up


@pytest.mark.parametrize("sigma_squared", PARAMETERS)
def test_the_fast_decision_is_far_inside_its_margin(sigma_squared: Fraction) -> None:
    """The floating-point acceptance probability is within 2^-43 of the exact one, as the proof says."""
    scale = module._proposal_scale(sigma_squared)
    assert (scale - 1) ** 2 <= sigma_squared < scale**2
    magnitudes = np.unique((scale * np.geomspace(0.001, 40, 60)).astype(np.int64))
    centre = sigma_squared / Fraction(scale)
    chance = np.exp((magnitudes - float(centre)) ** 2 / (-2 * float(sigma_squared)))
    for magnitude, approximate in zip(magnitudes.tolist(), chance.tolist(), strict=True):
        gamma = (magnitude - centre) ** 2 / (2 * sigma_squared)
        with localcontext(Context(prec=60)):
            exact = (-Decimal(gamma.numerator) / Decimal(gamma.denominator)).exp()
            assert abs(Decimal(approximate) - exact) < Decimal(2) ** -43


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 1000), max_value=400, max_denominator=1000))
def test_rejection_leaves_the_gaussian_law(sigma_squared: Fraction) -> None:
    """Proposal times acceptance is proportional to e^(-k^2 / (2 sigma^2))."""
    t = module._proposal_scale(sigma_squared)
    exponents = [
        Fraction(k, t) + _exponent(k, sigma_squared) - Fraction(k * k) / (2 * sigma_squared) for k in range(50)
    ]
    assert len(set(exponents)) == 1


@pytest.mark.parametrize("sigma_squared", PARAMETERS)
def test_same_key_same_noise_and_other_labels_other_noise(sigma_squared: Fraction) -> None:
    size = 40_000
    draws = draw_discrete_gaussian(KeyedStream(KEY, "a"), sigma_squared, size)
    assert draws.dtype == np.int64
    assert draws.shape == (size,)
    np.testing.assert_array_equal(draws, draw_discrete_gaussian(KeyedStream(KEY, "a"), sigma_squared, size))
    if sigma_squared >= Fraction(1, 3):
        other = draw_discrete_gaussian(KeyedStream(KEY, "b"), sigma_squared, size)
        assert abs(np.corrcoef(draws, other)[0, 1]) < 7 / size**0.5
        assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 7 / size**0.5


@settings(deadline=None)
@given(st.fractions(min_value=Fraction(1, 100), max_value=10**4, max_denominator=1000))
def test_probabilities_sum_to_one_and_have_the_variance(sigma_squared: Fraction) -> None:
    k = np.arange(-5000, 5001)
    probability = discrete_gaussian_probability(k, sigma_squared)
    assert probability.sum() == pytest.approx(1, rel=1e-12)
    assert probability @ k.astype(float) ** 2 == pytest.approx(Law.GAUSSIAN.variance(sigma_squared), rel=1e-11)
    assert Law.GAUSSIAN.variance(sigma_squared) <= float(sigma_squared) * (1 + 1e-14)


def test_variance_at_both_ends() -> None:
    assert Law.GAUSSIAN.variance(Fraction(1, 2**100)) == 0
    assert Law.GAUSSIAN.variance(Fraction(2**78)) == 2.0**78
    below, at = (Law.GAUSSIAN.variance(s) for s in (Fraction(4) - Fraction(1, 2**60), Fraction(4)))
    assert below == pytest.approx(at, rel=1e-14)


def test_tiny_parameters_give_zero_and_no_draws_are_none() -> None:
    assert not draw_discrete_gaussian(KeyedStream(KEY), Fraction(1, 2**100), 10_000).any()
    assert draw_discrete_gaussian(KeyedStream(KEY), Fraction(9), 0).shape == (0,)


@pytest.mark.parametrize("sigma_squared", [Fraction(0), Fraction(-1), Fraction(2**78 + 1), Fraction(1, 2**101)])
def test_parameters_out_of_range_are_refused(sigma_squared: Fraction) -> None:
    with pytest.raises(ConfigError, match=r"sigma_squared must lie between 2\^-100 and 2\^78"):
        draw_discrete_gaussian(KeyedStream(KEY), sigma_squared, 1)


def test_inexact_parameters_and_negative_sizes_are_refused() -> None:
    with pytest.raises(ConfigError, match="sigma_squared must be an exact fraction, got float"):
        draw_discrete_gaussian(KeyedStream(KEY), 1.5, 1)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="size must be at least 0"):
        draw_discrete_gaussian(KeyedStream(KEY), Fraction(1), -1)
