"""Cutting a tree at one level into a top and blocks, as the distributed passes do.

The top holds the levels down to the cut; nodes on the cut level are its leaves (so are bins that end above it). Each
inner node on the cut level is the root of a block, which holds the whole subtree below it. The top and its blocks share
the nodes of the cut level only.
"""

import numpy as np

from dplib.arrays import IntArray
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import require


def top_tree(tree: IntervalTree, level: int) -> IntervalTree:
    """The levels ``0..level``; node numbers are those of ``tree``.

    Its leaves may cover many bins, so only its structure (parents, children, levels) may be used, not its bins.
    """
    require(0 <= level < tree.n_levels, "level", f"lie in 0..{tree.n_levels - 1}", level)
    stop = int(tree.level_start[level + 1])
    return IntervalTree(
        lo=tree.lo[:stop], hi=tree.hi[:stop], parent=tree.parent[:stop], level_start=tree.level_start[: level + 2]
    )


def block_roots(tree: IntervalTree, level: int) -> IntArray:
    """Inner nodes of the cut level: the roots of the blocks."""
    nodes = np.arange(tree.level_start[level], tree.level_start[level + 1])
    return nodes[tree.child_count[nodes] > 0].astype(np.int64)
