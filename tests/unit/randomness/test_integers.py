"""Exact uniform and Bernoulli draws: laws, and ties that chance would not show."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dplib.errors import ConfigError
from dplib.randomness.digits import ExpNegative
from dplib.randomness.integers import BernoulliTable, bernoulli_exp, resolve_ties, uniform_below
from dplib.randomness.keyed import KeyedStream
from tests.support.goodness_of_fit import PASS, REJECT
from tests.support.streams import Rational, ScriptedStream

KEY = bytes(range(32))


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_uniform_draws_hit_every_value_equally(bound: int) -> None:
    draws = uniform_below(KeyedStream(KEY, "uniform", bound), bound, 200_000)
    counts = np.bincount(draws, minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or stats.chisquare(counts).pvalue > PASS


@settings(deadline=None)
@given(st.integers(1, 2**63))
def test_uniform_rejects_exactly_the_words_that_would_favour_small_values(bound: int) -> None:
    accepted = 2**64 - 2**64 % bound
    words = [w for w in (accepted, 2**64 - 1) if accepted <= w < 2**64] + [accepted - 1]
    stream = ScriptedStream(uint64=words)
    assert uniform_below(stream, bound, 1).tolist() == [bound - 1]
    assert stream.used_up


@pytest.mark.parametrize("bound", [0, -1, 2**63 + 1])
def test_uniform_refuses_bounds_out_of_range(bound: int) -> None:
    with pytest.raises(ConfigError, match="bound must lie strictly between"):
        uniform_below(KeyedStream(KEY), bound, 1)


@pytest.mark.parametrize(
    "p", [Fraction(1, 2), Fraction(1, 3), Fraction(1, 1000), Fraction(999, 1000), Fraction(1, 2**17)]
)
def test_bernoulli_has_its_rate(p: Fraction) -> None:
    n = 1_000_000
    hits = int(BernoulliTable.from_laws(Rational(p)).draw(KeyedStream(KEY, "rate"), n)[0].sum())
    assert stats.binomtest(hits, n, float(p)).pvalue > PASS


def test_a_bernoulli_rate_ten_percent_off_is_rejected() -> None:
    n = 1_000_000
    hits = int(BernoulliTable.from_laws(Rational(Fraction(11, 100))).draw(KeyedStream(KEY, "rate"), n)[0].sum())
    assert stats.binomtest(hits, n, 0.1).pvalue < REJECT


@pytest.mark.parametrize("gamma", [Fraction(1, 1000), Fraction(1), Fraction(7, 3), Fraction(12)])
def test_bernoulli_exp_has_its_rate(gamma: Fraction) -> None:
    n = 1_000_000
    hits = int(bernoulli_exp(KeyedStream(KEY, "exp"), gamma, n).sum())
    assert stats.binomtest(hits, n, float(np.exp(-float(gamma)))).pvalue > PASS


def test_certain_and_impossible_events() -> None:
    assert BernoulliTable.from_laws(Rational(Fraction(1))).draw(KeyedStream(KEY), 200_000)[0].all()
    assert not BernoulliTable.from_laws(Rational(Fraction(0))).draw(KeyedStream(KEY), 200_000)[0].any()
    assert bernoulli_exp(KeyedStream(KEY), Fraction(0), 200_000).all()
    assert not bernoulli_exp(KeyedStream(KEY), Fraction(10**30), 200_000).any()


def test_no_draws() -> None:
    assert BernoulliTable.from_laws(Rational(Fraction(1, 2))).draw(KeyedStream(KEY), 0)[0].shape == (0,)
    assert uniform_below(KeyedStream(KEY), 5, 0).shape == (0,)
    with pytest.raises(ConfigError, match="size must be at least 0"):
        BernoulliTable.from_laws(Rational(Fraction(1, 2))).draw(KeyedStream(KEY), -1)[0]
    with pytest.raises(ConfigError, match="size must be at least 0"):
        uniform_below(KeyedStream(KEY), 5, -1)


def _words(p: Fraction | ExpNegative) -> tuple[int, int, int]:
    """The digits of a probability as the three words a draw compares in turn: 16, 64 and 64 bits."""
    law = Rational(p) if isinstance(p, Fraction) else p
    digits = law.prefix(144)
    return digits >> 128, digits >> 64 & (2**64 - 1), digits & (2**64 - 1)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(2, 7), ExpNegative(Fraction(1, 55)), ExpNegative(Fraction(3))])
def test_ties_are_resolved_by_further_digits(p: Fraction | ExpNegative) -> None:
    first, second, third = _words(p)
    law = Rational(p) if isinstance(p, Fraction) else p
    table = BernoulliTable.from_laws(law)
    # Draws: below and above at once; tied once, then below and above; tied twice, then below and above.
    stream = ScriptedStream(
        uint16=[first - 1, first + 1, first, first, first, first],
        uint64=[second - 1, second + 1, second, second, third - 1, third + 1],
    )
    assert table.draw(stream, 6).tolist() == [[True, False, True, False, True, False]]
    assert stream.used_up


def test_ties_find_their_own_law_in_a_table() -> None:
    laws = [Rational(Fraction(1, 3)), Rational(Fraction(1, 5)), Rational(Fraction(1))]
    words = [_words(law.value) for law in laws[:2]]
    stream = ScriptedStream(
        uint16=[0, words[0][0], words[1][0], words[1][0], 65535, 0],
        uint64=[words[0][1] - 1, words[1][1] + 1, words[1][1] - 1, 2**63],
    )
    expected = [[True, True], [False, True], [True, True]]
    assert BernoulliTable.from_laws(*laws).draw(stream, 2).tolist() == expected


def test_one_half_is_fair_at_the_tie() -> None:
    # 1/2 has no digits left after the first: a tie means U >= 1/2.
    stream = ScriptedStream(uint16=[2**15, 2**15 - 1], uint64=[1])
    assert BernoulliTable.from_laws(Rational(Fraction(1, 2))).draw(stream, 2).tolist() == [[False, True]]


def test_resolve_ties_goes_on_until_all_are_decided() -> None:
    law = Rational(Fraction(1, 3))
    words = [law.prefix(32 + 64 * k) & (2**64 - 1) for k in (1, 2, 3)]
    stream = ScriptedStream(uint64=[words[0], 0, words[0], words[1], words[1] + 1, words[2] - 1])
    assert resolve_ties(stream, law, 32, 3).tolist() == [True, True, False]


def test_bernoulli_is_exhaustively_exact_to_32_bits() -> None:
    """Over all first words, the undecided weight is one word; it is decided in the ratio of the next digits."""
    p = Fraction(12345, 99991)
    words = list(range(2**16))
    second = Rational(p).prefix(80) & (2**64 - 1)
    accepted = sum(
        int(BernoulliTable.from_laws(Rational(p)).draw(ScriptedStream(uint16=words, uint64=[w]), 2**16).sum())
        for w in (second - 1, second + 1)
    )
    low = 2 * (p.numerator * 2**16 // p.denominator)
    assert accepted == low + 1
