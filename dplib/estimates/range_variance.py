"""Exact variance of range answers after least squares on a tree, with a budget for every node.

For one range, one walk from its two end bins to where their paths meet; for the mean over all ranges, one pass over
the nodes with the moments of `dplib.trees.range_moments`. Both are exact for any tree and any variances, and both need
the variances only, never the counts: they can be published before a release is made.

A walk keeps the share a and the residual variance r of the part of the range inside the current node:
entering the parent from a child c with siblings of variance W inside the range, T = W + a C_c, a = T / S,
r = r + W + a_c^2 C_c - T^2 / S, with C and S as in `range_moments`.

Cost: O(n_nodes) to prepare; O(depth) a range; O(n_nodes) for a mean.

Notation: C variance of a node's estimate from its own subtree, S the sum of C over its children, F the variance of its
final estimate.

References:
    Chou, Willsky, Benveniste, "Multiscale recursive estimation, data fusion, and regularization", IEEE Transactions
    on Automatic Control 39(3), 1994.
    The thesis on range-count histograms, chapter 3, equation 3.2 and conclusion 3.6 (the error and the estimate).
"""

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.range_moments import N_COLUMNS, combine_moments, leaf_moments, total_of_root
from dplib.validate import require


class RangeVariance:
    """Variances of all ranges for one tree and one set of noise variances.

    Args:
        tree: the tree.
        variance: of the nodes' own measurements, above 0, ``inf`` where not measured, shape (n_nodes,); 0 at a root
            whose count is known.

    Raises:
        ConfigError: if a bin is not measured.
    """

    def __init__(self, tree: IntervalTree, variance: FloatArray) -> None:
        require(len(variance) == tree.n_nodes, "variance", f"have {tree.n_nodes} entries", len(variance))
        measured = bool(np.isfinite(variance[tree.leaf_nodes]).all() and (variance[1:] > 0).all() and variance[0] >= 0)
        require(measured, "variance", "be finite for every bin and above 0 but for a known root", "another")
        self.tree = tree
        self.variance = variance
        self.after, self.before, self.left, self.final = _variances(tree, variance)

    def of(self, lo: npt.ArrayLike, hi: npt.ArrayLike) -> FloatArray:
        """Variance of the answers to the ranges ``lo <= bin < hi``, shape (m,), in counts squared.

        Args:
            lo: first bins, shape (m,).
            hi: one past the last bins, shape (m,).

        Raises:
            ConfigError: if a range is empty or leaves the bins.
        """
        first, last = np.atleast_1d(np.asarray(lo, dtype=np.int64)), np.atleast_1d(np.asarray(hi, dtype=np.int64)) - 1
        inside = bool(((first >= 0) & (first <= last) & (last < self.tree.n_leaves)).all())
        require(inside, "ranges", f"be non-empty ranges of bins 0 to {self.tree.n_leaves - 1}", "another")
        return _range_variances(self, self.tree.leaf_nodes[first], self.tree.leaf_nodes[last])

    def nodes(self, nodes: IntArray) -> FloatArray:
        """Variance of the estimates of some nodes, shape (m,)."""
        return self.final[nodes]

    def mean(self, starts: npt.ArrayLike | None = None, ends: npt.ArrayLike | None = None) -> float:
        """Mean variance over all ranges, weighted by ``starts[first bin] * ends[last bin]``.

        Args:
            starts: at least 0, shape (n_leaves,); None for ones.
            ends: the same for the last bins.
        """
        n_bins = self.tree.n_leaves
        u = np.ones(n_bins) if starts is None else np.asarray(starts, dtype=np.float64)
        v = np.ones(n_bins) if ends is None else np.asarray(ends, dtype=np.float64)
        weight = float(np.cumsum(u) @ v)
        require(len(u) == len(v) == n_bins and weight > 0, "weights", f"be {n_bins} with a positive range", len(u))
        tree = self.tree
        bins = np.where(tree.child_count == 0, tree.lo, 0)
        total = _weighted_total(tree.level_start, tree.child_start, tree.child_count, self.variance, u[bins], v[bins])
        return float(total) / weight

    def mean_of_length(self, length: int) -> float:
        """Mean variance over the ranges of one length."""
        starts = np.arange(self.tree.n_leaves - length + 1)
        return float(self.of(starts, starts + length).mean())


