"""How large a weighted sum of independent noise can be by chance: upper quantiles, from public parameters alone.

`dplib.privacy.noise_quantile` has the laws and their 95 % intervals; here are quantiles at tails of any size. One draw
has its exact quantile on the integers. A sum of discrete Gaussians is normal to far below what is asked here (their
variances are 1/32 at least, and sums of several are smoother). A sum of discrete Laplace draws has heavier tails than
the normal law; its tail is found by a saddlepoint of its exact cumulant function, to about 1.5 % of the tail's
probability for two equal draws, 3 % on the safe side where one draw decides, and closer for more.

Notation: ``K`` the cumulant function ``sum n (2 ln(1 - q) - ln(1 - q e^{ct}) - ln(1 - q e^{-ct}))`` of n draws of
coefficient c with ``q = exp(-1 / b)``; ``t`` the saddlepoint, where ``K'(t)`` is the quantile.

Reference: Lugannani, Rice, "Saddle point approximation for the distribution of the sum of independent random
variables", Advances in Applied Probability 12(2), 1980.
"""

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from dplib.privacy.noise import Law
from dplib.privacy.noise_quantile import DrawLaw, Draws, std_error
from dplib.validate import require

_STEPS = 200
"""Bisections: the saddlepoint is then exact to the last bit."""


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
    present = [each for each in draws if each.variance > 0]
    if not present:
        return 0.0
    if len(present) == 1 and present[0].count == 1 and present[0].law.mechanism != "normal":
        return present[0].coefficient * _one_draw(present[0].law, tail)
    if any(each.law.mechanism == Law.LAPLACE for each in present):
        return _saddlepoint(present, tail)
    return std_error(present) * NormalDist().inv_cdf(1 - tail)


def _one_draw(law: DrawLaw, tail: float) -> float:
    """The smallest whole number that one draw exceeds with a probability of at most ``tail``."""
    if law.mechanism == Law.LAPLACE:
        inverse = 1 / law.parameter
        # P(X > x) = q^(x + 1) / (1 + q) from x = 0 on.
        return max(0.0, math.ceil(-(math.log(tail) + math.log1p(math.exp(-inverse))) / inverse - 1))
    if law.parameter >= 100:
        return math.ceil(math.sqrt(law.parameter) * NormalDist().inv_cdf(1 - tail) - 0.5)
    mass = np.exp(-(np.arange(400.0) ** 2) / (2 * law.parameter))
    at_least = np.cumsum(mass[::-1])[::-1] / (2 * mass.sum() - 1)
    return float(np.count_nonzero(at_least[1:] > tail))


def _saddlepoint(draws: list[Draws], tail: float) -> float:
    end = min(1 / (each.law.parameter * each.coefficient) for each in draws if each.law.mechanism == Law.LAPLACE)
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
        n, c = each.count, each.coefficient
        if each.law.mechanism != Law.LAPLACE:
            variance = each.variance
            value, first, second = value + variance * t * t / 2, first + variance * t, second + variance
            continue
        inverse = 1 / each.law.parameter
        # 1 - q e^{ct} and 1 - q e^{-ct}, without cancellation.
        up, down, none = (-math.expm1(x - inverse) for x in (c * t, -c * t, 0.0))
        if up <= 0:
            return math.inf, math.inf, math.inf
        value += n * (2 * math.log(none) - math.log(up) - math.log(down))
        # q e^{ct} / (1 - q e^{ct}) and its derivative by ct.
        a, b = 1 / up - 1, 1 / down - 1
        first += n * c * (a - b)
        second += n * c * c * (a * (1 + a) + b * (1 + b))
    return value, first, second
