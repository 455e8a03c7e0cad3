"""Audits of key selection: exact bounds and exact laws on worst neighbours, and faults that they must show.

`coin_bounds` checks the rules of a table's proof at every weight and degree. `worst_delta` is the delta of one round
over units whose keys nobody else has, or shares with others. `Rounds` is the exact law of several rounds on small
inputs, by the functions of Spark's tasks: a unit more also reroutes, since its released keys make room for others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa

from dplib.mechanisms.release_table import ONE, ReleaseTable, Selector
from dplib.mechanisms.renyi_selection import Level, release_table
from dplib.privacy.rounding import exp_above
from dplib.spark.rows.keys import weigh_keys

DIGITS = Context(prec=90)
Unit = tuple[str, ...]
"""The keys of a unit in their order."""
RoundsLaw = dict[tuple[int, ...], float]
"""The round in which each key is released, 0 for never, and how likely that is."""


def coin_bounds(
    table: ReleaseTable, order: int, level: Fraction, failure: Fraction, only: int | None = None
) -> list[tuple[str, int, int]]:
    """Which of the rules (1)-(3) of `renyi_selection` fail, by weight (all, or one only) and degree, in fractions."""
    odds, least, failed = [int(x) for x in table.odds], table.weights[-1], []
    degrees = {weight: degree for degree, weight in enumerate(table.weights, 1)}
    bounds = {degree: decimal(exp_above((order - 1) * level / degree)) for degree in degrees.values()}
    for weight in range(len(odds)) if only is None else [only]:
        p = Fraction(odds[weight], ONE)
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
    weights, worst = np.arange(rule.weights[-1], n_weights, step), 0.0
    odds = np.array([rule.odds_of(at) / ONE for at in range(n_weights + max(rule.weights))])
    for degree, own in enumerate(rule.weights, 1):
        alone, p, q = odds[own], odds[weights + own], odds[weights]
        for n_alone in {0, degree // 2, degree}:
            shared = degree - n_alone
            j = np.arange(shared + 1)[:, np.newaxis]
            ways, none = np.array([[math.comb(shared, k)] for k in range(shared + 1)]), (1 - alone) ** n_alone
            for a, b, novel in ((p, q, 1 - none), (q, p, 0.0)):
                kept, missing = (1 - novel, 1.0) if novel else (1.0, none)
                one, two = (each**j * (1 - each) ** (shared - j) for each in (a, b))
                terms = ways * np.maximum(0.0, kept * one - math.exp(epsilon) * missing * two)
                worst = max(worst, float(novel + terms.sum(axis=0).max()))
    return worst


def planted(level: Level, table: ReleaseTable) -> dict[str, ReleaseTable]:
    """Tables of one round for K keys that are wrong, by what is wrong.

    Args:
        level: of the right table.
        table: the right one.
    """
    n_keys, odds = len(table.weights), table.odds
    at = int(np.searchsorted(odds, ONE // 2))
    return {
        "delta that is not split among keys": release_table(
            level.order, level.level, level.failures[0] * n_keys, n_keys
        ),
        "a table that decreases": replace(
            table, odds=np.where(np.arange(len(odds)) // 20 == at // 20, odds // 4, odds)
        ),
        "weights that are not bounded": replace(table, weights=(table.weights[0] * 3,) * n_keys),
        "a key of one unit released without truncation": replace(
            table, odds=np.append(np.zeros(20, np.int64), np.maximum(odds[20:], ONE // 1000))
        ),
    }


@dataclass(frozen=True)
class Rounds:
    """Rounds on units of few keys.

    Attributes:
        tables: of each round.
        keys: all keys that a unit may have.
    """

    tables: tuple[ReleaseTable, ...]
    keys: tuple[str, ...]

    def law(self, units: Sequence[Unit]) -> RoundsLaw:
        """The probability of each outcome."""
        lists = pa.array([[key.encode() for key in unit] for unit in units], pa.list_(pa.binary()))
        batch = pa.RecordBatch.from_arrays([lists], names=["keys"])
        law: RoundsLaw = {(0,) * len(self.keys): 1.0}
        known: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
        for number, table in enumerate(self.tables, 1):
            after: RoundsLaw = {}
            for outcome, mass in law.items():
                left = tuple(place for place, at in enumerate(outcome) if not at)
                # Rounds whose keys weigh alike weigh what is left alike.
                weighed = left, table.weights
                if weighed not in known:
                    known[weighed] = self._weights(batch, *weighed)
                odds = [table.odds_of(weight) / ONE for weight in known[weighed]]
                for coins in product((False, True), repeat=len(left)):
                    chance = math.prod(p if coin else 1 - p for p, coin in zip(odds, coins, strict=True))
                    if chance:
                        rounds = list(outcome)
                        for place, coin in zip(left, coins, strict=True):
                            rounds[place] = number if coin else 0
                        after[tuple(rounds)] = after.get(tuple(rounds), 0.0) + mass * chance
            law = after
        return law

    def _weights(self, batch: pa.RecordBatch, left: tuple[int, ...], weights_of: tuple[int, ...]) -> list[int]:
        """What each key that is left weighs in a round."""
        names = [key.encode() for key in self.keys]
        gone = pa.array([name for place, name in enumerate(names) if place not in left], pa.binary())
        weights: dict[bytes, int] = {}
        for found in weigh_keys(gone, weights_of)(iter([batch])):
            weights |= dict(zip(found["key"].to_pylist(), found["weight"].to_pylist(), strict=True))
        return [weights.get(names[place], 0) for place in left]

    def worst(self, epsilon: float, sizes: Sequence[int], enough: float = math.inf) -> tuple[float, int]:
        """The largest delta over neighbours, and their number; the first one above ``enough`` ends it.

        Every key is shared by some number of other units, each with this key alone or with all keys, where the cap lets
        the last ones wait; the unit that comes has any first keys in either order.
        """
        worst, n = 0.0, 0
        for shared, crowded in product(product(sizes, repeat=len(self.keys)), (sizes[-1] // 2, 0)):
            others: list[Unit] = [(key,) for key, size in zip(self.keys, shared, strict=True) for _ in range(size)]
            others += [self.keys] * crowded
            without = self.law(others)
            for unit in (self.keys, self.keys[::-1], self.keys[:1]):
                worst, n = max(worst, _delta(self.law([*others, unit]), without, epsilon)), n + 1
                if worst > enough:
                    return worst, n
        return worst, n


def _delta(one: RoundsLaw, two: RoundsLaw, epsilon: float) -> float:
    """The delta at epsilon of one unit more or less."""
    growth = math.exp(epsilon)
    more = sum(max(0.0, p - growth * two.get(outcome, 0.0)) for outcome, p in one.items())
    fewer = sum(max(0.0, q - growth * one.get(outcome, 0.0)) for outcome, q in two.items())
    return max(more, fewer)
