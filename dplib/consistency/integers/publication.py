"""Which integer tables a release publishes, decided from settings alone, and the tables.

Day constraints with generators (packages, totals, no constraint) are divided from the top down (`integer_tables`).
Explicit equations have no generators: where the problem is small every day is solved by an exact integer programme,
otherwise only the estimates are published. The programmes run in the order of the days, and each day takes over what
the days before it could not publish, so that prefix sums, and with them range sums, follow the estimates.

Cost: the top-down pass, or one integer programme a day (milliseconds for a few equations).

References:
    Floyd, Steinberg, "An adaptive algorithm for spatial grey scale", Proceedings of the Society for Information
    Display 17, 1976 (handing the rounding error on).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.integers.generator_space import GeneratorSpace
from dplib.consistency.integers.integer_tables import WHOLE, Start, publish_counts
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.projection.integer_programme import has_integer_point, nearest_integer_point
from dplib.trees.interval_tree import IntervalTree

MAX_PROGRAMME_CELLS = 20_000
"""Days times series up to which integer programmes are solved: about a minute."""


MAX_DAY = 2.0**40
"""Counts of a day beyond are published as this where programmes find them: floats hold every equation up to it."""


class TableMethod(StrEnum):
    """How the integer tables come about."""

    TOP_DOWN = "top_down"
    INTEGER_PROGRAMME = "integer_programme"
    NOT_PUBLISHED = "not_published"


@dataclass(frozen=True)
class PublicationPlan:
    """The method, and one sentence for the plan and the report."""

    method: TableMethod
    sentence: str


def plan_publication(
    day_constraints: Sequence[DayConstraints], max_programme_cells: int = MAX_PROGRAMME_CELLS
) -> PublicationPlan:
    """Choose the method from settings; no estimate enters.

    Args:
        day_constraints: consecutive day constraints that cover all days, sorted.
        max_programme_cells: days times series up to which integer programmes are solved.
    """
    equations = [daily for daily in day_constraints if daily.generators is None]
    if not equations:
        return PublicationPlan(
            TableMethod.TOP_DOWN, "Integer tables are divided from the whole range down to the days and are exact."
        )
    cells = (day_constraints[-1].end - day_constraints[0].first) * day_constraints[0].n_series
    if cells > max_programme_cells:
        return PublicationPlan(
            TableMethod.NOT_PUBLISHED,
            f"No integer tables are published: with explicit equations they are made for up to {max_programme_cells} "
            f"days times series, and these settings have {cells}.",
        )
    for daily in equations:
        if not has_integer_point(daily.matrix.toarray(), daily.rhs):
            return PublicationPlan(
                TableMethod.NOT_PUBLISHED,
                f"No integer tables are published: no non-negative integers satisfy the equations of the days "
                f"{daily.first} to {daily.end - 1}.",
            )
    return PublicationPlan(
        TableMethod.INTEGER_PROGRAMME, "Integer tables are found day by day by an exact integer programme."
    )


def publish_tables(
    plan: PublicationPlan,
    tree: IntervalTree,
    estimates: FloatArray,
    day_constraints: Sequence[DayConstraints],
    weights: FloatArray | None = None,
    node_weights: FloatArray | None = None,
    start: Start = WHOLE,
    space: GeneratorSpace | None = None,
) -> IntArray | None:
    """The tables that the plan announces.

    Args:
        plan: from `plan_publication` for the same day constraints.
        tree: the tree over days.
        estimates: consistent estimates, shape (n_nodes, n_series).
        day_constraints: consecutive day constraints that cover all days, sorted.
        weights: weight of each series (one over its variance), shape (n_series,).
        node_weights: weight of each node among its siblings, shape (n_nodes,).
        start: the tree's days among those of the day constraints, and the level whose nodes are made each for itself.
        space: generators of the day constraints with these weights, where they are known; worked out if absent.

    Returns:
        Integers of at least 0, shape (n_nodes, n_series), or None where nothing is published.
    """
    if plan.method is TableMethod.NOT_PUBLISHED:
        return None
    if plan.method is TableMethod.TOP_DOWN:
        return publish_counts(tree, estimates, day_constraints, weights, node_weights, start, space)
    tops = tree.level_slice(start.level)
    days = [
        solve_days(estimates[tree.leaf_nodes[lo:hi]], day_constraints, weights, start.first_day + lo)
        for lo, hi in zip(tree.lo[tops].tolist(), tree.hi[tops].tolist(), strict=True)
    ]
    return tree.sums(np.concatenate(days)).astype(np.int64)


def solve_days(
    estimates: FloatArray,
    day_constraints: Sequence[DayConstraints],
    weights: FloatArray | None = None,
    first_day: int = 0,
) -> IntArray:
    """Each day's integer programme in turn.

    Args:
        estimates: of the days from ``first_day`` on, shape (n_days, n_series).
        day_constraints: as above, each with an integer solution.
        weights: weight of each series, shape (n_series,).
        first_day: the day of the first row.

    Raises:
        SolverError: if a day's constraints have no non-negative integer solution.
    """
    counts = np.empty(estimates.shape, dtype=np.int64)
    carried = np.zeros(estimates.shape[1])
    series_weights = np.ones(estimates.shape[1]) if weights is None else weights
    for daily in day_constraints:
        for row in range(max(daily.first - first_day, 0), min(daily.end - first_day, len(estimates))):
            wanted = np.clip(estimates[row] + carried, -MAX_DAY, MAX_DAY)
            counts[row] = _solve_day(wanted, series_weights, daily)
            carried = wanted - counts[row]
    return counts


def _solve_day(wanted: FloatArray, weights: FloatArray, daily: DayConstraints) -> IntArray:
    matrix, rhs, n = daily.matrix.toarray(), daily.rhs, daily.n_series
    if daily.generators is not None:
        # A day between equation days that has generators: its counts must be sums of them.
        generators = daily.generators.toarray().astype(np.float64)
        n_generators = generators.shape[1]
        matrix, rhs = np.hstack([np.eye(n), -generators]), np.zeros(n)
        wanted = np.concatenate([wanted, np.linalg.pinv(generators) @ wanted])
        weights = np.concatenate([weights, np.zeros(n_generators)])
    point = nearest_integer_point(wanted, weights, matrix, rhs)
    if point is None:
        raise SolverError("every day's equations", "have a non-negative integer solution", "days that have none")
    return point[:n]
