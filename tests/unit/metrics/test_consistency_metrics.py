"""Consistency deviation and errors: against the dense constraint matrix and by hand."""

import numpy as np
import pytest

from dplib.consistency.general import constraint_matrix
from dplib.metrics.error import err_s, range_sums
from dplib.projection.residual import largest_residual, mean_square_residual
from tests.support.strategies import paper_problem, random_problem


@pytest.mark.parametrize("seed", range(10))
def test_mse_s_is_the_mean_square_of_the_dense_residual(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), rhs=True)
    matrix, rhs = constraint_matrix(problem)
    psi = matrix @ problem.noisy.ravel() - rhs
    found = mean_square_residual(problem.tree, problem.day_constraints, problem.noisy)
    assert found == pytest.approx((psi**2).sum() / problem.noisy.size)
    worst = largest_residual(problem.tree, problem.day_constraints, problem.noisy)
    assert worst == pytest.approx(np.abs(psi).max(initial=0.0))


def test_err_s_by_hand() -> None:
    assert err_s(np.array([[1.0, 2.0]]), np.array([[4.0, 6.0]])) == pytest.approx(np.sqrt(12.5))


def test_range_sums() -> None:
    leaves = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(range_sums(leaves, [0, 2], [6, 3]), [leaves.sum(axis=0), leaves[2]])


def test_consistent_values_have_no_deviation() -> None:
    problem = paper_problem(32)
    sold = np.random.default_rng(1).poisson(9, (32, 3)) @ np.array([[2, 1, 1, 0, 1], [0, 2, 2, 1, 0], [1, 1, 0, 1, 1]])
    assert mean_square_residual(problem.tree, problem.day_constraints, problem.tree.sums(sold).astype(float)) == 0
