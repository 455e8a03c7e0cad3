"""Exact mean variance of range sums after least squares on a tree of noisy counts.

For independent noise with a variance per node, the best linear unbiased estimates of all ranges ``[l, r)`` have a
mean variance that depends on the tree and the variances alone. It is found without forming an estimate: bottom up,
every node combines sums over all prefixes, suffixes and inner ranges of its children.

For a range that meets a node's bins partly, let ``L`` be the coefficient of the node's value in the best
prediction of the range's part, and ``Q`` the variance that remains. With ``C_c`` the variances of the children's
estimates from their own subtrees, ``S`` their sum and ``J = sum_c L_c C_c``: ``L = J / S`` and
``Q = sum_c (Q_c + L_c^2 C_c) - J^2 / S``. All three kinds of sums stay within second moments of ``L``.

Cost: O(n_nodes), vectorised by level; for trees whose nodes are equal within a level, O(sum of radices).

Notation: ``C`` variance of a node's estimate from its subtree; ``m0, m1, m2, mq`` number of cuts and sums of ``L``,
``L^2`` and ``Q`` over them; ``i1, i2, iq`` the same sums over all ranges inside a node.

References:
    Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms through consistency",
    PVLDB 3(1), 2010, theorem 3 (the estimate); Chou, Willsky, Nikoukhah, "Multiscale systems, Kalman filters, and
    Riccati equations", IEEE Transactions on Automatic Control 39(3), 1994 (the recursion on trees).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.errors import ConfigError
from dplib.trees.interval_tree import IntervalTree

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Sums = tuple[FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums over cuts of a level's nodes; every array has shape (nodes,). Full cuts are included."""

    size: FloatArray
    variance: FloatArray
    prefix: Sums
    suffix: Sums
    inner: Sums

    def repeat(self, times: int) -> "_Moments":
        def each(sums: Sums) -> Sums:
            first, second, rest = (np.repeat(part, times) for part in sums)
            return first, second, rest

        size, variance = np.repeat(self.size, times), np.repeat(self.variance, times)
        return _Moments(size, variance, each(self.prefix), each(self.suffix), each(self.inner))


def mean_range_error(tree: IntervalTree, level_variances: npt.ArrayLike) -> float:
    """Mean variance of all ``n (n + 1) / 2`` range sums.

    Args:
        tree: all leaves on the last level.
        level_variances: noise variance of each level, above 0, ``inf`` where not measured; shape (n_levels,).

    Raises:
        ConfigError: if the leaves are not measured.
    """
    variances = _checked(level_variances)
    level = _leaves(int(tree.level_start[-1] - tree.level_start[-2]), variances[-1])
    for inner, _, offsets in tree.levels_up():
        level = _combine(level, offsets, variances[int(tree.level[inner[0]])])
    return _mean(level)


def symmetric_range_error(radices: Sequence[int], level_variances: npt.ArrayLike) -> float:
    """`mean_range_error` of the full tree with these radices from the root down, without building it.

    Args:
        radices: children of a node at each level.
        level_variances: as above, shape (len(radices) + 1,).
    """
    variances = _checked(level_variances)
    level = _leaves(1, variances[-1])
    for radix, variance in zip(reversed(radices), reversed(variances[:-1]), strict=True):
        level = _combine(level.repeat(radix), np.zeros(1, dtype=np.int64), variance)
    return _mean(level)


def _checked(level_variances: npt.ArrayLike) -> FloatArray:
    variances = np.asarray(level_variances, dtype=np.float64)
    if not np.isfinite(variances[-1]):
        raise ConfigError("the days must be measured to have range errors, got an infinite variance")
    return variances


def _leaves(n: int, variance: float) -> _Moments:
    ones, zeros = np.ones(n), np.zeros(n)
    cut = (ones, ones, zeros)
    return _Moments(size=ones, variance=np.full(n, variance), prefix=cut, suffix=cut, inner=cut)


def _combine(child: _Moments, offsets: IntArray, own_variance: float) -> _Moments:
    """The parents' sums from their children's; ``offsets`` are where each parent's children start."""

    def total(values: FloatArray) -> FloatArray:
        summed: FloatArray = np.add.reduceat(values, offsets)
        return summed

    sizes = np.diff(np.append(offsets, len(child.size)))

    def before(values: FloatArray) -> FloatArray:
        running = np.cumsum(values) - values
        return running - np.repeat(running[offsets], sizes)

    c, n = child.variance, child.size
    spread = total(c)
    each = np.repeat(spread, sizes)
    left = before(c)
    # Prefixes that end in child j: J = L_j C_j + (what stands to its left); y are its moments, f the rest of Q.
    y1, y2, f1 = _shifted(child.prefix, c, left, n)
    right = each - left - c
    z1, z2, g1 = _shifted(child.suffix, c, right, n)
    # A suffix of child i written as J minus what a prefix counts: pairs i < j add up to J = x_i + y_j.
    x1, x2, e1 = _shifted(child.suffix, c, -left - c, n)
    pair_j1 = total(before(x1) * n + before(n) * y1)
    pair_j2 = total(before(x2) * n + 2 * before(x1) * y1 + before(n) * y2)
    pair_q = total(before(e1) * n + before(n) * f1)
    l1, l2, lq = child.inner
    inner_j2 = total(l2 * c**2) + pair_j2
    inner = (
        (total(l1 * c) + pair_j1) / spread,
        inner_j2 / spread**2,
        total(lq + l2 * c) + pair_q - inner_j2 / spread,
    )
    variance = 1.0 / (1.0 / spread + 1.0 / own_variance)
    prefix = (total(y1) / spread, total(y2) / spread**2, total(f1) - total(y2) / spread)
    suffix = (total(z1) / spread, total(z2) / spread**2, total(g1) - total(z2) / spread)
    return _Moments(total(n), variance, prefix, suffix, inner)


def _shifted(cut: Sums, c: FloatArray, shift: FloatArray, n: FloatArray) -> Sums:
    """Sums over a child's cuts of ``L C + shift``, of its square, and of ``Q + L^2 C + shift``."""
    l1, l2, lq = cut
    first = l1 * c + n * shift
    second = l2 * c**2 + 2 * l1 * c * shift + n * shift**2
    return first, second, lq + l2 * c + n * shift


def _mean(root: _Moments) -> float:
    _, second, rest = root.inner
    n = float(root.size[0])
    return float((second[0] * root.variance[0] + rest[0]) / (n * (n + 1) / 2))
