"""Trees with runs of children, and what integers of flat trees of days gain by them."""

import numpy as np
import pytest

from dplib.consistency.integers.integer_tables import publish_counts
from dplib.constraints.day_constraints import DayConstraints
from dplib.trees.complete import kary_tree
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.narrowed import narrowed


def flat(n: int) -> IntervalTree:
    return IntervalTree.from_level_edges([[0, n], np.arange(n + 1)])


@pytest.mark.parametrize("tree", [flat(70), flat(1000), kary_tree(900, 30)], ids=["70", "1000", "30-ary"])
def test_no_node_is_wide_and_every_node_is_kept(tree: IntervalTree) -> None:
    found = narrowed(tree, 20, 4)
    assert found is not None
    narrow, place = found
    assert narrow.child_count.max() <= 20
    assert narrow.n_leaves == tree.n_leaves
    assert len(np.unique(place)) == tree.n_nodes
    np.testing.assert_array_equal(narrow.lo[place], tree.lo)
    np.testing.assert_array_equal(narrow.hi[place], tree.hi)


def test_a_narrow_tree_stays() -> None:
    assert narrowed(kary_tree(100, 10), 10, 4) is None


def test_ranges_of_a_flat_tree_of_days_keep_the_accuracy_of_the_estimates() -> None:
    """One division among all days was 4 times worse."""
    n_days, n_series, rng = 1500, 10, np.random.default_rng(2)
    true = rng.poisson(3, (n_days, n_series))
    noisy = true + np.rint(rng.laplace(0, 2, true.shape))
    tree = flat(n_days)
    daily = DayConstraints(
        0, n_days, np.zeros((0, n_series)), np.zeros(0), np.eye(n_series, dtype=np.int64), tuple("abcdefghij")
    )
    counts = publish_counts(tree, tree.sums(noisy).astype(float), [daily])
    days = counts[tree.leaf_nodes]
    assert (days >= 0).all()
    np.testing.assert_array_equal(days.sum(axis=0), counts[0])

    def prefixes(errors: np.ndarray) -> float:
        return float((np.cumsum(errors, axis=0) ** 2).mean())

    assert prefixes(days - true) < 1.25 * prefixes(noisy - true)
