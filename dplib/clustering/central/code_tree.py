"""A tree over integer codes, grown on noisy counts only: the shape of `quadtree`, `tree_coreset` and `local_search`.

A code has ``bits * depth`` bits; a node of level l is the codes with the same first ``bits * l`` of them. From the root
down, every child of an expanded node is measured, occupied or not, and is expanded in its turn if its noisy count
says so. So which cells exist is a function of noisy counts: an empty cell gets noise as any other, which is what the
"simulated empty cells" of candidate grids come to, without approximation.

Privacy. One row adds 1 to one node of each measured level and to no other, whatever the noisy counts expand: the
levels compose, the nodes of a level do not.

References:
    Cormode, Procopiuc, Srivastava, Shen, Yu: Differentially private spatial decompositions. ICDE 2012 (quadtree, level
    budgets in geometric progression).
    Hay, Rastogi, Miklau, Suciu: Boosting the accuracy of differentially private histograms through consistency.
    VLDB 2010 (consistent counts).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.clustering.central.tree_errors import NOBODY, NodeErrors
from dplib.clustering.source import Keyed
from dplib.clustering.weights import nearest_weights

Measure = Callable[[IntArray, int], IntArray]
"""Noisy counts of exact counts at a level."""
Expand = Callable[[FloatArray, int], BoolArray]
"""Which nodes with these noisy counts at a level get children."""
_SPARSE = 4
"""Codes are sorted where there are so many times fewer of them than the largest says, else counted in one pass."""


@dataclass(frozen=True)
class Level:
    """The measured nodes of one level.

    Attributes:
        prefixes: their codes' first bits, increasing, shape (m,).
        noisy: their noisy counts, shape (m,).
        expanded: which have children, shape (m,).
    """

    prefixes: IntArray
    noisy: FloatArray
    expanded: BoolArray


@dataclass(frozen=True)
class Leaves:
    """The nodes without children; they part the codes.

    Attributes:
        first_codes: smallest code of each, increasing, shape (m,).
        levels: shape (m,).
        weights: consistent noisy counts, at least 0, shape (m,).
        errors: how noise gets into the weights, level by level.
    """

    first_codes: IntArray
    levels: IntArray
    weights: FloatArray
    errors: tuple[NodeErrors, ...]


def counts_by_code(codes: IntArray) -> Keyed:
    """How many points have each code, of the codes of all, shape (n,)."""
    if int(codes.max(initial=0)) > _SPARSE * len(codes):
        found, times = np.unique(codes, return_counts=True)
        return found, times.astype(np.int64)[:, np.newaxis]
    counts = np.bincount(codes, minlength=1)
    found = np.flatnonzero(counts)
    return found, counts[found].astype(np.int64)[:, np.newaxis]


def grow(counted: Keyed, bits: int, depth: int, measure: Measure, expand: Expand, most: int) -> list[Level]:
    """Measure a tree from the root (level 0) down.

    Args:
        counted: codes and how many points have each.
        bits: of a code for each level.
        depth: last level.
        measure: draws the noise.
        expand: decides on noisy counts.
        most: most nodes of a level that are expanded, those of largest noisy count.

    Returns:
        The levels, as far as the tree goes.
    """
    codes, counts = counted
    running = np.concatenate([[0], np.cumsum(counts[:, 0])])
    prefixes = np.zeros(1, dtype=np.int64)
    levels: list[Level] = []
    for level in range(depth + 1):
        shift = bits * (depth - level)
        ends = np.searchsorted(codes, prefixes + 1 << shift), np.searchsorted(codes, prefixes << shift)
        noisy = measure((running[ends[0]] - running[ends[1]]).astype(np.int64), level).astype(np.float64)
        expanded = expand(noisy, level) if level < depth else np.zeros(len(noisy), dtype=np.bool_)
        if expanded.sum() > most:
            kept = np.argsort(np.where(expanded, -noisy, np.inf), kind="stable")[:most]
            expanded = np.isin(np.arange(len(noisy)), kept)
        levels.append(Level(prefixes, noisy, expanded))
        if not expanded.any():
            break
        prefixes = ((prefixes[expanded] << bits)[:, np.newaxis] + np.arange(1 << bits)).ravel()
    return levels


def leaves_of(levels: Sequence[Level], bits: int, depth: int, variances: Sequence[float]) -> Leaves:
    """The leaves of a tree's levels with weights that add up along it, by all counts weighted with their variances.

    Args:
        levels: of `grow`.
        bits: of a code for each level.
        depth: last level that could have been.
        variances: of the noise of each level.
    """
    totals, shares = _totals(levels, bits, variances)
    first, depths, weights = [], [], []
    given = np.maximum(totals[0], 0.0)
    for number, level in enumerate(levels):
        leaf = ~level.expanded
        first.append(level.prefixes[leaf] << bits * (depth - number))
        depths.append(np.full(int(leaf.sum()), number, dtype=np.int64))
        weights.append(given[leaf])
        if number + 1 < len(levels):
            children = totals[number + 1].reshape(-1, 1 << bits)
            given = nearest_weights(children, given[level.expanded]).ravel()
    codes, of_level = np.concatenate(first), np.concatenate(depths)
    order = np.argsort(codes, kind="stable")
    place = np.argsort(order, kind="stable")
    errors = []
    for number, (level, own) in enumerate(zip(levels, shares, strict=True)):
        leaves = np.full(len(level.noisy), NOBODY)
        leaves[~level.expanded] = place[of_level == number]
        errors.append(NodeErrors(own, np.full(len(own), variances[number]), level.expanded, leaves))
    return Leaves(codes[order], of_level[order], np.concatenate(weights)[order], tuple(errors))


def _totals(
    levels: Sequence[Level], bits: int, variances: Sequence[float]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Each node's own count and the sum of its children's totals, weighted by their variances, from below.

    Returns:
        totals, and the share of the own count in each, by level.
    """
    totals, shares = [level.noisy for level in levels], [np.ones(len(level.noisy)) for level in levels]
    spreads = [np.full(len(level.noisy), variance) for level, variance in zip(levels, variances, strict=False)]
    for number in reversed(range(len(levels) - 1)):
        expanded = levels[number].expanded
        below = totals[number + 1].reshape(-1, 1 << bits).sum(axis=1)
        spread = spreads[number + 1].reshape(-1, 1 << bits).sum(axis=1)
        own, own_spread = totals[number][expanded], spreads[number][expanded]
        totals[number] = totals[number].copy()
        totals[number][expanded] = (own * spread + below * own_spread) / (own_spread + spread)
        spreads[number][expanded] = own_spread * spread / (own_spread + spread)
        shares[number][expanded] = spread / (own_spread + spread)
    return totals, shares
