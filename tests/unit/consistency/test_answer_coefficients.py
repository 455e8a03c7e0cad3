"""Coefficients of answers against exact fractions: wide trees, extreme variances, cells that are not measured."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.consistency.answer_coefficients import range_coefficients
from dplib.trees.complete import kary_tree
from dplib.trees.interval_tree import IntervalTree


def flat(n: int) -> IntervalTree:
    return IntervalTree.from_level_edges([[0, n], np.arange(n + 1)])


def exact_variance(tree: IntervalTree, variance: FloatArray, lo: int, hi: int) -> Fraction:
    """Of the count of a range by least squares, in fractions: the normal equations over the leaves."""
    n = tree.n_leaves
    rows = [[Fraction(0)] * n for _ in range(n)]
    for node in np.flatnonzero(np.isfinite(variance)).tolist():
        weight = 1 / Fraction(float(variance[node]))
        for a in range(int(tree.lo[node]), int(tree.hi[node])):
            for b in range(int(tree.lo[node]), int(tree.hi[node])):
                rows[a][b] += weight
    right = [Fraction(int(lo <= leaf < hi)) for leaf in range(n)]
    wanted = list(right)
    for pivot in range(n):
        for row in range(pivot + 1, n):
            factor = rows[row][pivot] / rows[pivot][pivot]
            rows[row] = [x - factor * y for x, y in zip(rows[row], rows[pivot], strict=True)]
            right[row] -= factor * right[pivot]
    solved = [Fraction(0)] * n
    for row in reversed(range(n)):
        known = sum((rows[row][other] * solved[other] for other in range(row + 1, n)), Fraction(0))
        solved[row] = (right[row] - known) / rows[row][row]
    return sum((x * y for x, y in zip(wanted, solved, strict=True)), Fraction(0))


def told(variance: FloatArray, coefficients: FloatArray) -> float:
    return float((np.where(coefficients != 0, variance, 0.0) * coefficients**2).sum())


@pytest.mark.parametrize("root", [1e-12, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("asked", [1, 333_333, 999_999])
def test_variances_of_a_million_days_keep_their_digits(root: float, asked: int) -> None:
    n = 10**6
    variance = np.ones(n + 1)
    variance[0] = root
    # s days have s - s^2 / (n + v) under a total of variance v.
    expected = Fraction(asked) - Fraction(asked) ** 2 / (n + Fraction(root))
    found = told(variance, range_coefficients(flat(n), variance, 0, asked))
    assert found == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("root", [1e-9, 1.0, 1e6])
def test_a_day_that_is_not_measured_is_the_total_less_all_others(root: float) -> None:
    n = 10**6
    variance = np.ones(n + 1)
    variance[0], variance[1] = root, np.inf
    found = range_coefficients(flat(n), variance, 0, 3)
    assert found[0] == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_array_equal(found[1:4], 0.0)
    np.testing.assert_allclose(found[4:], -1.0, rtol=1e-12)


@pytest.mark.parametrize("open_nodes", [(), (0,), (9,), (1, 9), (2,), (1, 2), (4, 7, 12), (1, 4, 7, 12)])
def test_variances_are_those_of_exact_least_squares(open_nodes: tuple[int, ...]) -> None:
    tree = kary_tree(9, 3)
    variance = np.linspace(0.5, 3.0, tree.n_nodes) ** 3
    variance[list(open_nodes)] = np.inf
    for lo in range(9):
        for hi in range(lo + 1, 10):
            found = told(variance, range_coefficients(tree, variance, lo, hi))
            assert found == pytest.approx(float(exact_variance(tree, variance, lo, hi)), rel=1e-10)
