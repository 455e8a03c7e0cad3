"""Exact covariance of range answers and standard errors of nodes, against the dense covariance."""

import numpy as np
import pytest

from dplib.consistency.answer_variance import AnswerVariance
from dplib.consistency.problem import ConsistencyProblem
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import ConfigError, SolverError
from tests.support.oracles import dense_day_covariance, is_determined
from tests.support.strategies import paper_problem, random_day_constraints, random_problem, regular_tree
from tests.support.tree_oracles import all_ranges, random_tree


def assert_equals_dense(problem: ConsistencyProblem, n_ranges: int, rng: np.random.Generator) -> None:
    tree, n_days, c = problem.tree, problem.tree.n_leaves, problem.n_series
    found = AnswerVariance(tree, problem.variance, problem.day_constraints)
    days = dense_day_covariance(problem).reshape(n_days, c, n_days, c)
    scale = np.abs(days).max()
    asked = rng.permutation(np.stack(all_ranges(n_days), axis=1))[:n_ranges].tolist()
    covariances = np.stack([found.covariance(lo, hi) for lo, hi in asked])
    wanted = np.stack([days[lo:hi, :, lo:hi].sum(axis=(0, 2)) for lo, hi in asked])
    np.testing.assert_allclose(covariances, wanted, rtol=1e-9, atol=1e-9 * scale)
    nodes = zip(tree.lo, tree.hi, strict=True)
    variances = np.stack([np.diagonal(days[lo:hi, :, lo:hi].sum(axis=(0, 2))) for lo, hi in nodes])
    errors = np.sqrt(np.maximum(variances, 0))
    np.testing.assert_allclose(found.standard_errors(), errors, rtol=1e-7, atol=1e-7 * np.sqrt(scale))


def test_many_ranges_with_unequal_variances_and_changing_constraints() -> None:
    rng = np.random.default_rng(7)
    tree = random_tree(rng, 64)
    variance = np.exp(rng.normal(0, 1.2, (tree.n_nodes, 4)))
    variance[0] = np.inf
    problem = ConsistencyProblem(tree, np.zeros(variance.shape), variance, random_day_constraints(rng, 64, 4, rhs=True))
    assert_equals_dense(problem, 150, rng)


@pytest.mark.parametrize("n_days", [1, 2, 32])
def test_paper_example(n_days: int) -> None:
    assert_equals_dense(paper_problem(n_days), 100, np.random.default_rng(8))


def test_commuting_with_unequal_factors_and_a_free_total() -> None:
    rng = np.random.default_rng(9)
    tree = random_tree(rng, 30)
    variance = np.exp(rng.normal(size=(tree.n_nodes, 1))) * np.array([1.0, 3.0, np.inf])
    day_constraints = (DayConstraints(0, 30, np.array([[1.0, 1.0, -1.0]]), np.zeros(1)),)
    assert_equals_dense(ConsistencyProblem(tree, np.zeros(variance.shape), variance, day_constraints), 100, rng)


@pytest.mark.parametrize("seed", range(30))
def test_any_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, unmeasured=(0.0, 0.2, 0.4)[seed % 3])
    if is_determined(problem):
        assert_equals_dense(problem, 20, rng)
    else:
        with pytest.raises(SolverError, match="determine every count"):
            AnswerVariance(problem.tree, problem.variance, problem.day_constraints)


def test_node_variances_do_not_add_up() -> None:
    # Summing node variances of a range's cover is not the answer's variance.
    problem = paper_problem(64)
    found = AnswerVariance(problem.tree, problem.variance, problem.day_constraints)
    cover = problem.tree.cover(1, 63)
    summed = (found.standard_errors()[cover] ** 2).sum(axis=0)
    assert (summed > 1.5 * found.variance(1, 63)).all()


def test_flat_trees_and_kept_pieces() -> None:
    rng = np.random.default_rng(3)
    tree = regular_tree(50, 2)
    variance = np.exp(rng.normal(size=(tree.n_nodes, 2)))
    problem = ConsistencyProblem(tree, np.zeros(variance.shape), variance, random_day_constraints(rng, 50, 2))
    assert_equals_dense(problem, 100, rng)


@pytest.mark.parametrize(("lo", "hi"), [(0, 0), (3, 2), (-1, 2), (0, 33)])
def test_refuses_ranges_outside_the_days(lo: int, hi: int) -> None:
    problem = paper_problem(32)
    with pytest.raises(ConfigError, match="range must be a non-empty range of days"):
        AnswerVariance(problem.tree, problem.variance, problem.day_constraints).covariance(lo, hi)
