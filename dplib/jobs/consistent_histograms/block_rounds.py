"""Algorithm 1 cut into blocks: rounds of alternating projections, the driver solving the tree above the blocks.

Every round is one job (`dplib.spark.engine.rounds`). A block sends the mean of its root from the pass upwards; the
driver solves the top and sends each block the value of its root; the block passes it down, projects on the other groups
of the split and starts upwards again. All groups of series go together, each until its own threshold. The mean change
and the deviation ``mse_s`` are sums over blocks in place of one sum over all nodes; beyond that the numbers are those
of `dplib.consistency.alternating`, up to the last bits of products with small matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.lblue import equation_maps
from dplib.consistency.problem import ConsistencyProblem, SolverOptions
from dplib.consistency.unmeasured import MeasuredPart
from dplib.estimates.tree_blue import TreeGains, downward, tree_gains, upward
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes
from dplib.jobs.consistent_histograms.block_solvers import BlockGains, SeriesGroup
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.round_groups import Nodes, RoundGroup, RowMap
from dplib.progress import Progress, Round
from dplib.projection.alternating import Map
from dplib.projection.residual import daily_residual, tree_residual
from dplib.spark.engine.blocks import Block
from dplib.spark.engine.rounds import BlockRounds
from dplib.trees.interval_tree import IntervalTree

TASK = "estimate the counts"


@dataclass(eq=False)
class RoundBlocks:
    """What all steps inside blocks need: settings, and maps worked out when first needed.

    Attributes:
        shapes: the blocks.
        groups: the groups.
        gains: tree gains of the blocks for each group.
    """

    shapes: BlockShapes
    groups: tuple[RoundGroup, ...]
    gains: tuple[BlockGains, ...]
    _maps: dict[tuple[int, ...], list[RowMap]] = field(default_factory=dict)

    @classmethod
    def of(cls, design: Design, shapes: BlockShapes, groups: Sequence[SeriesGroup]) -> "RoundBlocks":
        """The blocks of a design.

        Raises:
            SolverError: as `RoundGroup.of`.
        """
        found = tuple(RoundGroup.of(design, group) for group in groups)
        return cls(shapes, found, tuple(BlockGains(shapes, group.tree_variance) for group in found))

    def nodes(self, block: int) -> Nodes:
        """The nodes of a block."""
        tree, (first, _) = self.shapes.tree(block), self.shapes.days(block)
        return Nodes(tree.lo + first, tree.hi + first, self.shapes.cut_level + tree.level)

    def top_gains(self, design: Design, number: int) -> TreeGains:
        """Gains of the tree above the blocks, whose leaves take the means of the blocks' roots; on the driver."""
        tree = design.tree.top(self.shapes.cut_level)
        roots = np.concatenate([self.gains[number].of(block).after[:1] for block in range(self.shapes.n_blocks)])
        above = self.groups[number].tree_variance[tree.level[: -len(roots)]]
        return tree_gains(tree, np.concatenate([above, roots]))

    def maps(self, block: int, number: int) -> list[RowMap]:
        """The projections of a block's nodes on the other groups of the split."""
        group = self.groups[number]
        parts = [each.day_constraints or group.day_constraints for each in group.others]
        key = (number, *(place for part in parts for place in self.shapes.key(block, part)))
        if key not in self._maps:
            self._maps[key] = group.maps(self.nodes(block))
        return self._maps[key]

    def sums(self, block: int, number: int) -> list[Map]:
        """The projections on the sums of each level of a block, from its root down."""
        variance = self.groups[number].variance[self.nodes(block).level]
        return equation_maps(self.shapes.tree(block), variance)[::-1]

    def square_residual(self, block: int, number: int, values: FloatArray) -> float:
        """Sum of the squared residuals of the tree and of the days inside a block."""
        tree = self.shapes.tree(block)
        day_constraints = self.shapes.day_constraints(block, self.groups[number].day_constraints)
        parts = [tree_residual(tree, values), *daily_residual(tree, day_constraints, values)]
        return sum(float((part**2).sum()) for part in parts)

    def restored(self, block: int, values: FloatArray) -> FloatArray:
        """The values of all series of a block, the unmeasured ones from the others."""
        full, tree = values.copy(), self.shapes.tree(block)
        for each in self.groups:
            group = each.group
            problem = ConsistencyProblem(
                tree,
                np.broadcast_to(0.0, (tree.n_nodes, len(group.series))),
                np.broadcast_to(group.variance, (tree.n_nodes, len(group.series))),
                self.shapes.day_constraints(block, group.day_constraints),
            )
            part = MeasuredPart(problem, problem, np.isfinite(group.variance))
            full[:, group.series] = part.restore(values[:, each.series])
        return full


@dataclass(eq=False)
class AlternatingState:
    """Values of a block's nodes, shape (n_nodes, n_series), and each group's sum of absolute changes."""

    values: FloatArray
    change: FloatArray


class AlternatingSummary(NamedTuple):
    """What a block, or all blocks together, tell of one group."""

    change: float
    square: float
    means: FloatArray
    roots: FloatArray


