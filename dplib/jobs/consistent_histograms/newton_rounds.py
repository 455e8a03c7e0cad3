"""The nearest non-negative table by Newton's method: some tens of rounds for any number of days, one job each.

Let ``m >= 0`` push days up (`nonnegative`). A proximal step lets a held day give way a little, by ``softness``: with
``soft = softness m - x`` the days of ``soft > 0`` are *held*, each by one more measurement of the value ``softness m``
and of ``softness`` times its variance, and the table is the least-squares estimate with these, exact in one pass up and
one down (`smoother_passes`; each series by itself where no constraint links it). Held days follow from the table and
the table from held days: semismooth Newton. Where they agree, ``m`` becomes ``soft / softness`` and the softness falls
tenfold. Each block decides so by itself; one that does not settle in `PATIENCE` rounds takes its push and softens.

What moves is solved for, not the table, so that rounding shrinks with it. Certificate: the table is consistent, and
stationary for pushes of which none is negative by more than `SLACK` thresholds (or rounding), no day is below 0, and
none that is pushed above 0, by more than the threshold. Cost a round: O(n_nodes c^3) for c linked series, of one block
at a time.

References: R. Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm in convex
programming", Mathematics of Operations Research 1, 1976; M. Hintermueller, K. Ito, K. Kunisch, "The primal-dual active
set strategy as a semismooth Newton method", SIAM Journal on Optimization 13, 2002.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency import smoother_passes
from dplib.consistency.smoother_passes import SmootherPlan, smoother_plan
from dplib.constraints.day_constraints import DayConstraints
from dplib.estimates import tree_blue
from dplib.estimates.tree_blue import TreeGains, tree_gains
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import independent, level_variance_of
from dplib.spark.engine.blocks import Block
from dplib.trees.interval_tree import IntervalTree

MAX_LINKED = 200
"""Series that constraints link up to which their covariances are formed."""
MAX_NUMBERS = 1 << 25
"""Numbers in the covariances of one block."""
PATIENCE = 4
LEAST_SOFTNESS = 1e-5
SLACK = 100.0
ROUNDING = 2.0**-48
_FALL, _SETTLED = 0.1, 0.1


@dataclass(frozen=True, eq=False)
class BoundGroup:
    """Series of one problem.

    Attributes:
        series: their numbers.
        day_constraints: theirs, with right-hand sides of 0.
        variance: of each level, shape (n_levels, series of the group), ``inf`` where not measured.
        linked: whether any constraint links them.
    """

    series: IntArray
    day_constraints: tuple[DayConstraints, ...]
    variance: FloatArray
    linked: bool

    def plan(
        self,
        tree: IntervalTree,
        variance: FloatArray,
        day_constraints: Sequence[DayConstraints],
        roots: FloatArray | None = None,
    ) -> SmootherPlan | TreeGains:
        """Of a tree; ``roots`` are (co)variances of the means that its last level comes with."""
        if self.linked:
            return smoother_plan(tree, variance, day_constraints, roots)
        return tree_gains(tree, variance if roots is None else np.concatenate([variance[: -len(roots)], roots]))

    @property
    def spread_shape(self) -> tuple[int, ...]:
        """Shape of a root's covariances: of all pairs, or of each series alone."""
        return (len(self.series),) * (2 if self.linked else 1)


def bound_groups(design: Design) -> list[BoundGroup]:
    """The groups of a design; settings only."""
    found = []
    for series, daily in independent(design):
        zero = tuple(each.homogeneous for each in daily)
        linked = any(each.n_constraints for each in daily)
        found.append(BoundGroup(series, zero, level_variance_of(design, series), linked))
    return found


def upward(plan: SmootherPlan | TreeGains, values: FloatArray) -> FloatArray:
    """The pass upwards of either plan."""
    return smoother_passes.upward(plan, values) if isinstance(plan, SmootherPlan) else tree_blue.upward(plan, values)


def downward(plan: SmootherPlan | TreeGains, means: FloatArray, root: FloatArray | None = None) -> FloatArray:
    """The pass downwards of either plan."""
    if isinstance(plan, SmootherPlan):
        return smoother_passes.downward(plan, means, root)
    return tree_blue.downward(plan, means, root)


