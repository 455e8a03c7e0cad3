"""Edges of day trees with given numbers of children, and the default ones.

All leaves lie on the last level. A product of radices above the number of days is allowed: the tree is that of the
padded range with the days that do not exist cut off, so the last node of a level may be short. Levels that would
repeat the one above are left out, as they would spend budget on counts already measured.

References:
    Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 6(14),
    2013 (wide trees for Laplace noise).
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.trees.budgets import LawName, law_of
from dplib.trees.mean_errors import padded_mean_error
from dplib.validate import at_least, require


def branching_edges(n_days: int, branching: Sequence[int]) -> tuple[IntArray, ...]:
    """Level edges of a tree with mixed radices.

    Args:
        n_days: number of days, at least 1.
        branching: children of a node at each level from the root down, each at least 2.

    Returns:
        Boundaries of each level's nodes from the root to the days, for `IntervalTree.from_level_edges`.

    Raises:
        ConfigError: if a radix is below 2 or the product is below ``n_days``.
    """
    at_least("n_days", n_days, 1)
    for radix in branching:
        at_least("tree.branching", radix, 2)
    width = prod(branching)
    require(
        width >= n_days,
        "tree.branching",
        f"have a product of at least the number of days, which is {n_days}",
        f"{' x '.join(map(str, branching)) or 'no factors'} = {width}",
    )
    edges = []
    for radix in (1, *branching):
        width //= radix
        # Python integers: a product of radices may exceed 64 bits, a useful width cannot.
        edges.append(_every(min(width, n_days), n_days))
    return distinct_levels(edges)


def regular_edges(n_days: int, k: int) -> tuple[IntArray, ...]:
    """Level edges of the lowest tree in which every node has at most ``k`` children, from equal powers of ``k``.

    Raises:
        ConfigError: if ``k`` is below 2.
    """
    at_least("tree.branching", k, 2)
    height = 0
    while k**height < n_days:
        height += 1
    return branching_edges(n_days, (k,) * height)


def distinct_levels(edges: Sequence[IntArray]) -> tuple[IntArray, ...]:
    """Leave out every level that has the same nodes as the level above it."""
    repeats = [False] + [len(upper) == len(lower) for upper, lower in pairwise(edges)]
    return tuple(level for level, repeated in zip(edges, repeats, strict=True) if not repeated)


# Wider inner nodes are never best; the bound keeps the search at milliseconds for millions of days.
MAX_RADIX = 4096
# Up to this many days the best candidates are compared with their missing days cut off. Above it the full trees decide,
# as they always have: another default would be another measurement.
EXACT_DAYS = 1 << 16
FINALISTS = 3


@lru_cache(maxsize=64)
def default_branching(n_days: int, noise: LawName, root: bool = False) -> tuple[int, ...]:
    """Radices with the least mean error over all ranges, when all levels share the budget equally.

    Candidates are nearly equal radices for every height, each padded as little as its height allows; the error is
    that after least squares. Laplace noise pays a level with the square of the number of levels and gives wide
    trees (10 to 20 children); Gaussian noise pays linearly and gives binary or ternary ones.

    Args:
        n_days: number of days, at least 1.
        noise: what the levels' budgets mean: variance in proportion to ``levels^2`` or to ``levels``.
        root: whether the root is measured and takes its share.

    Returns:
        Radices from the root down; empty for a single day.
    """
    at_least("n_days", n_days, 1)
    if n_days == 1:
        return ()
    ranked = []
    for height in range(1, (n_days - 1).bit_length() + 1):
        radices = _near_equal_radices(n_days, height)
        if height > 1 or n_days <= MAX_RADIX:
            error = padded_mean_error(prod(radices), radices, _equal_shares(height, noise, root))
            ranked.append((error, radices))
    finalists = [radices for _, radices in sorted(ranked)[:FINALISTS]]
    if n_days > EXACT_DAYS:
        return finalists[0]

    def exact_error(radices: tuple[int, ...]) -> float:
        return padded_mean_error(n_days, radices, _equal_shares(len(radices), noise, root))

    return min(finalists, key=exact_error)


def _equal_shares(height: int, noise: LawName, root: bool) -> FloatArray:
    """Variance of each level, up to a common factor."""
    measured = height + int(root)
    variances = np.full(height + 1, float(measured ** law_of(noise).exponent))
    if not root:
        variances[0] = np.inf
    return variances


def _near_equal_radices(n_days: int, height: int) -> tuple[int, ...]:
    """The least product of at least ``n_days`` among ``height`` radices that differ by at most 1, widest last."""
    low = max(2, int(np.floor(n_days ** (1.0 / height) + 1e-9)))
    for n_wider in range(height + 1):
        if low ** (height - n_wider) * (low + 1) ** n_wider >= n_days:
            return (low,) * (height - n_wider) + (low + 1,) * n_wider
    return (low + 1,) * height


def _every(width: int, n_days: int) -> IntArray:
    return np.append(np.arange(0, n_days, max(width, 1)), n_days).astype(np.int64)
