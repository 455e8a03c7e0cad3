"""The general solution (theorem 1 with weights): one dense projection onto all constraints at once.

Guarantee: the exact optimum for any problem; the yardstick of the other solvers. Cost: O(m^2 n + m^3) time and O(m n)
memory for m constraints on n = n_nodes * n_series unknowns (267 s at T = 1,024 in the paper): small problems only.

Reference: Cai, Liu, Xiong, Ying, Wu, Journal on Communications 42(6), 2021, theorem 1 and equation 7.
"""

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.problem import ConsistencyProblem, Solution, SolverOptions
from dplib.errors import SolverError
from dplib.progress import SILENT, Progress
from dplib.projection.affine import project

MAX_UNKNOWNS = 20_000


def constraint_matrix(problem: ConsistencyProblem) -> tuple[FloatArray, FloatArray]:
    """M and b over the values in row-major order (node, series).

    Returns:
        M, shape (n_constraints, n_nodes * n_series), and b, shape (n_constraints,).
    """
    tree, c = problem.tree, problem.n_series
    inner = np.flatnonzero(tree.child_count)
    sums = np.zeros((len(inner), tree.n_nodes))
    sums[np.arange(len(inner)), inner] = 1.0
    sums[np.searchsorted(inner, tree.parent[1:]), np.arange(1, tree.n_nodes)] = -1.0
    blocks, rhs = [np.kron(sums, np.eye(c))], [np.zeros(len(inner) * c)]
    for daily in problem.day_constraints:
        for day in range(daily.first, daily.end) if daily.n_constraints else ():
            block = np.zeros((daily.n_constraints, tree.n_nodes * c))
            leaf = int(tree.leaf_nodes[day])
            block[:, leaf * c : (leaf + 1) * c] = daily.matrix.toarray()
            blocks.append(block)
            rhs.append(daily.rhs)
    return np.concatenate(blocks), np.concatenate(rhs)


def require_fits(n_values: int) -> None:
    """Refuse a problem that is too large for dense matrices.

    Raises:
        SolverError: if it is.
    """
    if n_values > MAX_UNKNOWNS:
        raise SolverError("solver", f"be another than general above {MAX_UNKNOWNS} values", n_values)


def solve(problem: ConsistencyProblem, options: SolverOptions | None = None, progress: Progress = SILENT) -> Solution:
    """Project the noisy values on all constraints at once.

    Args:
        problem: any problem of at most `MAX_UNKNOWNS` values.
        options: ignored.
        progress: not used.

    Raises:
        SolverError: if the problem is too large for dense matrices.
    """
    require_fits(problem.noisy.size)
    matrix, rhs = constraint_matrix(problem)
    variance = np.ascontiguousarray(problem.variance).ravel()
    values = project(problem.measured.ravel(), variance, matrix, rhs)
    return Solution(values.reshape(problem.noisy.shape), "general")
