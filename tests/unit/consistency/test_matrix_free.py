"""Matrix-free least squares are the dense ones: gaps in trees, free totals, right-hand sides, changing constraints."""

import numpy as np
import pytest

from dplib.consistency import dual_matrix
from dplib.consistency.matrix_free import MatrixFree, solve
from dplib.consistency.problem import ConsistencyProblem
from dplib.errors import SolverError
from tests.support.oracles import dense_day_covariance, dense_estimate, range_rows
from tests.support.strategies import paper_problem, random_problem
from tests.unit.consistency.test_series_classes import changing_problem


def problem_of(seed: int) -> ConsistencyProblem:
    if seed % 2:
        return changing_problem(seed // 2)
    problem = random_problem(np.random.default_rng(seed + 100), rhs=True)
    variance = problem.variance.copy()
    if seed % 4 == 2:  # days are multiples of each other
        variance = variance[:, :1] * variance[:1]
    inner = np.setdiff1d(np.arange(problem.tree.n_nodes), problem.tree.leaf_nodes)
    variance[inner[::2]] = np.inf
    return ConsistencyProblem(problem.tree, problem.noisy, variance, problem.day_constraints)


@pytest.mark.parametrize("seed", range(8))
def test_estimates_and_variances_are_the_dense_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if seed % 4 == 0:
        monkeypatch.setattr(dual_matrix, "MAX_DENSE", 0)
    problem, rng = problem_of(seed), np.random.default_rng(seed)
    np.testing.assert_allclose(solve(problem).values, dense_estimate(problem), atol=1e-8)
    found = MatrixFree.of(problem.tree, problem.variance, problem.day_constraints)
    lo, hi = 0, max(1, problem.tree.n_leaves - 1)
    rows, weights = range_rows(problem.tree.n_leaves, problem.n_series, lo, hi), rng.normal(size=problem.n_series)
    dense = rows @ dense_day_covariance(problem) @ rows.T
    variance = found.variance_of(found.coefficients(lo, hi, weights))
    assert variance == pytest.approx(weights @ dense @ weights, rel=1e-9)


def test_days_must_be_measured_and_determine_every_count() -> None:
    problem = paper_problem(8)
    variance = np.array(problem.variance)
    variance[-1, 0] = np.inf
    with pytest.raises(SolverError, match="days are not measured"):
        MatrixFree.of(problem.tree, variance, problem.day_constraints)
    variance = np.array(problem.variance)
    variance[:, 2:] = np.inf
    with pytest.raises(SolverError, match="determine every count"):
        MatrixFree.of(problem.tree, variance, problem.day_constraints)
