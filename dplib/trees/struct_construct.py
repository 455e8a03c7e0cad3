"""Struct-Construct (SC): the thesis's choice of a tree for raw answers with one budget a node.

First the number of children k with the least expected error 2 Delta^2 sum p_x / epsilon^2 of the k-ary tree (equation
3.2), Delta being the number of levels; then every node whose first bin is not the first of all may choose another
number w in [k, U], namely the one with the least H = sum of p over its w-ary subtree (algorithm 3.1).

Sums of p telescope: with A(x) the number of ranges that contain x, sum of p over the nodes below x is the sum over
inner nodes y of (sum of A over the children of y) - (children of y) A(y), over n (n + 1) / 2. All in exact integers.

The second step hardly ever changes anything: the sum of p a level grows with w, so w = k wins nearly always. The gain
of SC is the choice of k.

Cost: O(U n log n), vectorised over the nodes of a level.

References:
    The thesis on range-count histograms, chapter 3, algorithm 3.1, equation 3.2, definition 3.4, conclusions 3.1-3.3.
"""

import numpy as np

from dplib.arrays import IntArray
from dplib.trees.complete import Order, kary_tree, split_evenly, tree_structure_construct
from dplib.trees.coverage import UniformRanges, covering_queries
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import at_least

MAX_ARITY = 20


def raw_equal_error(tree: IntervalTree) -> float:
    """Equation 3.2 at epsilon = 1: mean error of raw answers with the same budget for every node of a path."""
    queries = UniformRanges(tree.n_leaves)
    used = int(covering_queries(tree, queries).sum())
    return 2.0 * tree.n_levels**2 * used / queries.denominator


def best_arity(n_bins: int, largest: int = MAX_ARITY) -> int:
    """The k in 2 .. ``largest`` whose k-ary tree has the least error by equation 3.2."""
    at_least("largest", largest, 2)
    return min(range(2, largest + 1), key=lambda k: raw_equal_error(kary_tree(n_bins, k)))


def struct_construct(
    n_bins: int, k: int | None = None, largest: int = MAX_ARITY, order: Order = "descending"
) -> IntervalTree:
    """Build the SC tree.

    Args:
        n_bins: number of bins, at least 1.
        k: children of the nodes that begin with the first bin; None for `best_arity`.
        largest: the bound U on the children of the others, at least ``k``.
        order: which children of an uneven split come first; the proof of the height needs ``descending``.
    """
    at_least("n_bins", n_bins, 1)
    arity = best_arity(n_bins, largest) if k is None else at_least("k", k, 2)
    at_least("largest", largest, arity)

    def choose(_: int, lo: IntArray, hi: IntArray) -> IntArray:
        weights = [subtree_weights(n_bins, lo, hi, w, order) for w in range(arity, largest + 1)]
        # The first of equal ones: the smallest number of children.
        chosen = arity + np.argmin(np.stack(weights), axis=0)
        return np.where(lo == 0, arity, chosen)

    return tree_structure_construct(n_bins, choose, order)


def subtree_weights(n_bins: int, lo: IntArray, hi: IntArray, w: int, order: Order = "descending") -> IntArray:
    """H(lo, hi, w) without the node itself, times n (n + 1) / 2: how often queries use the nodes below, split w-ary.

    Args:
        n_bins: bins of the whole tree.
        lo: first bin of each node, shape (m,).
        hi: one past its last bin, shape (m,).
        w: children of every node of the subtree.
        order: which children of an uneven split come first.

    Returns:
        Exact integers, shape (m,).
    """
    queries = UniformRanges(n_bins)
    weights, owner = np.zeros(len(lo), dtype=np.int64), np.arange(len(lo))
    while True:
        inner = np.flatnonzero(hi - lo > 1)
        if not len(inner):
            return weights
        lo, hi, owner = lo[inner], hi[inner], owner[inner]
        above, low, high = split_evenly(lo, hi, np.full(len(lo), w, dtype=np.int64), order)
        gained = queries.containing(low, high) - queries.containing(lo, hi)[above]
        # Owners stand in order, so each one's children are consecutive.
        child_owner = owner[above]
        first = np.flatnonzero(np.append(True, child_owner[1:] != child_owner[:-1]))
        weights[child_owner[first]] += np.add.reduceat(gained, first)
        lo, hi, owner = low, high, child_owner
