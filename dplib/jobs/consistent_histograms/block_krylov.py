"""Conjugate gradients cut into blocks: two jobs a round, the driver holding the scalars and the top of the tree.

State of a block: its values, and for each group the residual and the direction of its days. A round is

    advance   direction <- M residual + beta direction;  step = tree projection of W^-1 E^T direction
              (the driver solves the top); the block sends <direction, E step>
    move      values += length step;  residual -= length E step;  the block sends <residual, M residual>

with M the preconditioner of the days. The mean of a root is linear in the direction, so the block sends that of
``M residual`` and the driver adds beta times the last one. Notation and stop rule as in
`dplib.projection.alternating.conjugate_gradients`; the inner products are sums over blocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.day_multipliers import DayMultipliers
from dplib.consistency.problem import SolverOptions
from dplib.estimates.tree_blue import downward, upward
from dplib.jobs.consistent_histograms.block_rounds import (
    TASK,
    GroupProgress,
    RoundBlocks,
    block_values,
    pass_top,
    top_square,
)
from dplib.jobs.consistent_histograms.block_solvers import top_gains
from dplib.jobs.consistent_histograms.design import Design
from dplib.progress import Progress
from dplib.spark.engine.blocks import Block
from dplib.spark.engine.rounds import BlockRounds


class Start(NamedTuple):
    """First message for a group: the values of the blocks' roots after the first tree pass."""

    roots: FloatArray


class Advance(NamedTuple):
    """Second kind of message: the factor of the old direction, and the blocks' roots of the step."""

    beta: float
    roots: FloatArray


class Move(NamedTuple):
    """Third kind of message: how far to go."""

    length: float


@dataclass(eq=False)
class GroupVectors:
    """One group's vectors inside a block.

    Attributes:
        left: residual with the opposite sign, shape (n_days, height).
        direction: shape (n_days, height).
        step: shape (n_nodes, series); between `Advance` and `Move` only.
        applied: ``E step``, shape (n_days, height).
    """

    left: FloatArray
    direction: FloatArray
    step: FloatArray | None = None
    applied: FloatArray | None = None


@dataclass(eq=False)
class KrylovState:
    """Values of a block's nodes, shape (n_nodes, n_series), and the vectors of each group (none before `Start`)."""

    values: FloatArray
    groups: list[GroupVectors] = field(default_factory=list)


class KrylovSummary(NamedTuple):
    """Sums over all blocks for one group, and the means and values of their roots."""

    dot: float
    length: float
    energy: float
    square: float
    means: FloatArray
    roots: FloatArray


_SCALARS = 4


@dataclass(eq=False)
class KrylovStepper:
    """What happens inside a block; a message holds one of the above for each group, or None where it is done.

    Attributes:
        blocks: the settings.
        columns: of a stored state.
    """

    blocks: RoundBlocks
    columns: tuple[str, ...] = ("values", "left", "direction")
    _days: dict[tuple[int, ...], DayMultipliers] = field(default_factory=dict)

    def days(self, block: int, number: int) -> DayMultipliers:
        """The constraints of a block's days for one group."""
        group, shapes = self.blocks.groups[number], self.blocks.shapes
        key = (number, *shapes.key(block, group.day_constraints))
        if key not in self._days:
            variance = self.blocks.day_variance(block, number)
            self._days[key] = DayMultipliers(shapes.day_constraints(block, group.day_constraints), variance)
        return self._days[key]

    def load(self, block: int, columns: Block) -> KrylovState:
        """The noisy counts, or a stored state."""
        state = KrylovState(block_values(self.blocks.shapes, block, columns))
        if "left" in columns:
            left, direction = (np.frombuffer(columns[name], "<f8") for name in ("left", "direction"))
            n_days, start = self.blocks.shapes.tree(block).n_leaves, 0
            for number in range(len(self.blocks.groups)):
                height = self.days(block, number).height
                part = slice(start, start + n_days * height)
                shape = (n_days, height)
                state.groups.append(GroupVectors(left[part].reshape(shape), direction[part].reshape(shape)))
                start = part.stop
        return state

    def store(self, block: int, state: KrylovState) -> Block:
        """Values, residuals and directions."""
        return {
            "values": state.values.astype("<f8").tobytes(),
            "left": b"".join(each.left.astype("<f8").tobytes() for each in state.groups),
            "direction": b"".join(each.direction.astype("<f8").tobytes() for each in state.groups),
        }

    def step(self, block: int, state: KrylovState, message: Sequence[Start | Advance | Move | None]) -> KrylovState:
        """Take one message for each group."""
        values = state.values.copy()
        vectors = []
        for number, part in enumerate(message):
            old = state.groups[number] if state.groups else None
            vectors.append(self._step(block, number, values, old, part))
        return KrylovState(values, vectors)

    def _step(
        self,
        block: int,
        number: int,
        values: FloatArray,
        old: GroupVectors | None,
        message: Start | Advance | Move | None,
    ) -> GroupVectors:
        """Change the group's columns of the values in place; returns its vectors."""
        series = self.blocks.groups[number].series
        days, leaves = self.days(block, number), self.blocks.shapes.tree(block).leaf_nodes
        if isinstance(message, Start):
            gains = self.blocks.gains.of(block)
            values[:, series] = downward(gains, upward(gains, values[:, series]), message.roots[block])
            left = -days.residual(values[leaves][:, series])
            return GroupVectors(left, np.zeros_like(left))
        assert old is not None
        if isinstance(message, Advance):
            direction = days.precondition(old.left) + message.beta * old.direction
            gains = self.blocks.gains.of(block)
            step = downward(gains, self._means(block, number, direction), message.roots[block])
            applied = days.residual(step[leaves]) - days.residual(np.zeros_like(step[leaves]))
            return GroupVectors(old.left, direction, step, applied)
        if message is None:
            return GroupVectors(old.left, old.direction)
        assert old.step is not None
        assert old.applied is not None
        values[:, series] += message.length * old.step
        return GroupVectors(old.left - message.length * old.applied, old.direction)

    def _means(self, block: int, number: int, multipliers: FloatArray) -> FloatArray:
        """The pass upwards of ``W^-1 E^T lambda``."""
        tree = self.blocks.shapes.tree(block)
        moved = np.zeros((tree.n_nodes, len(self.blocks.groups[number].series)))
        moved[tree.leaf_nodes] = self.days(block, number).moves(multipliers)
        return upward(self.blocks.gains.of(block), moved)

    def summary(self, block: int, state: KrylovState) -> bytes:
        """The scalars of a group, then mean and value of its root."""
        parts: list[FloatArray] = []
        for number, group in enumerate(self.blocks.groups):
            values = state.values[:, group.series]
            if not state.groups:
                parts += [np.zeros(_SCALARS), upward(self.blocks.gains.of(block), values)[0], values[0]]
                continue
            vectors = state.groups[number]
            if vectors.step is not None and vectors.applied is not None:
                dot = float((vectors.direction * vectors.applied).sum())
                parts += [np.array([dot, np.abs(vectors.step).sum(), 0.0, 0.0]), np.zeros_like(values[0]), values[0]]
                continue
            scaled = self.days(block, number).precondition(vectors.left)
            energy = float((vectors.left * scaled).sum())
            square = self.blocks.square_residual(block, number, values)
            parts += [np.array([0.0, 0.0, energy, square]), self._means(block, number, scaled)[0], values[0]]
        return np.concatenate(parts).astype("<f8").tobytes()

    def read(self, summaries: Sequence[bytes]) -> list[KrylovSummary]:
        """Put the blocks' summaries together, by group; sums in the order of the blocks."""
        table = np.array([np.frombuffer(summary, "<f8") for summary in summaries])
        found, start = [], 0
        for group in self.blocks.groups:
            width, at = len(group.series), start + _SCALARS
            dot, length, energy, square = table[:, start:at].sum(axis=0).tolist()
            means, roots = table[:, at : at + width], table[:, at + width : at + 2 * width]
            found.append(KrylovSummary(dot, length, energy, square, means, roots))
            start = at + 2 * width
        return found


