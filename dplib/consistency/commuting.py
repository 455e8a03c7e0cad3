"""One tree pass and one projection of every node: exact where the two projections commute.

Node values are sums of days, so constraints that are the same on all days hold at every node (with the right-hand side
of a node the sum of its days'). Put there, they do not change the feasible set, but where the variances are a product
of a node factor and an item factor the tree's projector acts as (H x I) and theirs as (I x P): they commute, and one of
each, in either order, is the projection onto both. Hence also Var(range of series i) = (variance of the range on the
tree with the node factors) * (item-weighted projection covariance)_ii.

Guarantee: the exact optimum; `solve` refuses problems outside the two conditions. Cost: O(n_nodes n_series^2).

References: J. von Neumann, "Functional Operators II", Princeton 1950, theorem 13.7 (products of commuting projectors);
the tree pass as in `tree_blue`, the projection as in `dplib.projection.affine`.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.constraints.day_constraints import DayConstraints, equal
from dplib.errors import SolverError
from dplib.estimates.tree_blue import TreeGains, downward, tree_gains, upward
from dplib.progress import SILENT, Progress
from dplib.projection.affine import AffineProjector, null_basis, particular, projector
from dplib.trees.interval_tree import IntervalTree


@dataclass(frozen=True, eq=False)
class CommutingPlan:
    """What depends on settings only.

    Attributes:
        gains: of the tree with the node factors, k = 1.
        projector: of one node's series with the item factors, right-hand side 0.
        node_variance: node factors, shape (n_nodes,); ``inf`` for a node that is not measured.
        item_variance: item factors, shape (n_series,); ``inf`` for a series that is never measured.
        item_covariance: of one projected node with node factor 1, shape (n_series, n_series).
        node_offset: what the right-hand sides add at each node, shape (n_nodes, n_series); None without any.
    """

    gains: TreeGains
    projector: AffineProjector
    node_variance: FloatArray
    item_variance: FloatArray
    item_covariance: FloatArray
    node_offset: FloatArray | None


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
    basis: FloatArray | None = None
    for daily in day_constraints[1:]:
        if equal(daily.matrix, first.matrix):
            continue
        if daily.matrix.shape != first.matrix.shape:
            return False
        basis = null_basis(first.matrix.toarray()) if basis is None else basis
        matrix = daily.matrix.toarray()
        scale = np.abs(matrix).max(axis=1, initial=1.0)
        if np.abs((matrix / scale[:, None]) @ basis).max(initial=0.0) > 1e-10:
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
    nodes, items = factors
    gains = tree_gains(tree, nodes[:, None])
    homogeneous = DayConstraints(
        day_constraints[0].first,
        day_constraints[0].end,
        day_constraints[0].matrix,
        np.zeros(day_constraints[0].n_constraints),
        day_constraints[0].generators,
    )
    offset: FloatArray | None = None
    project = projector(homogeneous, items)
    if not all(daily.is_homogeneous for daily in day_constraints):
        shifts = np.concatenate([np.tile(particular(daily), (daily.end - daily.first, 1)) for daily in day_constraints])
        offset = np.asarray(tree.sums(shifts - shifts @ project.matrix.T), dtype=np.float64)
    known = np.where(np.isfinite(items), items, 0.0)
    covariance = project.matrix * known @ project.matrix.T
    return CommutingPlan(gains, project, nodes, items, covariance, offset)


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
    if not (plan.gains.identifiable.all() and plan.projector.identifiable):
        raise SolverError("tree", "determine every count from its measured nodes", "settings that leave some open")
    values = downward(plan.gains, upward(plan.gains, problem.measured))
    if problem.day_constraints[0].n_constraints:
        values = plan.projector(values)
        if plan.node_offset is not None:
            values += plan.node_offset
    return Solution(values, "commuting")
