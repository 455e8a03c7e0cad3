"""How much noise a budget buys, and what a concentrated budget means as epsilon and delta.

Every function rounds towards more noise or a larger claim, never less; the proofs are in the docstrings.

Notation: ``rho`` of zero-concentrated privacy (zCDP), ``alpha`` the order of a Rényi divergence, ``L = ln(1 / delta)``.

References:
    Bun, Steinke, "Concentrated differential privacy: simplifications, extensions, and lower bounds", TCC 2016,
    definition 1.1 (zCDP), proposition 1.3 (``rho + 2 sqrt(rho L)``), proposition 1.6 (Gaussian noise).
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, theorem 4 (discrete
    Gaussian noise), proposition 12 and corollary 13 (conversion at an order ``alpha``).
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from dplib.privacy.rounding import log_above, round_down, round_up, sqrt_above
from dplib.validate import at_least, between, positive, require

_N_HALVINGS = 64
"""Halvings of an interval of logarithms: more than a float has digits."""


def discrete_laplace_scale(l1_sensitivity: Fraction, epsilon: Fraction) -> Fraction:
    """Return the scale ``b`` of discrete Laplace noise that makes integer counts ``epsilon``-private.

    The mass at ``x`` is proportional to ``exp(-|x| / b)``; moving the centre by an integer vector of L1 length at most
    ``l1_sensitivity`` changes the product of the masses by at most ``exp(l1_sensitivity / b)``, so ``b =
    l1_sensitivity / epsilon`` suffices and is exact.
    """
    return positive("l1_sensitivity", l1_sensitivity) / positive("epsilon", epsilon)


def gaussian_sigma_squared(
    l2_sensitivity_squared: Fraction, rho: Fraction, max_denominator: int | None = None
) -> Fraction:
    """Return the ``sigma^2`` of discrete Gaussian noise that makes integer counts ``rho``-zCDP.

    The mass at ``x`` is proportional to ``exp(-x^2 / (2 sigma^2))``. By theorem 4 of Canonne, Kamath and Steinke a
    count moved by ``d_j`` costs ``d_j^2 / (2 sigma^2)``; the counts' noises are independent, so a vector moved by
    ``d`` costs the sum, at most ``l2_sensitivity_squared / (2 sigma^2)``. Hence ``sigma^2 = l2_sensitivity_squared /
    (2 rho)`` is exact; rounding it up to a multiple of ``1 / max_denominator`` only lowers the cost.
    """
    exact = positive("l2_sensitivity_squared", l2_sensitivity_squared) / (2 * positive("rho", rho))
    if max_denominator is None or exact.denominator <= at_least("max_denominator", max_denominator, 1):
        return exact
    return Fraction(math.ceil(exact * max_denominator), max_denominator)


def split(total: Fraction, weights: Sequence[Fraction]) -> list[Fraction]:
    """Divide a budget in proportion to non-negative ``weights``, not all zero.

    Part ``i`` is ``total * weights[i] / sum(weights)``; in exact arithmetic the parts sum to ``total`` itself, so no
    rounding can overspend. A weight of zero gets nothing.
    """
    positive("total", total)
    for weight in weights:
        at_least("weight", weight, Fraction(0))
    whole = sum(weights, Fraction(0))
    require(whole > 0, "weights", "hold at least one number above 0", [str(weight) for weight in weights])
    return [total * weight / whole for weight in weights]


def epsilon_from_rho(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon, 15 digits rounded up, such that ``rho``-zCDP implies ``(epsilon, delta)``-privacy.

    By corollary 13 of Canonne, Kamath and Steinke every order ``alpha > 1`` gives a valid ``epsilon(alpha) = alpha rho
    + ln(1 - 1/alpha) + ln(1 / (delta alpha)) / (alpha - 1)`` (or 0 where that is negative, since the delta it bounds
    falls as epsilon grows). Its derivative is ``rho - (L - ln alpha) / (alpha - 1)^2``, whose sign changes once, from
    below to above: the best order solves ``rho u^2 + ln(1 + u) = L`` with ``u = alpha - 1``. The root is found in
    floating point, which only chooses the order; the bound is then evaluated at that order in fractions, logarithms
    rounded up, so the result holds whatever the root's error. The bound of proposition 1.3 is taken where smaller.
    """
    at_least("rho", rho, Fraction(0))
    between("delta", delta, Fraction(0), Fraction(1))
    if rho == 0:
        return Fraction(0)
    log_inverse = log_above(1 / delta)
    order = _order_for_rho(float(rho), float(log_inverse))
    simple = rho + 2 * sqrt_above(rho * log_inverse)
    return max(Fraction(0), round_up(min(simple, order * rho + _order_cost(order, delta))))


