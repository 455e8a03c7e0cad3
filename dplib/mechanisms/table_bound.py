"""Rényi divergences of two coins, compared with a bound as integers, and where the largest coin within it may be.

With p, q multiples of 1/N, P = p N and so on, ``D_alpha(p || q) <= b / (alpha - 1)`` says ``P^alpha (N - Q)^(alpha - 1)
+ (N - P)^alpha Q^(alpha - 1) <= e^b N (Q (N - Q))^(alpha - 1)``: integers, once e^b is one over 2^64, rounded down.

Most pairs are told by smaller ones: with x the difference of their log odds, ``(alpha - 1) D_alpha <= alpha (alpha - 1)
x^2 / 8`` in both directions. For ``ln(dp/dq)`` has two values x apart, so ``psi(t) = ln E_q (dp/dq)^t`` has ``psi'' <=
x^2 / 4``, the most that two such values vary; then ``psi(t) - t (t - 1) x^2 / 8`` is concave, and 0 at 0 and
at 1, so at most 0 at alpha.

References:
    The last inequality, of all mechanisms of bounded range: Dong, Durfee, Rogers, "Optimal differential privacy
    composition for exponential mechanisms", ICML 2020.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from dplib.mechanisms.release_table import ODDS_BITS, ONE
from dplib.privacy.rounding import exp_above, sqrt_below

LIMIT_BITS = 64
_MAX_ROUNDS, _CLOSE = 80, 1e-10


@dataclass(frozen=True)
class Coin:
    """A coin of probability ``odds / 2^62`` strictly between 0 and 1.

    Attributes:
        odds: P, in units of 2^-62.
        power: ``P^(alpha - 1)``.
        other_power: ``(N - P)^(alpha - 1)``.
    """

    odds: int
    power: int
    other_power: int

    @classmethod
    def of(cls, odds: int, order: int) -> "Coin":
        """A coin and its powers for an order."""
        return cls(odds, odds ** (order - 1), (ONE - odds) ** (order - 1))

    @cached_property
    def both_powers(self) -> int:
        """``(P (N - P))^(alpha - 1)``; one product for all coins that it is compared with."""
        return self.power * self.other_power

    @cached_property
    def log_odds(self) -> float:
        """ln(p / (1 - p))."""
        return math.log(self.odds) - math.log(ONE - self.odds)


@dataclass(frozen=True)
class Bound:
    """A bound b of alpha - 1 times both divergences of two coins.

    Attributes:
        limit: ``e^b 2^64``, rounded down.
        distance: of log odds, as far as which b holds whatever the coins, about.
        ratio: ``e^distance 2^64``, rounded down.
    """

    limit: int
    distance: float
    ratio: int

    @classmethod
    def of(cls, bound: Fraction, order: int) -> "Bound":
        """The bound for an order, alpha."""
        distance = sqrt_below(8 * bound / (order * (order - 1)), 30)
        return cls(_scaled_exp(bound), float(distance), _scaled_exp(distance))

    def holds(self, one: Coin, two: Coin) -> bool:
        """Whether both divergences of two coins are within it."""
        low, high = sorted((one.odds, two.odds))
        if high * (ONE - low) << LIMIT_BITS <= self.ratio * low * (ONE - high):
            return True
        return _one_way(one, two, self.limit) and _one_way(two, one, self.limit)


def _scaled_exp(power: Fraction) -> int:
    return int((1 << LIMIT_BITS) / exp_above(-power))


def _one_way(p: Coin, q: Coin, limit: int) -> bool:
    total = p.power * p.odds * q.other_power + p.other_power * (ONE - p.odds) * q.power
    return total << LIMIT_BITS - ODDS_BITS <= limit * q.both_powers


def propose(order: int, bound: float, start: float, step: float) -> float:
    """About the largest log odds above ``start`` whose coin has both divergences from it within ``bound``.

    Args:
        order: alpha.
        bound: of alpha - 1 times the divergence.
        start: log odds of the other coin.
        step: a guess of the distance, above 0.
    """
    low, high, at = start, math.inf, start + step
    for _ in range(_MAX_ROUNDS):
        value, slope = _larger(order, at, start)
        if value > bound:
            high = at
        else:
            low = at
        after = at - (value - bound) / slope if slope > 0 else math.inf
        if abs(after - at) < _CLOSE:
            return after
        if not low < after < high:
            after = (low + high) / 2 if high < math.inf else start + 2 * (at - start)
        at = after
    return at


def exceeds(order: int, bound: float, one: float, two: float) -> bool:
    """Whether a divergence of two coins, of these log odds, is about above its bound; of alpha - 1 times it."""
    return _larger(order, one, two)[0] > bound


def _larger(order: int, one: float, two: float) -> tuple[float, float]:
    """The larger of both divergences times alpha - 1, and its slope in ``one``; of log odds."""
    heads, tails = _logs(one)
    other_heads, other_tails = _logs(two)
    p, q = math.exp(heads), math.exp(tails)
    there, u, v = _log_sum(order * heads - (order - 1) * other_heads, order * tails - (order - 1) * other_tails)
    back, x, y = _log_sum(order * other_heads - (order - 1) * heads, order * other_tails - (order - 1) * tails)
    return max((there, order * (q * u - p * v)), (back, (order - 1) * (p * y - q * x)))


def _log_sum(a: float, b: float) -> tuple[float, float, float]:
    """ln(e^a + e^b), and the parts of both."""
    top = max(a, b)
    value = top + math.log(math.exp(a - top) + math.exp(b - top))
    return value, math.exp(a - value), math.exp(b - value)


def _logs(log_odds: float) -> tuple[float, float]:
    """Logarithms: ln p and ln(1 - p)."""
    small = math.log1p(math.exp(-abs(log_odds)))
    return (-small, -log_odds - small) if log_odds >= 0 else (log_odds - small, -small)
