"""Hundreds of thousands of keyed draws of the exponential mechanism against its exact law, and laws 30 % off."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.exponential import draw_exponential, draw_weighted, exponential_probability
from dplib.randomness.keyed import KeyedStream
from tests.support.goodness_of_fit import PASS, REJECT, pearson_p_value

KEY = bytes(range(32))
DRAWS = 400_000
LOSSES = {
    "ties": np.array([5, 3, 3, 8, 3, -2, -2, 9, 40], dtype=np.int64),
    "one better": np.array([0] + [6] * 63, dtype=np.int64),
    "far apart": np.array([0, 10**12, 4, 2 * 10**12], dtype=np.int64),
    "shuffled": np.random.default_rng(7).integers(0, 60, 200),
}


def _p_value(drawn: IntArray, probability: FloatArray) -> float:
    observed = np.bincount(drawn, minlength=len(probability)).astype(np.float64)
    return pearson_p_value(observed, DRAWS * probability, 25.0)


@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(11, 10)])
@pytest.mark.parametrize("name", LOSSES)
def test_draws_have_their_law_and_no_other(name: str, rate: Fraction) -> None:
    losses = LOSSES[name]
    drawn = draw_exponential(KeyedStream(KEY, "law", name), losses, rate, DRAWS)
    assert _p_value(drawn, exponential_probability(losses, rate)) > PASS
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        assert _p_value(drawn, exponential_probability(losses, rate * factor)) < REJECT


def test_multiplicities_are_weights() -> None:
    losses, times = [0, 1, 1, 7], [1, 10, 3, 10**4]
    drawn = draw_weighted(KeyedStream(KEY, "weights"), losses, times, Fraction(1), DRAWS)
    assert _p_value(drawn, exponential_probability(losses, Fraction(1), times)) > PASS
    assert _p_value(drawn, exponential_probability(losses, Fraction(1))) < REJECT


def test_members_of_one_loss_are_uniform() -> None:
    drawn = draw_exponential(KeyedStream(KEY, "uniform"), np.full(37, 4, dtype=np.int64), Fraction(1, 3), DRAWS)
    assert _p_value(drawn, np.full(37, 1 / 37)) > PASS
