"""Day trees of given radices, the exact error of a tree, and the default shape."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dplib.errors import ConfigError
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.range_error import mean_range_error, symmetric_range_error
from dplib.trees.shapes import branching_edges, default_branching, distinct_levels, regular_edges


def dense_mean_error(tree: IntervalTree, level_variances: list[float]) -> float:
    """Oracle: covariance of all range sums by dense least squares."""
    membership = tree.sums(np.eye(tree.n_leaves))
    weights = 1.0 / np.array(level_variances)[tree.level]
    covariance = np.linalg.inv(membership.T @ (weights[:, None] * membership))
    n = tree.n_leaves
    ranges = np.array([[lo <= t < hi for t in range(n)] for lo in range(n) for hi in range(lo + 1, n + 1)], dtype=float)
    return float(np.mean(np.einsum("ri,ij,rj->r", ranges, covariance, ranges)))


def test_radices_run_from_the_root_down_and_the_last_nodes_may_be_short() -> None:
    edges = branching_edges(7, [2, 2, 2])
    assert [level.tolist() for level in edges] == [[0, 7], [0, 4, 7], [0, 2, 4, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7]]
    mixed = branching_edges(12, [3, 4])
    assert [level.tolist() for level in mixed] == [[0, 12], [0, 4, 8, 12], list(range(13))]


@pytest.mark.parametrize("n_days", [1, 2, 3, 10, 100, 1433])
@pytest.mark.parametrize("k", [2, 3, 10, 2000])
def test_regular_trees_build_and_have_no_equal_levels(n_days: int, k: int) -> None:
    tree = IntervalTree.from_level_edges(regular_edges(n_days, k))
    assert tree.n_leaves == n_days
    assert int(tree.child_count.max()) <= k
    assert np.all(np.diff(np.diff(tree.level_start)) > 0)
    heights = 0
    while k**heights < n_days:
        heights += 1
    assert tree.n_levels <= heights + 1


def test_levels_above_the_range_are_dropped() -> None:
    assert [level.tolist() for level in branching_edges(3, [5, 7, 3])] == [[0, 3], [0, 1, 2, 3]]
    assert [level.tolist() for level in branching_edges(1, [2, 2])] == [[0, 1]]
    assert len(branching_edges(5, [2] * 200)) == len(regular_edges(5, 2))
    assert len(distinct_levels([np.array([0, 4]), np.array([0, 4]), np.arange(5)])) == 2


def test_radices_too_small_are_refused_with_the_setting_s_name() -> None:
    with pytest.raises(ConfigError, match=r"tree\.branching must have a product of at least .* 13, got 3 x 4 = 12"):
        branching_edges(13, [3, 4])
    with pytest.raises(ConfigError, match=r"tree\.branching must .* got no factors = 1"):
        branching_edges(2, [])
    with pytest.raises(ConfigError, match=r"tree\.branching must be at least 2, got 1"):
        branching_edges(4, [4, 1])
    with pytest.raises(ConfigError, match=r"tree\.branching must be at least 2, got 1"):
        regular_edges(4, 1)


@pytest.mark.parametrize("n_days", [1, 2, 7, 12, 13])
@pytest.mark.parametrize("radices", [[2, 2, 2, 2], [13], [4, 4], [3, 5], [2, 7]])
@pytest.mark.parametrize("root", [3.0, np.inf])
def test_mean_error_equals_dense_least_squares(n_days: int, radices: list[int], root: float) -> None:
    tree = IntervalTree.from_level_edges(branching_edges(n_days, radices))
    variances = [root, 2.0, 0.5, 7.0, 1.0, 1.5][: tree.n_levels]
    variances[-1] = 1.5
    assert_allclose(mean_range_error(tree, variances), dense_mean_error(tree, variances), rtol=1e-10)


def test_unmeasured_inner_levels_count_for_nothing() -> None:
    with_gap = IntervalTree.from_level_edges(branching_edges(12, [2, 2, 3]))
    without = IntervalTree.from_level_edges(branching_edges(12, [4, 3]))
    assert_allclose(mean_range_error(with_gap, [1, np.inf, 2, 3]), mean_range_error(without, [1, 2, 3]), rtol=1e-12)
    with pytest.raises(ConfigError, match="days must be measured"):
        mean_range_error(without, [1, 1, np.inf])


@pytest.mark.parametrize("radices", [(2, 3, 4), (5, 5), (16,), (2,) * 7])
def test_symmetric_error_is_the_full_tree_s(radices: tuple[int, ...]) -> None:
    n_days = int(np.prod(radices))
    variances = [np.inf, *np.linspace(1, 3, len(radices))]
    tree = IntervalTree.from_level_edges(branching_edges(n_days, radices))
    assert_allclose(symmetric_range_error(radices, variances), mean_range_error(tree, variances), rtol=1e-10)


@pytest.mark.parametrize(
    ("height", "expected"),
    # Published for "Boost" (all levels of a binary tree, epsilon 1) at 256, 1,024, 4,096 and 16,384 bins.
    [(8, 264.8), (10, 476.6), (12, 778.4), (14, 1186.5)],
)
def test_published_errors_of_the_binary_tree(height: int, expected: float) -> None:
    error = symmetric_range_error((2,) * height, np.full(height + 1, 2.0 * (height + 1) ** 2))
    assert error == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("n_days", [2, 5, 31, 100, 365])
def test_default_is_no_worse_than_any_regular_tree(noise: str, n_days: int) -> None:
    def error(radices: tuple[int, ...]) -> float:
        tree = IntervalTree.from_level_edges(branching_edges(n_days, radices))
        levels = tree.n_levels - 1
        variance = float(levels**2 if noise == "laplace" else levels)
        return mean_range_error(tree, [np.inf] + [variance] * levels)

    chosen = error(default_branching(n_days, noise))  # type: ignore[arg-type]
    for k in range(2, n_days + 1):
        height = 1
        while k**height < n_days:
            height += 1
        assert chosen <= error((k,) * height) * 1.05


def test_default_is_wide_for_laplace_and_narrow_for_gaussian_noise() -> None:
    for n_days in (1000, 1433, 4096, 16384, 1_000_000):
        assert all(8 <= radix <= 22 for radix in default_branching(n_days, "laplace"))
        assert all(radix <= 3 for radix in default_branching(n_days, "gaussian"))
        assert np.prod(default_branching(n_days, "laplace")) >= n_days
    assert default_branching(1, "laplace") == ()
