"""The exact error of padded trees, against dense least squares and against the error of the tree itself."""

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.estimates.range_variance import RangeVariance
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.mean_errors import padded_mean_error
from tests.support.tree_oracles import dense_range_variances


def padded_tree(n_bins: int, radices: list[int]) -> IntervalTree:
    """The tree with all its levels, chains of single children included."""
    widths = np.cumprod([1, *radices[::-1]])[::-1]
    return IntervalTree.from_level_edges([np.append(np.arange(0, n_bins, width), n_bins) for width in widths])


@pytest.mark.parametrize("n_bins", [1, 7, 12, 13])
@pytest.mark.parametrize("radices", [[2, 2, 2, 2], [13], [3, 5], [40, 2]])
@pytest.mark.parametrize("root", [3.0, np.inf])
def test_equal_to_dense_least_squares(n_bins: int, radices: list[int], root: float) -> None:
    tree = padded_tree(n_bins, radices)
    variances = [*[root, 2.0, 0.5, 7.0][: len(radices)], 1.5]
    dense = dense_range_variances(tree, np.array(variances)[tree.level]).mean()
    assert padded_mean_error(n_bins, radices, variances) == pytest.approx(dense, rel=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_equal_to_the_error_of_the_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    radices = rng.integers(2, 9, rng.integers(1, 6)).tolist()
    reach = int(np.prod(radices))
    variances = np.exp(rng.uniform(-3, 3, len(radices) + 1))
    variances[:-1][rng.random(len(radices)) < 0.3] = np.inf
    for n_bins in (reach, int(rng.integers(1, reach + 1))):
        tree = padded_tree(n_bins, radices)
        wanted = RangeVariance(tree, variances[tree.level]).mean()
        assert padded_mean_error(n_bins, radices, variances) == pytest.approx(wanted, rel=1e-9)


def test_unmeasured_inner_levels_count_for_nothing() -> None:
    with_gap = padded_mean_error(12, [2, 2, 3], [1, np.inf, 2, 3])
    assert with_gap == pytest.approx(padded_mean_error(12, [4, 3], [1, 2, 3]), rel=1e-12)


@pytest.mark.parametrize(
    ("height", "expected"),
    # Published for "Boost" (all levels of a binary tree, epsilon 1) at 256, 1,024, 4,096 and 16,384 bins.
    [(8, 264.8), (10, 476.6), (12, 778.4), (14, 1186.5)],
)
def test_published_errors_of_the_binary_tree(height: int, expected: float) -> None:
    error = padded_mean_error(2**height, (2,) * height, np.full(height + 1, 2.0 * (height + 1) ** 2))
    assert error == pytest.approx(expected, abs=0.06)


def test_errors() -> None:
    with pytest.raises(ConfigError, match="variances must be finite for bins"):
        padded_mean_error(12, [4, 3], [1, 1, np.inf])
    with pytest.raises(ConfigError, match="variances must have one entry a level"):
        padded_mean_error(12, [4, 3], [1, 1])
    with pytest.raises(ConfigError, match="radices must have a product of at least 13"):
        padded_mean_error(13, [4, 3], [1, 1, 1])
    with pytest.raises(ConfigError, match="radices must have a product below"):
        padded_mean_error(13, [2] * 63, np.ones(64))
