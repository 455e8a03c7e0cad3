"""The exact exponential mechanism: ties, scripted words, neighbours by exact arithmetic, refused input."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.mechanisms import exponential
from dplib.mechanisms.exponential import (
    count_losses,
    draw_exponential,
    draw_weighted,
    exponential_probability,
    exponential_rate,
)
from dplib.privacy.events import BoundedRangeEvent
from dplib.randomness.keyed import KeyedStream
from tests.support.streams import ScriptedStream

KEY = bytes(range(32))
TOP = 2**64


def test_two_equal_entries_split_the_words_exactly_in_the_middle() -> None:
    """F is 1/2 exactly: the word 2^63 alone does not tell whether U is above, the next word does."""
    half = TOP // 2
    for words, expected in ([[half - 1], 0], [[half + 1], 1], [[half, 7], 1]):
        stream = ScriptedStream(uint64=words)
        assert draw_weighted(stream, [4, 4], [1, 1], Fraction(1, 3))[0] == expected
        assert stream.used_up


def test_a_word_on_a_threshold_reads_on() -> None:
    """With losses 0 and 1 at rate 1 the first threshold is e / (1 + e): digits known from its enclosure."""
    # 64 and 128 digits of e / (1 + e), from the alternating series of 1 / (1 + e^-1) in exact integers.
    digits = _digits_of_e_over_one_plus_e(200)
    first, second = digits >> (200 - 64), digits >> (200 - 128) & (TOP - 1)
    for words, expected in (
        [[first - 1], 0],
        [[first + 1], 1],
        [[first, second - 1], 0],
        [[first, second + 1], 1],
    ):
        stream = ScriptedStream(uint64=words)
        assert draw_weighted(stream, [0, 1], [1, 1], Fraction(1))[0] == expected
        assert stream.used_up


def _digits_of_e_over_one_plus_e(bits: int) -> int:
    e, term, k = Fraction(0), Fraction(1), 0
    while term > Fraction(1, 2 ** (bits + 40)):
        e, k = e + term, k + 1
        term /= k
    return int(e / (1 + e) * 2**bits)


def test_losses_far_apart_cost_neither_time_nor_exactness() -> None:
    stream = ScriptedStream(uint64=[TOP - 1, TOP - 1, 0])
    # The far entry has probability e^(-10^15): no 128 digits reach it, the third word decides.
    assert draw_weighted(stream, [0, 10**15], [1, 1], Fraction(1))[0] == 0


@pytest.mark.parametrize(("ones", "expected"), [(400, 0), (435, 1), (860, 1), (870, 2), (2000, 2)])
def test_far_entries_are_drawn_where_their_share_begins(ones: int, expected: int) -> None:
    """U = 1 - 2^-ones against 1 - e^-300 (433 ones) and 1 - e^-600 (866 ones): far entries are late, not lost."""
    words = [(2**ones - 1 << 64 * 40 - ones >> 64 * (39 - i)) & (TOP - 1) for i in range(40)]
    assert draw_weighted(ScriptedStream(uint64=words), [0, 300, 600], [1, 1, 1], Fraction(1))[0] == expected


def test_losses_that_hardly_count_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heavy weights make millions of different losses: their cost must not tell, nor end, a run."""
    asked: list[int] = []
    digits = exponential._exp_digits
    monkeypatch.setattr(exponential, "_exp_digits", lambda *of: asked.append(of[1]) or digits(*of))
    losses = np.cumsum(np.arange(1, 100_001))
    assert draw_exponential(KeyedStream(KEY, "far"), losses, Fraction(1, 10), 3).max() < 100
    assert 10 < len(asked) < 200


@settings(max_examples=25, deadline=None)
@given(
    entries=st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 2**70)), min_size=1, max_size=12),
    rate=st.fractions(min_value=Fraction(1, 50), max_value=3, max_denominator=60),
    word=st.integers(0, TOP - 1),
)
def test_a_word_falls_where_the_distribution_function_says(
    entries: list[tuple[int, int]], rate: Fraction, word: int
) -> None:
    entries = sorted(entries)
    losses, times = [loss for loss, _ in entries], [count for _, count in entries]
    probability = exponential_probability(losses, rate, np.array(times, dtype=np.float64))
    ends = np.cumsum(probability)
    stream = ScriptedStream(uint64=[word, 5, 5])
    drawn = int(draw_weighted(stream, losses, times, rate)[0])
    u = word / TOP
    assert (ends[drawn - 1] if drawn else 0) - 1e-12 <= u <= ends[drawn] + 1e-12


