"""Exact covariance of any range answer, and the standard error of every node, after consistent least squares.

Node variances do not add up: estimates of nodes are correlated. For a range, walk from the root to the nodes it covers
partly. A node outside the range has ``(L, Q) = (0, 0)``, one inside ``(I, 0)``; a partly covered one, with C_c the
covariances of its children before they know their parent and ``G_c = C_c S^+``, S their sum,

    L = sum L_c G_c,      Q = sum (Q_c + (L_c - L) C_c (L_c - L)^T),

L the coefficient of the node's value in the best prediction of the part inside the range, Q what remains uncertain.
The answer's covariance is ``L_root C_root L_root^T + Q_root``. Where the projections commute it is the variance on a
tree with one series times the covariance of one node's projection, and both factors are kept apart; elsewhere c is the
number of classes of exchangeable series (`series_classes`).

Guarantee: equal to the dense covariance. It depends on settings only, so errors can be published before a release.
Cost: O(k c^3) a level for a query; node standard errors once for each class of nodes with equal settings on their path.

References: K. Chou, A. Willsky, R. Nikoukhah, "Multiscale systems, Kalman filters, and Riccati equations", IEEE TAC
39(3), 1994 (covariances on trees); A. Bjorck, "Numerical Methods for Least Squares Problems", SIAM 1996, section 1.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.commuting import CommutingPlan, commuting_plan
from dplib.consistency.covariances import LevelCovariances
from dplib.consistency.equal_rows import pair_classes, row_classes
from dplib.consistency.series_classes import SeriesClasses, series_classes
from dplib.consistency.series_projection import covariance as series_covariance
from dplib.consistency.smoother_passes import SmootherPlan, smoother_plan
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import require

Pair = tuple[FloatArray, FloatArray]

KEPT_NUMBERS = 1 << 22
"""How many entries of L and Q are kept for the next ranges (64 MB in all)."""


class AnswerVariance:
    """Covariances of range answers for one tree, one set of noise variances and one set of constraints.

    Args:
        tree: the tree.
        variance: noise variances, shape (n_nodes, n_series), ``inf`` where not measured; may be a broadcast view.
        day_constraints: consecutive day constraints that cover all days.
        commuting: the plan where days and series are known to factor; the variance is not looked at then.

    Raises:
        SolverError: if the measurements leave a count undetermined.
    """

    def __init__(
        self,
        tree: IntervalTree,
        variance: FloatArray,
        day_constraints: Sequence[DayConstraints],
        commuting: CommutingPlan | None = None,
    ) -> None:
        self._commuting = commuting or commuting_plan(tree, variance, tuple(day_constraints))
        self._apart: tuple[_Apart, ...] = ()
        if self._commuting is not None:
            self._plan = _single_plan(tree, self._commuting.node_variance)
            good = self._commuting.series.identifiable
        else:
            self._classes = series_classes(variance, day_constraints)
            sums = self._classes.variance(variance)
            self._plan = smoother_plan(tree, sums, self._classes.day_constraints(day_constraints))
            self._apart = _apart(tree, variance, self._classes)
            good = all(each.walk.plan.identifiable for each in self._apart)
        if not (good and self._plan.identifiable):
            raise SolverError("tree", "determine every count from its measured nodes", "settings that leave some open")

        self._walk = _Walk(self._plan)

    @cached_property
    def _series(self) -> FloatArray:
        """Variances of the series for node factor 1."""
        assert self._commuting is not None
        return self._commuting.series.variances()

    def covariance(self, lo: int, hi: int) -> FloatArray:
        """Covariance of the series' counts over the days ``lo <= t < hi``, shape (n_series, n_series); few series only.

        Raises:
            ConfigError: if the range is empty or leaves the days.
        """
        found = self._days_covariance(lo, hi)
        if self._commuting is not None:
            of_series = series_covariance(self._commuting.series, self._commuting.item_variance)
            return np.asarray(float(found[0, 0]) * of_series, dtype=np.float64)
        of, size = self._classes.of, self._classes.size
        whole = np.asarray((found / size / size[:, None])[np.ix_(of, of)], dtype=np.float64)
        for each in self._apart:
            own = np.ix_(each.series, each.series)
            differences = np.diag(np.ones(len(each.series))) - (of[own[0]] == of[own[1]]) / size[of[own[0]]]
            whole[own] += each.walk.covariance(lo, hi)[0, 0] * differences
        return whole

    def variance(self, lo: int, hi: int) -> FloatArray:
        """Variances of the series' counts over the days ``lo <= t < hi``, shape (n_series,)."""
        found = self._days_covariance(lo, hi)
        if self._commuting is not None:
            return np.asarray(max(found[0, 0], 0.0) * self._series, dtype=np.float64)
        own = self._of_classes(np.diagonal(found)[None])[0]
        for each in self._apart:
            own[each.series] += each.walk.covariance(lo, hi)[0, 0] * each.share
        return np.asarray(np.maximum(own, 0.0), dtype=np.float64)

    def weighted_variance(self, lo: int, hi: int, weights: FloatArray) -> float:
        """Variance of a weighted sum of the series over the days ``lo <= t < hi``; weights of shape (n_series,)."""
        found = self._days_covariance(lo, hi)
        if self._commuting is not None:
            own = np.where(np.isfinite(self._commuting.item_variance), self._commuting.item_variance, 0.0)
            return float(found[0, 0] * (self._commuting.series.coefficients(weights) ** 2 @ own))
        of_sums = self._classes.sums(weights[None])[0] / self._classes.size
        total = float(of_sums @ found @ of_sums)
        for each in self._apart:
            differences = weights[each.series] - of_sums[self._classes.of[each.series]]
            total += float(each.walk.covariance(lo, hi)[0, 0] * (differences @ differences))
        return max(total, 0.0)

    def _of_classes(self, variances: FloatArray) -> FloatArray:
        """What variances of the classes' sums, shape (n, n_classes), add to those of the series."""
        return np.asarray((variances / self._classes.size**2)[:, self._classes.of], dtype=np.float64)

    def _days_covariance(self, lo: int, hi: int) -> FloatArray:
        """Covariance of the classes' sums, or of the one series that stands for all where days and series factor."""
        n_days = self._plan.tree.n_leaves
        require(0 <= lo < hi <= n_days, "range", f"be a non-empty range of days 0..{n_days - 1}", (lo, hi))
        return self._walk.covariance(lo, hi)

    def standard_errors(self) -> FloatArray:
        """Standard error of every node's estimate, shape (n_nodes, n_series)."""
        nodes = node_variances(self._plan)
        if self._commuting is not None:
            return np.asarray(np.sqrt(np.maximum(nodes, 0.0) * self._series), dtype=np.float64)
        found = self._of_classes(nodes)
        for each in self._apart:
            found[:, each.series] += node_variances(each.walk.plan) * each.share
        return np.asarray(np.sqrt(np.maximum(found, 0.0)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Apart:
    """Exchangeable series of equal variances: the errors of their differences from the mean of their class.

    Attributes:
        series: their numbers.
        share: 1 - 1/n of each.
        walk: over the tree of one of them by itself.
    """

    series: IntArray
    share: FloatArray
    walk: "_Walk"


def _apart(tree: IntervalTree, variance: FloatArray, classes: SeriesClasses) -> tuple[_Apart, ...]:
    series = np.flatnonzero(classes.size[classes.of] > 1)
    if not len(series):
        return ()
    kind, first = row_classes(np.ascontiguousarray(variance[:, series].T))
    share = 1.0 - 1.0 / classes.size[classes.of]
    found = []
    for number, one in enumerate(first.tolist()):
        own = series[kind == number]
        plan = _single_plan(tree, np.asarray(variance[:, series[one]], dtype=np.float64))
        found.append(_Apart(own, share[own], _Walk(plan)))
    return tuple(found)


def _single_plan(tree: IntervalTree, variance: FloatArray) -> SmootherPlan:
    """The covariances of one series that nothing constrains."""
    return smoother_plan(tree, variance[:, None], [DayConstraints.free(tree.n_leaves, 1)])


def _children(tree: IntervalTree, node: int) -> slice:
    start = int(tree.child_start[node])
    return slice(start, start + int(tree.child_count[node]))


class _Walk:
    """L and Q of partly covered nodes; those cut on one side only come again in other ranges and are kept."""

    def __init__(self, plan: SmootherPlan) -> None:
        self.plan = plan
        self._kept: dict[tuple[int, int, int], Pair] = {}
        self._room = KEPT_NUMBERS // plan.n_series**2

    def covariance(self, lo: int, hi: int) -> FloatArray:
        plan, tree = self.plan, self.plan.tree
        root = plan.levels[0].after[0]
        if lo == 0 and hi == tree.n_leaves:
            return np.array(root)
        share, rest = self._solve(lo, hi)
        return np.asarray(share @ root @ share.T + rest, dtype=np.float64)

    def _solve(self, lo: int, hi: int) -> Pair:
        """Collect the partly covered nodes from the root down, then combine them from the last level up."""
        tree = self.plan.tree
        known: dict[int, Pair] = {}
        levels: list[list[int]] = [[0]]
        while levels[-1]:
            found: list[int] = []
            for node in levels[-1]:
                key = (node, max(lo, int(tree.lo[node])), min(hi, int(tree.hi[node])))
                if key in self._kept:
                    known[node] = self._kept[key]
                    continue
                children = _children(tree, node)
                low, high = tree.lo[children], tree.hi[children]
                partly = (high > lo) & (low < hi) & ((low < lo) | (high > hi))
                found.extend((children.start + np.flatnonzero(partly)).tolist())
            levels.append(found)
        for level in range(len(levels) - 2, -1, -1):
            for node in levels[level]:
                if node in known:
                    continue
                known[node] = self._combine(level, node, lo, hi, known)
                begin, end = int(tree.lo[node]), int(tree.hi[node])
                if (lo <= begin or hi >= end) and len(self._kept) < self._room:
                    self._kept[node, max(lo, begin), min(hi, end)] = known[node]
        return known[0]

    def _combine(self, level: int, node: int, lo: int, hi: int, known: dict[int, Pair]) -> Pair:
        """L and Q of a node that the range covers partly."""
        tree, table, below = self.plan.tree, self.plan.levels[level], self.plan.levels[level + 1]
        own = int(table.index.of[node - int(tree.level_start[level])])
        children = _children(tree, node)
        first = int(tree.level_start[level + 1])
        classes = below.index.of[children.start - first : children.stop - first]
        low, high = tree.lo[children], tree.hi[children]
        meets = (high > lo) & (low < hi)
        inside = (low >= lo) & (high <= hi)
        within = _sum_of(below.after, classes[inside])
        share = within @ table.lift[own]
        if below.diffuse is not None and table.lift_diffuse is not None:
            share = share + _sum_of(below.diffuse, classes[inside]) @ table.lift_diffuse[own]
        parts = []
        for position in np.flatnonzero(meets & ~inside).tolist():
            share_child, rest_child = known[children.start + position]
            kind = int(classes[position])
            share = share + share_child @ _gain(below, kind, table, own)
            parts.append((share_child, rest_child, below.after[kind]))
        left = np.eye(self.plan.n_series) - share
        rest = left @ within @ left.T + share @ _sum_of(below.after, classes[~meets]) @ share.T
        for share_child, rest_child, covariance in parts:
            rest = rest + rest_child + (share_child - share) @ covariance @ (share_child - share).T
        return share, rest


def _sum_of(matrices: FloatArray, classes: IntArray) -> FloatArray:
    """Sum of the matrices of some children."""
    if len(classes) <= 16:
        return np.asarray(matrices[classes].sum(axis=0), dtype=np.float64)
    kinds, counts = np.unique(classes, return_counts=True)
    return np.tensordot(counts.astype(np.float64), matrices[kinds], 1)


def _gain(below: LevelCovariances, kind: int, table: LevelCovariances, own: int) -> FloatArray:
    """What part of its parent's difference a child takes."""
    gain = below.after[kind] @ table.lift[own]
    if below.diffuse is not None and table.lift_diffuse is not None:
        gain = gain + below.diffuse[kind] @ table.lift_diffuse[own]
    return np.asarray(gain, dtype=np.float64)


def node_variances(plan: SmootherPlan, root: FloatArray | None = None) -> FloatArray:
    """Variance of every node's estimate, shape (n_nodes, n_series).

    Args:
        plan: of the tree, a top or a block.
        root: final covariance of a block's root, shape (n_series, n_series); None for the whole tree or its top.
    """
    variances = np.empty((plan.tree.n_nodes, plan.n_series))
    for level, (final, path) in enumerate(final_covariances(plan, root)):
        variances[plan.tree.level_slice(level)] = np.diagonal(final, axis1=1, axis2=2)[path]
    return variances


def final_covariances(plan: SmootherPlan, root: FloatArray | None = None) -> Iterator[tuple[FloatArray, IntArray]]:
    """Final covariances from the root down, one class of nodes with equal settings on their paths at a time.

    Args:
        plan: as for `node_variances`.
        root: as for `node_variances`.

    Yields:
        For each level the covariance of each class, shape (n_classes, n_series, n_series), and the class of each node.
    """
    tree = plan.tree
    final = plan.levels[0].after if root is None else root[None]
    path = plan.levels[0].index.of
    yield final, path
    for level in range(1, tree.n_levels):
        above, table = plan.levels[level - 1], plan.levels[level]
        parent = tree.parent[tree.level_slice(level)] - int(tree.level_start[level - 1])
        of, first = pair_classes(table.index.of, path[parent])
        new = np.empty((len(first), plan.n_series, plan.n_series))
        step = max(1, (1 << 20) // plan.n_series**2)
        for start in range(0, len(first), step):
            chosen = first[start : start + step]
            kinds, owns = table.index.of[chosen], above.index.of[parent[chosen]]
            new[start : start + step] = _pass_down(table, kinds, above, owns, final[path[parent[chosen]]])
        final, path = new, of
        yield final, path


def _pass_down(
    table: LevelCovariances, kinds: IntArray, above: LevelCovariances, owns: IntArray, parents: FloatArray
) -> FloatArray:
    """Final covariances of children from those of their parents: the Joseph form, a sum of positive parts."""
    own = table.after[kinds]
    gain = own @ above.lift[owns]
    if table.diffuse is not None and above.lift_diffuse is not None:
        gain = gain + table.diffuse[kinds] @ above.lift_diffuse[owns]
    turned = np.swapaxes(gain, 1, 2)
    left = np.eye(own.shape[1]) - gain
    siblings = above.before[owns] - own
    return np.asarray(left @ own @ np.swapaxes(left, 1, 2) + gain @ (siblings + parents) @ turned, dtype=np.float64)
