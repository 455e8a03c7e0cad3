"""One tree pass and one projection of every node: exact where the two projections commute.

Node values are sums of days, so constraints that are the same on all days hold at every node (with the right-hand side
of a node the sum of its days'). Put there, they do not change the feasible set, but where the variances are a product
of a node factor and an item factor the tree's projector acts as (H x I) and theirs as (I x P): they commute, and one of
each, in either order, is the projection onto both. Hence also Var(range of series i) = (variance of the range on the
tree with the node factors) * (item-weighted projection covariance)_ii.

Guarantee: the exact optimum; `solve` refuses problems outside the two conditions. Cost: that of `series_projection` a
node.

References: J. von Neumann, "Functional Operators II", Princeton 1950, theorem 13.7 (products of commuting projectors);
the tree pass as in `tree_blue`, the projection as in `series_projection`.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.consistency.series_projection import SeriesProjection, series_projection
from dplib.constraints.day_constraints import DayConstraints, equal
from dplib.errors import SolverError
from dplib.estimates.tree_blue import TreeGains, downward, tree_gains, upward
from dplib.progress import SILENT, Progress
from dplib.trees.interval_tree import IntervalTree

_ROWS = 256
"""Equations that are compared at once."""


@dataclass(frozen=True, eq=False)
class CommutingPlan:
    """What depends on settings only.

    Attributes:
        gains: of the tree with the node factors, k = 1.
        series: the projection of one node's series with the item factors.
        node_variance: node factors, shape (n_nodes,); ``inf`` for a node that is not measured.
        item_variance: item factors, shape (n_series,); ``inf`` for a series that is never measured.
        node_offset: what the right-hand sides add at each node, shape (n_nodes, n_series); None without any.
    """

    gains: TreeGains
    series: SeriesProjection
    node_variance: FloatArray
    item_variance: FloatArray
    node_offset: FloatArray | None

    @property
    def identifiable(self) -> bool:
        """Whether every count is determined."""
        return bool(self.gains.identifiable.all()) and self.series.identifiable

    def values(self, noisy: FloatArray) -> FloatArray:
        """The estimates of a measurement of shape (n_nodes, n_series), numbers where not measured do not matter.

        Raises:
            SolverError: if the measurements leave a count undetermined.
        """
        if not self.identifiable:
            raise SolverError("tree", "determine every count from its measured nodes", "settings that leave some open")
        found = self.series(downward(self.gains, upward(self.gains, noisy)))
        if self.node_offset is not None:
            found += self.node_offset
        return found


def factor_variances(variance: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Split variances into node factor times item factor.

    Args:
        variance: shape (n_nodes, n_series), ``inf`` where not measured.

    Returns:
        Node factors (n_nodes,) and item factors (n_series,), infinite for nodes and series that are not measured at
        all; None if the variances are no such product.
    """
    finite = np.isfinite(variance)
    rows: BoolArray = np.asarray(finite.any(axis=1))
    columns: BoolArray = np.asarray(finite.any(axis=0))
    if not rows.any() or not np.array_equal(finite, rows[:, None] & columns):
        return None
    pivot = (int(np.argmax(rows)), int(np.argmax(columns)))
    nodes = np.where(rows, variance[:, pivot[1]], np.inf)
    items = np.where(columns, variance[pivot[0]] / variance[pivot], np.inf)
    product = nodes[rows, None] * items[columns]
    same = np.allclose(variance[np.ix_(rows, columns)], product, rtol=1e-12, atol=0.0)
    return (nodes, items) if same else None


def same_null_space(day_constraints: tuple[DayConstraints, ...]) -> bool:
    """Whether all day constraints have the same constraint matrix up to the choice of its rows."""
    first = day_constraints[0]
    projection: SeriesProjection | None = None
    for daily in day_constraints[1:]:
        if equal(daily.matrix, first.matrix):
            continue
        if daily.matrix.shape != first.matrix.shape:
            return False
        projection = series_projection(first, np.ones(first.n_series)) if projection is None else projection
        for start in range(0, daily.n_constraints, _ROWS):
            rows = daily.matrix[start : start + _ROWS].toarray()
            rows /= np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1.0)[:, None]
            # Rows of the first matrix are what its projection takes to 0.
            if np.abs(projection(rows)).max(initial=0.0) > 1e-10:
                return False
    return True


def commuting_plan(
    tree: IntervalTree, variance: FloatArray, day_constraints: tuple[DayConstraints, ...]
) -> CommutingPlan | None:
    """The plan, or None where the projections do not commute.

    Args:
        tree: the tree.
        variance: shape (n_nodes, n_series).
        day_constraints: consecutive day constraints.
    """
    factors = factor_variances(variance)
    if factors is None or not same_null_space(day_constraints):
        return None
    return product_plan(tree, *factors, day_constraints)


def product_plan(
    tree: IntervalTree, nodes: FloatArray, items: FloatArray, day_constraints: tuple[DayConstraints, ...]
) -> CommutingPlan:
    """The plan for variances that are products, where `same_null_space` holds.

    Args:
        tree: the tree.
        nodes: node factors, shape (n_nodes,), ``inf`` where not measured.
        items: item factors, shape (n_series,), the same.
        day_constraints: consecutive day constraints.
    """
    offset: FloatArray | None = None
    projection = series_projection(day_constraints[0], items)
    if not all(daily.is_homogeneous for daily in day_constraints):
        origins = [
            (projection if daily is day_constraints[0] else series_projection(daily, items)).origin()
            for daily in day_constraints
        ]
        lengths = [daily.end - daily.first for daily in day_constraints]
        offset = np.asarray(tree.sums(np.repeat(origins, lengths, axis=0)), dtype=np.float64)
    return CommutingPlan(tree_gains(tree, nodes[:, None]), projection, nodes, items, offset)


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Solve by one tree pass and one projection of every node.

    Args:
        problem: day constraints with one constraint matrix, variances a product of node and item factors.
        options: ignored.
        progress: not used.

    Raises:
        SolverError: if the projections do not commute, or the measurements leave a count undetermined.
    """
    plan = commuting_plan(problem.tree, problem.variance, problem.day_constraints)
    if plan is None:
        raise SolverError(
            "solver",
            (
                "be another than commuting where constraints differ by day or variances are no product of a node "
                "factor and an item factor"
            ),
        )
    return Solution(plan.values(problem.measured), "commuting")
