"""Digits of probabilities against decimal arithmetic of 400 digits."""

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.randomness.digits import ExpNegative, Logistic, Odds, Probability
from tests.support.streams import Rational

arguments = st.fractions(min_value=Fraction(1, 10**9), max_value=60, max_denominator=10**9)


def _floor(value: Callable[[Decimal], Decimal], x: Fraction, n: int) -> int:
    with localcontext(Context(prec=400, Emax=10**9, Emin=-(10**9))):
        scaled = value(Decimal(x.numerator) / Decimal(x.denominator)) * (1 << n)
        floor = int(scaled)
        # The oracle is right where rounding at 400 digits cannot have crossed an integer.
        assert Decimal("1e-40") < scaled - floor < 1 - Decimal("1e-40") or scaled < 1
        return floor


@settings(deadline=None)
@given(arguments, st.integers(0, 300))
def test_exponential_digits(x: Fraction, n: int) -> None:
    assert ExpNegative(x).prefix(n) == _floor(lambda v: (-v).exp(), x, n)


@settings(deadline=None)
@given(arguments, st.integers(0, 300))
def test_logistic_digits(x: Fraction, n: int) -> None:
    assert Logistic(x).prefix(n) == _floor(lambda v: 1 / (1 + v.exp()), x, n)


@settings(deadline=None)
@given(arguments, st.integers(1, 10**6), st.integers(0, 300))
def test_digits_of_odds(x: Fraction, m: int, n: int) -> None:
    assert Odds(m, x).prefix(n) == _floor(lambda v: m / (m + v.exp()), x, n)


@pytest.mark.parametrize("x", [Fraction(1, 2**100), Fraction(2**70 + 1, 2**70), Fraction(700), Fraction(10**40)])
@pytest.mark.parametrize("n", [16, 80, 1100])
def test_digits_at_the_ends_of_the_range(x: Fraction, n: int) -> None:
    assert ExpNegative(x).prefix(n) == (0 if x > 1100 else _floor(lambda v: (-v).exp(), x, n))
    assert Logistic(x).prefix(n) == (0 if x > 1100 else _floor(lambda v: 1 / (1 + v.exp()), x, n))


@settings(deadline=None)
@given(arguments, st.integers(1, 80), st.integers(0, 80))
def test_longer_prefixes_continue_shorter_ones(x: Fraction, n: int, more: int) -> None:
    for law in (ExpNegative(x), Logistic(x), Rational(1 / (1 + x))):
        assert law.prefix(n + more) >> more == law.prefix(n)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (ExpNegative(Fraction(0)), 1 << 16),
        (Logistic(Fraction(0)), 1 << 15),
        (Rational(Fraction(1)), 1 << 16),
        (Rational(Fraction(0)), 0),
        (Rational(Fraction(1, 3)), (1 << 16) // 3),
    ],
)
def test_exact_probabilities(law: Probability, expected: int) -> None:
    assert law.prefix(16) == expected


def test_refuses_what_is_no_probability() -> None:
    with pytest.raises(ConfigError, match="x must be at least 0"):
        ExpNegative(Fraction(-1))
    with pytest.raises(ConfigError, match="x must be at least 0"):
        Logistic(Fraction(-1))
