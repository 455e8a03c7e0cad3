"""Shares of a budget: variances by groupings against dense inverses, optima against the design note, the grid."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from dplib.arrays import FloatArray, IntArray
from dplib.consistency import best_shares as best_shares_module
from dplib.consistency.best_shares import GRID, best_shares, each_row, on_grid, share_variances
from dplib.consistency.crossing_variance import ResidualSpaces, class_variances
from dplib.consistency.nested_variance import NestedForest, item_classes, mean_log
from dplib.estimates.level_squares import level_squares
from dplib.estimates.range_variance import RangeVariance
from dplib.privacy.noise import Law
from dplib.trees.complete import mixed_radix_tree


def dense(membership: FloatArray, item: float, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variances of items and totals by the inverse of the whole information matrix."""
    information = np.eye(membership.shape[1]) / item + membership.T @ (membership / totals[:, None])
    covariance = np.linalg.inv(information)
    return np.diagonal(covariance), np.diagonal(membership @ covariance @ membership.T)


def indicators(*labels: IntArray) -> FloatArray:
    """Rows of 0 and 1: one a value of each labelling."""
    return np.array([label == value for label in labels for value in np.unique(label)], dtype=np.float64)


CATEGORY = np.array([0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 4, 4])
DEPARTMENT = np.array([0, 0, 0, 1, 1])[CATEGORY]
REGION = np.array([0, 1, 0, 0, 1, 1, 0, 0, 1, 2, 2, 2])


@pytest.mark.parametrize("others", [(DEPARTMENT, np.zeros(12)), (REGION,)], ids=["nested", "crossing"])
def test_variances_by_classes_are_the_dense_ones(others: tuple[IntArray, ...]) -> None:
    membership = indicators(CATEGORY, *others)
    totals = np.linspace(0.5, 4, len(membership))
    totals[1] = np.inf
    classes = item_classes(csr_array(membership))
    known = dense(membership, 1.3, totals)
    forest = NestedForest.of(classes, len(membership))
    assert (forest is None) == (len(others) == 1)
    found = [class_variances(classes, len(membership), 1.3, totals)]
    found += [] if forest is None else [forest.variances(1.3, totals)]
    for items, sums in found:
        np.testing.assert_allclose(items[classes.of], known[0], rtol=1e-12)
        np.testing.assert_allclose(sums, known[1], rtol=1e-12)


def test_items_outside_of_every_total_keep_their_noise() -> None:
    totals = np.array([3.0, 1.0])
    membership = np.array([[1, 1, 0, 0.0], [0, 0, 0, 0]])
    classes = item_classes(csr_array(membership))
    forest = NestedForest.of(classes, 2)
    assert forest is not None
    items, sums = forest.variances(2.0, totals)
    np.testing.assert_allclose(items[classes.of], dense(membership, 2.0, totals)[0])
    assert sums[1] == 0  # a total without items
    assert items[classes.of][3] == 2.0
    assert sums[0] == pytest.approx(1 / (1 / 4 + 1 / 3))


def test_balanced_crossing_groupings_split_into_residual_spaces() -> None:
    region, category = np.repeat(np.arange(3), 20), np.tile(np.repeat(np.arange(5), 4), 3)
    membership = indicators(region, category, region * 5 + category)
    grouping = np.repeat([1, 2, 3], [3, 5, 15])
    variance = np.array([1.3, 2.0, np.inf, 0.7])
    spaces = ResidualSpaces.of(item_classes(csr_array(membership)), grouping)
    items, sums = dense(membership, 1.3, variance[grouping])
    np.testing.assert_allclose(spaces.variances(variance), [items[0], sums[0], sums[3], sums[8]], rtol=1e-12)
    assert spaces.dimension.sum() == 60


