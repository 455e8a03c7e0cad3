"""With which coefficient every noisy count enters a range's answer after least squares: what its law is made of.

Least squares turn noisy counts y into ``x = H y``, and ``H V`` is the covariance of x, hence symmetric. An answer
``u^T x`` is ``c^T y`` with ``c = H^T u = V^-1 H (V u)``: the estimator itself, run on ``V u`` in place of the noisy
counts, gives the coefficients once divided by the variances. One pass of the solver for an answer, exact, for any tree
and any constraints; right-hand sides are set to 0, since they only shift answers.

Where the answer's own cells are not measured, V u has no numbers. On a tree such a cell is the count above it less
those beside it, so u moves to measured nodes, exactly. Under constraints it counts as measured with `OPEN` times the
largest variance, which changes the coefficients by about one part in `OPEN` for each series of the day's constraints.

Rounding: a node whose noise is small against that of its n children loses the digits of n V_child / V_node in its own
coefficient. Its part of the answer's variance is smaller by as much, so that keeps all but the digits of n (tests).

Cost: that of one estimate.

References: A. Bjorck, "Numerical Methods for Least Squares Problems", SIAM 1996, section 1.1 (covariance of estimates).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.compiled import compiled
from dplib.consistency.choose import solve, solver_of
from dplib.consistency.problem import ConsistencyProblem
from dplib.consistency.series_classes import series_classes
from dplib.constraints.day_constraints import DayConstraints
from dplib.estimates.tree_blue import downward, tree_gains, upward
from dplib.estimates.tree_blue_deep import deep_gains, tree_blue_deep
from dplib.trees.interval_tree import IntervalTree

OPEN = 1e7
FEW_LEVELS = 8
"""Of a tree over days, say: years, quarters, months, weeks, days."""


def range_coefficients(tree: IntervalTree, variance: FloatArray, lo: int, hi: int) -> FloatArray:
    """Coefficients of the nodes in the count of the bins ``lo <= bin < hi`` on a tree with one series.

    Args:
        tree: the tree.
        variance: of the nodes' noise, ``inf`` where not measured, 0 at a root whose count is known, shape (n_nodes,).
        lo: first bin.
        hi: one past the last.

    Returns:
        Shape (n_nodes,); 0 where there is no noise.
    """
    return np.asarray(ranges_coefficients(tree, variance, [(lo, hi)])[0])


def ranges_coefficients(tree: IntervalTree, variance: FloatArray, ranges: Sequence[tuple[int, int]]) -> FloatArray:
    """The same of several ranges, for which the passes' gains are worked out once, shape (n_ranges, n_nodes)."""
    asked = np.zeros((len(ranges), tree.n_nodes))
    for row, (lo, hi) in zip(asked, ranges, strict=True):
        # The root's own count, where there is one, is the total of all bins: no leaf need count as measured.
        whole = hi - lo == tree.n_leaves and bool(np.isfinite(variance[0]))
        row[np.zeros(1, dtype=np.int64) if whole else tree.leaf_nodes[lo:hi]] = 1.0
    return _coefficients(tree, variance, asked)


def leaf_coefficients(tree: IntervalTree, variance: FloatArray, weights: FloatArray) -> FloatArray:
    """The same of a weighted sum of the bins; weights of shape (n_leaves,)."""
    asked = np.zeros((1, tree.n_nodes))
    asked[:, tree.leaf_nodes] = weights
    return np.asarray(_coefficients(tree, variance, asked)[0])


def _coefficients(tree: IntervalTree, variance: FloatArray, asked: FloatArray) -> FloatArray:
    """Of sums of the nodes' true counts times each row of ``asked``, (n_answers, n_nodes), which is changed."""
    measured = np.isfinite(variance)
    if not measured[(asked != 0).any(axis=0)].all():
        diffuse = deep_gains(tree, variance[:, None]).diffuse[:, 0]
        for row in asked:
            _to_measured(tree.parent, tree.child_start, tree.child_count, diffuse, measured, row)
    noisy = asked * np.where(measured, variance, 0.0)
    return _per_variance(_estimated(tree, noisy, variance[:, None]), variance)


def _estimated(tree: IntervalTree, noisy: FloatArray, variance: FloatArray) -> FloatArray:
    """Both passes on rows of counts: by levels where these are few, sooner than compiled code is loaded."""
    if tree.n_levels > FEW_LEVELS:
        return np.stack([tree_blue_deep(tree, row[:, None], variance)[:, 0] for row in noisy])
    gains = tree_gains(tree, variance)
    return downward(gains, upward(gains, np.ascontiguousarray(noisy.T))).T


@compiled
def _to_measured(
    parent: IntArray, first: IntArray, count: IntArray, diffuse: BoolArray, measured: BoolArray, asked: FloatArray
) -> None:
    """Ask measured nodes for the same: an open one by its parent less its siblings, an inner one by its children."""
    for node in range(len(parent) - 1, 0, -1):
        if diffuse[node] and asked[node] != 0:
            above, share = parent[node], asked[node]
            asked[above] += share
            for each in range(first[above], first[above] + count[above]):
                asked[each] -= share
    for node in range(len(parent)):
        if not measured[node] and asked[node] != 0:
            for each in range(first[node], first[node] + count[node]):
                asked[each] += asked[node]
            asked[node] = 0.0


class SeriesCoefficients:
    """The same where constraints link the series of a day, by the cheapest exact solver.

    What answers whose cells are measured have in common is worked out with the first of them.

    Args:
        tree: the tree.
        variance: shape (n_nodes, n_series), ``inf`` where not measured; may be a broadcast view.
        day_constraints: consecutive day constraints that cover all days.
    """

    def __init__(self, tree: IntervalTree, variance: FloatArray, day_constraints: Sequence[DayConstraints]) -> None:
        homogeneous = tuple(daily.homogeneous for daily in day_constraints)
        self._problem = ConsistencyProblem(tree, np.broadcast_to(0.0, variance.shape), variance, homogeneous)

    @cached_property
    def n_classes(self) -> int:
        """Classes of exchangeable series: an answer's work grows with their cube."""
        return len(series_classes(self._problem.variance, self._problem.day_constraints).first)

    @cached_property
    def _measured(self) -> Callable[[FloatArray], FloatArray]:
        return solver_of(replace(self._problem, variance=np.array(self._problem.variance)))

    def of(self, weights: FloatArray, lo: int, hi: int) -> FloatArray:
        """Coefficients of an answer, shape (n_nodes, n_series).

        Args:
            weights: of the series in the answer, shape (n_series,).
            lo: first day.
            hi: one past the last.
        """
        variance, asked = self._problem.variance, np.flatnonzero(weights)
        cells = np.ix_(self._problem.tree.leaf_nodes[lo:hi], asked)
        own, noisy = variance[cells], np.zeros(variance.shape)
        if np.isfinite(own).all():
            noisy[cells] = own * weights[asked]
            return _per_variance(self._measured(noisy), variance)
        known = np.array(variance)
        known[cells] = np.where(np.isfinite(own), own, OPEN * float(known[np.isfinite(known)].max()))
        noisy[cells] = known[cells] * weights[asked]
        return _per_variance(solve(replace(self._problem, noisy=noisy, variance=known)).values, variance)


def _per_variance(found: FloatArray, variance: FloatArray) -> FloatArray:
    noisy = np.isfinite(variance) & (variance > 0)
    return np.asarray(np.where(noisy, found, 0.0) / np.where(noisy, variance, 1.0))
