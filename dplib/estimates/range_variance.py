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

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.range_moments import N_COLUMNS, combine_moments, leaf_moments, total_of_root
from dplib.validate import require

_TOGETHER = 1 << 16
"""Ranges whose walks are kept at a time."""


class _Step(NamedTuple):
    """Walks that enter a parent: their numbers, the nodes they leave, the parents, and whether they are suffixes."""

    at: IntArray
    node: IntArray
    up: IntArray
    of_suffix: bool


class Walks(NamedTuple):
    """The walks of some ranges on a tree, whatever its variances.

    Attributes:
        first: leaf of the first bin of each range, shape (m,).
        met: numbers of the ranges of more than one bin.
        left: node where the walk of their first bin ends, below the node where both meet; right: that of their last.
        steps: of all walks from the leaves up.
    """

    first: IntArray
    met: IntArray
    left: IntArray
    right: IntArray
    steps: tuple[_Step, ...]

    @classmethod
    def of(cls, tree: IntervalTree, lo: npt.ArrayLike, hi: npt.ArrayLike) -> "Walks":
        """The walks of the ranges ``lo <= bin < hi``, shape (m,).

        Raises:
            ConfigError: if a range is empty or leaves the bins.
        """
        first, last = np.atleast_1d(np.asarray(lo, dtype=np.int64)), np.atleast_1d(np.asarray(hi, dtype=np.int64)) - 1
        inside = bool(((first >= 0) & (first <= last) & (last < tree.n_leaves)).all())
        require(inside, "ranges", f"be non-empty ranges of bins 0 to {tree.n_leaves - 1}", "another")
        parent, level, i, j = tree.parent, tree.level, tree.leaf_nodes[first], tree.leaf_nodes[last]
        leaves, steps = i.copy(), []
        apart = np.flatnonzero(parent[i] != parent[j])
        while len(apart):
            of_suffix = level[i[apart]] >= level[j[apart]]
            for end, at, is_suffix in ((i, apart[of_suffix], True), (j, apart[~of_suffix], False)):
                node = end[at]
                end[at] = parent[node]
                steps.append(_Step(at, node, end[at], is_suffix))
            apart = apart[parent[i[apart]] != parent[j[apart]]]
        met = np.flatnonzero(first != last)
        return cls(leaves, met, i[met], j[met], tuple(steps))


