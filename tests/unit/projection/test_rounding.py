"""Largest remainders: hand-computed cases, ties, arithmetic error, refusals."""

import numpy as np
import pytest

from dplib.errors import SolverError
from dplib.projection.rounding import round_to_totals


def rounded(values: list[float], total: int) -> list[int]:
    return round_to_totals(np.array(values)[:, None], np.array([0]), np.array([[total]]))[:, 0].tolist()


@pytest.mark.parametrize(
    ("values", "total", "expected"),
    [
        ([1.5, 1.3, 0.2], 3, [2, 1, 0]),
        ([0.4, 0.3, 0.3], 1, [1, 0, 0]),
        ([0.5, 0.5], 1, [1, 0]),
        ([0.2, 0.8], 1, [0, 1]),
        ([2.25, 2.25, 2.25, 2.25], 9, [3, 2, 2, 2]),
        ([0.0, 0.5, 0.5], 1, [0, 0, 1]),
        ([0.5] * 8, 4, [1, 0, 1, 0, 1, 0, 1, 0]),
        ([0.25] * 8, 2, [1, 0, 0, 0, 1, 0, 0, 0]),
        ([7.0], 7, [7]),
        ([-0.5, 1.5], 1, [0, 1]),
    ],
)
def test_hand_computed(values: list[float], total: int, expected: list[int]) -> None:
    assert rounded(values, total) == expected


def test_integers_up_to_arithmetic_error_stay() -> None:
    assert rounded([3 - 1e-10, 4 + 1e-10, 5 - 1e-10], 12) == [3, 4, 5]
    assert rounded([3 - 1e-10, 9 + 1e-10], 12) == [3, 9]
    assert rounded([1e-12, 0.5, 0.5 - 1e-12], 1) == [0, 0, 1]
    assert rounded([1.0 - 1e-9] * 1000, 1000) == [1] * 1000


def test_equal_remainders_are_not_ordered_by_arithmetic_error() -> None:
    assert rounded([2.5 - 1e-12, 3.5 + 1e-12], 6) == [3, 3]
    assert rounded([0.5 - 1e-12, 0.5 + 1e-12, 1.0], 2) == [1, 0, 1]


def test_large_counts_are_exact() -> None:
    values = np.array([0.1, 0.2, 0.7]) * 10**13
    assert sum(rounded(values.tolist(), 10**13)) == 10**13


@pytest.mark.parametrize("scale", [2.0**53, 2.0**58, 2.0**61])
def test_values_beyond_a_float_s_units_end_nothing(scale: float) -> None:
    """Sums miss the total by arithmetic: it is divided all the same, zeros stay zeros, nothing is negative."""
    values = np.array([0.3, 0.0, 0.2000001, 0.4]) * scale
    total = int(values.sum()) + 12345
    found = rounded(values.tolist(), total)
    assert sum(found) == total
    assert found[1] == 0
    assert min(found) >= 0
    assert np.abs(np.array(found) - values).max() <= 1e-9 * scale + 12345


def test_totals_that_are_not_the_sums_are_refused() -> None:
    with pytest.raises(SolverError, match="sums of their groups"):
        rounded([1.0, 2.0], 4)
