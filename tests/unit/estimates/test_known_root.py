"""Trees whose root is known exactly (its variance is 0), against least squares under an equation."""

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.estimates.range_variance import RangeVariance
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.trees.complete import kary_tree, mixed_radix_tree
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.mean_errors import even_total
from tests.support.tree_oracles import all_ranges, caterpillar, membership, random_tree, tree_blue


def constrained_system(tree: IntervalTree, variance: FloatArray) -> FloatArray:
    """Inverse of the matrix of: minimise the weighted squares below the root, given the sum of all bins.

    The first n rows and columns are the covariance of the bins; the last column is their move with the total.
    """
    n, nodes = tree.n_leaves, membership(tree)[1:]
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = nodes.T @ (nodes / variance[1:, None])
    system[:n, n] = system[n, :n] = 1.0
    return np.asarray(np.linalg.inv(system), dtype=np.float64)


def random_variances(rng: np.random.Generator, tree: IntervalTree) -> FloatArray:
    variance = np.exp(rng.uniform(-3, 3, tree.n_nodes))
    variance[(tree.child_count > 0) & (rng.random(tree.n_nodes) < 0.3)] = np.inf
    variance[0] = 0.0
    return variance


@pytest.mark.parametrize("seed", range(12))
def test_estimates_equal_constrained_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(2, 25)))
    variance = random_variances(rng, tree)
    noisy = rng.normal(0, 50, (tree.n_nodes, 3))
    weighted = membership(tree)[1:].T @ (noisy[1:] / variance[1:, None])
    inverse = constrained_system(tree, variance)
    wanted = membership(tree) @ (inverse @ np.vstack([weighted, noisy[:1]]))[:-1]
    for solve in (tree_blue, tree_blue_deep):
        found = solve(tree, noisy, variance[:, None])
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-8)
        assert np.array_equal(found[0], noisy[0])
        # One series takes another way through the compiled passes.
        np.testing.assert_allclose(solve(tree, noisy[:, 1:2], variance[:, None])[:, 0], wanted[:, 1], atol=1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_variances_equal_those_of_constrained_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    tree = random_tree(rng, n)
    variance = random_variances(rng, tree)
    covariance = constrained_system(tree, variance)[:n, :n]
    lo, hi = all_ranges(n)
    inside = ((lo[:, None] <= np.arange(n)) & (np.arange(n) < hi[:, None])).astype(float)
    dense = np.einsum("qi,ij,qj->q", inside, covariance, inside)
    exact = RangeVariance(tree, variance)
    np.testing.assert_allclose(exact.of(lo, hi), dense, rtol=1e-9, atol=1e-12 * dense.max())
    assert exact.of(0, n)[0] == pytest.approx(0, abs=1e-12 * dense.max())
    assert exact.final[0] == 0
    assert exact.mean() == pytest.approx(dense.mean(), rel=1e-9)
    u, v = rng.random(n), rng.random(n)
    weights = u[lo] * v[hi - 1]
    assert exact.mean(u, v) == pytest.approx(weights @ dense / weights.sum(), rel=1e-9)
    length = 1 + n // 2
    assert exact.mean_of_length(length) == pytest.approx(dense[hi - lo == length].mean(), rel=1e-9, abs=1e-12)


def test_a_known_root_is_the_limit_of_an_accurate_one() -> None:
    rng, tree = np.random.default_rng(1), kary_tree(100, 3)
    variance, noisy = rng.uniform(1, 9, tree.n_nodes), rng.normal(0, 9, (tree.n_nodes, 1))
    known, accurate = variance.copy(), variance.copy()
    known[0], accurate[0] = 0.0, 1e-10
    np.testing.assert_allclose(
        tree_blue_deep(tree, noisy, known[:, None]), tree_blue_deep(tree, noisy, accurate[:, None]), atol=1e-8
    )
    assert RangeVariance(tree, known).mean() == pytest.approx(RangeVariance(tree, accurate).mean(), rel=1e-8)
    assert RangeVariance(tree, known).mean() < RangeVariance(tree, variance).mean()


def test_by_kinds_of_nodes() -> None:
    radices, variances = (5, 4, 6), np.array([0.0, 3.0, np.inf, 2.0])
    tree = mixed_radix_tree(117, radices)
    assert bool((tree.level[tree.leaf_nodes] == 3).all())
    wanted = RangeVariance(tree, variances[tree.level]).mean()
    total = even_total(117, np.array(radices), variances, np.full(4, 2.0))
    assert total / (117 * 118 / 2) == pytest.approx(wanted, rel=1e-10)


def test_one_bin_and_a_deep_tree() -> None:
    single = kary_tree(1, 2)
    assert RangeVariance(single, np.zeros(1)).of(0, 1)[0] == 0
    assert tree_blue_deep(single, np.array([[7.0]]), np.zeros((1, 1)))[0, 0] == 7
    deep = caterpillar(2_000)
    variance = np.full(deep.n_nodes, 2.0)
    variance[0] = 0.0
    assert RangeVariance(deep, variance).of(0, 2_000)[0] == 0
    noisy = np.random.default_rng(2).normal(0, 2, (deep.n_nodes, 1))
    estimates = tree_blue_deep(deep, noisy, variance[:, None])[:, 0]
    assert estimates[0] == noisy[0, 0]
    assert estimates[deep.leaf_nodes].sum() == pytest.approx(noisy[0, 0], abs=1e-6)


def test_only_the_root_may_be_known() -> None:
    variance = np.ones(7)
    variance[1] = 0.0
    with pytest.raises(ConfigError, match="above 0 but for a known root"):
        RangeVariance(kary_tree(4, 2), variance)
