"""What an executor must know of the tree to work on one logical block: small, and settings only.

Blocks of one shape share their tree, so that a million days cost a few hundred kilobytes of settings and not the whole
tree. A *miniature* is the same constraints on a tree with one day for each of them: choices and projectors that depend
on day constraints only are taken from it, whatever the number of days.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.problem import ConsistencyProblem
from dplib.constraints.day_constraints import DayConstraints
from dplib.jobs.consistent_histograms.design import Design
from dplib.trees.block_plan import BlockPlan
from dplib.trees.interval_tree import IntervalTree


@dataclass(frozen=True, eq=False)
class BlockShapes:
    """The trees of all blocks.

    Attributes:
        trees: the different trees.
        kind: number of each block's tree, shape (n_blocks,).
        day_bounds: boundaries of the blocks' days, shape (n_blocks + 1,).
        cut_level: level of the blocks' roots.
        level_variance: noise variance of the levels from the cut down, ``inf`` where not measured.
        n_series: number of series.
    """

    trees: tuple[IntervalTree, ...]
    kind: IntArray
    day_bounds: IntArray
    cut_level: int
    level_variance: FloatArray
    n_series: int

    @classmethod
    def of(cls, design: Design) -> "BlockShapes":
        """The blocks of a design."""
        plan = design.blocks
        numbers: dict[bytes, int] = {}
        trees: list[IntervalTree] = []
        kind = np.empty(plan.n_blocks, dtype=np.int64)
        for block in range(plan.n_blocks):
            tree, _ = plan.block_tree(block)
            key = np.concatenate([tree.level_start, tree.lo, tree.hi]).tobytes()
            kind[block] = numbers.setdefault(key, len(numbers))
            if kind[block] == len(trees):
                trees.append(tree)
        variance = design.level_variance[plan.cut_level :]
        return cls(tuple(trees), kind, plan.day_bounds, plan.cut_level, variance, len(design.series))

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.kind)

    def tree(self, block: int) -> IntervalTree:
        """The tree of a block, its days counted from 0."""
        return self.trees[int(self.kind[block])]

    def days(self, block: int) -> tuple[int, int]:
        """First day of a block and one past its last."""
        return int(self.day_bounds[block]), int(self.day_bounds[block + 1])

    def node_variance(self, block: int) -> FloatArray:
        """Noise variance of each node of a block, shape (n_nodes,)."""
        return np.asarray(self.level_variance[self.tree(block).level], dtype=np.float64)

    def day_constraints(self, block: int, day_constraints: Sequence[DayConstraints]) -> tuple[DayConstraints, ...]:
        """The day constraints of a block's days, counted from the block's first day."""
        return day_constraints_between(day_constraints, *self.days(block))

    def noisy(self, block: int, packed: bytes) -> FloatArray:
        """The noisy counts of a block that `pack_counts` packed, shape (n_nodes, n_series)."""
        cells = self.tree(block).n_nodes * self.n_series
        counts = np.frombuffer(packed, f"<i{len(packed) // cells}").astype(np.float64)
        return counts.reshape(-1, self.n_series)

    def key(self, block: int, day_constraints: Sequence[DayConstraints]) -> tuple[int, ...]:
        """What two blocks share if they have equal trees and equal day constraints on equal days."""
        first, end = self.days(block)
        found = [int(self.kind[block])]
        for number, daily in enumerate(day_constraints):
            if daily.first < end and daily.end > first:
                found += [number, max(daily.first, first) - first]
        return tuple(found)


def pack_counts(counts: npt.NDArray[Any]) -> bytes:
    """Integers as the narrowest of 2, 4 or 8 bytes that holds them all: noisy counts are mostly small."""
    largest = int(np.abs(counts).max(initial=0))
    width = next(width for width in (2, 4, 8) if largest < 1 << (8 * width - 1))
    return counts.astype(f"<i{width}").tobytes()


def day_constraints_between(
    day_constraints: Sequence[DayConstraints], first: int, end: int
) -> tuple[DayConstraints, ...]:
    """The day constraints of the days ``first <= t < end``, counted from ``first``."""
    return tuple(
        daily.between(max(daily.first, first) - first, min(daily.end, end) - first)
        for daily in day_constraints
        if daily.first < end and daily.end > first
    )


def days_by_constraints(day_constraints: Sequence[DayConstraints], lo: IntArray, hi: IntArray) -> FloatArray:
    """How many days each node has of each of the day constraints, shape (n_nodes, n_day_constraints)."""
    first = np.array([daily.first for daily in day_constraints])
    end = np.array([daily.end for daily in day_constraints])
    overlap = np.minimum(hi[:, None], end) - np.maximum(lo[:, None], first)
    return np.asarray(np.maximum(overlap, 0), dtype=np.float64)


def miniature(day_constraints: Sequence[DayConstraints], series_variance: FloatArray) -> ConsistencyProblem:
    """The least-squares problem of these day constraints on a tree with one day for each of them and a root.

    Args:
        day_constraints: consecutive day constraints of one group of series.
        series_variance: 1 for a measured series, ``inf`` for one that is not, shape (n_series,).
    """
    n_day_constraints = len(day_constraints)
    tree = IntervalTree.from_level_edges([[0, n_day_constraints], range(n_day_constraints + 1)])
    days = tuple(daily.between(day, day + 1) for day, daily in enumerate(day_constraints))
    shape = (tree.n_nodes, len(series_variance))
    return ConsistencyProblem(tree, np.zeros(shape), np.broadcast_to(series_variance, shape), days)


def top_days(plan: BlockPlan) -> tuple[IntArray, IntArray]:
    """First day and one past the last of the nodes of the top tree, the blocks' roots included."""
    stop = plan.n_top_nodes + plan.n_blocks
    return plan.tree.lo[:stop], plan.tree.hi[:stop]
