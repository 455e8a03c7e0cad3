"""Which solver is the cheapest exact one, from settings alone.

The choice never looks at counts, so it can stand in a plan and in a manifest.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency import (
    alternating,
    boosting,
    commuting,
    general,
    lblue,
    matrix_free,
    tree_smoother,
    unconstrained,
)
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.consistency.series_classes import series_classes
from dplib.constraints.day_constraints import DayConstraints
from dplib.progress import SILENT, Progress

Solver = Callable[[ConsistencyProblem, SolverOptions | None, Progress], Solution]

SOLVERS: Mapping[str, Solver] = {
    "general": general.solve,
    "boosting": boosting.solve,
    "lblue": lblue.solve,
    "alternating": alternating.solve,
    "tree_blue": unconstrained.solve,
    "commuting": commuting.solve,
    "tree_smoother": tree_smoother.solve,
    "matrix_free": matrix_free.solve,
}
"""All solvers by name; `choose` picks among the last four and `boosting`'s problems go to `tree_blue`."""


MAX_CLASSES = 300
"""Classes of exchangeable series up to which their covariances are formed where constraints differ by day."""


@dataclass(frozen=True)
class Choice:
    """A solver and why.

    Attributes:
        name: key of `SOLVERS`.
        reason: one sentence for the plan.
    """

    name: str
    reason: str


def choose(problem: ConsistencyProblem) -> Choice:
    """The cheapest exact solver; only tree, variances and day constraints are read.

    Args:
        problem: the problem; ``noisy`` may hold anything.
    """
    known = np.isfinite(problem.variance).any(axis=0)
    days_measured = bool(np.isfinite(problem.variance[problem.tree.leaf_nodes][:, known]).all())
    is_product = partial(_is_product, problem.variance)
    return choice(problem.day_constraints, is_product, days_measured)


def _is_product(variance: FloatArray) -> bool:
    return commuting.factor_variances(variance) is not None


def choice(
    day_constraints: tuple[DayConstraints, ...], is_product: Callable[[], bool], days_measured: bool = True
) -> Choice:
    """The same from what decides.

    Args:
        day_constraints: consecutive day constraints.
        is_product: whether variances are a node factor times a series factor.
        days_measured: whether every series that is measured at all is measured on all days.
    """
    if not any(daily.n_constraints for daily in day_constraints):
        return Choice(
            "tree_blue", "No constraint links the series of a day: each series is one pass up and down its tree."
        )
    same = commuting.same_null_space(day_constraints)
    if same and is_product():
        return Choice(
            "commuting",
            "Every day has the same constraints and variances are a node factor times a series factor: one pass on "
            "the tree and one projection of every node are exact.",
        )
    n_classes = len(series_classes(np.ones((1, day_constraints[0].n_series)), day_constraints).first)
    if n_classes > MAX_CLASSES and days_measured:
        return Choice(
            "matrix_free",
            f"Constraints differ by day and {n_classes} classes of series are too many for covariances: conjugate "
            "gradients, exact to the last digits; an error takes one solution, so those of single answers are worked "
            "out when they are asked for.",
        )
    why = "variances are no product of a node and a series factor" if same else "constraints differ by day"
    return Choice("tree_smoother", f"The projections do not commute ({why}): two passes with covariances are exact.")


def solve(
    problem: ConsistencyProblem,
    method: str = "auto",
    options: SolverOptions | None = None,
    progress: Progress = SILENT,
) -> Solution:
    """Solve with a named solver, or with the one that `choose` picks for ``auto``.

    Args:
        problem: the problem.
        method: key of `SOLVERS`, or ``auto``.
        options: when iterative solvers stop.
        progress: told of each round.
    """
    name = choose(problem).name if method == "auto" else method
    return SOLVERS[name](problem, options, progress)


def solver_of(problem: ConsistencyProblem) -> Callable[[FloatArray], FloatArray]:
    """`solve` of many noisy counts of one problem: what settings decide is worked out once.

    Args:
        problem: the problem; ``noisy`` may hold anything.

    Returns:
        From noisy counts, finite where measured, to estimates, both of shape (n_nodes, n_series).
    """
    name = choose(problem).name
    if name == "tree_smoother":
        plan = tree_smoother.classed_plan(problem.tree, problem.variance, problem.day_constraints)
        return lambda noisy: tree_smoother.smoothed(plan, replace(problem, noisy=noisy).measured)
    return lambda noisy: SOLVERS[name](replace(problem, noisy=noisy), None, SILENT).values
