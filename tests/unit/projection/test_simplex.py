"""Simplex and box projections: small exact cases, groups, masks, refusals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dplib.errors import SolverError
from dplib.projection.simplex import project_simplex


def column(values: list[float]) -> np.ndarray:
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("values", "total", "expected"),
    [
        ([1, 2, 3], 6, [1, 2, 3]),
        ([1, 2, 3], 9, [2, 3, 4]),
        ([5, 1, -4], 4, [4, 0, 0]),
        ([5, 4, -4], 5, [3, 2, 0]),
        ([-5, -6], 3, [2, 1]),
        ([-5, -6, -7], 0, [0, 0, 0]),
        ([-3], 7, [7]),
    ],
)
def test_hand_computed_projections(values: list[float], total: int, expected: list[float]) -> None:
    projected = project_simplex(column(values), np.array([0]), np.array([[total]]))
    assert_allclose(projected[:, 0], expected, atol=1e-12)


def test_groups_of_different_sizes_and_columns_are_independent() -> None:
    values = np.array([[1.0, 5], [2, -5], [9, 9], [3, 0], [0, 3], [1, 1]])
    totals = np.array([[5, 5], [2, 0], [1, 10]])
    projected = project_simplex(values, np.array([0, 2, 3]), totals)
    for group, (start, end) in enumerate([(0, 2), (2, 3), (3, 6)]):
        for series in range(2):
            alone = project_simplex(values[start:end, [series]], np.array([0]), totals[[group]][:, [series]])
            assert_allclose(projected[start:end, series], alone[:, 0])


def test_weights_move_light_entries_more() -> None:
    projected = project_simplex(column([0, 0, 0]), np.array([0]), np.array([[11]]), weights=column([1, 2, 3]))
    # Moves are in proportion to 1/w: 6 : 3 : 2.
    assert_allclose(projected[:, 0], [6, 3, 2])


@pytest.mark.parametrize("size", [2, 3])
def test_entries_not_allowed_stay_zero(size: int) -> None:
    values = column([9.0, 1.0, 2.0][:size])
    allowed = np.array([[False], [True], [True]])[:size]
    projected = project_simplex(values, np.array([0]), np.array([[4.0]]), allowed=allowed)
    assert projected[0, 0] == 0
    assert projected.sum() == pytest.approx(4)


def test_arithmetic_error_leaves_nothing_to_an_entry_not_allowed() -> None:
    values, total = column([905356.0, 446375.0]), np.array([[1036752.57619436]])
    projected = project_simplex(values, np.array([0]), total, allowed=np.array([[True], [False]]))
    assert projected[:, 0].tolist() == [total[0, 0], 0.0]


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_group_without_allowed_entries_takes_only_zero(size: int) -> None:
    values, nothing = column([3.0] * size), np.zeros((size, 1), dtype=bool)
    assert not project_simplex(values, np.array([0]), np.array([[0.0]]), allowed=nothing).any()
    with pytest.raises(SolverError, match="allowed entry"):
        project_simplex(values, np.array([0]), np.array([[1.0]]), allowed=nothing)


def test_negative_totals_are_refused() -> None:
    with pytest.raises(SolverError, match="at least 0"):
        project_simplex(column([1.0]), np.array([0]), np.array([[-1.0]]))
