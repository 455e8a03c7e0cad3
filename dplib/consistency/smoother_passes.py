"""The passes of the tree smoother: any tree, any variances and constraints that change from day to day.

A Kalman smoother on the tree with the c series of a node as its state. Upwards, every node combines the sum of its
children (mean m, covariance S) with its own measurement; downwards, the difference between a node's final value and
that sum is shared out by covariance:

    leaf:  m = p_t + C W (y - p_t)           p_t meets the day's constraints, C lives on their null space
    up:    m = sum m_c + C W (y - sum m_c)
    down:  x_c = m_c + C_c S^+ (x_parent - sum m_c)

Every estimate lies in the sum of its days' constraint sets, so that all constraints hold by construction. Unmeasured
nodes, series and single entries have precision 0; what no subtree determines stays diffuse until an ancestor
determines it, or the problem is refused.

Covariances depend on settings only and are shared by nodes of equal settings (`SmootherPlan`); the passes are one
small matrix product a node. Both cut at any level: a block sends the mean of its root AFTER the root's own
measurement, `SmootherPlan.top` takes such means as the values of its leaves, and `downward` takes the final value of a
block's root.

Guarantee: equal to dense constrained weighted least squares. Cost: O(n_nodes c^2) for the passes, O(c^3) a class for
the plan.

References: K. Chou, A. Willsky, A. Benveniste, "Multiscale recursive estimation, data fusion, and regularization", IEEE
TAC 39(3), 1994; P. Ghazi, R. Kamath, R. Kumar, P. Manurangsi, A. Sealfon, "BlueDown", arXiv 2603.10099, 2026 (block
hierarchical regression with constraints on the Census tree); J. Awan et al., "SEA BLUE", arXiv 2409.04387, 2024.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.covariances import ChildSums, LevelCovariances, level_covariances, sum_children
from dplib.consistency.equal_rows import ClassIndex, pair_classes, row_classes
from dplib.consistency.subspaces import Spans
from dplib.constraints.day_constraints import DayConstraints, SparseFloat, SparseInt
from dplib.hashing import hashed
from dplib.kept import Kept
from dplib.projection.affine import particular
from dplib.trees.interval_tree import IntervalTree

KEPT_NUMBERS = 1 << 16
"""Nodes times the square of the series up to which a plan is kept for whoever asks again (2 MB a plan at most)."""


@dataclass(frozen=True, eq=False)
class SmootherPlan:
    """All that the passes need besides the counts; a function of tree, variances and day constraints.

    Attributes:
        tree: the tree.
        levels: covariances of each level.
        offset: p_t of each day, shape (n_days, n_series); None where every right-hand side is 0.
        identifiable: whether every count is determined.
        is_top: whether the leaves of the last level take means of blocks.
    """

    tree: IntervalTree
    levels: tuple[LevelCovariances, ...]
    offset: FloatArray | None
    identifiable: bool
    is_top: bool = False

    @property
    def n_series(self) -> int:
        """Number of series."""
        return int(self.levels[0].weight.shape[1])

    def top(self, level: int) -> "SmootherPlan":
        """The plan of the levels ``0..level``, whose last level takes the blocks' means as its values."""
        return replace(self, tree=self.tree.top(level), levels=self.levels[: level + 1], is_top=True)

    def block(self, root: int) -> tuple["SmootherPlan", IntArray]:
        """The plan of the subtree below ``root``, and the numbers of its nodes in the whole tree."""
        tree, nodes = self.tree.subtree(root)
        depth = int(self.tree.level[root])
        levels = []
        for level in range(tree.n_levels):
            start = int(self.tree.level_start[depth + level])
            part = nodes[tree.level_slice(level)]
            levels.append(self.levels[depth + level].take(slice(int(part[0]) - start, int(part[-1]) + 1 - start)))
        offset = None if self.offset is None else self.offset[self.tree.lo[root] : self.tree.hi[root]]
        return replace(self, tree=tree, levels=tuple(levels), offset=offset), nodes


def smoother_plan(
    tree: IntervalTree,
    variance: FloatArray,
    day_constraints: Sequence[DayConstraints],
    roots: FloatArray | None = None,
) -> SmootherPlan:
    """Work out the covariances from the last level to the root.

    Args:
        tree: the tree, or its top where ``roots`` are given.
        variance: shape (n_nodes, n_series), above 0, ``inf`` where not measured; may be a broadcast view.
        day_constraints: consecutive day constraints that cover all days.
        roots: covariances of the means that the last level of a top takes, shape (n_blocks, n_series, n_series).

    Returns:
        The plan; equal settings share one while they are small.
    """
    c = variance.shape[1]
    if roots is not None or variance.size * c > KEPT_NUMBERS:
        return _worked_out(tree, variance, day_constraints, roots)
    key = _key(tree, variance, day_constraints)
    known = _KEPT.find(key)
    return (
        known
        if known is not None
        else _KEPT.keep(key, _read_only(_worked_out(tree, np.array(variance), day_constraints)))
    )


