"""Selection of several keys a unit by release tables under a Rényi budget, in one round or several.

A unit of d keys, 1 <= d <= k, adds the integer ``a_d = floor(20 (k / d)^(1/5))`` to each of them. A key of weight W is
released with probability p(W), independently of the others. Of a Rényi order alpha, a level r and a failure f a table
satisfies, in exact arithmetic and for every d and every W that a unit of d keys can be part of,

    (1)  p(a_d) <= f / d                                                     nobody else has the key
    (2)  D_alpha(p(W) || p(W - a_d)) <= r / d, D_alpha(p(W - a_d) || p(W)) <= r / d       where both lie within (0, 1)
    (3)  p(W) = 1 only where 1 - p(W - a_d) <= f / d

with D_alpha the Rényi divergence of two coins. It is the largest of 24 leading bits that does so and does not decrease.

**Theorem.** Rounds 1 ... m follow each other, each on the keys that are not yet released, each unit with its at most k
first ones, and round i has a table of the levels ``s_i r`` and ``f_i``, ``s_1 + ... + s_m = 1``. Then all that is
released is (epsilon, delta)-private for one unit more or less, where ``delta = f_1 + ... + f_m + c`` and

    r = epsilon + ln(alpha / (alpha - 1)) + ln(alpha c) / (alpha - 1).

*Proof.* Let P, Q be the laws of what is released, with the unit and without it or the other way round. What earlier
rounds released is the same in both, so in a round the unit has some d keys left, and only their coins differ. Call one
of them failing if Q makes one of its outcomes impossible that P does not: where P has the unit and nobody else has the
key, or where p(W) = 1 with the unit that Q has. P sees the impossible outcome with probability at most f_i / d, by (1)
or (3). Let P' be P where no failing key ever does: its coins have Q's only outcome. By a union over d keys and m rounds
P lies within f_1 + ... + f_m of P' (the event of no failure has at least 1 less that, and there P is below P'). All
other coins differ by at most ``s_i r / d``, by (2); those that P' and Q share differ by nothing; where P makes
impossible what Q does not, P' is the sure coin against one of probability 1 - x, x <= f_i / d: D_alpha is -ln(1 - x) <=
s_i r / d, which is checked. So a round adds at most ``s_i r``, whatever was released before, and D_alpha(P' || Q) <= r
(Rényi divergences of one order add up, also of steps that depend on the ones before). It remains that P'(S) <=
e^epsilon Q(S) + c: for t >= 0, ``t - e^epsilon <= t^alpha e^(-(alpha-1) epsilon) (1 - 1/alpha)^(alpha-1) / alpha``
(the quotient of both sides' is largest at t = e^epsilon alpha / (alpha - 1)), at t = dP'/dQ, whose alpha-th power has
mean ``e^((alpha-1) r)`` at most under Q. (Its mass where Q has none is 0.)

**One round** needs less. With i of d keys failing the two terms are ``x f + c e^(-(alpha-1) r x)``, ``x = i / d``: P'
has only ``1 - x`` of the level. It is convex in x, c at 0, and c at 1 for ``f = c (1 - e^(-(alpha-1) r))``: delta = c.

*Monotone.* (2) bounds p(W) from above by a function that grows with p(W - a_d). The table takes the least of those
bounds over all d, whatever W, and ``min(f / d, bound at f / k)`` while ``W - a_d`` is below the least weight, where no
other unit can be: every bound then grows with W. Then ``p(W - a_d) <= p(W)``, which (2) needs to bound by one side.

*Numbers.* p is a multiple of 2^-62; (1)-(3) are compared as integers, e^((alpha-1) r / d) rounded down. Floating point
only proposes where to look for the largest p that satisfies them.

References:
    The optimal table of a Rényi budget: Harrison, Manurangsi, arXiv 2603.09167, 2026 (the idea; weights by degree, the
    failure within the same budget, and the proof are ours). Rounds on what is left: Swanberg, Desfontaines, Haney,
    "DP-SIPS: a simpler, more scalable mechanism for differentially private partition selection", PoPETs 2023.
    The conversion at one order: Canonne, Kamath, Steinke, NeurIPS 2020, proposition 12.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dplib.mechanisms.release_table import ONE, ReleaseTable
from dplib.mechanisms.table_bound import Bound, Coin, exceeds, propose
from dplib.privacy.rounding import exp_above, log_below
from dplib.validate import require

SHARES = (Fraction(65, 1000), Fraction(216, 1000), Fraction(719, 1000))
"""Of the level, by round: keys that many share are found cheaply, and free the units' places for others."""
FAILURE = Fraction(1, 5)
"""Of delta, for the failures of several rounds, in proportion to their shares."""
LEAST_WEIGHT, EXPONENT = 20, 5
LEADING_BITS = 24
MAX_WORK = 1 << 23
"""Entries of a table, times its weights and alpha: some seconds."""
MAX_ORDER, MAX_UNITS = 1 << 9, 1 << 12
_TOO_SMALL = "be large enough for tables of some thousand entries (larger epsilon or delta, fewer keys a unit)"


