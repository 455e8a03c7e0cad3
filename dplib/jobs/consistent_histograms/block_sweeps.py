"""Conjugate gradients on sweeps through a split, cut into blocks: two jobs a round (`projection.alternating`).

State of a block: its values x and the direction d of the last step. A round is

    go      x += length d;  y = x through the block's own groups there and back (and through the sums of its own nodes);
            the block sends the energy of the way there, and what the driver needs of y - x at its root
    turn    with the root's move from the driver:  d = g + beta d, g the move of the whole sweep;  it sends <d, d>

Trees are the first set: x lies in it, so only the way back passes it, and a block sends its root's mean on the way up.
Sums one by one go from the root of the tree down and back, the driver's before the block's. The driver holds the nodes
above the blocks, and of the blocks' roots what moves them. Inner products are sums over blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.lblue import equation_maps
from dplib.consistency.matrix_free import MAX_ROUNDS, TOL
from dplib.consistency.problem import SolverOptions
from dplib.errors import SolverError
from dplib.estimates.tree_blue import downward, upward
from dplib.jobs.consistent_histograms.block_rounds import (
    TASK,
    GroupProgress,
    RoundBlocks,
    block_values,
    pass_top,
    top_nodes,
    top_square,
)
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.round_groups import RoundGroup
from dplib.progress import SILENT, Progress
from dplib.projection.alternating import Map, sweep
from dplib.spark.engine.blocks import Block
from dplib.spark.engine.rounds import Rounds


class Start(NamedTuple):
    """First message for a group: the values of the blocks' roots inside the first set."""

    roots: FloatArray


class Go(NamedTuple):
    """How far to go along the last direction, and where the driver's sums leave the blocks' roots."""

    length: float
    roots: FloatArray | None


class Turn(NamedTuple):
    """By what the sweep moves the blocks' roots, and the factor of the old direction."""

    roots: FloatArray
    beta: float


Part = Start | Go | Turn | None


@dataclass(eq=False)
class SweepState:
    """Of a block, shapes (n_nodes, n_series).

    Attributes:
        values: x.
        direction: d.
        moved: y - x of each group; between `Go` and `Turn` only.
        tallies: of each group: energy (after `Go`), <d, d> and the sum of |d| (after `Turn`).
    """

    values: FloatArray
    direction: FloatArray
    moved: dict[int, FloatArray] = field(default_factory=dict)
    tallies: dict[int, tuple[float, float, float]] = field(default_factory=dict)


class SweepSummary(NamedTuple):
    """Sums over all blocks for one group, what they sent of their roots, and the values of these."""

    energy: float
    dot: float
    length: float
    square: float
    sent: FloatArray
    roots: FloatArray