def _key(tree: IntervalTree, variance: FloatArray, day_constraints: Sequence[DayConstraints]) -> bytes:
    """A digest of all that a plan depends on."""
    matrices: list[SparseFloat | SparseInt] = [daily.matrix for daily in day_constraints]
    matrices += [daily.generators for daily in day_constraints if daily.generators is not None]
    arrays: list[npt.NDArray[np.generic]] = [tree.lo, tree.hi, tree.parent, tree.level_start, variance]
    arrays += [daily.rhs for daily in day_constraints]
    arrays += [part for matrix in matrices for part in (matrix.indptr, matrix.indices, matrix.data)]
    days = [(daily.first, daily.end, daily.generators is None) for daily in day_constraints]
    shapes = [(each.shape, each.dtype.str) for each in arrays] + [each.shape for each in matrices]
    found = hashlib.blake2b(repr((days, shapes)).encode(), digest_size=32)
    for each in arrays:
        found.update(np.ascontiguousarray(each).data)
    return found.digest()


def _read_only(plan: SmootherPlan) -> SmootherPlan:
    """The plan, which many share from now on: a release, its rehearsal, its errors and its page ask for it."""
    for level in plan.levels:
        for each in (level.weight, level.after, level.before, level.lift, level.diffuse, level.lift_diffuse):
            if each is not None:
                each.setflags(write=False)
    return plan


_KEPT: Kept[bytes, SmootherPlan] = Kept(64)


def _worked_out(
    tree: IntervalTree,
    variance: FloatArray,
    day_constraints: Sequence[DayConstraints],
    roots: FloatArray | None = None,
) -> SmootherPlan:
    spans = Spans(day_constraints)
    constraints_of_day = np.repeat(
        np.arange(len(day_constraints)), [daily.end - daily.first for daily in day_constraints]
    )
    levels: list[LevelCovariances] = []
    span_of: IntArray = np.zeros(0, dtype=np.int64)
    identifiable = True
    if roots is not None:
        level_, none = tree.level_slice(tree.n_levels - 1), np.zeros_like(roots)
        index = ClassIndex(np.arange(len(roots)), len(roots))
        levels.append(LevelCovariances(index, np.zeros(roots.shape[:2]), roots, none, none))
        days = zip(tree.lo[level_].tolist(), tree.hi[level_].tolist(), strict=True)
        own = [np.unique(spans.of_constraints[constraints_of_day[lo:hi]]).tolist() for lo, hi in days]
        span_of = np.array([spans.union(each) for each in own], dtype=np.int64)
    for level in range(tree.n_levels - 1 - len(levels), -1, -1):
        below = levels[-1] if levels else None
        table, span_of, overlap = _level(tree, level, variance, constraints_of_day, spans, below, span_of)
        levels.append(table)
        identifiable &= not overlap
    identifiable &= levels[-1].diffuse is None
    offset = None
    if not all(daily.is_homogeneous for daily in day_constraints):
        offset = np.array([particular(daily) for daily in day_constraints])[constraints_of_day]
    return SmootherPlan(tree, tuple(reversed(levels)), offset, identifiable, is_top=roots is not None)


def _level(
    tree: IntervalTree,
    level: int,
    variance: FloatArray,
    constraints_of_day: IntArray,
    spans: Spans,
    below: LevelCovariances | None,
    span_below: IntArray,
) -> tuple[LevelCovariances, IntArray, bool]:
    """Covariances of one level, the span of each of its classes, and whether diffuse children overlap."""
    nodes = tree.level_slice(level)
    count, start = tree.child_count[nodes], tree.child_start[nodes]
    leaf = count == 0
    rows, _ = row_classes(variance[nodes])
    kind = np.zeros(len(count), dtype=np.uint64)
    # Equal right-hand sides do not matter for covariances: a leaf's class is its span.
    kind[leaf] = hashed(spans.of_constraints[constraints_of_day[tree.lo[nodes][leaf]]] + (1 << 40))
    if below is not None and not leaf.all():
        marks = hashed(below.index.of + 1)
        kind[~leaf] = np.add.reduceat(marks, start[~leaf] - int(tree.level_start[level + 1]))
    of, first = pair_classes(rows, kind)
    chosen = variance[nodes][first]
    weight = np.where(np.isfinite(chosen), 1.0 / chosen, 0.0)
    c = weight.shape[1]
    span = np.zeros(len(first), dtype=np.int64)
    is_leaf = leaf[first]
    span[is_leaf] = spans.of_constraints[constraints_of_day[tree.lo[nodes][first[is_leaf]]]]
    sums = ChildSums(np.zeros((len(first), c, c)), None, overlap=False)
    if below is not None and not is_leaf.all():
        inner = np.flatnonzero(~is_leaf)
        owner = np.repeat(inner, count[first[inner]])
        begin = start[first[inner]] - int(tree.level_start[level + 1])
        position = _ranges(begin, count[first[inner]])
        child_class = below.index.of[position]
        sums = sum_children(owner, child_class, len(first), below)
        span[inner] = _joined_spans(spans, owner, span_below[child_class], inner)
    index = ClassIndex(of, len(first))
    return level_covariances(index, weight, is_leaf, span, spans, sums), span, sums.overlap


