import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.estimates import range_variance
from dplib.estimates.range_variance import RangeVariance
from dplib.trees.budgets import equal_level_shares, spread_level_shares, unit_variance
from dplib.trees.complete import kary_tree
from dplib.trees.structure_search import design_error
from tests.support.tree_oracles import all_ranges, caterpillar, dense_range_variances, random_tree


@pytest.mark.parametrize("seed", range(12))
def test_equal_to_dense_covariances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    tree = random_tree(rng, n)
    variance = np.exp(rng.uniform(-3, 3, tree.n_nodes))
    inner = tree.child_count > 0
    variance[inner & (rng.random(tree.n_nodes) < 0.3)] = np.inf
    dense = dense_range_variances(tree, variance)
    lo, hi = all_ranges(n)
    exact = RangeVariance(tree, variance)
    np.testing.assert_allclose(exact.of(lo, hi), dense, rtol=1e-9)
    assert exact.mean() == pytest.approx(dense.mean(), rel=1e-10)
    u, v = rng.random(n), rng.random(n)
    weights = u[lo] * v[hi - 1]
    assert exact.mean(u, v) == pytest.approx(weights @ dense / weights.sum(), rel=1e-10)
    length = 1 + n // 2
    assert exact.mean_of_length(length) == pytest.approx(dense[hi - lo == length].mean(), rel=1e-10)


@pytest.mark.parametrize(("n", "k"), [(4096, 16), (1000, 7), (4096, 2)])
def test_equal_to_the_error_by_kinds_of_nodes(n: int, k: int) -> None:
    tree = kary_tree(n, k)
    shares = equal_level_shares(tree.n_levels, root=False)
    exact = RangeVariance(tree, unit_variance(spread_level_shares(tree, shares), "laplace"))
    assert exact.mean() == pytest.approx(design_error(n, (k,) * (tree.n_levels - 1), shares, "laplace"), rel=1e-10)


def test_single_ranges_average_to_the_mean_at_size() -> None:
    tree = kary_tree(300, 5)
    exact = RangeVariance(tree, np.random.default_rng(3).uniform(1, 1000, tree.n_nodes))
    assert exact.of(*all_ranges(300)).mean() == pytest.approx(exact.mean(), rel=1e-10)


def test_deep_tree() -> None:
    tree = caterpillar(2_000)  # twice what recursion takes
    exact = RangeVariance(tree, np.full(tree.n_nodes, 2.0))
    whole = exact.of(0, 2_000)[0]
    # On a caterpillar the variance of the rest meets the fixed point of C -> 1 / (1 / (C + 2) + 1 / 2).
    assert whole == pytest.approx(np.sqrt(5) - 1, rel=1e-12)
    assert np.isfinite(exact.mean())


def test_several_sets_of_variances_are_as_if_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit: shares that are stored follow from differences of these."""
    rng = np.random.default_rng(4)
    tree = random_tree(rng, 60)
    variances = np.exp(rng.uniform(-3, 3, (2, 3, tree.n_nodes)))
    variances[..., tree.child_count > 1] = rng.choice([np.inf, 2.0], (2, 3, int((tree.child_count > 1).sum())))
    lo, hi = all_ranges(60)
    alone = [[RangeVariance(tree, each).of(lo, hi) for each in row] for row in variances]
    assert np.array_equal(RangeVariance(tree, variances).of(lo, hi), alone)
    monkeypatch.setattr(range_variance, "_TOGETHER", 100)
    assert np.array_equal(RangeVariance(tree, variances).of(lo, hi), alone)


def test_errors() -> None:
    tree = kary_tree(4, 2)
    with pytest.raises(ConfigError, match="finite for every bin"):
        RangeVariance(tree, np.full(7, np.inf))
    with pytest.raises(ConfigError, match="ranges must be non-empty ranges of bins 0 to 3"):
        RangeVariance(tree, np.ones(7)).of(2, 2)
