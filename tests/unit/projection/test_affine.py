"""Weighted affine projection: against quadratic programming by KKT systems, laws, and where weights matter."""

import numpy as np
import pytest

from dplib.constraints.day_constraints import DayConstraints
from dplib.projection.affine import project, projector, solve_symmetric
from tests.support.strategies import PAPER_B


def kkt(values: np.ndarray, weight: np.ndarray, matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Solve the optimality conditions as one linear system."""
    n, m = len(values), len(matrix)
    system = np.block([[np.diag(weight), matrix.T], [matrix, np.zeros((m, m))]])
    return np.linalg.lstsq(system, np.concatenate([weight * values, rhs]), rcond=None)[0][:n]


@pytest.mark.parametrize("seed", range(15))
def test_project_meets_the_optimality_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    m = int(rng.integers(1, n))
    matrix = rng.integers(-3, 4, (m, n)).astype(float)
    if seed % 3 == 0:
        matrix = np.vstack([matrix, 2 * matrix[0]])
    rhs = matrix @ rng.normal(size=n)
    values, variance = rng.normal(size=n) * 5, np.exp(rng.normal(size=n) * 2)
    found = project(values, variance, matrix, rhs)
    np.testing.assert_allclose(found, kkt(values, 1 / variance, matrix, rhs), atol=1e-8)
    np.testing.assert_allclose(matrix @ found, rhs, atol=1e-9)
    np.testing.assert_allclose(project(found, variance, matrix, rhs), found, atol=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_unmeasured_entries_have_no_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-3, 4, (3, 6)).astype(float)
    rhs = matrix @ rng.normal(size=6)
    values, variance = rng.normal(size=6) * 5, np.exp(rng.normal(size=6))
    variance[rng.choice(6, 2, replace=False)] = np.inf
    found = project(np.where(np.isinf(variance), np.nan, values), variance, matrix, rhs)
    np.testing.assert_allclose(matrix @ found, rhs, atol=1e-8)
    known = np.isfinite(variance)
    best = kkt(values, np.where(known, 1 / variance, 0.0), matrix, rhs)
    np.testing.assert_allclose(found[known], best[known], atol=1e-7)


def test_unweighted_projection_is_wrong_for_unequal_variances() -> None:
    matrix, variance = np.array([[1.0, -1.0, -1.0]]), np.array([1.0, 4.0, 100.0])
    values = np.array([10.0, 5.0, 1.0])
    right = project(values, variance, matrix, np.zeros(1))
    plain = project(values, np.ones(3), matrix, np.zeros(1))

    def cost(x: np.ndarray) -> float:
        return float(((x - values) ** 2 / variance).sum())

    assert cost(plain) > 10 * cost(right)
    np.testing.assert_allclose(right, values + variance * matrix[0] * (0 - 4.0) / variance.sum())


@pytest.mark.parametrize("variance", [np.ones(5), np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 2, 3, 4, np.inf])])
def test_projector_of_a_day(variance: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    daily = DayConstraints(0, 4, PAPER_B.astype(float), np.array([3.0, -1.0]))
    project_day = projector(daily, variance)
    assert project_day.identifiable
    values = rng.normal(size=(7, 5))
    expected = [project(row, variance, daily.matrix.toarray(), daily.rhs) for row in values]
    np.testing.assert_allclose(project_day(values), expected, atol=1e-9)
    tripled = [project(row, variance, daily.matrix.toarray(), 3 * daily.rhs) for row in values]
    np.testing.assert_allclose(project_day(values, days=np.full(7, 3.0)), tripled, atol=1e-9)


def test_projector_tells_what_stays_open() -> None:
    daily = DayConstraints(0, 1, np.array([[1.0, 1.0, 0.0]]), np.zeros(1))
    assert not projector(daily, np.array([1.0, 1.0, np.inf])).identifiable
    assert not projector(daily, np.array([np.inf, np.inf, 1.0])).identifiable
    assert projector(daily, np.array([1.0, np.inf, 1.0])).identifiable


def test_solve_symmetric_takes_singular_matrices() -> None:
    rows = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 1.0]])
    matrix = rows @ rows.T
    rhs = matrix @ np.array([1.0, -1.0, 2.0])
    np.testing.assert_allclose(matrix @ solve_symmetric(matrix, rhs), rhs, atol=1e-10)
