"""Standard errors and integer tables cut into blocks.

Errors come from settings: the driver passes the final covariance of each block's root, and the block continues from it
with its own classes. Integers come from the estimates: a block sends its sums of generator counts, the driver divides
the whole range among the blocks, and each block divides its share among its days by the same kernel
(`dplib.consistency.integers.integer_tables`, which rounds in fixed steps so that the last bits of a sum do not decide).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.consistency.answer_variance import final_covariances, node_variances
from dplib.consistency.commuting import commuting_plan
from dplib.consistency.integers.coupled_division import Coupling, needs_coupling
from dplib.consistency.integers.generator_space import GeneratorSpace
from dplib.consistency.integers.integer_tables import divide_counts, node_offers, root_counts
from dplib.consistency.integers.publication import TableMethod
from dplib.consistency.series_classes import SeriesClasses, series_classes
from dplib.consistency.smoother_passes import SmootherPlan, smoother_plan
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes, days_by_constraints, miniature, top_days
from dplib.jobs.consistent_histograms.block_solvers import OPEN, SeriesGroup
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import day_constraints_of, publication_plans


@dataclass(eq=False)
class BlockVariances:
    """Variances of all nodes of one smoother, the blocks' from the final covariances of their roots.

    Attributes:
        shapes: the blocks.
        day_constraints: of the smoother's series.
        variance: factor of their noise variances.
        roots: final covariances of the blocks' roots by class, shape (n_classes, c, c).
        root_of: class of each block's root.
        top: variances of the nodes above the blocks, shape (n_top_nodes, c).
    """

    shapes: BlockShapes
    day_constraints: tuple[DayConstraints, ...]
    variance: FloatArray
    roots: FloatArray
    root_of: IntArray
    top: FloatArray
    _known: dict[tuple[int, ...], SmootherPlan] = field(default_factory=dict)

    @classmethod
    def of(
        cls, design: Design, shapes: BlockShapes, day_constraints: tuple[DayConstraints, ...], variance: FloatArray
    ) -> "BlockVariances":
        """Work out the top; on the driver.

        Raises:
            SolverError: if the measurements leave a count undetermined.
        """
        plan = smoother_plan(design.tree, design.level_variance[design.tree.level][:, None] * variance, day_constraints)
        if not plan.identifiable:
            raise SolverError(*OPEN)
        top = plan.top(design.blocks.cut_level)
        *_, (roots, root_of) = final_covariances(top)
        above = node_variances(top)[: design.blocks.n_top_nodes]
        return cls(shapes, day_constraints, variance, roots, root_of, above)

    def block(self, block: int) -> FloatArray:
        """Variances of a block's nodes, shape (n_nodes, c)."""
        key = self.shapes.key(block, self.day_constraints)
        if key not in self._known:
            variance = self.shapes.node_variance(block)[:, None] * self.variance
            day_constraints = self.shapes.day_constraints(block, self.day_constraints)
            self._known[key] = smoother_plan(self.shapes.tree(block), variance, day_constraints)
        return node_variances(self._known[key], self.roots[self.root_of[block]])


