import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.trees.budgets import equal_level_shares, spread_level_shares, unit_variance
from dplib.trees.complete import kary_tree, mixed_radix_tree
from dplib.trees.coverage import UniformRanges, covering_queries
from dplib.trees.struct_construct import best_arity, raw_equal_error, struct_construct, subtree_weights
from dplib.trees.structure_search import best_design, design_error, optimal_shares
from tests.support.tree_oracles import dense_range_variances


@pytest.mark.parametrize(
    ("n_bins", "radices"), [(1, ()), (12, (2, 3, 2)), (13, (2, 3, 3)), (30, (5, 7)), (20, (3, 2, 5))]
)
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_error_of_even_trees_is_exact(n_bins: int, radices: tuple[int, ...], noise: str) -> None:
    shares = np.random.default_rng(n_bins).dirichlet(np.ones(len(radices) + 1))
    tree = mixed_radix_tree(n_bins, radices)
    spread = spread_level_shares(tree, shares[: tree.n_levels])
    if tree.n_levels == len(shares):
        dense = dense_range_variances(tree, unit_variance(spread, noise)).mean()  # type: ignore[arg-type]
        assert design_error(n_bins, radices, shares, noise) == pytest.approx(dense, rel=1e-10)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n_bins", "most"), [(256, 79), (1024, 155), (4096, 261), (16384, 414)])
def test_pure_targets(n_bins: int, most: float) -> None:
    design = best_design(n_bins)
    assert design.mean_error <= most
    assert design.shares.sum() == pytest.approx(1)
    assert 8 <= min(design.radices) <= max(design.radices) <= 18


def test_concentrated_target() -> None:
    design = best_design(4096, "gaussian", arity=2)
    assert design.mean_error <= 26.0
    assert best_design(4096, "gaussian").mean_error <= design.mean_error


@pytest.mark.parametrize(
    ("n_bins", "k", "root", "error"),
    [(256, 16, False, 79.2), (4096, 2, True, 778.4), (4096, 17, False, 261.4), (16384, 12, False, 416.6)],
)
def test_equal_budgets_as_tabled(n_bins: int, k: int, root: bool, error: float) -> None:
    tree = kary_tree(n_bins, k)
    shares = equal_level_shares(tree.n_levels, root)
    assert design_error(n_bins, (k,) * (tree.n_levels - 1), shares, "laplace") == pytest.approx(error, abs=0.06)


def test_gaussian_shares_are_a_global_optimum() -> None:
    design = optimal_shares(16, (2,) * 4, "gaussian", root=True)
    rng = np.random.default_rng(1)
    others = [design_error(16, (2,) * 4, rng.dirichlet(np.ones(5)), "gaussian") for _ in range(100)]
    assert design.mean_error < min(others)
    near = [design.shares * np.exp(0.05 * rng.normal(size=5)) for _ in range(50)]
    assert design.mean_error <= min(design_error(16, (2,) * 4, s / s.sum(), "gaussian") for s in near)


@pytest.mark.parametrize(
    ("n_bins", "k", "error"), [(256, 20, 309.8), (1024, 11, 625.6), (4096, 18, 1056.4), (2010, 15, 810.1)]
)
def test_struct_construct_as_tabled(n_bins: int, k: int, error: float) -> None:
    assert best_arity(n_bins) == k
    assert raw_equal_error(struct_construct(n_bins)) == pytest.approx(error, abs=0.06)
    assert raw_equal_error(struct_construct(n_bins)) <= raw_equal_error(kary_tree(n_bins, k))


def test_subtree_weights_are_the_printed_values() -> None:
    # Example 3.4: node [3, 5] of five bins, itself included.
    node = covering_queries(kary_tree(5, 2, "ascending"), UniformRanges(5))[2]
    lo, hi = np.array([2]), np.array([5])
    assert (node + subtree_weights(5, lo, hi, 2, "ascending")[0]) / 15 == pytest.approx(0.933, abs=5e-4)
    assert (node + subtree_weights(5, lo, hi, 3, "ascending")[0]) / 15 == 1.0


def test_subtree_weights_sum_over_the_whole_tree() -> None:
    for n, w in [(13, 2), (40, 3), (7, 7)]:
        tree = kary_tree(n, w)
        below = covering_queries(tree, UniformRanges(n))[1:].sum()
        assert subtree_weights(n, np.array([0]), np.array([n]), w)[0] == below


def test_errors() -> None:
    with pytest.raises(ConfigError, match="noise must be one of"):
        best_design(8, "uniform")  # type: ignore[arg-type]
