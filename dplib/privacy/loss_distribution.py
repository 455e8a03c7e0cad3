"""Composed privacy loss distributions: the sharpest epsilon of many pure events, with Gaussian events beside them.

A pure event is dominated by randomized response with its epsilon: loss ``+epsilon`` with probability ``1 / (1 +
e^-epsilon)``, else ``-epsilon``. Losses of events add, and with ``p`` their distribution the hockey-stick divergence
``delta(epsilon) = sum of p(loss) (1 - e^(epsilon - loss))`` over losses above epsilon bounds every release of such
events; it is reached by one, so the bound is the optimal composition. The same pair stands for a *vector* discrete
Laplace: the pair of a single shifted count would be sharper, but is not proven to dominate a change that spreads over
several counts. A vector discrete Gaussian has no proven pair sharper than its zCDP bound and is charged as that.

Guarantee: results are never below the bound. Losses are rounded up to a grid; composing is shifting and adding positive
numbers, free of the absolute errors of a Fourier transform, which would drown a small delta; every result is the upper
end of a halving search, at which the hockey-stick sum was at most delta with the remaining float errors allowed for.

Cost: O(events * 1e5) additions for pure events.

References:
    Murtagh, Vadhan, "The complexity of computing the optimal composition of differential privacy", TCC 2016
    (randomized response is the worst case, events may differ);
    Zhu, Dong, Wang, "Optimal accounting of differential privacy via characteristic function", AISTATS 2022, theorem 10
    (dominating pairs compose, also adaptively);
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, proposition 12.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.rounding import float_above, float_below

# Steps of the loss grid up to the sum of all epsilons: rounding up to it costs at most one step an event.
_PURE_STEPS = 50_000
_MIXED_STEPS = 2_000
# Relative allowance for the errors of composed probabilities, exponentials and sums of at most 1e6 positive terms, each
# with relative error near 2^-53; exponents are kept below 1e5, where their error stays near 1e-11.
_ROUNDING = 1e-9
_MAX_EXPONENT = 1e5
_N_ORDERS = 96
_N_HALVINGS = 48


def pure_loss_epsilon(epsilons: Sequence[Fraction], delta: Fraction) -> float:
    """Return an epsilon at ``delta`` of pure events together: the optimal composition, rounded up."""
    if not epsilons:
        return 0.0
    losses, probabilities = _composed(epsilons, _PURE_STEPS)
    target = float_below(delta)
    # Exceeds the error of a product and a difference of floats no larger than the largest loss.
    pad = 1e-14 * float(losses[-1])

    def checked_delta(epsilon: float) -> float:
        gaps = losses + pad - epsilon
        above = gaps > 0
        return float(np.dot(-np.expm1(-gaps[above]), probabilities[above])) * (1 + _ROUNDING)

    return _least_epsilon(checked_delta, target, float_above(sum(epsilons, Fraction(0))))


def mixed_loss_epsilon(epsilons: Sequence[Fraction], rho: Fraction, delta: Fraction) -> float:
    """Return an epsilon at ``delta`` of pure events and ``rho``-zCDP events together, rounded up.

    With ``p`` the losses of the pure events, the product of the dominating pairs has divergence ``delta(epsilon) = sum
    of p(loss) delta_rho(epsilon - loss)``, and ``delta_rho(x)`` is at most ``exp((alpha - 1) (alpha rho - x)) / alpha *
    (1 - 1/alpha)^(alpha - 1)`` for every order ``alpha > 1`` and every real ``x`` (the proof of proposition 12 asks no
    sign of ``x``), and at most 1. The smallest over a set of orders is taken at each loss.
    """
    alone = epsilon_from_rho(rho, delta)
    if not epsilons or rho == 0:
        return max(pure_loss_epsilon(epsilons, delta), float_above(alone))
    losses, probabilities = _composed(epsilons, _MIXED_STEPS)
    target = float_below(delta)
    orders = _orders(float_above(rho), float(losses[-1]))
    log_factors = orders * (1 + orders) * float_above(rho) + orders * np.log(orders / (1 + orders)) - np.log1p(orders)

    def checked_delta(epsilon: float) -> float:
        exponents = log_factors - orders * (epsilon - losses)[:, None]
        divergences = np.exp(np.minimum(exponents.min(axis=1), 0.0))
        return float(np.dot(divergences, probabilities)) * (1 + _ROUNDING)

    return _least_epsilon(checked_delta, target, float_above(sum(epsilons, Fraction(0)) + alone))


def _least_epsilon(checked_delta: Callable[[float], float], target: float, high: float) -> float:
    """Halve ``0 .. high``; return an upper end, at which the falling ``checked_delta`` is at most ``target``."""
    low = 0.0
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        if checked_delta(middle) <= target:
            high = middle
        else:
            low = middle
    return high


def _orders(rho: float, largest: float) -> FloatArray:
    """Return values of ``alpha - 1`` on a geometric grid whose exponents a float holds to 1e-11."""
    top = min(math.sqrt(_MAX_EXPONENT / rho), _MAX_EXPONENT / (1 + rho + 2 * largest))
    return np.geomspace(top * 1e-6, top, _N_ORDERS)


def _composed(epsilons: Sequence[Fraction], n_steps: int) -> tuple[FloatArray, FloatArray]:
    """Return the losses ``-K h .. K h`` of all events together, rounded up, and their probabilities.

    The step ``h`` is the largest common one where that needs at most ``n_steps`` steps, and then exact; else each
    epsilon is rounded up to a multiple of a coarser step, which is again a pure guarantee.
    """
    denominator = math.lcm(*(epsilon.denominator for epsilon in epsilons))
    common = Fraction(math.gcd(*(int(epsilon * denominator) for epsilon in epsilons)), denominator)
    step = max(common, sum(epsilons, Fraction(0)) / n_steps)
    probabilities = np.ones(1)
    for epsilon in epsilons:
        multiple = math.ceil(epsilon / step)
        longer = np.zeros(len(probabilities) + 2 * multiple)
        longer[: len(probabilities)] += _logistic(-float(multiple * step)) * probabilities
        longer[2 * multiple :] += _logistic(float(multiple * step)) * probabilities
        probabilities = longer
    reach = len(probabilities) // 2
    return np.arange(-reach, reach + 1, dtype=np.float64) * float_above(step), probabilities


def _logistic(x: float) -> float:
    """Return ``1 / (1 + e^-x)`` without overflow."""
    small = math.exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1.0 + small)
