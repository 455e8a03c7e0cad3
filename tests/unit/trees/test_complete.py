import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.trees.complete import kary_tree, mixed_radix_tree, split_evenly, tree_structure_construct
from dplib.trees.interval_tree import IntervalTree
from tests.support.tree_oracles import CASES, case_tree, caterpillar


def same(tree: IntervalTree, other: IntervalTree) -> bool:
    parts = ("lo", "hi", "parent", "level_start")
    return all(np.array_equal(getattr(tree, part), getattr(other, part)) for part in parts)


@pytest.mark.parametrize(
    ("name", "tree"),
    [
        ("fig3.2 binary5 asc", kary_tree(5, 2, "ascending")),
        ("fig3.3b binary3 asc", kary_tree(3, 2, "ascending")),
        ("fig3.5 ternary6", kary_tree(6, 3)),
        ("binary16", kary_tree(16, 2)),
        ("binary7 desc", kary_tree(7, 2)),
        ("quad7 asc", kary_tree(7, 4, "ascending")),
        ("star10", kary_tree(10, 10)),
        ("mixed 2x3x2", mixed_radix_tree(12, (2, 3, 2))),
        ("caterpillar right 8", caterpillar(8)),
        ("single", kary_tree(1, 2)),
    ],
)
def test_stored_trees(name: str, tree: IntervalTree) -> None:
    case = next(case for case in CASES if case["name"] == name)
    assert same(tree, case_tree(case))


@pytest.mark.parametrize("order", ["descending", "ascending"])
@pytest.mark.parametrize("n_bins", [1, 2, 7, 23, 64])
def test_any_choice_gives_a_tree(n_bins: int, order: str) -> None:
    rng = np.random.default_rng(n_bins)
    tree = tree_structure_construct(n_bins, lambda _, lo, __: rng.integers(2, 6, len(lo)), order)  # type: ignore[arg-type]
    assert same(tree, IntervalTree.from_parents(tree.lo, tree.hi, tree.parent))
    assert tree.child_count[tree.child_count > 0].min(initial=2) >= 2
    sizes = np.diff(tree.hi - tree.lo)[tree.parent[1:] == np.append(-1, tree.parent[1:-1])]
    signs = sizes <= 0 if order == "descending" else sizes >= 0
    assert signs.all()


def test_children_partition_their_parent() -> None:
    above, lo, hi = split_evenly(np.array([3, 20]), np.array([10, 22]), np.array([3, 9]))
    assert above.tolist() == [0, 0, 0, 1, 1]
    assert lo.tolist() == [3, 6, 8, 20, 21]
    assert hi.tolist() == [6, 8, 10, 21, 22]


def test_the_leftmost_path_is_the_height_only_with_larger_children_first() -> None:
    def leftmost(tree: IntervalTree) -> int:
        return int((tree.lo == 0).sum())

    pairs = [(n, k) for n in range(1, 30) for k in (2, 3, 4)]
    assert all(leftmost(kary_tree(n, k)) == kary_tree(n, k).n_levels for n, k in pairs)
    small_first = kary_tree(3, 2, "ascending")
    assert (leftmost(small_first), small_first.n_levels) == (2, 3)


def test_deep_caterpillar() -> None:
    tree = caterpillar(20_000)
    assert (tree.n_levels, tree.n_nodes, tree.n_leaves) == (20_000, 39_999, 20_000)
    assert np.array_equal(tree.lo[tree.leaf_nodes], np.arange(20_000))


def test_errors() -> None:
    with pytest.raises(ConfigError, match="radices must have a product of at least 10, got 9"):
        mixed_radix_tree(10, (3, 3))
    with pytest.raises(ConfigError, match="k must be at least 2, got 1"):
        kary_tree(4, 1)
    with pytest.raises(ConfigError, match="branching must be at least 2, got 1"):
        tree_structure_construct(4, lambda _, lo, __: np.ones(len(lo), dtype=np.int64))
