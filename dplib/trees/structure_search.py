"""The tree and level budgets with the least mean error of all ranges AFTER least squares (method ``blue``).

Conclusion 3.5 minimises the error of raw answers; least squares changes what a good tree is. Here the exact error
after it is minimised over mixed radices and level shares, the root's included (nearly always 0). The error of one
choice takes microseconds (`even_error`), so all near-equal radices of every height are ranked with equal shares, and
the shares of the best few are then optimised by a quasi-Newton method on their logarithms. Laplace noise pays a level
with the square of the number of levels and gets 8 to 17 children; Gaussian noise pays linearly and gets binary trees.

Everything depends on the number of bins and the kind of noise alone: no data, no privacy cost, one answer per setting.

For Gaussian noise the error is convex in the shares, so the optimum over the shares is global; for Laplace noise it
is the best of the optima found.

Cost: independent of the data, and nearly so of n.

References:
    Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 6(14), 2013
    (equal budgets, tuned number of children; HB's formula).
    Li, Miklau, Hay, McGregor, Rastogi, "The matrix mechanism", VLDB Journal 24(6), 2015 (error as the objective).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import prod

import numpy as np
import numpy.typing as npt
import scipy

from dplib.arrays import FloatArray
from dplib.trees.budgets import LawName, equal_level_shares, law_of, unit_variance
from dplib.trees.mean_errors import even_total
from dplib.validate import at_least, one_of

WIDEST = 4096
_MANY_LEVELS = 6  # up to this height radices vary by several units, above it by one
_FINALISTS = 4
_NEGLIGIBLE = 1e-4  # shares below this are switched off


@dataclass(frozen=True, eq=False)
class LevelDesign:
    """Radices and level shares of an evenly split tree.

    Attributes:
        n_bins: number of bins.
        noise: which law the shares feed.
        radices: children of a node of each level from the root down.
        shares: of each level, summing to 1, shape (len(radices) + 1,); a leaf above the last level takes the rest.
        mean_error: mean variance of all ranges after least squares, at epsilon = 1 or rho = 1/2.
    """

    n_bins: int
    noise: LawName
    radices: tuple[int, ...]
    shares: FloatArray
    mean_error: float


def design_error(n_bins: int, radices: Sequence[int], shares: FloatArray, noise: LawName) -> float:
    """Mean variance of all ranges after least squares for given radices and level shares, at unit budget."""
    rest = np.cumsum(shares[::-1])[::-1]
    total = even_total(
        n_bins, np.array(radices, dtype=np.int64), unit_variance(shares, noise), unit_variance(rest, noise)
    )
    return float(total) / (n_bins * (n_bins + 1) / 2)


@lru_cache(maxsize=64)
def best_design(n_bins: int, noise: LawName = "laplace", arity: int | None = None) -> LevelDesign:
    """Search radices and level shares.

    Args:
        n_bins: number of bins, at least 1.
        noise: which law the shares feed.
        arity: a fixed number of children of every node; None to search.

    Returns:
        The best design found.
    """
    at_least("n_bins", n_bins, 1)
    one_of("noise", noise, ("laplace", "gaussian"))
    if n_bins == 1:
        return LevelDesign(1, noise, (), np.ones(1), float(unit_variance(1.0, noise)))
    ranked = sorted(
        (design_error(n_bins, radices, equal_level_shares(len(radices) + 1, root=False), noise), radices)
        for radices in _candidates(n_bins, arity)
    )
    finalists = {radices for _, radices in ranked[:_FINALISTS]}
    if law_of(noise).exponent == 1 and arity is None:
        finalists |= set(_candidates(n_bins, 2))
    designs = [optimal_shares(n_bins, radices, noise, root=False) for radices in sorted(finalists)]
    best = min(designs, key=lambda design: design.mean_error)
    return min(best, optimal_shares(n_bins, best.radices, noise, root=True), key=lambda design: design.mean_error)


def optimal_shares(n_bins: int, radices: tuple[int, ...], noise: LawName, root: bool) -> LevelDesign:
    """Level shares with the least error after least squares for given radices, started from equal shares.

    Args:
        n_bins: number of bins.
        radices: with a product of at least ``n_bins``.
        noise: which law the shares feed.
        root: whether the root may have a share.

    Returns:
        A local optimum; the global one for Gaussian noise.
    """
    measured = np.flatnonzero(equal_level_shares(len(radices) + 1, root))
    shares = _optimise(n_bins, radices, noise, measured)
    if root and shares[0] < _NEGLIGIBLE:
        shares = _optimise(n_bins, radices, noise, measured[1:])
    return LevelDesign(n_bins, noise, radices, shares, design_error(n_bins, radices, shares, noise))


def _optimise(n_bins: int, radices: tuple[int, ...], noise: LawName, measured: npt.NDArray[np.intp]) -> FloatArray:
    def shares_of(logarithms: FloatArray) -> FloatArray:
        shares = np.zeros(len(radices) + 1)
        shares[measured] = np.exp(logarithms - logarithms.max())
        return np.asarray(shares / shares.sum())

    def objective(logarithms: FloatArray) -> float:
        return float(np.log(design_error(n_bins, radices, shares_of(logarithms), noise)))

    if len(measured) == 1:
        return shares_of(np.zeros(1))
    result = scipy.optimize.minimize(
        objective, np.zeros(len(measured)), method="L-BFGS-B", bounds=[(-12.0, 12.0)] * len(measured)
    )
    return shares_of(result.x)


def _candidates(n_bins: int, arity: int | None) -> Iterator[tuple[int, ...]]:
    """Radices of every height, near equal and no larger than they must be, widest last and widest first."""
    if arity is not None:
        height = 1
        while arity**height < n_bins:
            height += 1
        yield (arity,) * height
        return
    for height in range(1, (n_bins - 1).bit_length() + 1):
        low = max(2, int(np.floor(n_bins ** (1.0 / height) + 1e-9)))
        if low > WIDEST:
            continue
        below, above = (3, 4) if height <= _MANY_LEVELS else (0, 1)
        options = range(max(2, low - below), low + above + 1)
        for radices in combinations_with_replacement(options, height):
            reach = prod(radices)
            # No radix can go down by one without losing a bin; the widest loses the fewest.
            if reach >= n_bins and (radices[0] == 2 or reach // radices[-1] * (radices[-1] - 1) < n_bins):
                yield radices
                if radices[0] != radices[-1]:
                    yield radices[::-1]
