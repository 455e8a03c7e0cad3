"""Bounds of Rényi divergences of two coins: what their log odds tell is what exact powers tell."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dplib.mechanisms.release_table import ONE
from dplib.mechanisms.table_bound import Bound, Coin
from dplib.privacy.rounding import exp_above


def exactly_within(one: Coin, two: Coin, order: int, bound: Fraction) -> bool:
    """Both directions of ``D_alpha <= bound / (alpha - 1)``, by fractions."""
    p, q = Fraction(one.odds, ONE), Fraction(two.odds, ONE)
    most = 1 / exp_above(-bound)
    return all(
        a**order / b ** (order - 1) + (1 - a) ** order / (1 - b) ** (order - 1) <= most for a, b in ((p, q), (q, p))
    )


@pytest.mark.parametrize("order", [2, 17])
def test_a_bound_holds_of_the_coins_whose_divergences_are_within_it(order: int) -> None:
    bound = Bound.of(Fraction(1, 3), order)
    found = []
    # Near 1/2 the distance is nearly as far as the bound holds; elsewhere it holds further.
    for middle in (0.0, -3.0, 3.0):
        for factor in np.linspace(0.8, 1.2, 9).tolist():
            ends = [middle + sign * factor * bound.distance / 2 for sign in (-1, 1)]
            one, two = (Coin.of(int(ONE / (1 + math.exp(-end))), order) for end in ends)
            found.append(bound.holds(one, two))
            assert found[-1] == bound.holds(two, one) == exactly_within(one, two, order, Fraction(1, 3))
    assert 9 < sum(found) < 27