@settings(max_examples=20, deadline=None)
@given(losses=st.lists(st.integers(-5, 40), min_size=1, max_size=30))
def test_counting_equals_sorting(losses: list[int]) -> None:
    for scaled in (np.array(losses, dtype=np.int64), 10**9 * np.array(losses, dtype=np.int64)):
        distinct, times = count_losses(scaled)
        expected = np.unique(scaled, return_counts=True)
        assert np.array_equal(distinct, expected[0])
        assert np.array_equal(times, expected[1])


@settings(max_examples=25, deadline=None)
@given(
    losses=st.lists(st.integers(0, 12), min_size=2, max_size=8),
    data=st.data(),
    epsilon=st.fractions(min_value=Fraction(1, 10), max_value=4, max_denominator=20),
    sensitivity=st.integers(1, 4),
)
def test_neighbours_stay_within_epsilon_and_its_range(
    losses: list[int], data: st.DataObject, epsilon: Fraction, sensitivity: int
) -> None:
    for monotone in (True, False):
        least = 0 if monotone else -sensitivity
        moves = data.draw(st.lists(st.integers(least, sensitivity), min_size=len(losses), max_size=len(losses)))
        rate = exponential_rate(epsilon, Fraction(sensitivity), monotone=monotone)
        loss = np.log(exponential_probability(losses, rate)) - np.log(
            exponential_probability(np.add(losses, moves), rate)
        )
        assert np.abs(loss).max() <= float(epsilon) + 1e-9
        assert np.ptp(loss) <= float(epsilon) + 1e-9


def test_the_worst_case_reaches_epsilon_and_half_the_noise_exceeds_it() -> None:
    """Many candidates rise and one falls: the claim is tight, so a rate without the 2 would break it."""
    losses, moved = np.array([0] + [0] * 10**6), np.array([-1] + [1] * 10**6)
    for rate, bound in ((exponential_rate(Fraction(1), Fraction(1), monotone=False), 1.0), (Fraction(1), 2.0)):
        gain = exponential_probability(moved, rate)[0] / exponential_probability(losses, rate)[0]
        assert exp(0.999 * bound) < gain <= exp(bound)


def test_the_bounded_range_charge_covers_every_renyi_divergence() -> None:
    """Exact divergences of a family of two-candidate neighbours at many orders, against alpha epsilon^2 / 8."""
    epsilon = 1.0
    for offset in np.linspace(-12, 12, 97):
        p = 1 / (1 + np.exp(offset))
        q = 1 / (1 + np.exp(offset + epsilon))
        for alpha in (1.01, 1.5, 2, 4, 8, 32):
            divergence = np.log(p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)) / (alpha - 1)
            assert divergence <= alpha * float(BoundedRangeEvent("choice", Fraction(1)).rho) + 1e-12


@pytest.mark.parametrize(
    ("losses", "multiplicities", "rate", "named"),
    [
        ([], [], Fraction(1), "losses"),
        ([1, 0], [1, 1], Fraction(1), "losses"),
        ([1], [0], Fraction(1), "multiplicities"),
        ([1, 2], [1], Fraction(1), "multiplicities"),
        ([1], [1], Fraction(0), "rate"),
        ([1], [1], 0.5, "rate"),
    ],
)
def test_wrong_entries_are_refused(losses: list[int], multiplicities: list[int], rate: Fraction, named: str) -> None:
    with pytest.raises(ConfigError, match=f"^{named} must"):
        draw_weighted(KeyedStream(KEY, "x"), losses, multiplicities, rate)


def test_losses_that_are_no_integers_are_refused() -> None:
    for losses in (np.array([1.0, 2.0]), np.array([], dtype=np.int64), np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(ConfigError, match="losses must"):
            draw_exponential(KeyedStream(KEY, "x"), losses, Fraction(1))  # type: ignore[arg-type]
