"""The flat interval tree: construction, sums, covers, subtrees and refusals."""

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.trees.interval_tree import IntervalTree

EDGES = ([0, 7], [0, 3, 6, 7], [0, 1, 2, 3, 4, 5, 6, 7])
# A root over 5 bins: a leaf, an inner node over 3 bins (a leaf and a pair), a leaf.
UNEVEN = {
    "lo": [0, 0, 1, 4, 1, 2, 2, 3],
    "hi": [5, 1, 4, 5, 2, 4, 3, 4],
    "parent": [-1, 0, 0, 0, 2, 2, 5, 5],
}


def uneven() -> IntervalTree:
    return IntervalTree.from_parents(**UNEVEN)


def test_level_edges_give_breadth_first_nodes() -> None:
    tree = IntervalTree.from_level_edges(EDGES)
    assert tree.lo.tolist() == [0, 0, 3, 6, 0, 1, 2, 3, 4, 5, 6]
    assert tree.hi.tolist() == [7, 3, 6, 7, 1, 2, 3, 4, 5, 6, 7]
    assert tree.parent.tolist() == [-1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    assert tree.child_count.tolist() == [3, 3, 3, 1, 0, 0, 0, 0, 0, 0, 0]
    assert tree.child_start[:4].tolist() == [1, 4, 7, 10]
    assert tree.level.tolist() == [0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2]
    assert (tree.n_nodes, tree.n_leaves, tree.n_levels) == (11, 7, 3)
    assert tree.leaf_nodes.tolist() == list(range(4, 11))


def test_a_single_bin_is_a_tree() -> None:
    tree = IntervalTree.from_level_edges([[0, 1]])
    assert (tree.n_nodes, tree.n_levels, tree.leaf_nodes.tolist()) == (1, 1, [0])
    assert list(tree.levels_up) == []
    assert tree.sums(np.array([[4, 5]])).tolist() == [[4, 5]]
    assert tree.cover(0, 1).tolist() == [0]


def test_parents_may_put_leaves_at_different_depths() -> None:
    tree = uneven()
    assert tree.level_start.tolist() == [0, 1, 4, 6, 8]
    assert tree.leaf_nodes.tolist() == [1, 4, 6, 7, 3]
    assert tree.sums(np.array([1, 10, 100, 1000, 10000])).tolist() == [11111, 1, 1110, 10000, 10, 1100, 100, 1000]


def test_sums_keep_type_and_trailing_axes() -> None:
    tree = IntervalTree.from_level_edges(EDGES)
    values = np.arange(14, dtype=np.int64).reshape(7, 2)
    sums = tree.sums(values)
    assert sums.dtype == np.int64
    assert all(np.array_equal(sums[x], values[tree.lo[x] : tree.hi[x]].sum(axis=0)) for x in range(tree.n_nodes))


@pytest.mark.parametrize("tree", [IntervalTree.from_level_edges(EDGES), uneven()])
def test_cover_is_the_smallest_partition(tree: IntervalTree) -> None:
    for lo in range(tree.n_leaves):
        for hi in range(lo + 1, tree.n_leaves + 1):
            nodes = tree.cover(lo, hi)
            bins = [day for node in nodes for day in range(tree.lo[node], tree.hi[node])]
            assert bins == list(range(lo, hi))
            # No chosen node's parent fits in the range too, unless it is the same interval.
            parents = [tree.parent[node] for node in nodes if node]
            assert not any(lo <= tree.lo[p] and tree.hi[p] <= hi for p in parents)


def test_cover_of_nothing_is_empty() -> None:
    assert uneven().cover(2, 2).tolist() == []


@pytest.mark.parametrize("tree", [IntervalTree.from_level_edges(EDGES), uneven()])
def test_subtree_is_the_tree_below_a_node(tree: IntervalTree) -> None:
    values = np.arange(1, tree.n_leaves + 1) ** 2
    sums = tree.sums(values)
    for node in range(tree.n_nodes):
        below, numbers = tree.subtree(node)
        checked = IntervalTree.from_parents(below.lo, below.hi, below.parent)
        assert checked.level_start.tolist() == below.level_start.tolist()
        assert np.array_equal(tree.lo[numbers], below.lo + tree.lo[node])
        assert np.array_equal(below.sums(values[tree.lo[node] : tree.hi[node]]), sums[numbers])


@pytest.mark.parametrize(
    ("edges", "rule"),
    [
        (([0, 3, 4], [0, 1, 2, 3, 4]), "start with one root"),
        (([0, 4], [0, 2, 4]), "end with one leaf"),
        (([0, 4], [0, 2, 4], [0, 3, 4], [0, 1, 2, 3, 4]), "nest"),
    ],
)
def test_levels_that_are_no_tree_are_refused(edges: tuple[list[int], ...], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        IntervalTree.from_level_edges(edges)


@pytest.mark.parametrize(
    "change",
    [
        {"hi": [5, 1, 4, 5, 2, 4, 3, 3]},
        {"lo": [0, 0, 1, 4, 1, 2, 2, 2]},
        {"hi": [5, 1, 3, 5, 2, 4, 3, 4]},
        {"parent": [-1, 0, 0, 0, 2, 2, 7, 5]},
    ],
)
def test_arrays_that_are_no_tree_are_refused(change: dict[str, list[int]]) -> None:
    with pytest.raises(ConfigError, match="tree must"):
        IntervalTree.from_parents(**(UNEVEN | change))


def test_a_leaf_of_two_bins_is_refused() -> None:
    with pytest.raises(ConfigError, match="single bins"):
        IntervalTree.from_parents([0, 0, 1], [3, 1, 3], [-1, 0, 0])