def rho_from_approx(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho, 15 digits rounded down, with ``epsilon_from_rho(rho, delta) <= epsilon``.

    ``epsilon(alpha)`` above is linear in rho, so each order gives ``rho(alpha) = (epsilon - ln(1 - 1/alpha) - ln(1 /
    (delta alpha)) / (alpha - 1)) / alpha``, which converts back to at most ``epsilon`` at that very order; the largest
    is at the root of ``(L - ln alpha) (2 alpha - 1) / (alpha - 1)^2 = epsilon - ln(1 - 1/alpha)``. Logarithms are
    rounded up, hence rho down. The last loop takes a few units off the last digits until the published conversion
    agrees, so that an account which converts a sum of such costs never exceeds what was asked for.
    """
    positive("epsilon", epsilon)
    between("delta", delta, Fraction(0), Fraction(1))
    order = _order_for_epsilon(float(epsilon), float(log_above(1 / delta)))
    rho = round_down((epsilon - _order_cost(order, delta)) / order)
    while epsilon_from_rho(rho, delta) > epsilon:
        rho = round_down(rho * (1 - Fraction(1, 10**14)))
    return rho


def pure_epsilon_from_rho(rho: Fraction) -> Fraction:
    """Return an epsilon, the largest up to its 15th digit, with ``epsilon^2 / 2 <= rho``.

    Proposition 1.4 of Bun and Steinke: a mechanism of that epsilon spends no more than a budget in rho allows.
    """
    above = sqrt_above(2 * rho)
    return above if above**2 / 2 <= rho else round_down(above * (1 - Fraction(1, 10**14)))


def _order_cost(order: Fraction, delta: Fraction) -> Fraction:
    """Bound from above what the conversion at one order adds to ``order * rho``."""
    return log_above(1 - 1 / order) + log_above(1 / (delta * order)) / (order - 1)


def _order_for_rho(rho: float, log_inverse: float) -> Fraction:
    # At the lower end rho u^2 and ln(1 + u) are each at most L / 4; at the upper end rho u^2 is L.
    low = min(math.sqrt(log_inverse / (4 * rho)), log_inverse / 4)
    return _root(lambda u: rho * u * u + math.log1p(u) - log_inverse, low, math.sqrt(log_inverse / rho))


def _order_for_epsilon(epsilon: float, log_inverse: float) -> Fraction:
    def excess(u: float) -> float:
        return epsilon + math.log1p(1 / u) - (log_inverse - math.log1p(u)) * (2 + 1 / u) / u

    # The lower end makes L / (4 u^2) at least epsilon and at least 1 / u; at alpha = 1 / delta the right side is 0.
    low = min(math.sqrt(log_inverse / (4 * epsilon)), log_inverse / 4)
    return _root(excess, low, math.expm1(min(log_inverse, 700.0)))


def _root(function: Callable[[float], float], low: float, high: float) -> Fraction:
    """Return ``1 + u`` for the root ``u`` of an increasing function, or for the end nearer to it outside the range."""
    low, high = math.log(max(low, 1e-300)), math.log(max(high, 1e-300))
    if function(math.exp(high)) <= 0:
        return 1 + Fraction(math.exp(high))
    if function(math.exp(low)) >= 0:
        return 1 + Fraction(math.exp(low))
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        if function(math.exp(middle)) <= 0:
            low = middle
        else:
            high = middle
    return 1 + Fraction(math.exp(low))
