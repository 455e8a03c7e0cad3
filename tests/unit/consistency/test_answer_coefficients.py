"""Coefficients of answers against exact fractions: wide trees, extreme variances, cells that are not measured."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.consistency.answer_coefficients import range_coefficients, ranges_coefficients
from dplib.trees.complete import kary_tree
from dplib.trees.interval_tree import IntervalTree


@cache
def flat(n: int) -> IntervalTree:
    return IntervalTree.from_level_edges([[0, n], np.arange(n + 1)])


def exact_covariance(tree: IntervalTree, variance: FloatArray) -> list[list[Fraction]]:
    """Of the leaves' counts by least squares, in fractions: the inverse of the normal equations, by elimination."""
    n = tree.n_leaves
    rows = [[Fraction(0)] * n for _ in range(n)]
    for node in np.flatnonzero(np.isfinite(variance)).tolist():
        weight = 1 / Fraction(float(variance[node]))
        for a in range(int(tree.lo[node]), int(tree.hi[node])):
            for b in range(int(tree.lo[node]), int(tree.hi[node])):
                rows[a][b] += weight
    for place, row in enumerate(rows):
        row += [Fraction(int(place == leaf)) for leaf in range(n)]
    for pivot in range(n):
        rows[pivot] = [each / rows[pivot][pivot] for each in rows[pivot]]
        for row in set(range(n)) - {pivot}:
            factor = rows[row][pivot]
            rows[row] = [x - factor * y for x, y in zip(rows[row], rows[pivot], strict=True)]
    return [row[n:] for row in rows]


def told(variance: FloatArray, coefficients: FloatArray) -> float:
    return float((np.where(coefficients != 0, variance, 0.0) * coefficients**2).sum())


@pytest.mark.parametrize(("root", "asked"), [(1e-12, 999_999), (1e-12, 1), (1.0, 999_999), (1e6, 333_333)])
def test_variances_of_a_million_days_keep_their_digits(root: float, asked: int) -> None:
    n = 10**6
    variance = np.ones(n + 1)
    variance[0] = root
    # s days have s - s^2 / (n + v) under a total of variance v.
    expected = Fraction(asked) - Fraction(asked) ** 2 / (n + Fraction(root))
    found = told(variance, range_coefficients(flat(n), variance, 0, asked))
    assert found == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("root", [1e-9, 1e6])
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
    variance = np.ceil(np.linspace(0.5, 3.0, tree.n_nodes) ** 3 * 8) / 8  # short fractions
    variance[list(open_nodes)] = np.inf
    covariance = exact_covariance(tree, variance)
    ranges = [(lo, hi) for lo in range(9) for hi in range(lo + 1, 10)]
    for (lo, hi), coefficients in zip(ranges, ranges_coefficients(tree, variance, ranges), strict=True):
        exact = sum((sum(row[lo:hi], Fraction(0)) for row in covariance[lo:hi]), Fraction(0))
        assert told(variance, coefficients) == pytest.approx(float(exact), rel=1e-10)
        # Alone or among others: a number that is printed does not depend on what else is asked.
        np.testing.assert_array_equal(range_coefficients(tree, variance, lo, hi), coefficients)