@dataclass(frozen=True, eq=False)
class BlockErrors:
    """Standard errors of one group's nodes: those of one series' tree times a factor, and those of classes' sums.

    Attributes:
        group: the series.
        factor: by what each series' own tree enters its variance, shape (series of the group,).
        tree: variances on that tree; None where every series is a class of its own.
        classes: of exchangeable series, and the variances of their sums; None where days and series factor.
    """

    group: SeriesGroup
    factor: FloatArray
    tree: BlockVariances | None
    classes: tuple[SeriesClasses, BlockVariances] | None

    @classmethod
    def of(cls, design: Design, group: SeriesGroup, shapes: BlockShapes) -> "BlockErrors":
        """Work out the top; on the driver.

        Raises:
            SolverError: if the measurements leave a count undetermined.
        """
        small = miniature(group.day_constraints, group.variance)
        commuting = commuting_plan(small.tree, small.variance, small.day_constraints)
        free = (DayConstraints.free(design.tree.n_leaves, 1),)
        if commuting is not None:
            return cls(group, commuting.series.variances(), BlockVariances.of(design, shapes, free, np.ones(1)), None)
        classes = series_classes(group.variance[None], group.day_constraints)
        own = classes.day_constraints(group.day_constraints), classes.variance(group.variance[None])[0]
        # Of a series that is a class of its own nothing is left besides the class.
        share = 1.0 - 1.0 / classes.size[classes.of]
        factor = np.where(share > 0, group.variance, 0.0) * share
        tree = None if classes.are_single else BlockVariances.of(design, shapes, free, np.ones(1))
        return cls(group, factor, tree, (classes, BlockVariances.of(design, shapes, *own)))

    @property
    def top(self) -> FloatArray:
        """Standard errors of the nodes above the blocks, shape (n_top_nodes, series of the group)."""
        return self._errors(lambda each: each.top)

    def block(self, block: int) -> FloatArray:
        """Standard errors of a block's nodes, shape (n_nodes, series of the group)."""
        return self._errors(lambda each: each.block(block))

    def _errors(self, of: Callable[[BlockVariances], FloatArray]) -> FloatArray:
        found = np.zeros(len(self.factor)) if self.tree is None else of(self.tree) * self.factor
        if self.classes is not None:
            classes, sums = self.classes
            found = found + (of(sums) / classes.size**2)[:, classes.of]
        return np.asarray(np.sqrt(np.maximum(found, 0.0)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class BlockDivision:
    """The division of one group's integers.

    Attributes:
        series: the group's series.
        day_constraints: their day constraints.
        space: their generators.
        weights: of the series.
        coupled: whether generators are divided together.
        all_offered: whether every day offers every generator.
        shapes: the blocks.
    """

    series: IntArray
    day_constraints: tuple[DayConstraints, ...]
    space: GeneratorSpace
    weights: FloatArray
    coupled: bool
    all_offered: bool
    shapes: BlockShapes

    def targets(self, block: int, values: FloatArray) -> FloatArray:
        """Real generator counts of a block's nodes, shape (n_nodes, n_generators); row 0 is what the block sends.

        Args:
            block: its number.
            values: estimates of its nodes, shape (n_nodes, series of the group).
        """
        tree = self.shapes.tree(block)
        days = self.space.targets(values[tree.leaf_nodes], self.shapes.days(block)[0])
        return np.asarray(tree.sums(days), dtype=np.float64)

    def counts(self, block: int, values: FloatArray, root: IntArray) -> IntArray:
        """Integers of a block's nodes, shape (n_nodes, series of the group), from its root's generator counts."""
        tree, (first, end) = self.shapes.tree(block), self.shapes.days(block)
        offered = None if self.all_offered else node_offers(tree, self.space.offered(first, end - first))
        counts = divide_counts(tree, self.targets(block, values), root, offered, None, self._coupling(values))
        return self.space.series_counts(counts)

    def divide_top(self, design: Design, values: FloatArray, sent: FloatArray) -> tuple[IntArray, IntArray]:
        """Divide the whole range among the blocks; on the driver.

        Args:
            design: the design.
            values: estimates of the nodes above the blocks and of the blocks' roots, shape (any, series of the group).
            sent: row 0 of each block's `targets`, shape (n_blocks, n_generators).

        Returns:
            Integers of the nodes above the blocks, shape (n_top_nodes, series of the group), and the generator counts
            of the blocks' roots, shape (n_blocks, n_generators).
        """
        plan = design.blocks
        targets = np.asarray(plan.top_tree.sums(sent), dtype=np.float64)
        offered = None if self.all_offered else self._offered(*top_days(plan))
        root = root_counts(self.space, targets[0], values[0], self.weights)
        counts = divide_counts(plan.top_tree, targets, root, offered, None, self._coupling(values))
        return self.space.series_counts(counts[: plan.n_top_nodes]), counts[plan.n_top_nodes :]

    def _coupling(self, values: FloatArray) -> Coupling | None:
        return Coupling.of(self.space, values, self.weights) if self.coupled else None

    def _offered(self, lo: IntArray, hi: IntArray) -> BoolArray:
        offers = np.zeros((len(self.day_constraints), self.space.n_generators))
        for number, columns in enumerate(self.space.columns):
            offers[number, columns] = 1.0
        return np.asarray(days_by_constraints(self.day_constraints, lo, hi) @ offers > 0)


def block_divisions(design: Design, shapes: BlockShapes) -> tuple[list[BlockDivision], list[IntArray]]:
    """Groups whose integers are divided from the top, and the series of groups that integer programmes solve."""
    divisions, programmes = [], []
    measured = design.constraints.measured.astype(np.float64)
    for series, plan in publication_plans(design):
        if plan.method is TableMethod.INTEGER_PROGRAMME:
            programmes.append(series)
        elif plan.method is TableMethod.TOP_DOWN:
            divisions.append(_division(design, series, day_constraints_of(design, series), measured[series], shapes))
    return divisions, programmes


def _division(
    design: Design,
    series: IntArray,
    day_constraints: Sequence[DayConstraints],
    weights: FloatArray,
    shapes: BlockShapes,
) -> BlockDivision:
    space = GeneratorSpace.from_day_constraints(day_constraints, weights)
    coupled = needs_coupling(space, design.tree.n_leaves)
    all_offered = all(len(columns) == space.n_generators for columns in space.columns)
    return BlockDivision(series, tuple(day_constraints), space, weights, coupled, all_offered, shapes)
