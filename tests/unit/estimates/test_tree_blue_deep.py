import numpy as np
import pytest

from dplib.estimates.tree_blue import tree_gains
from dplib.estimates.tree_blue_deep import deep_gains, tree_blue_deep
from dplib.trees.complete import kary_tree
from tests.support.tree_oracles import caterpillar, dense_blue, random_tree, tree_blue


@pytest.mark.parametrize("seed", range(10))
def test_equal_to_the_passes_by_level(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(1, 40)))
    noisy = rng.normal(0, 100, (tree.n_nodes, 3))
    variance = np.exp(rng.uniform(-4, 4, (tree.n_nodes, 3 if seed % 2 else 1)))
    variance[rng.random(variance.shape) < 0.2] = np.inf  # may leave sums undetermined
    by_level, deep = tree_gains(tree, variance), deep_gains(tree, variance)
    for part in ("before", "after", "own", "share"):
        np.testing.assert_allclose(getattr(deep, part), getattr(by_level, part), rtol=1e-12, atol=1e-300)
    assert np.array_equal(deep.diffuse, by_level.diffuse)
    assert np.array_equal(deep.identifiable, by_level.identifiable)
    np.testing.assert_allclose(
        tree_blue_deep(tree, noisy, variance), tree_blue(tree, noisy, variance), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_dense_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 20)
    noisy, variance = rng.normal(0, 50, tree.n_nodes), np.exp(rng.uniform(-3, 3, tree.n_nodes))
    estimates = tree_blue_deep(tree, noisy[:, None], variance[:, None])[:, 0]
    np.testing.assert_allclose(estimates, dense_blue(tree, noisy, 1 / variance), rtol=1e-9, atol=1e-8)


def test_deep_caterpillar_is_consistent_and_optimal() -> None:
    tree, rng = caterpillar(50_000), np.random.default_rng(0)
    noisy, variance = rng.normal(0, 10, (tree.n_nodes, 1)), rng.uniform(1, 9, (tree.n_nodes, 1))
    estimates = tree_blue_deep(tree, noisy, variance)[:, 0]
    inner = np.flatnonzero(tree.child_count)
    sums = estimates[tree.child_start[inner]] + estimates[tree.child_start[inner] + 1]
    np.testing.assert_allclose(estimates[inner], sums, atol=1e-8)
    # Conclusion 3.7: on every path the weighted estimates sum to the weighted noisy counts.
    pull = (noisy[:, 0] - estimates) / variance[:, 0]
    spine = np.append(0, np.arange(1, tree.n_nodes, 2))
    along = np.cumsum(pull[spine])
    np.testing.assert_allclose(along[:-1] + pull[np.arange(2, tree.n_nodes, 2)], 0, atol=1e-9)


def extended_blue(levels: int, noisy: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Least squares on the complete binary tree in 80-bit floats, by eliminating bins in precision form.

    Minimising over a subtree given its total h leaves (a h^2) / 2 - b h: independent of gains and variances.
    """
    starts = [2**level - 1 for level in range(levels + 1)]
    w, y = weights.astype(np.longdouble), noisy.astype(np.longdouble)
    a: list[np.ndarray] = [np.zeros(0)] * levels
    b = a.copy()
    for level in range(levels - 1, -1, -1):
        here = slice(starts[level], starts[level + 1])
        own_a, own_b = w[here].copy(), w[here] * y[here]
        if level < levels - 1:
            left_a, right_a, left_b, right_b = (
                a[level + 1][::2],
                a[level + 1][1::2],
                b[level + 1][::2],
                b[level + 1][1::2],
            )
            joint = 1 / (1 / left_a + 1 / right_a)
            own_a += joint
            own_b += joint * (left_b / left_a + right_b / right_a)
        a[level], b[level] = own_a, own_b
    values = [b[0] / a[0]]
    for level in range(1, levels):
        left_a, right_a, left_b, right_b = a[level][::2], a[level][1::2], b[level][::2], b[level][1::2]
        # Split h: a_l h_l - b_l = a_r h_r - b_r.
        left = (right_a * values[-1] - right_b + left_b) / (left_a + right_a)
        values.append(np.stack([left, values[-1] - left], axis=1).ravel())
    return np.concatenate(values)


def test_stable_where_budgets_differ_by_a_thousand() -> None:
    levels = 14
    tree, rng = kary_tree(1 << (levels - 1), 2), np.random.default_rng(7)
    budgets = 10.0 ** rng.uniform(-3, 0, tree.n_nodes)
    counts = tree.sums(rng.integers(0, 40, tree.n_leaves)).astype(float)
    noisy = counts + rng.laplace(0, 1 / budgets)
    wanted = extended_blue(levels, noisy, budgets**2)
    variance = (1 / budgets**2)[:, None]
    for solve in (tree_blue_deep, tree_blue):
        found = solve(tree, noisy[:, None], variance)[:, 0]
        level = tree.level
        scale = np.maximum.reduceat(np.abs(wanted), tree.level_start[:-1])[level]
        assert float((np.abs(found - wanted) / scale).max()) < 1e-9
