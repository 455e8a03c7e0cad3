"""The counters of the input's quality on worst-case neighbours: below the claim, near it, and broken ones caught."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from dplib.mechanisms.tree_counts import measure_levels
from dplib.privacy.budget import PureDP
from dplib.privacy.input_quality import QualityPlan
from dplib.privacy.noise import Noise
from dplib.randomness.keyed import derive_key
from tests.support.goodness_of_fit import epsilon_between

RUNS = 200_000
EPSILON = Fraction(1)
Counters = list[int]


def plan(q: int, replaces: bool) -> QualityPlan:
    return QualityPlan.of(PureDP(EPSILON), q, replaces, has_cap=True)


def claimed(q: int, replaces: bool) -> tuple[Noise, Noise]:
    """The noise of the rows' counters and of the number of units above the cap."""
    found = plan(q, replaces)
    assert found.units is not None
    return found.rows.noise, found.units.noise


def for_one_row(q: int, replaces: bool) -> tuple[Noise, Noise]:
    """Planted: a unit is taken for one row."""
    return claimed(1, replaces)


def for_removal(q: int, replaces: bool) -> tuple[Noise, Noise]:
    """Planted: a unit is taken to come or go where it may be replaced."""
    return claimed(q, False)


def empirical_epsilon(laws: tuple[Noise, Noise], one: tuple[Counters, int], other: tuple[Counters, int]) -> float:
    """A lower bound of the epsilon that many runs on two inputs show, by the log likelihood ratio."""
    losses = []
    for number, (rows, units) in enumerate((one, other)):
        key = derive_key(bytes(32), "digest", number)
        exact = [np.tile(np.array(rows, dtype=np.int64), (RUNS, 1)), np.full(RUNS, units, dtype=np.int64)]
        noisy = measure_levels(exact, laws, key, "quality", "input")
        loss = np.zeros(RUNS)
        for values, law, a, b in zip(noisy, laws, (one[0], [one[1]]), (other[0], [other[1]]), strict=True):
            distance = np.abs(values.reshape(RUNS, -1) - b) - np.abs(values.reshape(RUNS, -1) - a)
            loss += distance.sum(axis=1) / float(law.parameter)
        losses.append(loss)
    return epsilon_between(*losses)


REMOVED = (([0, 3, 5], 1), ([0, 0, 5], 0))  # all 3 rows of one unit meet one rule, and it is above the cap
REPLACED = (([3, 0, 5], 1), ([0, 3, 5], 0))  # another unit in its place, whose rows meet another rule


@pytest.mark.parametrize(("replaces", "neighbours"), [(False, REMOVED), (True, REPLACED)])
def test_a_unit_shows_no_more_than_the_claim(replaces: bool, neighbours: tuple[tuple[Counters, int], ...]) -> None:
    found = empirical_epsilon(claimed(3, replaces), *neighbours)
    assert 0.7 * float(EPSILON) < found <= float(EPSILON)


@pytest.mark.parametrize(
    ("laws", "replaces", "neighbours"), [(for_one_row, False, REMOVED), (for_removal, True, REPLACED)]
)
def test_a_sensitivity_that_is_too_low_is_caught(
    laws: Callable[[int, bool], tuple[Noise, Noise]],
    replaces: bool,
    neighbours: tuple[tuple[Counters, int], ...],
) -> None:
    assert empirical_epsilon(laws(3, replaces), *neighbours) > 1.2 * float(EPSILON)
