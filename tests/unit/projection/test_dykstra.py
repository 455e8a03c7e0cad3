"""Dykstra's algorithm: nearest points against independent solvers, and what it says of its rounds."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from dplib.consistency.integers.nonnegative import nearest_nonnegative
from dplib.consistency.problem import ConsistencyProblem, SolverOptions
from dplib.constraints.menu import Menu
from dplib.errors import SolverError
from dplib.projection.box import project_nonnegative
from dplib.projection.dykstra import project_intersection
from dplib.projection.simplex import project_simplex
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import regular_edges

PACKAGES = np.array([[2, 1], [1, 0], [0, 3]])


def project_plane(normal: np.ndarray, value: float, point: np.ndarray) -> np.ndarray:
    return point + normal * (value - normal @ point) / (normal @ normal)


def test_plane_and_orthant_give_the_simplex() -> None:
    start = np.array([3.0, -2, 0.5, 1])
    plane = partial(project_plane, np.ones(4), 2.0)
    result = project_intersection(start, [project_nonnegative, plane], tol=1e-12)
    expected = project_simplex(start[:, None], np.array([0]), np.array([[2.0]]))[:, 0]
    assert result.converged
    assert_allclose(result.point, expected, atol=1e-9)
    assert len(result.changes) < 10_000
    assert result.changes[-1] <= 1e-12


def test_alternation_without_corrections_would_miss_the_nearest_point() -> None:
    start, plane = np.array([4.0, -1, -3]), partial(project_plane, np.array([1.0, 2, -1]), 1.0)
    nearest = project_intersection(start, [plane, project_nonnegative], tol=1e-12).point
    point = start
    for _ in range(5000):
        point = project_nonnegative(plane(point))
    assert np.linalg.norm(point - start) > np.linalg.norm(nearest - start) + 1e-3


def test_a_limit_of_rounds_is_said() -> None:
    plane = partial(project_plane, np.ones(3), -1.0)
    empty = project_intersection(np.zeros(3), [project_nonnegative, plane], max_rounds=20)
    assert not empty.converged
    assert len(empty.changes) == 20


def small_problem(seed: int) -> tuple[ConsistencyProblem, np.ndarray]:
    """A noisy table near 0 and the matrix that maps package counts of all days to all cells."""
    rng = np.random.default_rng(seed)
    tree = IntervalTree.from_level_edges(regular_edges(5, 2))
    menus = (Menu(0, 5, np.zeros((0, 3)), np.zeros(0), PACKAGES),)
    variance = rng.uniform(0.5, 3, (tree.n_nodes, 3))
    true = tree.sums(rng.poisson(0.7, (5, 2)) @ PACKAGES.T)
    noisy = true + rng.normal(0, 3, true.shape)
    return ConsistencyProblem(tree, noisy, variance, menus), np.kron(tree.sums(np.eye(5)), PACKAGES)


@pytest.mark.parametrize("seed", range(4))
def test_nearest_nonnegative_table_equals_least_squares_over_the_cone(seed: int) -> None:
    problem, basis = small_problem(seed)
    root = 1 / np.sqrt(problem.variance.ravel())
    inverse = np.linalg.pinv(root[:, None] * basis)

    def project_affine(values: np.ndarray) -> np.ndarray:
        return (basis @ (inverse @ (root * values.ravel()))).reshape(values.shape)

    solution = nearest_nonnegative(problem, project_affine, SolverOptions(tol=1e-11, max_rounds=100_000))
    # With these packages a table is non-negative exactly where its package counts are.
    packages_sold, _ = nnls(root[:, None] * basis, root * problem.noisy.ravel())
    assert solution.converged
    assert_allclose(solution.values.ravel(), basis @ packages_sold, atol=1e-7)
    assert solution.values.min() > -1e-8
    assert [each.number for each in solution.rounds] == list(range(1, len(solution.rounds) + 1))
    assert solution.rounds[-1].deviation < 1e-12


def test_unmeasured_nodes_are_refused() -> None:
    problem, _ = small_problem(0)
    variance = problem.variance.copy()
    variance[0] = np.inf
    unmeasured = ConsistencyProblem(problem.tree, problem.noisy, variance, problem.menus)
    with pytest.raises(SolverError, match="every node must be measured"):
        nearest_nonnegative(unmeasured, lambda values: values, SolverOptions())