class RangeVariance:
    """Variances of all ranges for one tree and one or several sets of noise variances.

    Args:
        tree: the tree.
        variance: of the nodes' own measurements, above 0, ``inf`` where not measured, shape (..., n_nodes); 0 at a root
            whose count is known.

    Raises:
        ConfigError: if a bin is not measured.
    """

    def __init__(self, tree: IntervalTree, variance: FloatArray) -> None:
        n_nodes = variance.shape[-1]
        require(n_nodes == tree.n_nodes, "variance", f"have {tree.n_nodes} entries", n_nodes)
        bins, root = variance.take(tree.leaf_nodes, axis=-1), variance[..., 0]
        measured = bool(np.isfinite(bins).all() and (variance[..., 1:] > 0).all() and (root >= 0).all())
        require(measured, "variance", "be finite for every bin and above 0 but for a known root", "another")
        self.tree = tree
        self.variance = variance
        self.after, self.before, self.left, self.final = _variances(tree, variance)

    def of(self, lo: npt.ArrayLike, hi: npt.ArrayLike) -> FloatArray:
        """Variance of the answers to the ranges ``lo <= bin < hi``, shape (..., m), in counts squared.

        Args:
            lo: first bins, shape (m,).
            hi: one past the last bins, shape (m,).

        Raises:
            ConfigError: if a range is empty or leaves the bins.
        """
        lows, highs = np.atleast_1d(np.asarray(lo), np.asarray(hi))
        parts = [slice(start, start + _TOGETHER) for start in range(0, max(len(lows), 1), _TOGETHER)]
        found = [self.along(Walks.of(self.tree, lows[part], highs[part])) for part in parts]
        return found[0] if len(found) == 1 else np.concatenate(found, axis=-1)

    def along(self, walks: Walks) -> FloatArray:
        """The same of ranges whose walks on this tree are known."""
        after, before, left, final = self.after, self.before, self.left, self.final
        found = final.take(walks.first, axis=-1)
        # Shares and residual variances of the suffixes and of the prefixes.
        a, r, b, s = np.ones(found.shape), np.zeros(found.shape), np.ones(found.shape), np.zeros(found.shape)
        for at, node, up, of_suffix in walks.steps:
            child, above, beside = after.take(node, axis=-1), before.take(up, axis=-1), left.take(node, axis=-1)
            if of_suffix:
                _enter(np.maximum(above - beside - child, 0.0), child, above, a, r, at)
            else:
                _enter(beside, child, above, b, s, at)
        met, i, j = walks.met, walks.left, walks.right
        up, a, b = self.tree.parent[i], a.take(met, axis=-1), b.take(met, axis=-1)
        own, other, above = after.take(i, axis=-1), after.take(j, axis=-1), before.take(up, axis=-1)
        between = left.take(j, axis=-1) - left.take(i, axis=-1) - own
        t = between + a * own + b * other
        rest = r.take(met, axis=-1) + s.take(met, axis=-1) + between + a * a * own + b * b * other - t * t / above
        share = t / above
        found[..., met] = rest + share * share * final.take(up, axis=-1)
        return found

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
    """C of every node, S, the sum of C over the siblings to its left, and F, each of shape (..., n_nodes)."""
    parent, shape = tree.parent, variance.shape
    after, before, left = variance.astype(np.float64), np.zeros(shape), np.zeros(shape)
    for level in range(tree.n_levels - 1, -1, -1):
        here = tree.level_slice(level)
        inner = np.arange(here.start, here.stop)[tree.child_count[here] > 0]
        after[..., inner] = _combined(before.take(inner, axis=-1), variance.take(inner, axis=-1))
        if level:
            above = tree.level_slice(level - 1)
            # Children are added from right to left, whatever numpy does with more of them at once.
            up = parent[here][::-1] - above.start
            before[..., above] = _sums(up, after[..., here][..., ::-1], above.stop - above.start)
    for count in np.unique(tree.child_count[tree.child_count > 1]):
        siblings = tree.child_start[tree.child_count == count][:, np.newaxis] + np.arange(count)
        left[..., siblings[:, 1:]] = np.cumsum(after.take(siblings[:, :-1], axis=-1), axis=-1)
    final = after.copy()
    for level in range(1, tree.n_levels):
        here = tree.level_slice(level)
        up, own = parent[here], after[..., here]
        share = own / before.take(up, axis=-1)
        final[..., here] = own * (1.0 - share) + share * share * final.take(up, axis=-1)
    return after, before, left, final


def _sums(place: IntArray, values: FloatArray, n: int) -> FloatArray:
    """Sums of the values of each place in their order: shape (..., m) to (..., n)."""
    if values.ndim == 1:
        return np.asarray(np.bincount(place, weights=values, minlength=n), dtype=np.float64)
    rows = values.reshape(-1, values.shape[-1])
    places = place + n * np.arange(len(rows))[:, np.newaxis]
    found = np.bincount(places.reshape(-1), weights=rows.reshape(-1), minlength=n * len(rows))
    return np.asarray(found.reshape(*values.shape[:-1], n), dtype=np.float64)


def _combined(total: FloatArray, variance: FloatArray) -> FloatArray:
    """Variances of the best combinations of children's sums (``total``) and nodes' own measurements."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(variance), total, total * (variance / (total + variance)))


def _enter(
    beside: FloatArray, child: FloatArray, above: FloatArray, a: FloatArray, r: FloatArray, at: IntArray
) -> None:
    """Enter the parents of the walks ``at``: W beside, C of the child and S of the parent."""
    share = a.take(at, axis=-1)
    t = beside + share * child
    r[..., at] += beside + share * share * child - t * t / above
    a[..., at] = t / above


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