def _root_spread(plan: SmootherPlan | TreeGains) -> FloatArray:
    """(Co)variances of the root's mean."""
    return np.asarray(plan.levels[0].after[0] if isinstance(plan, SmootherPlan) else plan.after[0], dtype=np.float64)


@dataclass(eq=False)
class SoftState:
    """Days of a block, shapes (n_days, n_series).

    Attributes:
        estimate: of the days.
        moved: what is added to them.
        push: m, in counts.
        held: days that are measured once more.
        softness: of these measurements.
        waited: rounds without settling.
        violation: as the certificate measures it.
        solved: plan and means of each group, while the state is at hand.
    """

    estimate: FloatArray
    moved: FloatArray
    push: FloatArray
    held: BoolArray
    softness: float = 1.0
    waited: float = 0.0
    violation: float = np.inf
    solved: list[tuple[SmootherPlan | TreeGains, FloatArray]] | None = field(default=None, repr=False)


class SoftSummary(NamedTuple):
    """The largest violation, and of each group the means of the blocks' roots with their (co)variances."""

    violation: float
    means: list[FloatArray]
    spreads: list[FloatArray]


_ARRAYS = "estimate", "moved", "push"


@dataclass(frozen=True, eq=False)
class NewtonStepper:
    """What happens inside a block.

    Attributes:
        shapes: the blocks.
        groups: the series.
        tol: threshold, counts.
        slack: threshold of a push.
        columns: of a stored state.
    """

    shapes: BlockShapes
    groups: tuple[BoundGroup, ...]
    tol: float
    slack: float
    columns: tuple[str, ...] = (*_ARRAYS, "held", "control")

    @classmethod
    def of(cls, design: Design, shapes: BlockShapes, tol: float, largest: float) -> "NewtonStepper | None":
        """The stepper of a design; None where covariances of linked series would be too large."""
        found = tuple(bound_groups(design))
        most = max((len(group.series) for group in found if group.linked), default=1)
        nodes = max(tree.n_nodes for tree in shapes.trees)
        few = most <= MAX_LINKED and nodes * sum(int(np.prod(each.spread_shape)) for each in found) <= MAX_NUMBERS
        # What rounding leaves of a day, a push has over the softness.
        slack = max(SLACK * tol, ROUNDING * largest / LEAST_SOFTNESS)
        return cls(shapes, found, tol, slack) if few else None

    def load(self, block: int, columns: Block) -> SoftState:
        """The estimates, or a stored state."""
        shape = -1, self.shapes.n_series
        if "push" in columns:
            estimate, moved, push = (np.frombuffer(columns[name], "<f8").reshape(shape) for name in _ARRAYS)
            control = np.frombuffer(columns["control"], "<f8").tolist()
            return SoftState(estimate, moved, push, np.frombuffer(columns["held"], "?").reshape(shape), *control)
        days = np.frombuffer(columns["values"], "<f8").reshape(shape)[self.shapes.tree(block).leaf_nodes]
        return SoftState(days, np.zeros_like(days), np.zeros_like(days), self._bounded & (days < 0))

    @property
    def _bounded(self) -> BoolArray:
        """Which series are kept from falling below 0: those that are measured."""
        found = np.zeros(self.shapes.n_series, dtype=bool)
        for group in self.groups:
            found[group.series] = np.isfinite(group.variance[-1])
        return found

    def store(self, _: int, state: SoftState) -> Block:
        """Days only."""
        control = np.array([state.softness, state.waited, state.violation])
        arrays = {name: getattr(state, name).astype("<f8").tobytes() for name in _ARRAYS}
        return {**arrays, "held": state.held.tobytes(), "control": control.astype("<f8").tobytes()}

    def step(self, block: int, state: SoftState, roots: FloatArray) -> SoftState:
        """Take what the roots move by, shape (n_blocks, n_series): a new table, and the days it holds."""
        moved, leaves = state.moved.copy(), self.shapes.tree(block).leaf_nodes
        for group, (plan, means) in zip(self.groups, state.solved or self._solve(block, state), strict=True):
            moved[:, group.series] += downward(plan, means, roots[block, group.series])[leaves]
        days, bounded = state.estimate + moved, self._bounded
        soft = (state.softness * state.push - days) / state.softness
        held = bounded & (soft > 0)
        push = np.where(held, soft, 0.0)
        wrong = max(float((-days[:, bounded]).max(initial=0.0)), float(np.abs(days[held]).max(initial=0.0)))
        off = float(np.abs(push - np.where(state.held, soft, 0.0)).max(initial=0.0))
        found = SoftState(
            state.estimate, moved, push, held, state.softness, 0.0, max(wrong, off * self.tol / self.slack)
        )
        if off <= max(self.slack, _SETTLED * wrong):
            found.softness = max(LEAST_SOFTNESS, _FALL * state.softness)
        elif state.waited >= PATIENCE:
            found.softness = min(1.0, state.softness / _FALL)
        else:
            found.push, found.waited = state.push, state.waited + 1
        return found

    def _solve(self, block: int, state: SoftState) -> list[tuple[SmootherPlan | TreeGains, FloatArray]]:
        """Each group's plan with the held days' measurements, and its means of what moves next."""
        tree, found = self.shapes.tree(block), []
        moved = np.asarray(tree.sums(state.moved), dtype=np.float64)
        leaves, s = tree.leaf_nodes, state.softness
        for group in self.groups:
            variance = group.variance[self.shapes.cut_level + tree.level]
            values, held = -moved[:, group.series], state.held[:, group.series]
            gap = s * state.push[:, group.series] - state.estimate[:, group.series] + (1 + s) * values[leaves]
            values[leaves] = np.where(held, gap / (1 + s), values[leaves])
            variance[leaves] *= np.where(held, s / (1 + s), 1.0)
            plan = group.plan(tree, variance, self.shapes.day_constraints(block, group.day_constraints))
            found.append((plan, upward(plan, values)))
        return found

    def summary(self, block: int, state: SoftState) -> bytes:
        """The violation, then of each group the mean and the (co)variances of the root."""
        state.solved = self._solve(block, state)
        parts = [np.array([state.violation])]
        for plan, means in state.solved:
            parts += [means[0], _root_spread(plan).ravel()]
        return np.concatenate(parts).astype("<f8").tobytes()

    def read(self, summaries: Sequence[bytes]) -> SoftSummary:
        """Put the blocks' summaries together."""
        table = np.array([np.frombuffer(summary, "<f8") for summary in summaries])
        sizes = [size for group in self.groups for size in (len(group.series), int(np.prod(group.spread_shape)))]
        violation, *parts = np.split(table, np.cumsum([1, *sizes[:-1]]), axis=1)
        spreads = [part.reshape(-1, *own.spread_shape) for part, own in zip(parts[1::2], self.groups, strict=True)]
        return SoftSummary(float(violation.max()), parts[::2], spreads)

    def roots(self, design: Design, found: SoftSummary, moved: FloatArray) -> FloatArray:
        """What the blocks' roots move by, shape (n_blocks, n_series).

        Args:
            design: the design.
            found: what the blocks sent.
            moved: of the nodes above the blocks so far, shape (n_top_nodes, n_series).
        """
        steps, n_top = np.empty((self.shapes.n_blocks, self.shapes.n_series)), design.blocks.n_top_nodes
        tree = design.tree.top(self.shapes.cut_level)
        for group, means, spread in zip(self.groups, found.means, found.spreads, strict=True):
            plan = group.plan(tree, group.variance[tree.level], group.day_constraints, spread)
            values = np.concatenate([-moved[:, group.series], means])
            steps[:, group.series] = downward(plan, upward(plan, values))[n_top:]
        return steps

    def final(self, block: int, state: SoftState) -> FloatArray:
        """The table of a block, shape (n_nodes, n_series): what is left below 0 cut off, sums of days above."""
        days = np.maximum(state.estimate + state.moved, 0.0)
        return np.asarray(self.shapes.tree(block).sums(days), dtype=np.float64)
