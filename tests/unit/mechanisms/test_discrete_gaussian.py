"""The discrete Gaussian sampler: acceptance decided exactly, moments as summed."""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.mechanisms import discrete_gaussian as module
from dplib.randomness.digits import ExpNegative
from tests.support.streams import ScriptedStream

KEY = bytes(range(32))
PARAMETERS = [
    Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(55**2), Fraction(1234567, 1000), Fraction(2**78),
]  # fmt: skip
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
    law, acceptance = ExpNegative(_exponent(magnitude, sigma_squared)), module._acceptance(sigma_squared)
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
            assert module._accept(stream, np.array([magnitude]), acceptance).tolist() == [expected]
            assert stream.used_up


def test_a_probability_that_rounds_to_one_is_still_resolved() -> None:
    """At sigma^2 = 2^-100, e^-g = 1 - 2^-101 is 1 in floating point; only the digits from 101 on tell."""
    sigma_squared = Fraction(1, 2**100)
    third = ExpNegative(_exponent(0, sigma_squared)).prefix(160) & (2**64 - 1)
    for last, expected in ((third - 1, True), (third + 1, False)):
        stream = ScriptedStream(uint32=[2**32 - 1], uint64=[2**64 - 1, last])
        assert module._accept(stream, np.array([0]), module._acceptance(sigma_squared)).tolist() == [expected]
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
