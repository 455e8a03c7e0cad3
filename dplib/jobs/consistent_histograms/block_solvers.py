"""The exact solvers cut into blocks: upwards inside a block, the top on the driver, downwards inside the block.

One round: a block sends the mean of its root, the driver solves the tree above the blocks with these means as its
leaves, and each block gets the value of its root back. What runs inside a block are the kernels of `tree_blue`,
`commuting` and `tree_smoother` on the block's own tree; gains and covariances are worked out there from settings.

The numbers are those of one process: sums of children have the same order. Only products with small matrices
(projectors, covariances) may differ in the last bits, since the linear algebra library orders the additions of a
product by its number of rows, and covariances of a block start from the block's own classes.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.choose import SOLVERS
from dplib.consistency.commuting import commuting_plan
from dplib.consistency.series_projection import SeriesProjection
from dplib.consistency.tree_smoother import ClassedPlan, classed_plan
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.estimates import tree_blue
from dplib.estimates.tree_blue import TreeGains, tree_gains
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes, days_by_constraints, miniature, top_days
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import choice_of, least_squares_groups, level_factors_of
from dplib.progress import SILENT

OPEN = "tree", "determine every count from its measured nodes", "settings that leave some open"


@dataclass(frozen=True, eq=False)
class SeriesGroup:
    """Series that form one independent least-squares problem.

    Attributes:
        series: their numbers.
        day_constraints: their day constraints.
        variance: factor of their noise variances, ``inf`` where a series is not measured.
        solver: key of `SOLVERS` that solves them.
        levels: of a node at each level: the factor of its variances, shape (n_levels, 1), or the variances themselves
            where there is no such factor, shape (n_levels, n_series of the group).
    """

    series: IntArray
    day_constraints: tuple[DayConstraints, ...]
    variance: FloatArray
    solver: str
    levels: FloatArray

    @property
    def level_variance(self) -> FloatArray:
        """Variances of a node at each level, shape (n_levels, n_series of the group)."""
        return self.levels * self.variance if self.levels.shape[1] == 1 else self.levels


def series_groups(design: Design) -> list[SeriesGroup]:
    """The groups of a design with their solvers, in the order of `estimate`; settings only.

    Raises:
        SolverError: if the configured solver does not take the constraints.
    """
    found = []
    wanted = design.config.publish.solver.method
    for series, day_constraints in least_squares_groups(design):
        levels, variance = level_factors_of(design, series)
        name = choice_of(design, series, day_constraints).name if wanted == "auto" else wanted
        if name in ("tree_blue", "commuting", "tree_smoother"):
            SOLVERS[name](miniature(day_constraints, variance), None, SILENT)
        found.append(SeriesGroup(series, day_constraints, variance, name, levels))
    return found


class ExactPasses(Protocol):
    """Both passes of one group inside a block; what executors get of a solver."""

    group: SeriesGroup

    def upward(self, block: int, noisy: FloatArray) -> FloatArray:
        """Means of a block's nodes, shape (n_nodes, series of the group); row 0 is what the block sends."""
        ...

    def downward(self, block: int, means: FloatArray, root: FloatArray) -> FloatArray:
        """Estimates of a block's nodes from its means and the value of its root."""
        ...


@dataclass(eq=False)
class BlockGains:
    """Gains of the tree pass by shape of block, worked out when first needed."""

    shapes: BlockShapes
    levels: FloatArray
    _known: dict[int, TreeGains] = field(default_factory=dict)

    def of(self, block: int) -> TreeGains:
        """The gains of a block, as many columns as the levels have."""
        kind = int(self.shapes.kind[block])
        if kind not in self._known:
            tree = self.shapes.tree(block)
            self._known[kind] = tree_gains(tree, self.levels[self.shapes.cut_level + tree.level])
        return self._known[kind]


@dataclass(eq=False)
class BlockCovariances:
    """Plans of the smoother by shape and day constraints of a block, worked out when first needed."""

    shapes: BlockShapes
    day_constraints: tuple[DayConstraints, ...]
    level_variance: FloatArray
    _known: dict[tuple[int, ...], ClassedPlan] = field(default_factory=dict)

    def of(self, block: int) -> ClassedPlan:
        """The plan of a block."""
        key = self.shapes.key(block, self.day_constraints)
        if key not in self._known:
            tree, day_constraints = self.shapes.tree(block), self.shapes.day_constraints(block, self.day_constraints)
            variance = self.level_variance[self.shapes.cut_level + tree.level]
            self._known[key] = classed_plan(tree, variance, day_constraints)
        return self._known[key]


