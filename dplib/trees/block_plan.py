"""Logical blocks: how a tree is cut into a top and subtrees, decided by settings alone.

A block is a subtree of consecutive days with all series; the nodes above the cut are the *top*. Blocks name the
noise streams and the files of a release, and they are the unit of work on a cluster, so they must never depend on
Spark's partitioning or on the data: the same settings give the same blocks in every run and layout.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import IntArray
from dplib.trees.interval_tree import IntervalTree

TOP = "top"


def largest_subtrees(tree: IntervalTree) -> list[int]:
    """Nodes of the largest subtree below a node of each level, that node among them."""
    size = np.ones(tree.n_nodes, dtype=np.int64)
    for inner, children, offsets in tree.levels_up:
        size[inner] += np.add.reduceat(size[children], offsets)
    return [int(size[tree.level_slice(level)].max()) for level in range(tree.n_levels)]


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """A tree cut at one level.

    Attributes:
        tree: the whole tree, all of whose leaves lie on its last level.
        cut_level: level of the blocks' roots; 0 makes the whole tree one block without a top.
    """

    tree: IntervalTree
    cut_level: int

    @classmethod
    def for_cells(cls, tree: IntervalTree, n_series: int, max_cells: int) -> "BlockPlan":
        """Cut at the highest level whose subtrees stay below ``max_cells`` cells.

        Args:
            tree: all leaves on its last level.
            n_series: cells of a node.
            max_cells: size that a block should stay below; a single leaf may exceed it.
        """
        for level, size in enumerate(largest_subtrees(tree)):
            if size * n_series <= max_cells:
                return cls(tree, level)
        return cls(tree, tree.n_levels - 1)

    @property
    def n_blocks(self) -> int:
        """Number of subtrees."""
        return int(self.tree.level_start[self.cut_level + 1] - self.tree.level_start[self.cut_level])

    @property
    def n_top_nodes(self) -> int:
        """Number of nodes above the cut; they are the first nodes of the tree."""
        return int(self.tree.level_start[self.cut_level])

    def name(self, block: int) -> str:
        """Name of a block in labels and files."""
        return f"block-{block:06d}"

    def days(self, block: int) -> tuple[int, int]:
        """First day of a block and one past its last."""
        root = self.n_top_nodes + block
        return int(self.tree.lo[root]), int(self.tree.hi[root])

    @cached_property
    def day_bounds(self) -> IntArray:
        """Boundaries of the blocks' days, shape (n_blocks + 1,)."""
        roots = self.tree.level_slice(self.cut_level)
        return np.append(self.tree.lo[roots], self.tree.n_leaves).astype(np.int64)

    def block_tree(self, block: int) -> tuple[IntervalTree, IntArray]:
        """The subtree of a block and the number of each of its nodes in the whole tree."""
        return self.tree.subtree(self.n_top_nodes + block)

    @cached_property
    def top_tree(self) -> IntervalTree:
        """The tree above the cut with the blocks' roots as its leaves.

        Its nodes are the first ``n_top_nodes + n_blocks`` nodes of the whole tree, in the same order; its bins are
        blocks.
        """
        n_nodes = self.n_top_nodes + self.n_blocks
        return IntervalTree(
            lo=np.searchsorted(self.day_bounds, self.tree.lo[:n_nodes]).astype(np.int64),
            hi=np.searchsorted(self.day_bounds, self.tree.hi[:n_nodes]).astype(np.int64),
            parent=self.tree.parent[:n_nodes],
            level_start=self.tree.level_start[: self.cut_level + 2],
        )
