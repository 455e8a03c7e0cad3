"""No constraint links the series of a day: each series is one pass up and down its tree."""

from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.errors import SolverError
from dplib.estimates.tree_blue import downward, tree_gains, upward
from dplib.progress import SILENT, Progress


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Solve a problem without day constraints, each series by itself.

    Args:
        problem: day constraints without rows.
        options: ignored.
        progress: not used.

    Raises:
        SolverError: if a day is constrained, or the measurements leave a count undetermined.
    """
    if any(daily.n_constraints for daily in problem.day_constraints):
        raise SolverError("solver", "be one that takes day constraints", "tree_blue")
    gains = tree_gains(problem.tree, problem.variance)
    if not gains.identifiable.all():
        raise SolverError("tree", "determine every count from its measured nodes", "levels that leave some open")
    return Solution(downward(gains, upward(gains, problem.measured)), "tree_blue")