@dataclass(frozen=True)
class Level:
    """What tables may spend.

    Attributes:
        order: alpha.
        level: r of all rounds together.
        failures: f of each round.
        shares: of the level, by round.
    """

    order: int
    level: Fraction
    failures: tuple[Fraction, ...]
    shares: tuple[Fraction, ...]

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, order: int, shares: tuple[Fraction, ...]) -> "Level":
        """The level of a budget at an order; at most 0 where the order is too low for it."""
        several = len(shares) > 1
        converted = delta * (1 - FAILURE) if several else delta
        level = epsilon + log_below(Fraction(order, order - 1)) + log_below(order * converted) / (order - 1)
        if several:
            return cls(order, level, tuple(delta * FAILURE * share for share in shares), shares)
        return cls(order, level, (delta * (1 - exp_above(-(order - 1) * max(level, Fraction(0)))),), shares)


def weights_of(max_keys: int) -> tuple[int, ...]:
    """``a_1, ..., a_k``, rounded down."""
    found = []
    for degree in range(1, max_keys + 1):
        weight = int(LEAST_WEIGHT * (max_keys / degree) ** (1 / EXPONENT)) + 1
        while weight**EXPONENT * degree > LEAST_WEIGHT**EXPONENT * max_keys:
            weight -= 1
        found.append(weight)
    return tuple(found)


@lru_cache(maxsize=32)
def renyi_tables(
    epsilon: Fraction, delta: Fraction, max_keys: int, shares: tuple[Fraction, ...] = SHARES
) -> tuple[Level, tuple[ReleaseTable, ...]]:
    """The tables of a budget, one a round, and what they spend.

    Args:
        epsilon: above 0.
        delta: of all rounds together.
        max_keys: k.
        shares: of the rounds; sum to 1.

    Raises:
        ConfigError: if the budget is too small for a table to end.
    """
    require(sum(shares) == 1 and min(shares) > 0, "shares", "be above 0 and sum to 1", shares)
    level = Level.of(epsilon, delta, best_order(epsilon, delta, max_keys, shares), shares)
    parts = zip(shares, level.failures, strict=True)
    return level, tuple(release_table(level.order, level.level * share, fail, max_keys) for share, fail in parts)


