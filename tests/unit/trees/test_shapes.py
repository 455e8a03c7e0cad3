"""Day trees of given radices and the default shape."""

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.mean_errors import padded_mean_error
from dplib.trees.shapes import branching_edges, default_branching, distinct_levels, regular_edges


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


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("n_days", [2, 5, 31, 100, 365])
def test_default_is_no_worse_than_any_regular_tree(noise: str, n_days: int) -> None:
    def error(radices: tuple[int, ...]) -> float:
        levels = len(radices)
        variance = float(levels**2 if noise == "laplace" else levels)
        return padded_mean_error(n_days, radices, [np.inf] + [variance] * levels)

    chosen = error(default_branching(n_days, noise))  # type: ignore[arg-type]
    # All arities that matter, and few of the flat trees above.
    for k in {*range(2, min(n_days, 40) + 1), n_days // 2 + 1, n_days}:
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