@dataclass(eq=False)
class KrylovProgress(GroupProgress):
    """Where the conjugate gradients of one group are.

    Attributes:
        energy: <residual, M residual>.
        first: its first value.
        beta: factor of the old direction.
        slope: means of the blocks' roots for the direction, shape (n_blocks, series).
    """

    energy: float = 0.0
    first: float = 0.0
    beta: float = 0.0
    slope: FloatArray = field(default_factory=lambda: np.zeros(0))


def conjugate_blocks(
    rounds: BlockRounds,
    stepper: KrylovStepper,
    design: Design,
    top: FloatArray,
    options: SolverOptions,
    progress: Progress,
) -> list[KrylovProgress]:
    """Run conjugate gradients until every group stops; as `alternate_blocks`."""
    gains, tree, groups = top_gains(design), design.blocks.top_tree, stepper.blocks.groups
    found = stepper.read(rounds.send(None, TASK))
    states, begin = [], []
    for group, summary in zip(groups, found, strict=True):
        values, roots = pass_top(gains, top[:, group.series], summary.means)
        states.append(KrylovProgress(values, summary.means))
        begin.append(Start(roots))
    for state, summary in zip(states, stepper.read(rounds.send(begin, TASK)), strict=True):
        state.energy = state.first = summary.energy
        state.slope, state.converged = summary.means, summary.energy <= 0.0
    for _ in range(options.max_rounds):
        active = [number for number, state in enumerate(states) if not state.converged]
        if not active:
            break
        advance: list[Advance | None] = [None] * len(states)
        steps: dict[int, FloatArray] = {}
        for number in active:
            steps[number], roots = pass_top(gains, np.zeros_like(states[number].top), states[number].slope)
            advance[number] = Advance(states[number].beta, roots)
        sent = stepper.read(rounds.send(advance, TASK))
        move: list[Move | None] = [None] * len(states)
        for number in active:
            move[number] = Move(states[number].energy / sent[number].dot)
        found = stepper.read(rounds.send(move, TASK, ends_round=True))
        for number in active:
            state, summary, moved = states[number], found[number], move[number]
            assert moved is not None
            state.top = state.top + moved.length * steps[number]
            size = design.tree.n_nodes * len(groups[number].series)
            change = abs(moved.length) * (sent[number].length + float(np.abs(steps[number]).sum())) / size
            square = summary.square + top_square(tree, state.top, summary.roots)
            state.record(change, square / size, options.tol, progress)
            # As in one process: below the square of the machine precision the residual is rounding.
            state.converged |= summary.energy <= 1e-30 * state.first
            state.beta = summary.energy / state.energy
            state.energy = summary.energy
            state.slope = summary.means + state.beta * state.slope
    return states