def _ranges(start: IntArray, count: IntArray) -> IntArray:
    """The concatenation of ``start[i], ..., start[i] + count[i] - 1``."""
    ends = np.cumsum(count)
    return np.asarray(np.arange(int(ends[-1])) + np.repeat(start - (ends - count), count), dtype=np.int64)


def _joined_spans(spans: Spans, owner: IntArray, child_span: IntArray, inner: IntArray) -> IntArray:
    """Span of each inner class: the sum of its children's."""
    if (child_span == child_span[0]).all():
        return np.full(len(inner), child_span[0])
    width = int(child_span.max()) + 1
    pair = np.unique(owner * width + child_span)
    groups = np.split(pair % width, np.flatnonzero(np.diff(pair // width)) + 1)
    return np.array([spans.union(group.tolist()) for group in groups], dtype=np.int64)


def upward(plan: SmootherPlan, noisy: FloatArray) -> FloatArray:
    """The bottom-up pass.

    Args:
        plan: of the tree, a top or a block.
        noisy: shape (n_nodes, n_series), finite; unmeasured entries do not matter. For a top, the last level's inner
            nodes of the whole tree (its block roots) and its bins hold means already.

    Returns:
        Each node's mean from its own subtree, its own measurement included, shape (n_nodes, n_series).
    """
    tree = plan.tree
    means = np.zeros_like(noisy)
    for level in range(tree.n_levels - 1, -1, -1):
        nodes = tree.level_slice(level)
        if plan.is_top and level == tree.n_levels - 1:
            means[nodes] = noisy[nodes]
            continue
        table = plan.levels[level]
        prior = _prior(plan, level, means)
        innovation = (noisy[nodes] - prior) * table.weight[table.index.of]
        means[nodes] = prior + table.index.apply(table.after, innovation)
    return means


def _prior(plan: SmootherPlan, level: int, means: FloatArray) -> FloatArray:
    """What the children (or the day's constraints alone) say of the nodes of a level."""
    tree = plan.tree
    nodes = tree.level_slice(level)
    count = tree.child_count[nodes]
    prior = np.zeros((len(count), means.shape[1]))
    if count.any():
        children = tree.level_slice(level + 1)
        inner = count > 0
        prior[inner] = np.add.reduceat(means[children], tree.child_start[nodes][inner] - children.start, axis=0)
    if plan.offset is not None and not count.all():
        leaf = count == 0
        prior[leaf] = plan.offset[tree.lo[nodes][leaf]]
    return prior


def downward(plan: SmootherPlan, means: FloatArray, root_value: FloatArray | None = None) -> FloatArray:
    """The top-down pass.

    Args:
        plan: as given to `upward`.
        means: what `upward` returned.
        root_value: final value of the root, shape (n_series,); None where the root is the whole tree's.

    Returns:
        Final values, shape (n_nodes, n_series).
    """
    tree = plan.tree
    values = means.copy()
    if root_value is not None:
        values[0] = root_value
    for level in range(tree.n_levels - 1):
        nodes, children = tree.level_slice(level), tree.level_slice(level + 1)
        count = tree.child_count[nodes]
        inner = count > 0
        table, below = plan.levels[level], plan.levels[level + 1]
        difference = np.zeros((len(count), means.shape[1]))
        sums = np.add.reduceat(means[children], tree.child_start[nodes][inner] - children.start, axis=0)
        difference[inner] = values[nodes][inner] - sums
        lifted = np.repeat(table.index.apply(table.lift, difference), count, axis=0)
        values[children] += below.index.apply(below.after, lifted)
        if table.lift_diffuse is not None and below.diffuse is not None:
            spread = np.repeat(table.index.apply(table.lift_diffuse, difference), count, axis=0)
            values[children] += below.index.apply(below.diffuse, spread)
    return values
