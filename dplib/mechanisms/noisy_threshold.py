"""Selection by thresholds, with the noisy weights of what is released: weighted Laplace and Gaussian noise.

A unit of d keys, 1 <= d <= k, adds ``w_d`` to each of them. A key of weight W > 0 gets integer noise X, and is released
with W + X where that is at least t. With ``S = 64`` the weights are ``floor(S / d)`` (Laplace, L1 norm at most S) or
``floor(S / sqrt(d))`` (Gaussian, L2 norm at most S); where weights are even every key of a unit counts 1, the norms are
k and sqrt(k), and what is released are numbers of units.

Guarantee: (epsilon, delta) for one unit more or less. Of its d keys let nobody else have i, ``x = i / d``. Each of
these is released with probability at most ``f / d``, by the threshold, for every d. The others' noisy weights are
``(1 - x) epsilon``-private (Laplace), or have a Rényi divergence of order alpha of at most ``(1 - x) alpha rho``, what
is below t being dropped afterwards. Laplace: f = delta. Gaussian: f and rho as for one round of tables
(`dplib.mechanisms.renyi_selection`, level ``r = alpha rho``): delta is joint over the number of novel keys, not halved.
In the other direction a novel key is absent where it might be released: ``-ln(1 - f / d)``, at most ``epsilon / d`` or
``r / d``, which is checked.

*Draw.* X is found by binary search of one uniform integer of 62 bits among the sums of its masses, rounded to multiples
of 2^-62 and cut where less than 2^-62 is left. The law so drawn is within 2^-45 of its own; only the unit's k draws
differ between neighbours, so (1 + e^epsilon) k 2^-45 is taken from delta first.

References:
    Korolova, Kenthapadi, Mishra, Ntoulas, "Releasing search queries and clicks privately", WWW 2009 (Laplace);
    Gopi, Gulhane, Kulkarni, Shen, Shokouhi, Yekhanin, "Differentially private set union", ICML 2020 (Gaussian).
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.mechanisms.release_table import ODDS_BITS, ONE
from dplib.mechanisms.renyi_selection import Level
from dplib.privacy.noise import Law, Noise
from dplib.privacy.rounding import exp_above
from dplib.validate import require

SCALE = 64
"""S: weights are fixed-point numbers, since sums of floats depend on their order."""
DISTANCE_BITS = 45
MAX_VALUES = 1 << 16
_DIGITS = Context(prec=60)
"""More than the 40 of a mass: each is the product of up to `MAX_VALUES` ratios, whose last digits are off."""
_PARTS = 10**40


@dataclass(frozen=True, eq=False)
class NoisyThreshold:
    """Noise and a threshold.

    Attributes:
        weights: what a unit of d keys adds to each of them, at place d - 1.
        noise: its law.
        threshold: t.
        reach: L: noise lies within -L ... L.
        sums: ``P(X <= x)`` in units of 2^-62, shape (2 L + 1,).
    """

    weights: tuple[int, ...]
    noise: Noise
    threshold: int
    reach: int
    sums: IntArray

    def odds_of(self, weight: int) -> int:
        """How likely a key of this weight is released, in units of 2^-62."""
        below = self.threshold - weight + self.reach  # values of X that are too small
        if weight == 0 or below <= 0:
            return ONE if weight else 0
        return ONE - int(self.sums[min(below, len(self.sums)) - 1])

    def release(self, uniforms: IntArray, weights: IntArray) -> tuple[BoolArray, IntArray]:
        """Decide on keys of these weights, shape (n,): which are released, and the noisy weights."""
        noisy = weights + np.searchsorted(self.sums, uniforms, side="right") - self.reach
        return noisy >= self.threshold, noisy


@lru_cache(maxsize=32)
def noisy_threshold(
    law: Law, epsilon: Fraction, delta: Fraction, max_keys: int, even: bool = False
) -> tuple[NoisyThreshold, Level | None]:
    """The threshold of a budget, and for Gaussian noise the level at which it was found.

    Args:
        law: of the noise.
        epsilon: above 0.
        delta: for noise and threshold together.
        max_keys: k.
        even: whether every key of a unit counts 1.

    Raises:
        ConfigError: if the budget is too small.
    """
    # e^45 / 2^45 is above any delta; the exponential of a larger epsilon may have millions of digits.
    left = delta - (1 + exp_above(min(epsilon, Fraction(DISTANCE_BITS)))) * max_keys * Fraction(1, 1 << DISTANCE_BITS)
    require(
        left > delta / 2, "privacy.budget.delta", "be larger than what drawing noise on 62 bits takes", float(delta)
    )
    if law is Law.LAPLACE:
        weights = tuple(1 if even else max(1, SCALE // degree) for degree in range(1, max_keys + 1))
        norm = Fraction(max(degree * weight for degree, weight in enumerate(weights, 1)))
        noise, level, failure, spent = Noise(law, norm / epsilon, norm), None, left, epsilon
    else:
        weights = tuple(1 if even else max(1, math.isqrt(SCALE**2 // degree)) for degree in range(1, max_keys + 1))
        norm = Fraction(max(degree * weight**2 for degree, weight in enumerate(weights, 1)))
        level = _best_level(epsilon, left)
        noise = Noise(law, norm * level.order / (2 * level.level), norm)
        failure, spent = level.failures[0], level.level
    sums, reach = summed_masses(noise)
    for degree in range(1, max_keys + 1):
        # -ln(1 - x) <= x / (1 - x).
        rule, alone = "be smaller beside its epsilon", failure / degree
        require(alone / (1 - alone) <= spent / degree, "privacy.budget.delta", rule, float(delta))
    threshold = max(weight + _least_excess(sums, reach, failure / degree) for degree, weight in enumerate(weights, 1))
    return NoisyThreshold(weights, noise, threshold, reach, sums), level


def _least_excess(sums: IntArray, reach: int, probability: Fraction) -> int:
    """The least x with P(X >= x) at most this."""
    # X >= x where the sum up to x - 1 is not above the uniform.
    enough = ONE - int(probability * ONE)
    return int(np.searchsorted(sums, enough, side="left")) - reach + 1


def _best_level(epsilon: Fraction, delta: Fraction) -> Level:
    """The level whose order gives the most rho; tried upwards, since it grows and then falls."""
    order, best = 2, Level.of(epsilon, delta, 2, (Fraction(1),))
    while order < 1 << 16:
        order += max(1, order // 16)
        found = Level.of(epsilon, delta, order, (Fraction(1),))
        if best.level > 0 and found.level / order < best.level / best.order:
            break
        best = found
    require(best.level > 0, "privacy.budget", "be large enough for a threshold", float(epsilon))
    return best


def summed_masses(noise: Noise) -> tuple[IntArray, int]:
    """Sums of a law's masses, in units of 2^-62, and its reach.

    Returns:
        ``P(X <= x)`` for x = -L ... L, shape (2 L + 1,), the last one 2^62; and L.

    Raises:
        ConfigError: if the noise is too wide for a table.
    """
    step = _DIGITS.divide(Decimal(-noise.parameter.denominator), Decimal(noise.parameter.numerator))
    # From one mass to the next: e^(-1 / b), or e^(-1 / (2 sigma^2)), which falls by e^(-1 / sigma^2) with each.
    fall = _DIGITS.exp(step)
    ratio, exact = fall if noise.law is Law.LAPLACE else _DIGITS.sqrt(fall), Decimal(_PARTS)
    masses: list[int] = []
    while not masses or masses[-1] > _PARTS >> ODDS_BITS + 2:
        require(2 * len(masses) < MAX_VALUES, "privacy.budget", "give noise of at most some thousand", "a smaller one")
        masses.append(int(exact))
        exact = _DIGITS.multiply(exact, ratio)
        ratio = ratio if noise.law is Law.LAPLACE else _DIGITS.multiply(ratio, fall)
    both = masses[:0:-1] + masses
    whole, total, sums = sum(both), 0, []
    for each in both:
        total += each
        sums.append(total * ONE // whole)
    return np.array(sums, np.int64), len(masses) - 1
