"""Budgets of the nodes of an interval tree: parts of one budget such that no bin's path spends more than the whole.

A record sits in one bin and changes the counts on that bin's path to the root, so the release costs the largest path
sum of the budgets (conclusion 3.4). Budgets are *shares* of the whole: at a share s the noise variance is 2 / s^2 for
Laplace noise at epsilon = 1 and 1 / s for Gaussian noise at rho = 1/2. A share of 0 means *not measured*.

Conclusion 3.5 minimises sum p_x Var_x with every path summing to 1. With q = 1/3 (Laplace) or 1/2 (Gaussian) its
stable form is, from the leaves up (CNP), c_x = p_x^q + (sum over children of c_y^(1/q))^q, and from the root down
(NPBD) s_x = B_x p_x^q / c_x, B_y = B_x - s_x; a leaf takes all that is left, and where no query uses a subtree its
leaves do. The least error is 2 c_root^3 / epsilon^2, or c_root^2 / (2 rho).
The printed form divides 0 by 0 where p is 0.

`exact_shares` turns shares into integers of 2^-40 of the budget, rounding down, hence towards more noise, and
`require_within_budget` checks every path in exact integer arithmetic: the guarantee rests on that check alone.

Cost: O(n_nodes), any depth.

References:
    The thesis on range-count histograms, chapter 3, conclusions 3.4 and 3.5, algorithms 3.3 (CNP) and 3.4 (NPBD).
    Bun, Steinke, "Concentrated differential privacy: simplifications, extensions, and lower bounds", TCC 2016 (rho).
"""

import math
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.errors import ConfigError
from dplib.privacy.noise import Law
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import between, require

LawName = Literal["laplace", "gaussian"]

SHARE_BITS = 40
WHOLE = 1 << SHARE_BITS
"""The whole budget, in units of exact shares."""
_FEW = 1000
"""Up to so many nodes a sort is faster than the compiled table, and nothing has to be loaded for it."""


def law_of(noise: LawName) -> Law:
    """The law of a strategy's noise."""
    return Law(f"discrete_{noise}")


def name_of(law: Law) -> LawName:
    """What strategies call a law."""
    return "laplace" if law.exponent > 1 else "gaussian"


def unit_variance(shares: npt.ArrayLike, noise: LawName) -> FloatArray:
    """Noise variance at each share, at epsilon = 1 (Laplace) or rho = 1/2 (Gaussian); inf at share 0."""
    part = np.asarray(shares, dtype=np.float64)
    with np.errstate(divide="ignore"):
        power = law_of(noise).exponent
        return np.asarray(power / part**power)


def node_coefficients(tree: IntervalTree, coverage: FloatArray, noise: LawName = "laplace") -> FloatArray:
    """The coefficients c of conclusion 3.5 (CNP), shape (n_nodes,).

    Args:
        tree: the tree.
        coverage: p of each node, at least 0, shape (n_nodes,).
        noise: which law the budgets feed.
    """
    require(len(coverage) == tree.n_nodes, "coverage", f"have {tree.n_nodes} entries", len(coverage))
    good = bool(np.isfinite(coverage).all() and (coverage >= 0).all())
    require(good, "coverage", "be finite and at least 0", "others")
    return np.asarray(_coefficients(tree.parent, coverage, law_of(noise).exponent + 1))


def non_uniform_budget_distribution(tree: IntervalTree, coverage: FloatArray, noise: LawName = "laplace") -> FloatArray:
    """Shares that minimise the mean error of raw answers (NPBD); every path sums to 1.

    Args:
        tree: the tree.
        coverage: p of each node, shape (n_nodes,).
        noise: which law the budgets feed.

    Returns:
        Shape (n_nodes,). Below a node that uses up its path no bin is measured; that needs p = 0 in all its subtree.
    """
    coefficients = node_coefficients(tree, coverage, noise)
    return np.asarray(_distribute(tree.parent, tree.child_count, coverage, coefficients, law_of(noise).exponent + 1))


@compiled
def _root_of(value: float, power: int) -> float:
    return float(np.cbrt(value) if power == 3 else np.sqrt(value))


@compiled
def _coefficients(parent: IntArray, coverage: FloatArray, power: int) -> FloatArray:
    sums = np.zeros(len(parent))
    for node in range(len(parent) - 1, -1, -1):
        found = _root_of(coverage[node], power)
        if sums[node] > 0:
            found += _root_of(sums[node], power)
        sums[node] = found
        if node:
            sums[parent[node]] += found * found * found if power == 3 else found * found
    return sums