def best_order(epsilon: Fraction, delta: Fraction, max_keys: int, shares: tuple[Fraction, ...]) -> int:
    """The order at which the least number of units of k keys releases a key of theirs, in the last round, by halves.

    Orders are tried in floating point, upwards from the first of a positive level: the number falls, then grows.
    """
    order, best, fewest, worse = 2, 0, 0.0, 0
    while worse < 4:
        level = Level.of(epsilon, delta, order, shares)
        if level.level > 0:
            steps = _units_by_half(level, max_keys)
            if not best or steps < fewest:
                best, fewest, worse = order, steps, 0
            else:
                worse += 1
        order += max(1, order // 12)
        require(order < MAX_ORDER, "privacy.budget", _TOO_SMALL, float(epsilon))
    return best


def _units_by_half(level: Level, max_keys: int) -> float:
    """Units of k keys until p is 1/2 in the last round, by linear interpolation of its log odds."""
    bound = float((level.order - 1) * level.level * level.shares[-1] / max_keys)
    odds, step, last = _log_odds(float(level.failures[-1] / max_keys)), 0.1, 0.0
    for units in range(1, MAX_UNITS):
        if odds >= 0:
            return units - odds / (odds - last)
        last, odds = odds, propose(level.order, bound, odds, step)
        step = odds - last
    return math.inf


def _log_odds(p: float) -> float:
    return math.log(p) - math.log1p(-p)


def release_table(order: int, level: Fraction, failure: Fraction, max_keys: int) -> ReleaseTable:
    """The largest table of (1)-(3) of the module's docstring.

    Args:
        order: alpha, at least 2.
        level: r, above 0.
        failure: f.
        max_keys: k.

    Raises:
        ConfigError: if it does not end, or the failure is too small for its numbers or too large for its level.
    """
    weights = weights_of(max_keys)
    degrees = {weight: degree for degree, weight in enumerate(weights, 1)}  # the strictest: the largest degree
    growing = _GrowingTable(order, level, failure, dict(sorted(degrees.items())))
    while growing.odds[-1] < ONE:
        require(len(growing.odds) * len(degrees) * order <= MAX_WORK, "privacy.budget", _TOO_SMALL, "a smaller one")
        growing.grow()
    return ReleaseTable(weights, np.array(growing.odds, np.int64))


class _GrowingTable:
    """A table up to some weight.

    Args:
        order: alpha.
        level: r.
        failure: f.
        degrees: weight to the largest degree that has it, increasing.
    """

    def __init__(self, order: int, level: Fraction, failure: Fraction, degrees: dict[int, int]) -> None:
        self._order, self._weights = order, tuple(degrees)
        bounds = [(order - 1) * level / degree for degree in degrees.values()]
        self._bounds = [float(bound) for bound in bounds]
        self._caps = [int(failure / degree * ONE) for degree in degrees.values()]
        self._steps = [0.1] * len(degrees)
        for cap, degree in zip(self._caps, degrees.values(), strict=True):
            require(cap >= 1 << LEADING_BITS // 2, "privacy.budget.delta", "be larger", "one that is lost in rounding")
            # -ln(1 - x) <= x / (1 - x), for a coin that is sure on one side.
            require(Fraction(cap, ONE - cap) <= level / degree, "privacy.budget.delta", "be smaller", float(failure))
        self._limits = [Bound.of(bound, order) for bound in bounds]
        self._least, self._narrowest = self._weights[0], 0
        self.odds = [0] * self._least
        self._coins: list[Coin] = []

    def grow(self) -> None:
        """Append the next entry."""
        weight = len(self.odds)
        if self._may_end(weight):
            self.odds.append(ONE)
            return
        # Below the least weight nobody else has the key: bounded like one that a unit of k keys has alone.
        places = [max(weight - own - self._least, 0) for own in self._weights] if self._coins else []
        alone = (cap for cap, own in zip(self._caps, self._weights, strict=True) if weight - own < self._least)
        cap = min(alone, default=ONE - 1)
        found = cap if not places else min(cap, self._proposed(places))
        self._coins.append(self._largest(found, cap, places))
        self.odds.append(self._coins[-1].odds)

    def _may_end(self, weight: int) -> bool:
        """Whether (3) holds of p = 1."""
        if weight - self._weights[-1] < self._least:
            return False
        rows = zip(self._weights, self._caps, strict=True)
        return all(ONE - self.odds[weight - own] <= cap for own, cap in rows)

    def _proposed(self, places: list[int]) -> int:
        """About the largest entry whose divergences are within all bounds."""
        best = math.inf
        # The bound that was the narrowest before is likely to be it again; of others one look says that they are not.
        for i in self._narrowest_first():
            start = self._coins[places[i]].log_odds
            far = best - start > self._limits[i].distance
            if best == math.inf or (far and exceeds(self._order, self._bounds[i], best, start)):
                best = propose(self._order, self._bounds[i], start, self._steps[i])
                self._steps[i], self._narrowest = max(best - start, 1e-6), i
        p = math.exp(-abs(best)) / (1 + math.exp(-abs(best)))
        return int(p * ONE) if best < 0 else ONE - max(int(p * ONE), 1)

    def _largest(self, near: int, cap: int, places: list[int]) -> Coin:
        """The largest entry of few leading bits that is within all bounds and the cap, near a proposed one."""
        # What is too large fails at the narrowest.
        bounds = [(self._limits[i], self._coins[places[i]]) for i in self._narrowest_first()] if places else []

        def allowed(coin: Coin) -> bool:
            return coin.odds <= cap and all(bound.holds(coin, other) for bound, other in bounds)

        found = Coin.of(max(_next_below(near + 1), self.odds[-1]), self._order)
        while not allowed(found):
            found = Coin.of(_next_below(found.odds), self._order)
        while allowed(following := Coin.of(_next_above(found.odds), self._order)):
            found = following
        if found.odds < self.odds[-1]:
            raise ArithmeticError("a release table must not decrease")
        return found

    def _narrowest_first(self) -> list[int]:
        """The weights' numbers, that of the narrowest bound before the others'."""
        return [self._narrowest, *(i for i in range(len(self._weights)) if i != self._narrowest)]


def _next_below(odds: int) -> int:
    """The largest number below that has few leading bits, or whose distance from 2^62 has."""
    return _cleared(odds - 1) if odds <= ONE // 2 else ONE - _longer(ONE - odds)


def _next_above(odds: int) -> int:
    """The least number above of that kind, of one that is."""
    return _longer(odds) if odds < ONE // 2 else ONE - _cleared(ONE - odds - 1)


def _cleared(number: int) -> int:
    """Its leading bits."""
    unit = max(0, number.bit_length() - LEADING_BITS)
    return number >> unit << unit


def _longer(number: int) -> int:
    """The least number above whose leading bits are all."""
    return _cleared(number) + (1 << max(0, number.bit_length() - LEADING_BITS))
