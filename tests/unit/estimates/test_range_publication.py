import numpy as np
import pytest

from dplib.consistency.integers.integer_tables import divide_counts
from dplib.errors import ConfigError
from dplib.estimates.range_publication import MAX_TOTAL, publish_range_counts
from dplib.estimates.tree_blue_deep import deep_gains, tree_blue_deep
from dplib.projection.simplex import project_simplex
from dplib.trees.complete import kary_tree
from dplib.trees.interval_tree import IntervalTree
from tests.support.tree_oracles import caterpillar, random_tree


def children_sums(tree: IntervalTree, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inner = np.flatnonzero(tree.child_count)
    return counts[inner], np.add.reduceat(counts[1:], tree.child_start[inner] - 1, axis=0)


def real_divisions(tree: IntervalTree, estimates: np.ndarray, after: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The simplex projection of every node's children, given the published counts of their parents."""
    inner = np.flatnonzero(tree.child_count)
    weights = np.broadcast_to(1 / after[1:, None], estimates[1:].shape)
    return project_simplex(estimates[1:], tree.child_start[inner] - 1, counts[inner], weights)


@pytest.mark.parametrize("seed", range(12))
def test_laws_on_trees_of_any_shape(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, int(rng.integers(2, 60)), most_children=7)
    variance = np.exp(rng.uniform(-3, 3, tree.n_nodes))
    variance[(tree.child_count > 0) & (rng.random(tree.n_nodes) < 0.3)] = np.inf
    truth = tree.sums(rng.poisson(rng.choice([0.2, 3, 1000]), (tree.n_leaves, 4))).astype(float)
    noisy = truth + rng.normal(size=truth.shape) * np.where(np.isfinite(variance), np.sqrt(variance), 0.0)[:, None] * 5
    totals = None
    if seed % 2:
        variance[0], noisy[0], totals = 0.0, truth[0], truth[0].astype(np.int64)
    estimates = tree_blue_deep(tree, noisy, variance[:, None])
    counts = publish_range_counts(tree, estimates, variance, totals)
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    parents, sums = children_sums(tree, counts)
    assert np.array_equal(parents, sums)
    assert np.array_equal(counts[0], np.rint(np.maximum(estimates[0], 0)) if totals is None else totals)
    after = deep_gains(tree, variance[:, None]).after[:, 0]
    assert np.abs(counts[1:] - real_divisions(tree, estimates, after, counts)).max() < 1
    # The kernels by level, which other jobs use, are the oracle.
    with np.errstate(divide="ignore"):
        weights = 1 / after
    assert np.array_equal(counts, divide_counts(tree, estimates, counts[0], node_weights=weights))
    # Histograms do not touch each other, and one may be given alone.
    one = publish_range_counts(tree, estimates[:, 2], variance, None if totals is None else int(totals[2]))
    assert np.array_equal(one, counts[:, 2])


def test_estimates_from_below_give_the_same_counts() -> None:
    rng, tree = np.random.default_rng(3), kary_tree(64, 4)
    variance = rng.uniform(1, 9, tree.n_nodes)
    noisy = tree.sums(rng.poisson(4, tree.n_leaves)).astype(float) + rng.normal(0, 3, tree.n_nodes)
    final = tree_blue_deep(tree, noisy[:, None], variance[:, None])[:, 0]
    after = deep_gains(tree, variance[:, None]).after[:, 0]
    # Undo the downward pass: add any multiple of the variances among siblings.
    shifted = final + after * rng.normal(size=tree.n_nodes)[tree.parent]
    total = int(np.rint(final[0]))
    assert np.array_equal(
        publish_range_counts(tree, final, variance, total), publish_range_counts(tree, shifted, variance, total)
    )


def test_exact_counts_stay() -> None:
    rng = np.random.default_rng(5)
    tree = random_tree(rng, 200)
    counts = tree.sums(rng.poisson(1, tree.n_leaves)).astype(np.int64)
    assert np.array_equal(publish_range_counts(tree, counts.astype(float), np.ones(tree.n_nodes)), counts)


@pytest.mark.parametrize("tree", [caterpillar(5_000), kary_tree(20_000, 20_000)], ids=["deepest", "flattest"])
def test_extreme_trees(tree: IntervalTree) -> None:
    rng = np.random.default_rng(1)
    variance = rng.uniform(1, 9, tree.n_nodes)
    truth = tree.sums(rng.poisson(0.3, tree.n_leaves)).astype(float)
    noisy = truth + rng.normal(size=tree.n_nodes) * np.sqrt(variance)
    estimates = tree_blue_deep(tree, noisy[:, None], variance[:, None])[:, 0]
    counts = publish_range_counts(tree, estimates, variance, int(truth[0]))
    assert counts.min() >= 0
    assert counts[0] == truth[0]
    parents, sums = children_sums(tree, counts)
    assert np.array_equal(parents, sums)


def test_sums_are_exact_where_floats_run_out_of_digits() -> None:
    tree, rng = kary_tree(100_000, 100_000), np.random.default_rng(2)
    estimates = rng.random(tree.n_nodes) * 2.0**40
    counts = publish_range_counts(tree, estimates, np.ones(tree.n_nodes), 1 << 50)
    assert counts[1:].sum() == 1 << 50
    assert counts.min() >= 0


def test_a_tree_of_one_bin_and_a_negative_root() -> None:
    single = kary_tree(1, 2)
    assert publish_range_counts(single, np.array([2.6]), np.ones(1)).tolist() == [3]
    tree = kary_tree(4, 2)
    assert publish_range_counts(tree, np.full(7, -5.0), np.ones(7)).tolist() == [0] * 7


def test_errors() -> None:
    tree = kary_tree(4, 2)
    with pytest.raises(ConfigError, match="totals must be 1 integers of at least 0"):
        publish_range_counts(tree, np.ones(7), np.ones(7), -1)
    with pytest.raises(ConfigError, match="estimates must have 7 entries"):
        publish_range_counts(tree, np.ones(6), np.ones(7))
    with pytest.raises(ConfigError, match="variance must be finite for every bin"):
        publish_range_counts(tree, np.ones(7), np.full(7, np.inf))


def test_totals_beyond_a_float_s_units_are_published_as_the_largest() -> None:
    """They may come from the rows, and no number of rows ends a run."""
    found = publish_range_counts(kary_tree(4, 2), np.array([4e18, 2e18, 2e18, 1e18, 1e18, 1e18, 1e18]), np.ones(7))
    assert found[0] == MAX_TOTAL
    assert found[1] + found[2] == found[0]
    assert found.min() >= 0