@compiled
def _distribute(
    parent: IntArray, n_children: IntArray, coverage: FloatArray, coefficients: FloatArray, power: int
) -> FloatArray:
    shares, left = np.empty(len(parent)), np.empty(len(parent))
    for node in range(len(parent)):
        available = left[parent[node]] if node else 1.0
        if n_children[node] == 0:
            shares[node] = available
        elif coefficients[node] == 0:
            shares[node] = 0.0
        else:
            shares[node] = available * (_root_of(coverage[node], power) / coefficients[node])
        left[node] = max(available - shares[node], 0.0)
    return shares


def checked_level_shares(tree: IntervalTree, level_shares: npt.ArrayLike) -> FloatArray:
    """Level shares as an array, shape (n_levels,).

    Raises:
        ConfigError: if the shares do not fit the levels or sum to more than 1.
    """
    shares = np.asarray(level_shares, dtype=np.float64)
    require(len(shares) == tree.n_levels, "level_shares", f"have {tree.n_levels} entries", len(shares))
    within = bool((shares >= 0).all()) and shares.sum() <= 1 + 1e-12
    require(within, "level_shares", "be at least 0 and sum to at most 1", shares.sum())
    return shares


def spread_level_shares(tree: IntervalTree, level_shares: npt.ArrayLike) -> FloatArray:
    """Give each node its level's share, and a leaf above the last level all that is left on its path, shape (n_nodes,).

    Args:
        tree: the tree.
        level_shares: at least 0, summing to at most 1, shape (n_levels,).

    Raises:
        ConfigError: if the shares do not fit the levels or sum to more than 1.
    """
    shares = checked_level_shares(tree, level_shares)
    rest = np.cumsum(shares[::-1])[::-1]
    return np.where(tree.child_count > 0, shares[tree.level], rest[tree.level])


def equal_level_shares(n_levels: int, root: bool = True) -> FloatArray:
    """The same share for every level, or for every level but the root's."""
    first = 0 if root or n_levels == 1 else 1
    shares = np.zeros(n_levels)
    shares[first:] = 1.0 / (n_levels - first)
    return shares


def coverage_level_shares(tree: IntervalTree, coverage: FloatArray, noise: LawName = "laplace") -> FloatArray:
    """Level shares with the least mean error of raw answers: in proportion to (sum of p on the level)^q (Boost-UN)."""
    level_sums = np.add.reduceat(coverage, tree.level_start[:-1])
    weights = (np.sqrt, np.cbrt)[law_of(noise).exponent - 1](level_sums)
    return np.asarray(weights / weights.sum())


def largest_path_sum(tree: IntervalTree, shares: IntArray) -> int:
    """Largest sum of integer shares from the root to a leaf."""
    return int(_largest_path_sum(tree.parent, shares))


@compiled
def _largest_path_sum(parent: IntArray, shares: IntArray) -> int:
    sums = np.empty(len(parent), dtype=np.int64)
    largest = np.int64(0)
    for node in range(len(parent)):
        # Shares are at most 2^40 each, and no path is followed beyond 2^41, so nothing wraps around.
        above = sums[parent[node]] if node else np.int64(0)
        sums[node] = min(above + shares[node], np.int64(1) << 41)
        largest = max(largest, sums[node])
    return int(largest)


def exact_shares(tree: IntervalTree, shares: FloatArray, digits: int = SHARE_BITS) -> IntArray:
    """Round shares down to integers in units of 2^-40 of the budget.

    Args:
        tree: the tree.
        shares: at least 0, path sums at most 1 up to rounding errors, shape (n_nodes,).
        digits: significant binary digits kept. Few digits give few different scales, so that noise is drawn in few
            groups: with 7 a share loses less than 1/64.

    Returns:
        Integers from 0 to 2^40, shape (n_nodes,).

    Raises:
        ConfigError: if a path spends more than the budget.
    """
    between("digits", digits, 0, SHARE_BITS + 1)
    units = _in_units(shares)
    _keep_leading(units, digits)
    require_within_budget(tree, units)
    return units


@compiled
def _keep_leading(units: IntArray, digits: int) -> None:
    """Set all binary digits but the leading ones to 0, in place."""
    for node in range(len(units)):
        # Exact: units have at most 41 digits, a float 53.
        surplus = max(math.frexp(float(units[node]))[1] - digits, 0)
        units[node] = (units[node] >> surplus) << surplus