@dataclass(eq=False)
class SweepStepper:
    """What happens inside a block; a message holds one of the above for each group, or None where it is done.

    Attributes:
        blocks: the settings.
        columns: of a stored state.
    """

    blocks: RoundBlocks
    columns: tuple[str, ...] = ("values", "direction")

    def load(self, block: int, columns: Block) -> SweepState:
        """The noisy counts, or a stored state."""
        values = block_values(self.blocks.shapes, block, columns)
        if "direction" not in columns:
            return SweepState(values, np.zeros_like(values))
        return SweepState(values, np.frombuffer(columns["direction"], "<f8").reshape(values.shape))

    def store(self, _: int, state: SweepState) -> Block:
        """Values and directions."""
        return {name: getattr(state, name).astype("<f8").tobytes() for name in self.columns}

    def step(self, block: int, state: SweepState, message: Sequence[Part]) -> SweepState:
        """Take one message for each group."""
        found = SweepState(state.values.copy(), state.direction.copy())
        for number, (group, part) in enumerate(zip(self.blocks.groups, message, strict=True)):
            values, direction = found.values[:, group.series], found.direction[:, group.series]
            if isinstance(part, Start):
                values = self._started(block, number, values, part.roots[block])
            elif isinstance(part, Go):
                values = values + part.length * direction
                root = None if part.roots is None else part.roots[block]
                found.moved[number], energy = self._swept(block, number, values, root)
                found.tallies[number] = energy, 0.0, 0.0
            elif isinstance(part, Turn):
                move = self._received(block, number, state.moved[number], part.roots[block])
                direction = move + part.beta * direction
                weight = group.weight(self.blocks.nodes(block).level)
                dot = float((weight * direction**2).sum())
                found.tallies[number] = 0.0, dot, float(np.abs(direction).sum())
            found.values[:, group.series], found.direction[:, group.series] = values, direction
        return found

    def _started(self, block: int, number: int, values: FloatArray, root: FloatArray) -> FloatArray:
        """Inside the first set."""
        if self.blocks.groups[number].by_trees:
            gains = self.blocks.gains[number].of(block)
            return downward(gains, upward(gains, values), root)
        if self.blocks.shapes.cut_level == 0 and self.blocks.sums(block, number):
            return self.blocks.sums(block, number)[0](values)
        return np.concatenate([root[None], values[1:]])

    def _swept(self, block: int, number: int, values: FloatArray, root: FloatArray | None) -> tuple[FloatArray, float]:
        """Y - x and the energy: through the groups there and back, but for what passes the root."""
        maps: list[Map] = [*self.blocks.maps(block, number)]
        start = values
        if root is not None:
            start = np.concatenate([root[None], values[1:]])
            maps = [*self.blocks.sums(block, number), *maps]
        weight = self.blocks.groups[number].weight(self.blocks.nodes(block).level)
        if root is not None and self.blocks.shapes.cut_level == 0 and len(values) > 1:
            # The whole tree in one block starts inside the first of its sums.
            end, energy = sweep(maps[1:], start, weight)
            return maps[0](end - values), energy
        end, energy = sweep(maps, start, weight)
        return end - values, energy

    def _received(self, block: int, number: int, moved: FloatArray, root: FloatArray) -> FloatArray:
        """The move of the whole sweep."""
        if self.blocks.groups[number].by_trees:
            gains = self.blocks.gains[number].of(block)
            return downward(gains, upward(gains, moved), root)
        return np.concatenate([root[None], moved[1:]])

    def summary(self, block: int, state: SweepState) -> bytes:
        """The scalars of a group, what it sends of its root, and the root's values."""
        parts: list[FloatArray] = []
        for number, group in enumerate(self.blocks.groups):
            values = state.values[:, group.series]
            sent = state.moved.get(number, values)
            if group.by_trees:
                sent = upward(self.blocks.gains[number].of(block), sent)
            tallies = state.tallies.get(number, (0.0, 0.0, 0.0))
            square = self.blocks.square_residual(block, number, values) if number in state.moved else 0.0
            parts += [np.array([*tallies, square]), sent[0], values[0]]
        return np.concatenate(parts).astype("<f8").tobytes()

    def read(self, summaries: Sequence[bytes]) -> list[SweepSummary]:
        """Put the blocks' summaries together, by group; sums in the order of the blocks."""
        table = np.array([np.frombuffer(summary, "<f8") for summary in summaries])
        found, start = [], 0
        for group in self.blocks.groups:
            at, width = start + 4, len(group.series)
            start = at + 2 * width
            energy, dot, length, square = table[:, at - 4 : at].sum(axis=0).tolist()
            sent, roots = table[:, at : at + width], table[:, at + width : start]
            found.append(SweepSummary(energy, dot, length, square, sent, roots))
        return found


