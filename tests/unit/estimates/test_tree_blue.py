"""The BLUE on a tree: dense least squares, unmeasured nodes, cuts, stability."""

import numpy as np
import pytest

from dplib.consistency.problem import ConsistencyProblem
from dplib.consistency.unconstrained import solve
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.estimates.tree_blue import downward, tree_gains, upward
from dplib.projection.residual import tree_residual
from tests.support.oracles import dense_estimate, is_determined
from tests.support.strategies import regular_tree
from tests.support.tree_oracles import block_roots, random_tree, tree_blue


def free(n_days: int, n_series: int) -> tuple[DayConstraints, ...]:
    return (DayConstraints(0, n_days, np.zeros((0, n_series)), np.zeros(0)),)


@pytest.mark.parametrize("seed", range(24))
def test_equals_dense_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(1, 15)))
    variance = np.exp(rng.normal(0, 1.5, (tree.n_nodes, 2)))
    variance[rng.random(variance.shape) < 0.15 * (seed % 3)] = np.inf
    problem = ConsistencyProblem(tree, rng.normal(0, 10, variance.shape), variance, free(tree.n_leaves, 2))
    determined = is_determined(problem)
    assert bool(tree_gains(tree, variance).identifiable.all()) == determined
    if determined:
        np.testing.assert_allclose(solve(problem).values, dense_estimate(problem), atol=1e-9)
    else:
        with pytest.raises(SolverError, match="determine every count"):
            solve(problem)


def test_shared_variances_broadcast_over_series() -> None:
    rng = np.random.default_rng(1)
    tree = random_tree(rng, 30)
    variance = np.exp(rng.normal(size=(tree.n_nodes, 1)))
    noisy = rng.normal(size=(tree.n_nodes, 3))
    wide = np.repeat(variance, 3, axis=1)
    np.testing.assert_allclose(tree_blue(tree, noisy, variance), tree_blue(tree, noisy, wide), atol=1e-12)


def test_nan_where_not_measured_does_not_matter() -> None:
    tree = regular_tree(3, 3)
    variance = np.ones((tree.n_nodes, 1))
    variance[0] = np.inf
    noisy = np.random.default_rng(2).normal(size=(tree.n_nodes, 1))
    blank = noisy.copy()
    blank[0] = np.nan
    one, other = (
        solve(ConsistencyProblem(tree, given, variance, free(tree.n_leaves, 1))).values for given in (blank, noisy)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(6))
def test_cut_at_any_level_gives_the_same_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 60)
    variance = np.exp(rng.normal(size=(tree.n_nodes, 2)))
    if seed % 2:
        variance[: tree.level_start[2]] = np.inf
    noisy = rng.normal(0, 10, variance.shape)
    gains = tree_gains(tree, variance)
    whole = downward(gains, upward(gains, noisy))
    for level in range(tree.n_levels):
        blocks = [(root, *gains.block(int(root))) for root in block_roots(tree, level)]
        means = {int(root): upward(block, noisy[nodes]) for root, block, nodes in blocks}
        top = gains.top(level)
        top_noisy = noisy[: top.tree.n_nodes].copy()
        for root, block_means in means.items():
            top_noisy[root] = block_means[0]
        values = np.empty_like(noisy)
        values[: top.tree.n_nodes] = downward(top, upward(top, top_noisy))
        for root, block, nodes in blocks:
            values[nodes] = downward(block, means[int(root)], values[root])
        np.testing.assert_allclose(values, whole, atol=1e-10)


def test_stable_where_weights_differ_by_a_million() -> None:
    rng = np.random.default_rng(5)
    tree = regular_tree(2, 13)
    variance = 10.0 ** rng.uniform(-3, 3, (tree.n_nodes, 1))
    counts = tree.sums(rng.integers(0, 2000, (tree.n_leaves, 1))).astype(float)
    noisy = counts + rng.normal(size=counts.shape) * np.sqrt(variance)
    values = tree_blue(tree, noisy, variance)
    assert np.abs(tree_residual(tree, values)).max() < 1e-7
    # Normal equations: weighted residuals along every path from the root to a leaf sum to zero.
    weighted = (noisy - values) / variance
    path = np.zeros_like(weighted)
    for level in range(tree.n_levels):
        nodes = tree.level_slice(level)
        path[nodes] = weighted[nodes] + (path[tree.parent[nodes]] if level else 0.0)
    assert np.abs(path[tree.leaf_nodes]).max() < 1e-9 * np.abs(noisy / variance).max()


def test_refuses_day_constraints() -> None:
    tree = regular_tree(2, 2)
    day_constraints = (DayConstraints(0, 2, np.ones((1, 2)), np.zeros(1)),)
    with pytest.raises(SolverError, match="day constraints"):
        solve(ConsistencyProblem(tree, np.zeros((3, 2)), np.ones((3, 2)), day_constraints))