def _variances(tree: IntervalTree, variance: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """C of every node, S, the sum of C over the siblings to its left, and F, each of shape (n_nodes,)."""
    n_nodes, parent = tree.n_nodes, tree.parent
    after, before, left = variance.astype(np.float64), np.zeros(n_nodes), np.zeros(n_nodes)
    for level in range(tree.n_levels - 1, -1, -1):
        here = tree.level_slice(level)
        inner = np.arange(here.start, here.stop)[tree.child_count[here] > 0]
        after[inner] = _combined(before[inner], variance[inner])
        if level:
            above = tree.level_slice(level - 1)
            # Children are added from right to left, whatever numpy does with more of them at once.
            up = parent[here][::-1] - above.start
            before[above] = np.bincount(up, weights=after[here][::-1], minlength=above.stop - above.start)
    for count in np.unique(tree.child_count[tree.child_count > 1]):
        siblings = tree.child_start[tree.child_count == count][:, np.newaxis] + np.arange(count)
        left[siblings[:, 1:]] = np.cumsum(after[siblings[:, :-1]], axis=1)
    final = after.copy()
    for level in range(1, tree.n_levels):
        here = tree.level_slice(level)
        up = parent[here]
        share = after[here] / before[up]
        final[here] = after[here] * (1.0 - share) + share * share * final[up]
    return after, before, left, final


def _combined(total: FloatArray, variance: FloatArray) -> FloatArray:
    """Variances of the best combinations of children's sums (``total``) and nodes' own measurements."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(variance), total, total * (variance / (total + variance)))


def _range_variances(errors: "RangeVariance", first: IntArray, last: IntArray) -> FloatArray:
    """All walks at once, a step of each where its paths have not met: first and last leaves, shape (m,)."""
    parent, level = errors.tree.parent, errors.tree.level
    after, before, left, final = errors.after, errors.before, errors.left, errors.final
    i, j = first.copy(), last.copy()
    # Shares and residual variances of the suffix inside i and of the prefix inside j.
    a, r, b, s = np.ones(len(i)), np.zeros(len(i)), np.ones(len(i)), np.zeros(len(i))
    apart = np.flatnonzero(parent[i] != parent[j])
    while len(apart):
        of_suffix = level[i[apart]] >= level[j[apart]]
        at = apart[of_suffix]
        node, up, share = i[at], parent[i[at]], a[at]
        beside = np.maximum(before[up] - left[node] - after[node], 0.0)
        _enter(beside, share, after[node], before[up], a, r, at)
        i[at] = up
        at = apart[~of_suffix]
        node, up, share = j[at], parent[j[at]], b[at]
        _enter(left[node], share, after[node], before[up], b, s, at)
        j[at] = up
        apart = apart[parent[i[apart]] != parent[j[apart]]]
    found = final[first]
    met = np.flatnonzero(first != last)
    i, j, a, b = i[met], j[met], a[met], b[met]
    up = parent[i]
    between = left[j] - left[i] - after[i]
    t = between + a * after[i] + b * after[j]
    rest = r[met] + s[met] + between + a * a * after[i] + b * b * after[j] - t * t / before[up]
    share = t / before[up]
    found[met] = rest + share * share * final[up]
    return found


def _enter(
    beside: FloatArray,
    share: FloatArray,
    child: FloatArray,
    above: FloatArray,
    a: FloatArray,
    r: FloatArray,
    at: IntArray,
) -> None:
    """Enter the parents of the walks ``at``: W beside, the share before, C of the child and S of the parent."""
    t = beside + share * child
    r[at] += beside + share * share * child - t * t / above
    a[at] = t / above


@compiled
def _weighted_total(
    level_start: IntArray,
    child_start: IntArray,
    n_children: IntArray,
    variance: FloatArray,
    starts: FloatArray,
    ends: FloatArray,
) -> float:
    """Two levels of moments are kept at a time; ``starts`` and ``ends`` are per node, read at leaves."""
    n_levels = len(level_start) - 1
    widest = 0
    for level in range(n_levels):
        widest = max(widest, level_start[level + 1] - level_start[level])
    below, here = np.empty((widest, N_COLUMNS)), np.empty((widest, N_COLUMNS))
    for level in range(n_levels - 1, -1, -1):
        for node in range(level_start[level], level_start[level + 1]):
            row = here[node - level_start[level]]
            if n_children[node] == 0:
                leaf_moments(row, variance[node], starts[node], ends[node])
            else:
                first = child_start[node] - level_start[level + 1]
                combine_moments(below[first : first + n_children[node]], variance[node], row)
        below, here = here, below
    return float(total_of_root(below[0]))
