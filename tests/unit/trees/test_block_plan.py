import numpy as np
import pytest

from dplib.trees.block_plan import BlockPlan
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import branching_edges


def tree_of(n_days: int, branching: list[int]) -> IntervalTree:
    return IntervalTree.from_level_edges(branching_edges(n_days, branching))


@pytest.mark.parametrize("max_cells", [1, 30, 200, 10_000])
@pytest.mark.parametrize(("n_days", "branching"), [(1, [2]), (7, [7]), (50, [3, 4, 5]), (59, [4, 4, 4])])
def test_top_and_blocks_hold_every_node_once(n_days: int, branching: list[int], max_cells: int) -> None:
    tree = tree_of(n_days, branching)
    plan = BlockPlan.for_cells(tree, 3, max_cells)
    nodes = [np.arange(plan.n_top_nodes)] + [plan.block_tree(block)[1] for block in range(plan.n_blocks)]
    assert np.array_equal(np.sort(np.concatenate(nodes)), np.arange(tree.n_nodes))
    assert [plan.days(block)[0] for block in range(plan.n_blocks)] == plan.day_bounds[:-1].tolist()
    assert plan.day_bounds[-1] == n_days


def test_blocks_stay_below_the_size_where_a_level_allows_it() -> None:
    tree = tree_of(1000, [10, 10, 10])
    for max_cells in (50, 500, 5000):
        plan = BlockPlan.for_cells(tree, 4, max_cells)
        assert max(plan.block_tree(block)[0].n_nodes for block in range(plan.n_blocks)) * 4 <= max_cells
        if plan.cut_level:
            larger = BlockPlan(tree, plan.cut_level - 1)
            assert max(larger.block_tree(block)[0].n_nodes for block in range(larger.n_blocks)) * 4 > max_cells


def test_sums_of_blocks_on_the_top_tree_are_those_of_the_whole_tree() -> None:
    tree = tree_of(59, [4, 4, 4])
    plan = BlockPlan(tree, 2)
    leaves = np.random.default_rng(0).integers(0, 9, (59, 2))
    totals = np.add.reduceat(leaves, plan.day_bounds[:-1])
    top = plan.top_tree.sums(totals)
    assert np.array_equal(top, tree.sums(leaves)[: len(top)])