class SweepProgress(GroupProgress):
    """Where the conjugate gradients of one group are: ``top`` and ``direction`` hold the blocks' roots too."""

    def __init__(
        self, blocks: RoundBlocks, design: Design, number: int, noisy: FloatArray, found: SweepSummary
    ) -> None:
        super().__init__(np.concatenate([noisy, found.roots]), found.sent)
        self.group: RoundGroup = blocks.groups[number]
        self.n_top, self.is_tree, tree = len(noisy), self.group.by_trees, design.tree.top(blocks.shapes.cut_level)
        self.level = tree.level
        self.gains = blocks.top_gains(design, number) if self.is_tree else None
        self.maps: list[Map] = [] if self.is_tree else equation_maps(tree, self.group.variance[tree.level])[::-1]
        self.others = self.group.maps(top_nodes(design))
        self.weight = self.group.weight(self.level)
        self.direction = np.zeros_like(self.top)
        self.swept, self.energies = self.top, [0.0]
        self.length = self.beta = self.energy = 0.0
        self.change: float | None = None

    def start(self) -> Start:
        """Inside the first set."""
        if self.gains is not None:
            self.top = np.concatenate(pass_top(self.gains, self.top[: self.n_top], self.means))
        elif self.maps:
            self.top = self.maps[0](self.top)
        return Start(self.top[self.n_top :])

    def go(self) -> Go:
        """The step, and the driver's part of the way there and back between its sums."""
        self.top = self.top + self.length * self.direction
        self.swept, self.energy = self.top, 0.0
        for each in self.maps[1:]:
            before, self.swept = self.swept, each(self.swept)
            self.energy += float((self.weight * (self.swept - before) ** 2).sum())
        own = self.swept[: self.n_top]
        inner, energy = sweep(self.others, own, self.weight[: self.n_top])
        self.swept, self.energy = np.concatenate([inner, self.swept[self.n_top :]]), self.energy + energy
        return Go(self.length, None if self.is_tree else self.swept[self.n_top :])

    def turn(self, found: SweepSummary) -> Turn:
        """The driver's part of the way back, and the factor of the old direction."""
        self.energies.append(self.energy + found.energy)
        self.beta = self.energies[-1] / self.energies[-2] if len(self.energies) > 2 else 0.0
        if self.gains is not None:
            above = (self.swept - self.top)[: self.n_top]
            move = np.concatenate(pass_top(self.gains, above, found.sent))
        else:
            end = np.concatenate([self.swept[: self.n_top], self.top[self.n_top :] + found.sent])
            for each in self.maps[::-1]:
                end = each(end)
            move = end - self.top
        self.direction = move + self.beta * self.direction
        return Turn(move[self.n_top :], self.beta)

    def advance(self, found: SweepSummary, size: int) -> None:
        """The length of the step."""
        own = self.direction[: self.n_top]
        dot = found.dot + float((self.weight[: self.n_top] * own**2).sum())
        self.length = self.energies[-1] / dot
        self.change = abs(self.length) * (found.length + float(np.abs(own).sum())) / size

    def exact(self, relative: float) -> bool:
        """Whether the energy is rounding, or as small beside the first one and falls no more."""
        after = self.energies[2:]
        wanted = relative * self.energies[1]
        stalled = len(after) > 10 and min(after[-10:]) >= 0.25 * min(after[:-10])
        return self.energies[-1] <= wanted or (relative > ROUNDING and stalled and after[-1] <= 1e6 * wanted)


ROUNDING = 1e-30
"""Energy at which directions are noise, relative to the first."""


def sweep_blocks(
    rounds: Rounds,
    stepper: SweepStepper,
    design: Design,
    top: FloatArray,
    options: SolverOptions,
    progress: Progress,
    relative: float = ROUNDING,
) -> list[SweepProgress]:
    """Run conjugate gradients until every group stops; as `alternate_blocks`.

    Args:
        rounds: the blocks.
        stepper: that of the blocks.
        design: the design.
        top: noisy counts of the nodes above the blocks, shape (n_top_nodes, n_series).
        options: stop rule.
        progress: told of each round of each group.
        relative: energy at which rounds end besides, relative to the first.
    """
    blocks, tree = stepper.blocks, design.blocks.top_tree
    found = stepper.read(rounds.send(None, TASK))
    states = [
        SweepProgress(blocks, design, number, top[:, group.series], found[number])
        for number, group in enumerate(blocks.groups)
    ]
    rounds.send([state.start() for state in states], TASK)
    for number in range(options.max_rounds + 1):
        active = [place for place, state in enumerate(states) if not state.converged]
        message: list[Part] = [None] * len(states)
        for place in active:
            message[place] = states[place].go()
        found = stepper.read(rounds.send(message, TASK))
        turn: list[Part] = [None] * len(states)
        for place in active:
            state, size = states[place], design.tree.n_nodes * len(blocks.groups[place].series)
            if state.change is not None:
                square = found[place].square + top_square(tree, state.top[: state.n_top], found[place].roots)
                state.record(state.change, square / size, options.tol, progress)
            turn[place] = state.turn(found[place])
            state.converged |= state.exact(relative)
            turn[place] = None if state.converged else turn[place]
        if number == options.max_rounds or all(state.converged for state in states):
            break
        found = stepper.read(rounds.send(turn, TASK, ends_round=True))
        for place in active:
            if turn[place] is not None:
                size = design.tree.n_nodes * len(blocks.groups[place].series)
                states[place].advance(found[place], size)
    for state in states:
        if relative > ROUNDING and not state.converged:
            raise SolverError("constraints", f"let conjugate gradients end within {options.max_rounds} rounds")
        state.top = state.top[: state.n_top]
    return states


def sweep_to_the_end(rounds: Rounds, stepper: SweepStepper, design: Design, top: FloatArray) -> list[SweepProgress]:
    """Run conjugate gradients as far as the matrix-free solver in one process; arguments as of `sweep_blocks`.

    Raises:
        SolverError: if they do not get there.
    """
    return sweep_blocks(rounds, stepper, design, top, SolverOptions(0.0, MAX_ROUNDS), SILENT, TOL**2)