@pytest.mark.parametrize(
    ("law", "sizes", "best"),
    # The design note's table: geometric means of standard errors at the best product, three years as 1,080 days.
    [(Law.GAUSSIAN, (1080, 360, 30, 1), 3.0517), (Law.LAPLACE, (1080, 360, 30, 1), 13.163)],
)
def test_the_optimum_is_that_of_the_design_note(law: Law, sizes: tuple[int, ...], best: float) -> None:
    def chain(variances: FloatArray, leaves: tuple[int, ...]) -> FloatArray:
        n = np.array(leaves, dtype=np.float64)
        information = np.cumsum((n / variances)[..., ::-1], axis=-1)[..., ::-1]
        parts = (1 / n - np.append(0.0, 1 / n[:-1])) / information
        return np.asarray(np.log(n**2 * np.cumsum(parts, axis=-1)).mean(axis=-1))

    value = 0.0
    for leaves in (sizes, (2000, 100, 1)):

        def objective(variances: FloatArray, leaves: tuple[int, ...] = leaves) -> FloatArray:
            return chain(variances, leaves)

        shares = best_shares(objective, law, np.ones(len(leaves)))
        assert sum(shares) == 1
        assert shares[-1] > 0
        floats = np.array([float(share) for share in shares])
        value += float(objective(share_variances(law, floats, np.ones(len(leaves)))))
    # Both factors at the whole budget: rho 1/2 has variance 1, epsilon 1 has 2.
    assert np.exp((value + np.log(law.exponent)) / 2) == pytest.approx(best, rel=2e-3)


def test_differences_are_taken_inside_the_bounds() -> None:
    """All of a gradient in one call, backwards where the upper bound is near."""
    seen = []

    def value(at: FloatArray) -> FloatArray:
        seen.append(at)
        return np.asarray((at**2).sum(axis=-1))

    at = np.array([12.0, -12.0, 0.5])
    found, gradient = best_shares_module._with_gradient(value, at)
    assert found == pytest.approx((at**2).sum())
    np.testing.assert_allclose(gradient, 2 * at, rtol=1e-5)
    (points,) = seen
    assert points.shape == (4, 3)
    assert np.abs(points).max() <= 12


def test_laplace_noise_leaves_out_what_is_not_worth_its_square() -> None:
    """Two local optima: the search takes the better one, which equal shares do not lead to."""

    def objective(variances: FloatArray) -> float:
        own, total = variances[1], variances[0]
        return float(np.log(own) + 0.02 * np.log(1 / (1 / total + 1 / (35 * own))))

    assert best_shares(each_row(objective), Law.LAPLACE, np.ones(2)) == (Fraction(0), Fraction(1))


def test_shares_on_the_grid_sum_to_one_and_keep_the_last() -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 5, 9):
        for _ in range(50):
            found = on_grid(rng.dirichlet(np.full(n, 0.2)))
            assert sum(found) == 1
            assert found[-1] > 0
            assert all(share >= 0 and (share * GRID).denominator == 1 for share in found)
    assert on_grid([1e-4, 0.0, 1.0, 1e-9]) == (0, 0, Fraction(GRID - 1, GRID), Fraction(1, GRID))


def test_answers_without_an_error_are_left_out() -> None:
    assert mean_log(np.array([0.0, 4.0, 1.0])) == pytest.approx(np.log(2))
    assert mean_log(np.zeros(3)) == 0


def test_squares_by_level_sum_to_the_variance() -> None:
    tree = mixed_radix_tree(23, (3, 2, 4))
    variance = np.array([np.inf, 2.0, np.inf, 0.5])
    squares = level_squares(tree, variance)
    known = np.where(np.isfinite(variance), variance, 0.0)
    np.testing.assert_allclose(squares @ known, RangeVariance(tree, variance[tree.level]).final, rtol=1e-12)
    # By the envelope theorem each is the derivative of the variance by that level's.
    moved = RangeVariance(tree, (variance * [1, 1 + 1e-6, 1, 1])[tree.level]).final
    np.testing.assert_allclose(squares[:, 1], (moved - squares @ known) / 2e-6, rtol=1e-4, atol=1e-4)
