"""The tree smoother: the exact estimate for any tree, any variances and constraints that change from day to day.

Exchangeable series are smoothed by classes (`series_classes`): a node's values hold both their differences from their
class's mean, which are those of each series' own tree pass, and their sums over the classes, which are those of the
smoother with one state a class (`smoother_passes`). So the passes take and give one number a series, and cut at any
level.

Guarantee: equal to dense constrained weighted least squares. Cost: with k classes, O(n_nodes (k^2 + n_series)) for the
passes, O(k^3) a class of nodes for the plan.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency import smoother_passes
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.consistency.series_classes import SeriesClasses, series_classes
from dplib.consistency.smoother_passes import SmootherPlan, smoother_plan
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.estimates import tree_blue
from dplib.estimates.tree_blue import TreeGains, tree_gains
from dplib.progress import SILENT, Progress
from dplib.trees.interval_tree import IntervalTree


@dataclass(frozen=True, eq=False)
class ClassedPlan:
    """All that the passes need besides the counts.

    Attributes:
        classes: of the series.
        sums: the smoother of the classes' sums.
        gains: of each series by itself, shape (n_nodes, n_series) or (n_nodes, 1); None where no two are exchangeable.
    """

    classes: SeriesClasses
    sums: SmootherPlan
    gains: TreeGains | None

    @property
    def identifiable(self) -> bool:
        """Whether every count is determined."""
        if self.gains is None:
            return self.sums.identifiable
        many = self.classes.size[self.classes.of] > 1
        alone = self.gains.identifiable if len(self.gains.identifiable) == 1 else self.gains.identifiable[many]
        return self.sums.identifiable and bool(alone.all())

    def top(self, level: int) -> "ClassedPlan":
        """The plan of the levels ``0..level``, whose last level takes the blocks' means as its values."""
        gains = None if self.gains is None else self.gains.top(level)
        return replace(self, sums=self.sums.top(level), gains=gains)

    def upward(self, noisy: FloatArray) -> FloatArray:
        """The bottom-up pass, as `smoother_passes.upward`."""
        if self.gains is None:
            return smoother_passes.upward(self.sums, noisy)
        known = np.where(np.isfinite(noisy), noisy, 0.0)
        sums = smoother_passes.upward(self.sums, self.classes.sums(known))
        return self.classes.contrasts(tree_blue.upward(self.gains, known)) + self.classes.spread(sums)

    def downward(self, means: FloatArray, root_value: FloatArray | None = None) -> FloatArray:
        """The top-down pass, as `smoother_passes.downward`."""
        if self.gains is None:
            return smoother_passes.downward(self.sums, means, root_value)
        root = None if root_value is None else root_value[None]
        root_sum = None if root is None else self.classes.sums(root)[0]
        root_apart = None if root is None else self.classes.contrasts(root)[0]
        sums = smoother_passes.downward(self.sums, self.classes.sums(means), root_sum)
        apart = tree_blue.downward(self.gains, self.classes.contrasts(means), root_apart)
        return self.classes.contrasts(apart) + self.classes.spread(sums)


def classed_plan(tree: IntervalTree, variance: FloatArray, day_constraints: Sequence[DayConstraints]) -> ClassedPlan:
    """Find the classes and work out the covariances.

    Args:
        tree: the tree.
        variance: shape (n_nodes, n_series), above 0, ``inf`` where not measured; may be a broadcast view.
        day_constraints: consecutive day constraints that cover all days.
    """
    classes = series_classes(variance, day_constraints)
    if classes.are_single:
        return ClassedPlan(classes, smoother_plan(tree, variance, day_constraints), None)
    sums = smoother_plan(tree, classes.variance(variance), classes.day_constraints(day_constraints))
    return ClassedPlan(classes, sums, tree_gains(tree, variance))


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Solve any problem exactly.

    Args:
        problem: any problem.
        options: ignored.
        progress: not used.

    Raises:
        SolverError: if the measurements leave a count undetermined.
    """
    plan = classed_plan(problem.tree, problem.variance, problem.day_constraints)
    return Solution(smoothed(plan, problem.measured), "tree_smoother")


def smoothed(plan: ClassedPlan, measured: FloatArray) -> FloatArray:
    """Both passes over counts of shape (n_nodes, n_series), 0 where not measured.

    Raises:
        SolverError: if the measurements leave a count undetermined.
    """
    if not plan.identifiable:
        raise SolverError("tree", "determine every count from its measured nodes", "settings that leave some open")
    return plan.downward(plan.upward(measured))
