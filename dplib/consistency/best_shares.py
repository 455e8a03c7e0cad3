"""Shares of a budget that minimise the mean logarithm of errors: which counts are worth measuring, and how well.

``n`` measurements share a budget; number i gets the share s_i and has the variance c_i / s_i (Gaussian noise) or
c_i / s_i^2 (Laplace noise), c_i its cost. An objective turns variances into one number, here always a mean logarithm of
answers' variances. Shares are products s(level) s(grouping) where days and series factor: then the variance of an
answer is a product too, its logarithm a sum, and levels and groupings are two searches of a few shares each.

Search. A quasi-Newton method on the logarithms of the shares, started from equal shares of every set of measurements
that holds the one that must be measured; for more than `MAX_SETS` sets measurements are dropped one by one instead,
while that helps. Laplace noise pays a measurement with the square, so it has a local optimum for nearly every set; the
optima of Gaussian noise at the border are found from inside, and the whole set is the one start. The shares found are
rounded to `GRID`, so that last bits of another machine change nothing; what is below `LEAST` parts of it is not
measured.

Guarantee: deterministic; shares are exact, at least 0, of sum 1, and that of the last measurement is above 0.

References: Li, Miklau, Hay, McGregor, Rastogi, "The matrix mechanism", VLDB Journal 24(6), 2015 (error as the
objective); Xiao, He, Wang, Wei, Kifer, "An optimal and scalable matrix mechanism for noisy marginals under convex loss
functions", NeurIPS 2023 (ResidualPlanner: residual spaces of groupings).
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.bounded_search import least
from dplib.privacy.noise import Law

Objective = Callable[[FloatArray], FloatArray]
"""From variances of the measurements, inf where not measured, shape (..., n), to mean logarithms of answers' variances,
shape (...): all points of a difference quotient are one call."""

GRID = 10_000
"""Shares are multiples of one part in so many."""
LEAST = 1.5
"""Parts of the grid below which a share is 0."""
MAX_SETS = 64
"""Sets of measurements up to which every one is a start."""
_SPAN = 12.0
_GAIN = 1e-9
_STEP = 1e-8
"""Of the logarithms of the shares, for difference quotients."""


def share_variances(law: Law, shares: FloatArray, costs: FloatArray) -> FloatArray:
    """Variances of measurements with these shares, shape (..., n); inf where a share is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(costs / shares**law.exponent)


def best_shares(
    objective: Objective, law: Law, costs: FloatArray, screen: Objective | None = None, most: int = MAX_SETS
) -> tuple[Fraction, ...]:
    """Search the shares with the least objective.

    Args:
        objective: of the variances; finite wherever the last one is.
        law: of the noise.
        costs: variance of each measurement that gets the whole budget, shape (n,), above 0.
        screen: a cheap objective near to it, by which sets of measurements are compared.
        most: sets of measurements up to which every one is a start.

    Returns:
        The shares; the last one, of what must be measured, is above 0.
    """
    n = len(costs)

    def search(kept: IntArray, by: Objective) -> tuple[float, FloatArray]:
        def shares_of(logarithms: FloatArray) -> FloatArray:
            shares = np.zeros((*logarithms.shape[:-1], n))
            shares[..., kept] = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
            return np.asarray(shares / shares.sum(axis=-1, keepdims=True))

        def values(logarithms: FloatArray) -> FloatArray:
            return by(share_variances(law, shares_of(logarithms), costs))

        start = np.zeros(len(kept))
        if len(kept) == 1:
            return float(values(start)), shares_of(start)
        found, at = least(partial(_with_gradient, values), start, _SPAN, 1e-13)
        return found, shares_of(at)

    rounded = on_grid(_best_of_sets(lambda kept: search(kept, screen or objective), n, law, most)[1])
    # What falls off the grid was worth next to nothing; what is left is divided anew.
    kept = np.flatnonzero([share > 0 for share in rounded])
    return on_grid(search(kept, objective)[1])


def _with_gradient(values: Objective, at: FloatArray) -> tuple[float, FloatArray]:
    """The value at a point inside the bounds and its difference quotients, which cost one call."""
    step = np.where(at + _STEP > _SPAN, -_STEP, _STEP)
    points = np.tile(at, (len(at) + 1, 1))
    moved = points[1:]
    np.fill_diagonal(moved, at + step)
    found = values(points)
    return float(found[0]), (found[1:] - found[0]) / (np.diagonal(moved) - at)


def each_row(value: Callable[[FloatArray], float]) -> Objective:
    """The objective that looks at one set of variances at a time."""

    def values(variances: FloatArray) -> FloatArray:
        rows = variances.reshape(-1, variances.shape[-1])
        return np.array([value(row) for row in rows]).reshape(variances.shape[:-1])

    return values


def _best_of_sets(
    search: Callable[[IntArray], tuple[float, FloatArray]], n: int, law: Law, most: int
) -> tuple[float, FloatArray]:
    last, others = n - 1, range(n - 1)
    best = search(np.arange(n))
    if law.exponent == 1:
        return best
    if 2 ** (n - 1) <= most:
        sets = [np.array([*chosen, last]) for size in range(n - 2, -1, -1) for chosen in combinations(others, size)]
        # The first of nearly equal ones, so that last bits decide nothing.
        for each in sets:
            found = search(each)
            best = found if found[0] < best[0] - _GAIN else best
        return best
    while True:
        kept = np.flatnonzero(best[1] * GRID >= 1)
        trials = [search(kept[kept != each]) for each in kept if each != last]
        better = min(trials, key=lambda found: found[0], default=best)
        if better[0] >= best[0] - _GAIN:
            return best
        best = better


def on_grid(shares: FloatArray | Sequence[float], grid: int = GRID) -> tuple[Fraction, ...]:
    """Round shares to multiples of 1 / ``grid`` that sum to 1: largest remainders; the last one stays above 0.

    A share below `LEAST` parts is 0, whatever its remainder.
    """
    given = np.asarray(shares, dtype=np.float64) / np.sum(shares) * grid
    given[:-1][given[:-1] < LEAST] = 0.0
    given *= grid / given.sum()
    parts = np.floor(given + 1e-6).astype(np.int64)
    parts[-1] = max(parts[-1], 1)
    rest = grid - int(parts.sum())
    order = np.argsort(np.where(given >= 1, parts - given, np.inf).round(6), kind="stable")
    parts[order[: max(rest, 0)]] += 1
    parts[int(np.argmax(parts))] -= max(-rest, 0)
    return tuple(Fraction(int(part), grid) for part in parts)