@dataclass(eq=False)
class TreePasses:
    """`tree_blue`, and `commuting` where there is a projector.

    Attributes:
        group: the series.
        gains: of the blocks.
        projector: of every node's series; None without constraints.
        offsets: what a day of each of the day constraints adds, shape (n_day_constraints, series of the group); None
        without right-hand sides.
    """

    group: SeriesGroup
    gains: BlockGains
    projector: SeriesProjection | None
    offsets: FloatArray | None

    @classmethod
    def of(cls, group: SeriesGroup, shapes: BlockShapes) -> "TreePasses":
        """The passes of a group that `commuting` or `tree_blue` solves."""
        small = miniature(group.day_constraints, group.variance)
        plan = commuting_plan(small.tree, small.variance, small.day_constraints)
        assert plan is not None
        constrained = group.solver == "commuting" and group.day_constraints[0].n_constraints > 0
        offsets = None if plan.node_offset is None or not constrained else plan.node_offset[small.tree.leaf_nodes]
        return cls(group, BlockGains(shapes, group.levels), plan.series if constrained else None, offsets)

    def upward(self, block: int, noisy: FloatArray) -> FloatArray:
        """The tree pass upwards."""
        return tree_blue.upward(self.gains.of(block), noisy)

    def downward(self, block: int, means: FloatArray, root: FloatArray) -> FloatArray:
        """The tree pass downwards, then every node onto its constraints."""
        gains, first = self.gains.of(block), self.gains.shapes.days(block)[0]
        return self.project(tree_blue.downward(gains, means, root), gains.tree.lo + first, gains.tree.hi + first)

    def project(self, values: FloatArray, lo: IntArray, hi: IntArray) -> FloatArray:
        """Nodes of the days ``lo <= t < hi`` onto the sums of their days' constraints."""
        if self.projector is None:
            return values
        projected = self.projector(values)
        return (
            projected
            if self.offsets is None
            else projected + days_by_constraints(self.group.day_constraints, lo, hi) @ self.offsets
        )


@dataclass(eq=False)
class SmootherPasses:
    """`tree_smoother`.

    Attributes:
        group: the series.
        plans: of the blocks.
    """

    group: SeriesGroup
    plans: BlockCovariances

    @classmethod
    def of(cls, group: SeriesGroup, shapes: BlockShapes) -> "SmootherPasses":
        """The passes of any group."""
        return cls(group, BlockCovariances(shapes, group.day_constraints, group.level_variance))

    def upward(self, block: int, noisy: FloatArray) -> FloatArray:
        """The smoother's pass upwards."""
        return self.plans.of(block).upward(noisy)

    def downward(self, block: int, means: FloatArray, root: FloatArray) -> FloatArray:
        """The smoother's pass downwards."""
        return self.plans.of(block).downward(means, root)


def exact_passes(group: SeriesGroup, shapes: BlockShapes) -> ExactPasses:
    """The passes of a group by its solver."""
    return SmootherPasses.of(group, shapes) if group.solver == "tree_smoother" else TreePasses.of(group, shapes)


def top_gains(design: Design, levels: FloatArray) -> TreeGains:
    """Gains of the tree above the blocks.

    Args:
        design: the design.
        levels: variances of a node at each level, or their factor, shape (n_levels, k).

    Raises:
        SolverError: if the measured levels leave a count undetermined.
    """
    gains = tree_gains(design.tree, levels[design.tree.level])
    if not gains.identifiable.all():
        raise SolverError(*OPEN)
    return gains.top(design.blocks.cut_level)


def whole_plan(design: Design, group: SeriesGroup) -> ClassedPlan:
    """The smoother's plan of the whole tree, on the driver.

    Raises:
        SolverError: if the measurements leave a count undetermined.
    """
    plan = classed_plan(design.tree, group.level_variance[design.tree.level], group.day_constraints)
    if not plan.identifiable:
        raise SolverError(*OPEN)
    return plan


def solve_top(
    design: Design, passes: ExactPasses, noisy: FloatArray, means: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Solve the tree above the blocks.

    Args:
        design: the design.
        passes: of the group.
        noisy: of the nodes above the blocks, 0 where not measured, shape (n_top_nodes, series of the group).
        means: what the blocks sent, shape (n_blocks, series of the group).

    Returns:
        Estimates of the nodes above the blocks, and the value that each block's root gets.
    """
    plan = design.blocks
    values = np.concatenate([noisy, means])
    if isinstance(passes, TreePasses):
        gains = top_gains(design, passes.group.levels)
        final = tree_blue.downward(gains, tree_blue.upward(gains, values))
        lo, hi = top_days(plan)
        return passes.project(final, lo, hi)[: plan.n_top_nodes], final[plan.n_top_nodes :]
    top = whole_plan(design, passes.group).top(plan.cut_level)
    final = top.downward(top.upward(values))
    return final[: plan.n_top_nodes], final[plan.n_top_nodes :]
