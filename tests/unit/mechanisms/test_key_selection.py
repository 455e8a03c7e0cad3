"""Tables and thresholds of key selection: exact bounds at every weight and degree, and faults that they show."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.mechanisms.noisy_threshold import noisy_threshold
from dplib.mechanisms.release_table import ONE, ReleaseTable, draw_uniforms, release_probability, units_needed
from dplib.mechanisms.renyi_selection import SHARES, Level, release_table, renyi_tables, weights_of
from dplib.mechanisms.truncated_geometric import truncated_geometric
from dplib.privacy.noise import Law
from dplib.privacy.rounding import exp_above
from tests.support.key_selection_audit import Rounds, coin_bounds, planted, worst_delta

EPSILON, DELTA, K = Fraction(1), Fraction(1, 10**6), 10


@pytest.mark.parametrize(("shares", "max_keys"), [((Fraction(1),), 3), (SHARES, 3)])
def test_tables_hold_their_bounds_for_every_degree_and_are_the_largest(
    shares: tuple[Fraction, ...], max_keys: int
) -> None:
    level, tables = renyi_tables(Fraction(2), Fraction(1, 10**4), max_keys, shares)
    for table, share, failure in zip(tables, shares, level.failures, strict=True):
        assert coin_bounds(table, level.order, level.level * share, failure) == []
        assert (np.diff(table.odds) >= 0).all()
        assert (table.odds[-1], table.odds[table.weights[-1] - 1]) == (ONE, 0)
        middle = int(np.searchsorted(table.odds, ONE // 3))
        for fault in (ONE >> 20, int(table.odds[middle]) // 50):
            wrong = changed(table, middle, fault)
            found = coin_bounds(wrong, level.order, level.level * share, failure, only=middle)
            assert "divergence" in {rule for rule, *_ in found}


def changed(table: ReleaseTable, weight: int, by: int) -> ReleaseTable:
    odds = table.odds.copy()
    odds[weight] += by
    return replace(table, odds=odds)


def test_a_level_converts_to_its_epsilon_and_delta() -> None:
    for shares in ((Fraction(1),), SHARES):
        level = Level.of(EPSILON, DELTA, 16, shares)
        order, r = level.order, float(level.level)
        log_c = (order - 1) * (r - 1 - math.log(order / (order - 1))) - math.log(order)
        spent = math.exp(log_c) + (float(sum(level.failures)) if len(shares) > 1 else 0)
        assert spent == pytest.approx(1e-6, rel=1e-9)
        if len(shares) == 1:  # at every part x of novel keys delta is at most that of none
            failure = float(level.failures[0])
            xs = np.linspace(0, 1, 101)
            assert (xs * failure + math.exp(log_c) * np.exp(-(order - 1) * r * xs) <= 1e-6 * (1 + 1e-9)).all()


def test_weights_are_exact_roots() -> None:
    assert weights_of(10)[0] == 31
    assert weights_of(32)[0] == 40
    for k in (1, 10, 243):
        for degree, weight in enumerate(weights_of(k), 1):
            assert weight**5 * degree <= 20**5 * k < (weight + 1) ** 5 * degree


def test_one_key_a_unit_is_the_optimum() -> None:
    table = truncated_geometric(EPSILON, DELTA, 1)
    p = 0.0
    for n, odds in enumerate(table.odds.tolist()):
        assert Fraction(odds, ONE) <= Fraction(p) * (1 + Fraction(1, 10**9)) + Fraction(1, 10**12)
        assert odds / ONE >= p * 0.999999
        p = min(math.e * p + 1e-6, 1 - (1 - p - 1e-6) / math.e, 1.0)
        if n:
            before = Fraction(table.odds[n - 1].item(), ONE)
            assert Fraction(odds, ONE) <= exp_above(EPSILON) * before + DELTA
            assert 1 - before <= exp_above(EPSILON) * (1 - Fraction(odds, ONE)) + DELTA
    assert worst_delta(table, 1, len(table.odds)) <= 1e-6 * (1 + 1e-9)


def test_exact_delta_on_worst_neighbours_and_planted_faults() -> None:
    level, (table,) = renyi_tables(EPSILON, DELTA, 6, (Fraction(1),))
    end = len(table.odds) + 40
    assert 0.9e-6 < worst_delta(table, 1, end, 7) <= 1e-6
    assert worst_delta(truncated_geometric(EPSILON, DELTA, 6), 1, 60) <= 1e-6
    for fault in planted(level, table).values():
        assert worst_delta(fault, 1, end, 7) > 1e-6


def test_exact_delta_of_rounds_on_small_inputs_and_a_level_that_is_not_split() -> None:
    """Two keys a unit of three: the unit more makes others' keys move up."""
    level, tables = renyi_tables(Fraction(2), Fraction(1, 10**4), 2, SHARES)
    sizes = (0, 6)
    assert 0 < Rounds(tables, ("a", "b", "c")).worst(2, sizes)[0] <= 1e-4
    whole = release_table(level.order, level.level, level.failures[-1], 2)
    assert Rounds((whole,) * 3, ("a", "b", "c")).worst(2, sizes, enough=1e-4)[0] > 1e-4


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("law", list(Law))
def test_thresholds_are_the_least_that_bound_novel_keys(law: Law, even: bool) -> None:
    rule, level = noisy_threshold(law, EPSILON, DELTA, K, even)
    failure = DELTA if level is None else level.failures[0]

    def excess(threshold: int) -> float:
        lower = replace(rule, threshold=threshold)
        return max(degree * lower.odds_of(own) / ONE for degree, own in enumerate(rule.weights, 1)) / float(failure)

    assert excess(rule.threshold) <= 1 < excess(rule.threshold - 1)
    end = rule.threshold + rule.weights[-1]
    assert 0.9e-6 < worst_delta(rule, 1, end, max(1, end // 60)) <= 1e-6
    norms = [degree * weight ** (1 if law is Law.LAPLACE else 2) for degree, weight in enumerate(rule.weights, 1)]
    assert max(norms) == rule.noise.sensitivity
    masses = np.diff(rule.sums, prepend=0) / ONE
    values = np.arange(-rule.reach, rule.reach + 1)
    assert masses @ values == pytest.approx(0, abs=1e-6)
    assert masses @ values**2 == pytest.approx(rule.noise.variance, rel=1e-6)


def test_noise_is_the_threshold_s_decision() -> None:
    rule, _ = noisy_threshold(Law.GAUSSIAN, EPSILON, DELTA, K)
    uniforms = np.linspace(0, ONE - 1, 4001).astype(np.int64)
    for weight in (64, 900, rule.threshold):
        released, noisy = rule.release(uniforms, np.full(len(uniforms), weight))
        assert released.mean() == pytest.approx(rule.odds_of(weight) / ONE, abs=1e-3)
        assert (noisy[released] >= rule.threshold).all()


def test_draws_depend_on_key_round_and_weight_and_repeat() -> None:
    names, weights = [b"tea", b"coffee"] * 2000, np.repeat(np.arange(1, 2001), 2)

    def drawn(key: bytes = b"k" * 32, number: int = 0, weights: IntArray = weights) -> IntArray:
        return draw_uniforms(key, number, names, weights)

    assert (drawn() == drawn()).all()
    for other in (drawn(number=1), drawn(b"l" * 32), drawn(weights=weights + 1)):
        assert (drawn() != other).all()
    assert drawn().mean() / ONE == pytest.approx(0.5, abs=0.02)
    assert 0 <= drawn().min() <= drawn().max() < ONE


def test_sizes_at_which_a_key_is_released() -> None:
    _, tables = renyi_tables(Fraction(2), Fraction(1, 10**4), 4, SHARES)
    for probability in (Fraction(1, 2), Fraction(99, 100)):
        size = units_needed(tables, 4, probability)
        assert release_probability(tables, size, 4) >= probability > release_probability(tables, size - 1, 4)


@pytest.mark.parametrize(
    "make",
    [lambda: truncated_geometric(EPSILON, Fraction(1, 2**70), 1), lambda: renyi_tables(Fraction(1, 1000), DELTA, 10)],
)
def test_budgets_that_are_too_small_are_refused(make: object) -> None:
    with pytest.raises(ConfigError, match=r"privacy\.budget"):
        make()  # type: ignore[operator]
