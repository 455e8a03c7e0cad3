"""Interval trees of any shape as flat arrays in breadth-first order.

A tree over ``n_leaves`` unit bins: node ``x`` covers the bins ``lo[x] <= t < hi[x]``; its children partition that
interval from left to right and stand next to each other in the arrays. Nodes are numbered breadth first, so a
level is a slice, a node's children are a slice of the next level, and the bottom-up and top-down passes of every
algorithm are a few vectorised operations a level. A leaf covers one bin; leaves may lie at different depths.

Cost: O(n_nodes) memory; no recursion.

Notation: ``n_levels`` counts levels with the root (a single leaf has one level).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt

from dplib.arrays import IntArray
from dplib.validate import require


@dataclass(frozen=True, eq=False)
class IntervalTree:
    """A rooted ordered tree of intervals.

    Attributes:
        lo: first bin of each node, shape (n_nodes,).
        hi: one past the last bin of each node, shape (n_nodes,).
        parent: parent of each node, -1 for the root, shape (n_nodes,).
        level_start: first node of each level, with ``n_nodes`` appended, shape (n_levels + 1,).
    """

    lo: IntArray
    hi: IntArray
    parent: IntArray
    level_start: IntArray

    @classmethod
    def from_level_edges(cls, edges: Sequence[npt.ArrayLike]) -> Self:
        """Build a tree whose leaves all lie on the last level.

        Args:
            edges: for each level from the root down, the increasing boundaries of its nodes: ``edges[0]`` is
                ``[0, n_leaves]``, each level's boundaries contain those of the level above, and the last level's
                are ``0, 1, ..., n_leaves``.

        Raises:
            ConfigError: if the levels do not nest.
        """
        bounds = [np.asarray(level, dtype=np.int64) for level in edges]
        n_leaves = int(bounds[-1][-1])
        require(bounds[0].tolist() == [0, n_leaves], "tree", "start with one root over all bins", bounds[0])
        require(len(bounds[-1]) == n_leaves + 1, "tree", "end with one leaf for each bin", len(bounds[-1]) - 1)
        parents = [np.array([-1], dtype=np.int64)]
        start = 0
        for upper, lower in pairwise(bounds):
            require(bool(np.isin(upper, lower).all()), "tree", "have levels that nest", "levels that do not")
            parents.append(start + np.searchsorted(upper, lower[:-1], side="right") - 1)
            start += len(upper) - 1
        return cls(
            lo=np.concatenate([level[:-1] for level in bounds]),
            hi=np.concatenate([level[1:] for level in bounds]),
            parent=np.concatenate(parents).astype(np.int64),
            level_start=np.cumsum([0] + [len(level) - 1 for level in bounds]).astype(np.int64),
        )

    @classmethod
    def from_parents(cls, lo: npt.ArrayLike, hi: npt.ArrayLike, parent: npt.ArrayLike) -> Self:
        """Build a tree of any shape from arrays in breadth-first order (``parent[0] == -1``).

        Raises:
            ConfigError: if the order is not breadth first or the children of a node do not partition it.
        """
        # Compiled code is made for each kind of array: what is read from a table cannot be written to.
        low, high, up = (np.require(array, np.int64, ["C", "W"]) for array in (lo, hi, parent))
        starts = [0, 1]
        while starts[-1] < len(low):
            # The children of the nodes of the last level are the nodes whose parents lie in it.
            starts.append(int(np.searchsorted(up, starts[-1], side="left")))
            require(starts[-1] > starts[-2], "tree", "be numbered breadth first", "another order")
        tree = cls(lo=low, hi=high, parent=up, level_start=np.array(starts, dtype=np.int64))
        tree._require_partition()
        return tree

    def _require_partition(self) -> None:
        inner = np.flatnonzero(self.child_count)
        first = self.child_start[inner]
        last = first + self.child_count[inner] - 1
        follows = self.lo[1:] == self.hi[:-1]
        siblings = self.parent[1:] == self.parent[:-1]
        good = (
            bool(np.all(np.diff(self.parent) >= 0))
            and np.array_equal(self.lo[first], self.lo[inner])
            and np.array_equal(self.hi[last], self.hi[inner])
            and bool(np.all(follows | ~siblings))
            and bool(np.all((self.hi - self.lo)[self.child_count == 0] == 1))
        )
        require(good, "tree", "have children that partition their parent down to single bins", "another shape")

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.lo)

    @property
    def n_leaves(self) -> int:
        """Number of bins, which is the number of leaves."""
        return int(self.hi[0])

    @property
    def n_levels(self) -> int:
        """Number of levels, the root's included."""
        return len(self.level_start) - 1

    @cached_property
    def child_count(self) -> IntArray:
        """Number of children of each node, shape (n_nodes,); 0 for a leaf."""
        return np.bincount(self.parent[1:], minlength=self.n_nodes).astype(np.int64)

    @cached_property
    def child_start(self) -> IntArray:
        """First child of each node (where it would stand, for a leaf), shape (n_nodes,)."""
        return 1 + np.concatenate([[0], np.cumsum(self.child_count)[:-1]]).astype(np.int64)

    @cached_property
    def level(self) -> IntArray:
        """Level of each node, 0 for the root, shape (n_nodes,)."""
        return np.repeat(np.arange(self.n_levels), np.diff(self.level_start)).astype(np.int64)

    @cached_property
    def leaf_nodes(self) -> IntArray:
        """Node of each bin, shape (n_leaves,)."""
        leaves = np.flatnonzero(self.child_count == 0)
        return leaves[np.argsort(self.lo[leaves], kind="stable")].astype(np.int64)

    def level_slice(self, level: int) -> slice:
        """The nodes of one level."""
        return slice(int(self.level_start[level]), int(self.level_start[level + 1]))

    @cached_property
    def levels_up(self) -> tuple[tuple[IntArray, slice, IntArray], ...]:
        """From the last inner level to the root, what a bottom-up pass needs.

        Each is (inner, children, offsets): the inner nodes of the level, the slice of all their children (one level
        down), and for each inner node where its children start inside that slice: the arguments of
        ``np.add.reduceat(values[children], offsets)``.
        """
        found = []
        for level in range(self.n_levels - 2, -1, -1):
            nodes = np.arange(self.level_start[level], self.level_start[level + 1])
            inner = nodes[self.child_count[nodes] > 0]
            children = self.level_slice(level + 1)
            found.append((inner, children, self.child_start[inner] - children.start))
        return tuple(found)

    def sums(self, leaf_values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Sum the values of the bins over each node.

        Args:
            leaf_values: shape (n_leaves, ...), any summable type.

        Returns:
            Shape (n_nodes, ...), same type.
        """
        values = np.empty((self.n_nodes, *leaf_values.shape[1:]), dtype=leaf_values.dtype)
        values[self.leaf_nodes] = leaf_values
        for inner, children, offsets in self.levels_up:
            values[inner] = np.add.reduceat(values[children], offsets, axis=0)
        return values

    def cover(self, lo: int, hi: int) -> IntArray:
        """The fewest nodes that partition the bins ``lo <= t < hi`` (the canonical decomposition)."""
        chosen: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            if self.hi[node] <= lo or self.lo[node] >= hi:
                continue
            if lo <= self.lo[node] and self.hi[node] <= hi:
                chosen.append(node)
                continue
            start = int(self.child_start[node])
            stack.extend(range(start + int(self.child_count[node]) - 1, start - 1, -1))
        return np.array(chosen, dtype=np.int64)

    def top(self, level: int) -> "IntervalTree":
        """The levels ``0..level``; node numbers are those of this tree.

        The top is cut off from blocks, which are the subtrees of the inner nodes on the cut level; they share the nodes
        of that level only. Its leaves may cover many bins, so only its structure (parents, children, levels) may be
        used, not its bins.
        """
        require(0 <= level < self.n_levels, "level", f"lie in 0..{self.n_levels - 1}", level)
        stop = int(self.level_start[level + 1])
        return IntervalTree(
            lo=self.lo[:stop], hi=self.hi[:stop], parent=self.parent[:stop], level_start=self.level_start[: level + 2]
        )

    def subtree(self, node: int) -> tuple["IntervalTree", IntArray]:
        """The tree below ``node``, its bins counted from 0, and the original number of each of its nodes."""
        numbers = [np.array([node], dtype=np.int64)]
        while True:
            inner = numbers[-1][self.child_count[numbers[-1]] > 0]
            if not len(inner):
                break
            # Descendants on one level are consecutive.
            last = int(inner[-1])
            stop = int(self.child_start[last] + self.child_count[last])
            numbers.append(np.arange(self.child_start[inner[0]], stop, dtype=np.int64))
        nodes = np.concatenate(numbers)
        position = np.searchsorted(nodes, self.parent[nodes[1:]])
        starts = np.cumsum([0] + [len(part) for part in numbers]).astype(np.int64)
        offset = self.lo[node]
        tree = IntervalTree(
            lo=self.lo[nodes] - offset,
            hi=self.hi[nodes] - offset,
            parent=np.concatenate([[-1], position]).astype(np.int64),
            level_start=starts,
        )
        return tree, nodes
