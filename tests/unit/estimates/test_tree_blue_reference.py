import numpy as np
import pytest

from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.trees.complete import kary_tree
from tests.support.thesis_blue import calculate_range_count, parameter_adjust_blue, thesis_blue
from tests.support.tree_oracles import dense_blue, random_tree


@pytest.mark.parametrize("seed", range(8))
def test_equal_to_dense_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(1, 30)))
    noisy, weights = rng.normal(0, 50, tree.n_nodes), rng.uniform(0.1, 3, tree.n_nodes)
    weights[tree.child_count > 0] *= rng.integers(0, 2, (tree.child_count > 0).sum())
    np.testing.assert_allclose(
        thesis_blue(tree, noisy, weights), dense_blue(tree, noisy, weights), rtol=1e-8, atol=1e-7
    )


def test_conclusion_3_8_holds() -> None:
    rng = np.random.default_rng(4)
    tree = random_tree(rng, 15)
    noisy, weights = rng.normal(0, 50, tree.n_nodes), rng.uniform(0.5, 2, tree.n_nodes)
    alpha, beta, c, d = coefficients = parameter_adjust_blue(tree, noisy, weights)
    h = calculate_range_count(tree, noisy, weights, coefficients)
    for node in range(tree.n_nodes):
        leaf, path = node, [node]
        while tree.child_count[leaf]:
            leaf = int(tree.child_start[leaf])
            path.append(leaf)
        assert h[node] == pytest.approx(beta[node] * h[leaf] + d[node])
        assert (weights * h)[path].sum() == pytest.approx(alpha[node] * h[leaf] + c[node])


def test_it_loses_its_digits_where_the_two_passes_do_not() -> None:
    tree, rng = kary_tree(1 << 16, 2), np.random.default_rng(1)
    weights = 100.0 ** rng.uniform(-3, 0, tree.n_nodes)
    noisy = tree.sums(rng.integers(0, 40, tree.n_leaves)) + rng.laplace(0, 1 / np.sqrt(weights))
    stable = tree_blue_deep(tree, noisy[:, None], 1 / weights[:, None])[:, 0]
    assert np.abs(thesis_blue(tree, noisy, weights) - stable).max() > 1
