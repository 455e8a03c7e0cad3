"""How large a weighted sum of independent noise can be by chance: upper quantiles, from public parameters alone.

One draw has its exact quantile on the integers. A sum of discrete Gaussians is normal to far below what is asked here
(their variances are 1/32 at least, and sums of several are smoother). A sum of discrete Laplace draws has heavier tails
than the normal law; its tail is found by a saddlepoint of its exact cumulant function, to about 1 % of the tail's
probability for two draws and closer for more.

Notation: ``K`` the cumulant function ``sum n (2 ln(1 - q) - ln(1 - q e^{wt}) - ln(1 - q e^{-wt}))`` of n draws of
weight w with ``q = exp(-1 / b)``; ``t`` the saddlepoint, where ``K'(t)`` is the quantile.

Reference: Lugannani, Rice, "Saddle point approximation for the distribution of the sum of independent random
variables", Advances in Applied Probability 12(2), 1980.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from dplib.privacy.measurement import discrete_gaussian_variance, discrete_laplace_variance
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import require

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_STEPS = 200
"""Bisections: the saddlepoint is then exact to the last bit."""


@dataclass(frozen=True)
class Draws:
    """Independent draws of one law that enter a sum with one weight.

    Attributes:
        mechanism: ``discrete_laplace`` or ``discrete_gaussian``.
        parameter: ``b`` or ``sigma^2``.
        count: how many draws.
        weight: of each, above 0; all laws are symmetric, so its sign says nothing.
    """

    mechanism: str
    parameter: Fraction
    count: int = 1
    weight: float = 1.0

    @property
    def variance(self) -> float:
        """Of their weighted sum."""
        laplace = self.mechanism == "discrete_laplace"
        one = discrete_laplace_variance(self.parameter) if laplace else discrete_gaussian_variance(self.parameter)
        return self.count * self.weight**2 * one


def sum_variance(draws: Sequence[Draws]) -> float:
    """Variance of the whole sum."""
    return math.fsum(each.variance for each in draws)


@lru_cache(maxsize=4096)
def upper_quantile(draws: tuple[Draws, ...], tail: float) -> float:
    """The value that the sum exceeds with a probability of at most ``tail``.

    Args:
        draws: what is added up; with nothing, or noise of no variance, the sum is 0.
        tail: above 0, below 1/2.

    Raises:
        ConfigError: if the tail is none.
    """
    require(0 < tail < 0.5, "tail", "be between 0 and 1/2", tail)
    present = [each for each in draws if each.count and each.weight]
    if not present:
        return 0.0
    if len(present) == 1 and present[0].count == 1:
        return abs(present[0].weight) * _one_draw(present[0], tail)
    if all(each.mechanism == "discrete_gaussian" for each in present):
        return math.sqrt(sum_variance(present)) * NormalDist().inv_cdf(1 - tail)
    return _saddlepoint(present, tail)


def _one_draw(draw: Draws, tail: float) -> float:
    """The smallest whole number that one draw exceeds with a probability of at most ``tail``."""
    if draw.mechanism == "discrete_laplace":
        inverse = float(1 / draw.parameter)
        # P(X > x) = q^(x + 1) / (1 + q) from x = 0 on.
        return max(0.0, math.ceil(-(math.log(tail) + math.log1p(math.exp(-inverse))) / inverse - 1))
    variance = float(draw.parameter)
    if variance >= 100:
        return math.ceil(math.sqrt(variance) * NormalDist().inv_cdf(1 - tail) - 0.5)
    masses = [math.exp(-x * x / (2 * variance)) for x in range(400)]
    whole = 2 * math.fsum(masses) - 1
    above, value = (whole - 1) / (2 * whole), 0
    while above > tail:
        value += 1
        above -= masses[value] / whole
    return float(value)


def _saddlepoint(draws: list[Draws], tail: float) -> float:
    end = min(
        (1 / (float(each.parameter) * abs(each.weight)) for each in draws if each.mechanism == "discrete_laplace"),
    )
    low, high = 0.0, end
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if _tail_at(draws, middle) > tail:
            low = middle
        else:
            high = middle
    return _cumulants(draws, high if high < end else low)[1]


def _tail_at(draws: list[Draws], t: float) -> float:
    """P(sum > K'(t)), after Lugannani and Rice."""
    value, first, second = _cumulants(draws, t)
    gap = t * first - value
    if gap < 1e-6:
        return 0.5
    r, u = math.sqrt(2 * gap), t * math.sqrt(second)
    normal = NormalDist()
    return normal.cdf(-r) + normal.pdf(r) * (1 / u - 1 / r)


def _cumulants(draws: list[Draws], t: float) -> tuple[float, float, float]:
    """K and its first two derivatives at t."""
    value = first = second = 0.0
    for each in draws:
        n, w = each.count, abs(each.weight)
        if each.mechanism == "discrete_gaussian":
            variance = each.variance
            value, first, second = value + variance * t * t / 2, first + variance * t, second + variance
            continue
        inverse = float(1 / each.parameter)
        # 1 - q e^{wt} and 1 - q e^{-wt}, without cancellation.
        up, down, none = (-math.expm1(x - inverse) for x in (w * t, -w * t, 0.0))
        if up <= 0:
            return math.inf, math.inf, math.inf
        value += n * (2 * math.log(none) - math.log(up) - math.log(down))
        # q e^{wt} / (1 - q e^{wt}) and its derivative by wt.
        a, b = 1 / up - 1, 1 / down - 1
        first += n * w * (a - b)
        second += n * w * w * (a * (1 + a) + b * (1 + b))
    return value, first, second


def root_draws(
    tree: IntervalTree, own: FloatArray, kind: IntArray, kinds: Sequence[tuple[str, Fraction]]
) -> tuple[Draws, ...]:
    """The draws that make up the least-squares estimate of a tree's root, with their weights.

    The estimate of a node is ``own`` times its own noisy count plus ``1 - own`` times the sum of its children's
    estimates, so a draw's weight is a product along its path.

    Args:
        tree: the tree.
        own: weight of each node's own count, shape (n_nodes,); 0 where not measured.
        kind: number of each node's law in ``kinds``, shape (n_nodes,).
        kinds: mechanism and parameter.
    """
    left = np.ones(tree.n_nodes)
    for level in range(1, tree.n_levels):
        nodes = tree.level_slice(level)
        parents = tree.parent[nodes]
        left[nodes] = left[parents] * (1 - own[parents])
    weight = left * own
    present = np.flatnonzero(weight)
    # Equal up to rounding is equal: the weights of one level of an even tree are one weight.
    laws = np.stack([kind[present].astype(np.float64), np.round(weight[present], 12)])
    pairs, counts = np.unique(laws, axis=1, return_counts=True)
    return tuple(
        Draws(*kinds[int(number)], count, each)
        for (number, each), count in zip(pairs.T.tolist(), counts.tolist(), strict=True)
    )