def _in_units(shares: FloatArray) -> IntArray:
    """Shares in whole units, rounded down."""
    require(bool((shares >= 0).all() and (shares <= 1 + 1e-9).all()), "shares", "lie between 0 and 1", "others")
    # The factor makes up for rounding errors of path sums; their check is exact.
    return np.floor(np.minimum(shares, 1.0) * (WHOLE * (1 - 2.0**-36))).astype(np.int64)


def exact_level_shares(tree: IntervalTree, level_shares: npt.ArrayLike) -> IntArray:
    """`exact_shares` of `spread_level_shares`, rounded once a level instead of once a node.

    Args:
        tree: the tree.
        level_shares: at least 0, summing to at most 1, shape (n_levels,).

    Returns:
        Integers from 0 to 2^40, shape (n_nodes,).
    """
    shares = checked_level_shares(tree, level_shares)
    units = _in_units(shares)
    # A leaf above the last level takes what its path has left, in whole units.
    rest = np.cumsum(units[::-1])[::-1]
    widths = np.diff(tree.level_start)
    spread = np.repeat(units, widths)
    early = np.flatnonzero(tree.child_count[: tree.level_start[-2]] == 0)
    spread[early] = rest[tree.level[early]]
    require_within_budget(tree, spread)
    return spread


def distinct_shares(shares: IntArray) -> tuple[IntArray, IntArray]:
    """The different shares in increasing order, and the place of each node's among them, shape (n_nodes,)."""
    if len(shares) <= _FEW:
        return np.unique(shares, return_inverse=True)
    found, place = _distinct(shares)
    order = np.argsort(found)
    rank = np.empty(len(found), dtype=np.int64)
    rank[order] = np.arange(len(found))
    return found[order], rank[place]


def _distinct(shares: IntArray) -> tuple[IntArray, IntArray]:
    """Different values in order of appearance; the table doubles whenever it is half full."""
    place = np.empty(len(shares), dtype=np.int64)
    found = np.empty(512, dtype=np.int64)
    count = node = 0
    while node < len(shares):
        if count == len(found):
            found = np.append(found, np.empty_like(found))
        node, count = _look_up(shares, node, found, count, place)
    return found[:count], place


@compiled
def _look_up(shares: IntArray, node: int, found: IntArray, count: int, place: IntArray) -> tuple[int, int]:
    """Go on from a node, by open addressing, until ``found`` is full; the next node and the number found."""
    size = 2 * len(found)
    table = np.full(size, -1, dtype=np.int64)
    for old in range(count):
        slot = _slot(found[old], size)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = old
    last, last_place = np.int64(-1), np.int64(-1)
    while node < len(shares):
        share = shares[node]
        if share != last:
            slot = _slot(share, size)
            while table[slot] >= 0 and found[table[slot]] != share:
                slot = (slot + 1) & (size - 1)
            if table[slot] < 0:
                if count == len(found):
                    break
                found[count], table[slot] = share, count
                count += 1
            last, last_place = share, table[slot]
        place[node] = last_place
        node += 1
    return node, count


@compiled
def _slot(share: int, size: int) -> int:
    # Fibonacci hashing of the bits, folded so that low digits that are 0 do not matter.
    mixed = (share ^ (share >> 17)) * np.int64(0x9E3779B97F4A7C1 >> 4)
    return int((mixed >> 23) & (size - 1))


def require_within_budget(tree: IntervalTree, shares: IntArray) -> None:
    """Refuse exact shares of which a path from the root to a bin holds more than the whole budget.

    Raises:
        ConfigError: if the release would cost more than its budget.
    """
    integers = shares.dtype == np.int64 and len(shares) == tree.n_nodes
    require(integers, "shares", f"be {tree.n_nodes} 64-bit integers", f"{len(shares)} of {shares.dtype}")
    within = bool((shares >= 0).all() and (shares <= WHOLE).all()) and largest_path_sum(tree, shares) <= WHOLE
    if not within:
        raise ConfigError("shares", "sum to at most the budget on every path", "a path that spends more")


@lru_cache(maxsize=4096, typed=True)
def noise_parameter(share: int, budget: Fraction, sensitivity: Fraction, noise: LawName) -> Fraction:
    """Exact parameter of a node's noise.

    Args:
        share: exact share, above 0.
        budget: epsilon (Laplace) or rho (Gaussian) of the whole release.
        sensitivity: change of one count by one privacy unit: L1, or the square of L2 for Gaussian noise.
        noise: which law.

    Returns:
        The scale b = sensitivity / (share epsilon), or sigma^2 = sensitivity / (2 share rho), in counts.
    """
    part = Fraction(share, WHOLE) * budget
    require(part > 0, "share", "be above 0", share)
    return law_of(noise).parameter(sensitivity, part)
