"""Interval trees built by splitting: any shape, k-ary trees, mixed radices.

Every split is even: the sizes of a node's children differ by at most 1. The larger children stand first. The thesis's
own examples put the smaller first, but its proof that the tree's height is the length of the leftmost path needs the
larger first (with the smaller first the height, hence the sensitivity, comes out too small for n = 3, k = 2 already);
the smaller-first order is kept for comparison only. The height is always taken from the tree, never from a formula.

Cost: O(n_nodes), a few vectorised operations a level.

Notation: ``radices[l]`` is the number of children of a node on level l.

References:
    The thesis on range-count histograms, chapter 3, algorithm 3.5 (TSC, Tree Structure Construct).
    Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms through consistency",
    PVLDB 3(1), 2010 (k-ary interval trees).
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Literal

import numpy as np

from dplib.arrays import IntArray
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import at_least, one_of, require

Choose = Callable[[int, IntArray, IntArray], IntArray]
Order = Literal["descending", "ascending"]


def tree_structure_construct(n_bins: int, choose: Choose, order: Order = "descending") -> IntervalTree:
    """Build a tree of any shape, level by level (TSC).

    Args:
        n_bins: number of bins, at least 1.
        choose: called as ``choose(level, lo, hi)`` with the nodes of a level that hold two bins or more; returns the
            number of children of each, at least 2 (more than the node's bins means one child a bin).
        order: which children of an uneven split come first.

    Raises:
        ConfigError: if ``choose`` answers with fewer than 2 children.
    """
    at_least("n_bins", n_bins, 1)
    one_of("order", order, ("descending", "ascending"))
    lo, hi = np.zeros(1, dtype=np.int64), np.array([n_bins], dtype=np.int64)
    lows, highs, parents, starts = [lo], [hi], [np.array([-1], dtype=np.int64)], [0, 1]
    while True:
        inner = np.flatnonzero(hi - lo > 1)
        if not len(inner):
            break
        wanted = np.asarray(choose(len(starts) - 2, lo[inner], hi[inner]), dtype=np.int64)
        require(bool((wanted >= 2).all()), "branching", "be at least 2", int(wanted.min()))
        above, lo, hi = split_evenly(lo[inner], hi[inner], wanted, order)
        parents.append(starts[-2] + inner[above])
        lows.append(lo)
        highs.append(hi)
        starts.append(starts[-1] + len(lo))
    return IntervalTree(
        lo=np.concatenate(lows),
        hi=np.concatenate(highs),
        parent=np.concatenate(parents),
        level_start=np.array(starts, dtype=np.int64),
    )


def split_evenly(
    lo: IntArray, hi: IntArray, wanted: IntArray, order: Order = "descending"
) -> tuple[IntArray, IntArray, IntArray]:
    """Split intervals of two bins or more into children whose sizes differ by at most 1.

    Args:
        lo: first bin of each interval, shape (m,).
        hi: one past its last bin, shape (m,).
        wanted: number of children, shape (m,); cut down to the number of bins.
        order: which children come first.

    Returns:
        (above, lo, hi): position of each child's interval in the input, and its bounds.
    """
    size = hi - lo
    n_children = np.minimum(wanted, size)
    above = np.repeat(np.arange(len(lo)), n_children)
    base, extra = np.divmod(size, n_children)
    rank = np.arange(len(above)) - np.repeat(np.cumsum(n_children) - n_children, n_children)
    larger_first = extra if order == "descending" else np.zeros_like(extra)
    smaller_first = np.zeros_like(extra) if order == "descending" else n_children - extra
    # Children before this one that are one bin larger.
    if order == "descending":
        before = np.minimum(rank, larger_first[above])
        own = rank < larger_first[above]
    else:
        before = np.maximum(rank - smaller_first[above], 0)
        own = rank >= smaller_first[above]
    low = lo[above] + rank * base[above] + before
    return above, low, low + base[above] + own


def kary_tree(n_bins: int, k: int, order: Order = "descending") -> IntervalTree:
    """The tree in which every node has ``k`` children, or one a bin where it holds fewer bins.

    Raises:
        ConfigError: if ``k`` is below 2.
    """
    at_least("k", k, 2)
    return tree_structure_construct(n_bins, lambda _, lo, __: np.full(len(lo), k, dtype=np.int64), order)


def mixed_radix_tree(n_bins: int, radices: Sequence[int]) -> IntervalTree:
    """The tree whose nodes of level l have ``radices[l]`` children; sizes within a level differ by at most 1.

    Args:
        n_bins: number of bins, at least 1.
        radices: from the root down, each at least 2, with a product of at least ``n_bins``.

    Raises:
        ConfigError: if the radices cannot reach single bins.
    """
    require_radices(n_bins, radices)
    return tree_structure_construct(n_bins, lambda level, lo, _: np.full(len(lo), radices[level], dtype=np.int64))


def require_radices(n_bins: int, radices: Sequence[int]) -> None:
    """Refuse radices that are below 2 or whose product is below ``n_bins``."""
    at_least("n_bins", n_bins, 1)
    for radix in radices:
        at_least("radices", radix, 2)
    reach = prod(radices)
    require(reach >= n_bins, "radices", f"have a product of at least {n_bins}", reach)
