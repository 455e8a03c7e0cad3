"""Tables and thresholds of key selection: exact bounds at every weight and degree, and faults that they show."""

import math
from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.mechanisms.noisy_threshold import noisy_threshold
from dplib.mechanisms.release_table import ONE, ReleaseTable, Selector, draw_uniforms, release_probability, units_needed
from dplib.mechanisms.renyi_selection import SHARES, Level, release_table, renyi_tables, weights_of
from dplib.mechanisms.truncated_geometric import truncated_geometric
from dplib.privacy.noise import Law
from dplib.privacy.rounding import exp_above

DIGITS = Context(prec=90)
EPSILON, DELTA, K = Fraction(1), Fraction(1, 10**6), 10


def coin_bounds(table: ReleaseTable, order: int, level: Fraction, failure: Fraction) -> list[tuple[str, int, int]]:
    """Which of the rules (1)-(3) of `renyi_selection` fail, by weight and degree, in fractions."""
    odds, least, failed = [int(x) for x in table.odds], table.weights[-1], []
    degrees = {weight: degree for degree, weight in enumerate(table.weights, 1)}
    bounds = {degree: decimal(exp_above((order - 1) * level / degree)) for degree in degrees.values()}
    for weight, at in enumerate(odds):
        p = Fraction(at, ONE)
        for own, degree in degrees.items():
            others = weight - own
            if others == 0 and p > failure / degree:
                failed.append(("alone", weight, degree))
            if others < least:
                continue
            q = Fraction(odds[others], ONE)
            if p == 1:
                if q < 1 and 1 - q > failure / degree:
                    failed.append(("end", weight, degree))
            elif max(divergence(p, q, order), divergence(q, p, order)) > bounds[degree]:
                failed.append(("divergence", weight, degree))
    return failed


def decimal(x: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


def divergence(p: Fraction, q: Fraction, order: int) -> Decimal:
    """Of coins: e to the power of (order - 1) times the Rényi divergence of two coins."""
    one, two, no, neither = (decimal(each) for each in (p, q, 1 - p, 1 - q))
    heads = DIGITS.multiply(DIGITS.power(DIGITS.divide(one, two), order - 1), one)
    tails = DIGITS.multiply(DIGITS.power(DIGITS.divide(no, neither), order - 1), no)
    return DIGITS.add(heads, tails)


def worst_delta(rule: Selector, epsilon: float, n_weights: int, step: int = 1) -> float:
    """The largest delta at epsilon over one unit's coming or going: i keys that nobody else has, the others alike."""
    worst = 0.0
    for degree, own in enumerate(rule.weights, 1):
        alone = rule.odds_of(own) / ONE
        for weight in range(rule.weights[-1], n_weights, step):
            p, q = rule.odds_of(weight + own) / ONE, rule.odds_of(weight) / ONE
            for n_alone in {0, degree // 2, degree}:
                shared = degree - n_alone
                for a, b, novel in ((p, q, 1 - (1 - alone) ** n_alone), (q, p, 0.0)):
                    kept = 1.0 if not novel else 1 - novel
                    missing = 1.0 if novel else (1 - alone) ** n_alone
                    terms = (
                        math.comb(shared, j)
                        * max(
                            0.0,
                            kept * a**j * (1 - a) ** (shared - j)
                            - math.exp(epsilon) * missing * b**j * (1 - b) ** (shared - j),
                        )
                        for j in range(shared + 1)
                    )
                    worst = max(worst, novel + sum(terms))
    return worst


@pytest.mark.parametrize(("shares", "max_keys"), [((Fraction(1),), 3), (SHARES, 4)])
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
            assert ("divergence", middle) in {
                each[:2]
                for each in coin_bounds(changed(table, middle, fault), level.order, level.level * share, failure)
            }


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
    level, (table,) = renyi_tables(EPSILON, DELTA, K, (Fraction(1),))
    end = len(table.odds) + 40
    assert 0.9e-6 < worst_delta(table, 1, end, 7) <= 1e-6
    assert worst_delta(truncated_geometric(EPSILON, DELTA, K), 1, 60) <= 1e-6
    not_split = release_table(level.order, level.level, level.failures[0] * K, K)
    at = int(np.searchsorted(table.odds, ONE // 2))
    dip = replace(table, odds=np.where(np.arange(len(table.odds)) // 20 == at // 20, table.odds // 4, table.odds))
    unbounded = replace(table, weights=(table.weights[0] * 3,) * K)
    early = replace(table, odds=np.append(np.zeros(20, np.int64), np.maximum(table.odds[20:], ONE // 1000)))
    for fault in (not_split, dip, unbounded, early):
        assert worst_delta(fault, 1, end, 7) > 1e-6


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("law", list(Law))
def test_thresholds_are_the_least_that_bound_novel_keys(law: Law, even: bool) -> None:
    rule, level = noisy_threshold(law, EPSILON, DELTA, K, even)
    failure = DELTA if level is None else level.failures[0]

    def excess(threshold: int) -> float:
        lower = replace(rule, threshold=threshold)
        return max(degree * lower.odds_of(own) / ONE for degree, own in enumerate(rule.weights, 1)) / float(failure)

    assert excess(rule.threshold) <= 1 < excess(rule.threshold - 1)
    assert worst_delta(replace(rule, weights=rule.weights), 1, 4, 1) <= 1e-6
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