@dataclass(eq=False)
class AlternatingStepper:
    """One round inside a block.

    A message holds, for each group, the values of all blocks' roots, or None where the group is done.

    Attributes:
        blocks: the settings.
        columns: of a stored state.
    """

    blocks: RoundBlocks
    columns: tuple[str, ...] = ("values",)

    def load(self, block: int, columns: Block) -> AlternatingState:
        """The noisy counts, or a stored state."""
        return AlternatingState(block_values(self.blocks.shapes, block, columns), np.zeros(len(self.blocks.groups)))

    def step(self, block: int, state: AlternatingState, message: Sequence[FloatArray | None]) -> AlternatingState:
        """Down the tree, then the other groups of the split."""
        values, change = state.values.copy(), np.zeros(len(self.blocks.groups))
        for number, (group, roots) in enumerate(zip(self.blocks.groups, message, strict=True)):
            if roots is None:
                continue
            before, gains = state.values[:, group.series], self.blocks.gains[number].of(block)
            moved = downward(gains, upward(gains, before), roots[block])
            for each in self.blocks.maps(block, number):
                moved = each(moved)
            change[number] = np.abs(moved - before).sum()
            values[:, group.series] = moved
        return AlternatingState(values, change)

    def store(self, block: int, state: AlternatingState) -> Block:
        """The values."""
        return {"values": state.values.astype("<f8").tobytes()}

    def summary(self, block: int, state: AlternatingState) -> bytes:
        """Change, squared residual, mean and value of the root, of each group."""
        parts: list[FloatArray] = []
        for number, group in enumerate(self.blocks.groups):
            values, gains = state.values[:, group.series], self.blocks.gains[number].of(block)
            square = self.blocks.square_residual(block, number, values)
            parts += [np.array([state.change[number], square]), upward(gains, values)[0], values[0]]
        return np.concatenate(parts).astype("<f8").tobytes()

    def read(self, summaries: Sequence[bytes]) -> list[AlternatingSummary]:
        """Put the blocks' summaries together, by group; sums in the order of the blocks."""
        table = np.array([np.frombuffer(summary, "<f8") for summary in summaries])
        found, start = [], 0
        for group in self.blocks.groups:
            width, at = len(group.series), start + 2
            change, square = table[:, start:at].sum(axis=0)
            found.append(
                AlternatingSummary(
                    float(change), float(square), table[:, at : at + width], table[:, at + width : at + 2 * width]
                )
            )
            start = at + 2 * width
        return found


def block_values(shapes: BlockShapes, block: int, columns: Block) -> FloatArray:
    """Values of a stored state, or the noisy counts as the first state, shape (n_nodes, n_series)."""
    if "values" in columns:
        return np.frombuffer(columns["values"], "<f8").reshape(-1, shapes.n_series)
    return shapes.noisy(block, columns["noisy"])


@dataclass(eq=False)
class GroupProgress:
    """What the driver holds of one group.

    Attributes:
        top: values of the nodes above the blocks, shape (n_top_nodes, series).
        means: what the blocks sent last, shape (n_blocks, series).
        rounds: the rounds so far.
        converged: whether the stop rule was met.
    """

    top: FloatArray
    means: FloatArray
    rounds: list[Round] = field(default_factory=list)
    converged: bool = False

    def record(self, change: float, deviation: float, tol: float, progress: Progress) -> None:
        """Note a round and whether it was the last."""
        self.rounds.append(Round(len(self.rounds) + 1, change, deviation))
        progress.round(self.rounds[-1])
        self.converged = change <= tol


def top_nodes(design: Design) -> Nodes:
    """The nodes above the blocks."""
    tree, stop = design.tree, design.blocks.n_top_nodes
    return Nodes(tree.lo[:stop], tree.hi[:stop], tree.level[:stop])


def pass_top(gains: TreeGains, top: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both passes of the tree above the blocks: values of its nodes, and of the blocks' roots."""
    final = downward(gains, upward(gains, np.concatenate([top, means])))
    return final[: len(top)], final[len(top) :]


def top_square(tree: IntervalTree, top: FloatArray, roots: FloatArray) -> float:
    """Sum of the squared residuals of the tree above the blocks."""
    return float((tree_residual(tree, np.concatenate([top, roots])) ** 2).sum())


def alternate_blocks(
    rounds: BlockRounds,
    stepper: AlternatingStepper,
    design: Design,
    top: FloatArray,
    options: SolverOptions,
    progress: Progress,
) -> list[GroupProgress]:
    """Run rounds until every group's mean change is below the threshold.

    Args:
        rounds: the blocks.
        stepper: that of the blocks.
        design: the design.
        top: noisy counts of the nodes above the blocks, shape (n_top_nodes, n_series).
        options: stop rule.
        progress: told of each round of each group.

    Returns:
        Where each group ended.
    """
    tree, groups = design.blocks.top_tree, stepper.blocks.groups
    gains = [stepper.blocks.top_gains(design, number) for number in range(len(groups))]
    above = top_nodes(design)
    others = [group.maps(above) for group in groups]
    found = stepper.read(rounds.send(None, TASK))
    states = [GroupProgress(top[:, group.series], summary.means) for group, summary in zip(groups, found, strict=True)]
    for _ in range(options.max_rounds):
        message: list[FloatArray | None] = []
        moved = np.zeros(len(states))
        for number, state in enumerate(states):
            if state.converged:
                message.append(None)
                continue
            before = state.top
            state.top, roots = pass_top(gains[number], before, state.means)
            for each in others[number]:
                state.top = each(state.top)
            moved[number] = np.abs(state.top - before).sum()
            message.append(roots)
        found = stepper.read(rounds.send(message, TASK, ends_round=True))
        for number, (state, summary) in enumerate(zip(states, found, strict=True)):
            if message[number] is not None:
                size = design.tree.n_nodes * len(groups[number].series)
                square = summary.square + top_square(tree, state.top, summary.roots)
                state.means = summary.means
                state.record((summary.change + float(moved[number])) / size, square / size, options.tol, progress)
        if all(state.converged for state in states):
            break
    return states
