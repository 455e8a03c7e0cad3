"""Ranges of consecutive nodes and the series' pieces in them: what the paper's grouping on Spark moves about."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.tree_blue import TreeGains, downward, tree_gains, upward
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.round_groups import Nodes
from dplib.projection.residual import tree_residual
from dplib.spark.engine.blocks import Block
from dplib.trees.interval_tree import IntervalTree


@dataclass(eq=False)
class NodeRanges:
    """Ranges of consecutive nodes that are projected together: the days of a block each, and pieces of the rest.

    Attributes:
        tree: the tree.
        variance: noise variance of each level.
        bounds: first node of each range, and the number of nodes.
    """

    tree: IntervalTree
    variance: FloatArray
    bounds: IntArray
    _gains: dict[bytes, TreeGains] = field(default_factory=dict)

    @classmethod
    def of(cls, design: Design) -> "NodeRanges":
        """Ranges by the blocks' days; settings only."""
        plan, tree = design.blocks, design.tree
        first_day = int(tree.leaf_nodes[0])
        pieces = min(plan.n_blocks, first_day) if first_day else 0
        inner = np.linspace(0, first_day, pieces + 1).astype(np.int64)[:-1]
        return cls(tree, design.level_variance, np.concatenate([inner, first_day + plan.day_bounds]))

    @property
    def n_ranges(self) -> int:
        """Number of ranges."""
        return len(self.bounds) - 1

    def nodes(self, part: int) -> slice:
        """The nodes of a range."""
        return slice(int(self.bounds[part]), int(self.bounds[part + 1]))

    def days(self, part: int) -> tuple[int, int] | None:
        """First day of a range and one past its last; None above the days."""
        nodes, first_day = self.nodes(part), self.tree.n_nodes - self.tree.n_leaves
        return (nodes.start - first_day, nodes.stop - first_day) if nodes.start >= first_day else None

    def range_nodes(self, part: int) -> Nodes:
        """The days and levels of the nodes of a range."""
        nodes = self.nodes(part)
        return Nodes(self.tree.lo[nodes], self.tree.hi[nodes], self.tree.level[nodes])

    def project_tree(self, values: FloatArray, variance: FloatArray | None = None) -> FloatArray:
        """One series up and down its tree, shape (n_nodes, 1); ``variance`` of its levels, shape (n_levels, 1)."""
        own = self.variance[:, None] if variance is None else variance
        key = own.tobytes()
        if key not in self._gains:
            self._gains[key] = tree_gains(self.tree, own[self.tree.level])
        return downward(self._gains[key], upward(self._gains[key], values))

    def square_residual(self, values: FloatArray) -> float:
        """Sum of the squared residuals of the tree, of values of shape (n_nodes, n)."""
        return float((tree_residual(self.tree, values) ** 2).sum())


def vector(packed: bytes) -> FloatArray:
    """Numbers of a binary column."""
    return np.frombuffer(packed, "<f8")


def joined(_: int, pieces: Mapping[int, Block]) -> Block:
    """The values of a series from its pieces."""
    return {"values": b"".join(piece["values"] for piece in pieces.values())}


def matrix(pieces: Mapping[int, Block], series: IntArray, column: str) -> FloatArray:
    """A column of some series side by side, shape (nodes of the range, series)."""
    return np.stack([vector(pieces[int(number)][column]) for number in series], axis=1)


def split_tree(ranges: NodeRanges, _: int, columns: Block) -> dict[int, Block]:
    """A series' nodes projected on its tree, by range."""
    values = ranges.project_tree(vector(columns["values"])[:, None])[:, 0]
    return {part: {"values": values[ranges.nodes(part)].tobytes()} for part in range(ranges.n_ranges)}
