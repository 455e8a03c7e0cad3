"""Exact audits of key selection on worst neighbours, and planted faults that they must show.

The laws are those of `tests.support.key_selection_audit`; nothing is estimated from samples.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from dplib.mechanisms.noisy_threshold import noisy_threshold
from dplib.mechanisms.release_table import ONE, Selector
from dplib.mechanisms.renyi_selection import SHARES, release_table, renyi_tables
from dplib.mechanisms.truncated_geometric import truncated_geometric
from dplib.privacy.noise import Law
from scripts.accept.claims import Check, Result
from tests.support.key_selection_audit import Rounds, coin_bounds, planted, worst_delta

EPSILON, DELTA, K = Fraction(1), Fraction(1, 10**6), 10
SIZES = (0, 3, 6, 12)
"""Other units that share a key, where rounds are audited."""


def of_one_round() -> Iterator[Result]:
    """A unit of any of 1 ... k keys, none, half or all of which nobody else has."""
    level, (table,) = renyi_tables(EPSILON, DELTA, K, (Fraction(1),))
    end = len(table.odds) + 40
    rules: dict[str, tuple[Selector, int]] = {
        f"table, k = {K}": (table, end),
        "truncated geometric, k = 1": (truncated_geometric(EPSILON, DELTA, 1), 60),
        f"truncated geometric, k = {K}": (truncated_geometric(EPSILON, DELTA, K), 400),
    }
    for name, (rule, n_weights) in rules.items():
        yield _within(f"{name}: delta at epsilon 1 of worst neighbours", worst_delta(rule, 1, n_weights, 3), 1e-6)
    for name, fault in planted(level, table).items():
        yield _above(f"planted: {name}", worst_delta(fault, 1, end, 3), 1e-6)


def of_thresholds() -> Iterator[Result]:
    """A unit alone: any of its keys is released with probability f at most; one below that it is more."""
    for law in Law:
        rule, level = noisy_threshold(law, EPSILON, DELTA, K)
        failure = float(DELTA if level is None else level.failures[0])
        for below in (0, 1):
            lower = replace(rule, threshold=rule.threshold - below)
            novel = max(degree * lower.odds_of(own) / ONE for degree, own in enumerate(rule.weights, 1))
            if below:
                yield _above(f"planted: threshold of {law.value} noise one too low", novel, failure)
            else:
                yield _within(f"threshold of {law.value} noise: novel keys", novel, failure)


def of_rounds() -> Iterator[Result]:
    """Three rounds: every rule of the proof at every weight and degree; exact laws where a unit's keys move up."""
    level, tables = renyi_tables(EPSILON, DELTA, K)
    failed = [
        rule
        for table, share, failure in zip(tables, SHARES, level.failures, strict=True)
        for rule in coin_bounds(table, level.order, level.level * share, failure)
    ]
    n_rules = sum(len(table.odds) for table in tables) * K
    yield Result(f"three rounds, k = {K}: {n_rules:,} bounds of the proof", "0 fail", str(len(failed)), not failed)
    level, tables = renyi_tables(Fraction(2), Fraction(1, 10**4), 2)
    worst, n = Rounds(tables, ("a", "b", "c")).worst(2, SIZES)
    yield _within(f"three rounds by the tasks' functions, {n} neighbours: delta at epsilon 2", worst, 1e-4)
    whole = release_table(level.order, level.level, level.failures[-1], 2)
    worst, _ = Rounds((whole,) * 3, ("a", "b", "c")).worst(2, SIZES[::2])
    yield _above("planted: a level that is not split among rounds", worst, 1e-4)


def _within(claim: str, measured: float, delta: float) -> Result:
    # Sums of doubles: their last digits are none of the law.
    return Result(claim, f"<= {delta:.3g}", f"{measured:.4g}", measured <= delta * (1 + 1e-9))


def _above(claim: str, measured: float, delta: float) -> Result:
    return Result(claim, f"> {delta:.3g}", f"{measured:.4g}", measured > delta)


CHECKS: tuple[Check, ...] = (of_one_round, of_thresholds, of_rounds)
