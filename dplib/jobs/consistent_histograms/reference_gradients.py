"""Conjugate gradients in the paper's own grouping: the two projections of a plain round, one job a round.

Vectors live on the days of a series, so that each series carries its own: with ``P`` the projection of the days onto
their constraints and ``f`` the affine one, ``g = f(x) - x`` is the way that is left, ``d`` the direction. A round is

    series   x += alpha step;  g -= alpha a;  d = g + beta d;  step = tree projection of d
    days     a = step - P step;  <g, g>, <d, step>, <g, a>, <a, a> are tallied in the weights of the days

It is `dplib.projection.alternating.conjugate_gradients` with ``g = W^-1 E^T M r`` in place of the residual ``r``, for M
the inverse of ``E W^-1 E^T``: ``<r, M r> = <g, g>`` and ``<lambda, E step> = <d, step>``. Both lengths of a round
follow from its own tallies (``<g, g>`` after it is ``<g, g> - 2 alpha <g, a> + alpha^2 <a, a>``), so that a round takes
two shuffles as a plain one does.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.day_projection import RowProjection, project_days
from dplib.consistency.problem import SolverOptions
from dplib.jobs.consistent_histograms.block_rounds import TASK, RoundGroup
from dplib.jobs.consistent_histograms.block_shapes import day_constraints_between
from dplib.jobs.consistent_histograms.node_ranges import NodeRanges, joined, matrix, split_tree, vector
from dplib.progress import Progress, Round
from dplib.projection.residual import mean_square_residual
from dplib.spark.engine.blocks import Block, DataFrame, collect_blocks, iterate_blocks
from dplib.spark.engine.regroup import join_pieces, map_parts, split_blocks

CUT_EVERY = 8
"""Rounds after which Spark's plan is cut by a checkpoint."""
_STATE = "values", "left", "direction", "step", "applied"
_TALLIES = 6


@dataclass(eq=False)
class GradientProgress:
    """Where the conjugate gradients of one group are.

    Attributes:
        group: the group.
        alpha: length of the step that is to be taken.
        beta: factor of the old direction.
        first: <g, g> at the start.
        change: mean change of the step that is to be taken; None before the first.
        rounds: the rounds so far.
        converged: whether the stop rule was met.
    """

    group: RoundGroup
    alpha: float = 0.0
    beta: float = 0.0
    first: float = 0.0
    change: float | None = None
    rounds: list[Round] = field(default_factory=list)
    converged: bool = False

    def record(self, deviation: float, progress: Progress) -> None:
        """Note the round whose step has been taken."""
        if self.change is not None:
            self.rounds.append(Round(len(self.rounds) + 1, self.change, deviation))
            progress.round(self.rounds[-1])

    def advance(self, tally: FloatArray, n_nodes: int, tol: float) -> None:
        """From a round's tallies to the length of its step and the factor of its direction."""
        energy, dot, mixed, square, length, _ = tally.tolist()
        self.alpha = energy / dot
        left = max(0.0, energy - 2 * self.alpha * mixed + self.alpha**2 * square)
        self.beta = left / energy
        self.change = abs(self.alpha) * length / (n_nodes * len(self.group.series))
        self.converged = self.change <= tol or left <= 1e-30 * self.first


def gradient_rounds(
    stack: ExitStack,
    ranges: NodeRanges,
    groups: Sequence[RoundGroup],
    start: DataFrame,
    values: FloatArray,
    options: SolverOptions,
    progress: Progress,
) -> tuple[FloatArray, list[GradientProgress]]:
    """Run rounds until every group stops.

    Args:
        stack: drops what is persisted.
        ranges: how nodes are grouped.
        groups: the groups with their measured series.
        start: a row a series with its noisy counts.
        values: the noisy counts, shape (n_nodes, n_series).
        options: stop rule.
        progress: told of each round of each group.

    Returns:
        The values (those of series that are not measured say nothing), and where each group ended.
    """
    states = [GradientProgress(group) for group in groups]
    items, tallies = _next(stack, _started(ranges, groups, start), values.shape[1], 0)
    for state in states:
        state.first = float(tallies[state.group.series, 0].sum())
        state.converged = state.first <= 0.0
    for number in range(1, options.max_rounds + 1):
        active = [state for state in states if not state.converged]
        if not active:
            break
        items, tallies = _next(stack, _advanced(ranges, active, items, values.shape[1]), values.shape[1], number)
        for state in active:
            tally = tallies[state.group.series].sum(axis=0)
            state.record(tally[-1] / (ranges.tree.n_nodes * len(state.group.series)), progress)
            state.advance(tally, ranges.tree.n_nodes, options.tol)
    values = _taken(states, items, values)
    for state in states:
        own = values[:, state.group.series]
        state.record(mean_square_residual(ranges.tree, state.group.day_constraints, own), progress)
    return values, states


def _next(stack: ExitStack, items: DataFrame, n_series: int, number: int) -> tuple[DataFrame, FloatArray]:
    """Compute a round's rows; returns them and the tallies by series."""
    items = items.localCheckpoint(eager=False) if number and number % CUT_EVERY == 0 else items.persist()
    stack.callback(items.unpersist)
    tallies = np.zeros((n_series, _TALLIES))
    for series, columns in collect_blocks(items.select("block", "tally"), TASK):
        tallies[series] = vector(columns["tally"])
    return items, tallies


def _taken(states: Sequence[GradientProgress], items: DataFrame, values: FloatArray) -> FloatArray:
    """The values with the last step of each group taken."""
    lengths = np.zeros(values.shape[1])
    for state in states:
        lengths[state.group.series] = state.alpha
    found = values.copy()
    for series, columns in iterate_blocks(items.select("block", "values", "step"), TASK):
        found[:, series] = vector(columns["values"]) + lengths[series] * vector(columns["step"])
    return found


def _started(ranges: NodeRanges, groups: Sequence[RoundGroup], start: DataFrame) -> DataFrame:
    trees = split_blocks(start, partial(split_tree, ranges), ["values"])
    days = map_parts(trees, partial(_begin_range, ranges, groups), ["values", "left"])
    return join_pieces(days, partial(_join_start, ranges), [*_STATE, "tally"])


def _begin_range(
    ranges: NodeRanges, groups: Sequence[RoundGroup], part: int, pieces: Mapping[int, Block]
) -> dict[int, Block]:
    """``f(x) - x`` on the days of a range; nothing above the days."""
    days = ranges.days(part)
    found: dict[int, Block] = {series: {**piece, "left": b""} for series, piece in pieces.items()}
    for group in groups if days is not None else ():
        assert days is not None
        values = matrix(pieces, group.series, "values")
        left = range_projection(ranges, group, days)(values) - values
        for place, series in enumerate(group.series):
            found[int(series)] = {**pieces[int(series)], "left": left[:, place].tobytes()}
    return found


def _join_start(ranges: NodeRanges, series: int, pieces: Mapping[int, Block]) -> Block:
    left = vector(b"".join(piece["left"] for piece in pieces.values()))
    nodes, days = np.zeros(ranges.tree.n_nodes).tobytes(), np.zeros(ranges.tree.n_leaves).tobytes()
    tally = np.zeros(_TALLIES)
    tally[0] = left @ left
    left = left if len(left) else np.zeros(ranges.tree.n_leaves)
    return {
        **joined(series, pieces),
        "left": left.tobytes(),
        "direction": days,
        "step": nodes,
        "applied": days,
        "tally": tally.tobytes(),
    }


def _advanced(ranges: NodeRanges, active: Sequence[GradientProgress], items: DataFrame, n_series: int) -> DataFrame:
    lengths = np.full((n_series, 2), np.nan)
    for state in active:
        lengths[state.group.series] = state.alpha, state.beta
    groups = [state.group for state in active]
    trees = split_blocks(items.select("block", *_STATE), partial(_split_round, ranges, lengths), _STATE[:-1])
    days = map_parts(trees, partial(_project_range, ranges, groups), [*_STATE, "tally"])
    return join_pieces(days, partial(_join_round, ranges, lengths), [*_STATE, "tally"])


def _split_round(ranges: NodeRanges, lengths: FloatArray, series: int, columns: Block) -> dict[int, Block]:
    """The step of the round before, and the tree projection of the new direction; as it is where a group is done."""
    values, left, direction, step, applied = (vector(columns[name]) for name in _STATE)
    alpha, beta = lengths[series]
    if not np.isnan(alpha):
        values, left = values + alpha * step, left - alpha * applied
        direction = left + beta * direction
        spread = np.zeros((len(values), 1))
        spread[ranges.tree.leaf_nodes, 0] = direction
        step = ranges.project_tree(spread)[:, 0]
    found: dict[int, Block] = {}
    for part in range(ranges.n_ranges):
        nodes, days = ranges.nodes(part), slice(*(ranges.days(part) or (0, 0)))
        arrays = values[nodes], left[days], direction[days], step[nodes]
        found[part] = {name: array.tobytes() for name, array in zip(_STATE, arrays, strict=False)}
    return found


def _project_range(
    ranges: NodeRanges, groups: Sequence[RoundGroup], part: int, pieces: Mapping[int, Block]
) -> dict[int, Block]:
    """``step - P step`` on the days of a range, and its tallies; the squared residual at the first series."""
    days = ranges.days(part)
    size = b"" if days is None else np.zeros(days[1] - days[0]).tobytes()
    nothing = {"applied": size, "tally": np.zeros(_TALLIES).tobytes()}
    found: dict[int, Block] = {series: {**piece, **nothing} for series, piece in pieces.items()}
    for group in groups:
        step = matrix(pieces, group.series, "step")
        tally, applied = np.zeros((len(group.series), _TALLIES)), np.zeros((0, len(group.series)))
        tally[:, 4] = np.abs(step).sum(axis=0)
        if days is not None:
            left, direction = (matrix(pieces, group.series, name) for name in ("left", "direction"))
            applied = step - replace(range_projection(ranges, group, days), points=None)(step)
            products = (left, left), (direction, step), (left, applied), (applied, applied)
            tally[:, :4] = np.stack([(one * other).sum(axis=0) for one, other in products], axis=1)
            values = matrix(pieces, group.series, "values")
            tally[0, 5] = sum(
                float(((values[daily.first : daily.end] @ daily.matrix.T - daily.rhs) ** 2).sum())
                for daily in day_constraints_between(group.day_constraints, *days)
            )
        for place, series in enumerate(group.series):
            own = {"applied": applied[:, place].tobytes(), "tally": tally[place].tobytes()}
            found[int(series)] = {**pieces[int(series)], **own}
    return found


def range_projection(ranges: NodeRanges, group: RoundGroup, days: tuple[int, int]) -> RowProjection:
    """The days of a range onto the constraints of a group."""
    variance = np.broadcast_to(ranges.variance[-1], (days[1] - days[0], len(group.series)))
    rows = np.arange(days[1] - days[0])
    return project_days(day_constraints_between(group.day_constraints, *days), variance, rows)


def _join_round(ranges: NodeRanges, lengths: FloatArray, series: int, pieces: Mapping[int, Block]) -> Block:
    whole = {name: b"".join(piece[name] for piece in pieces.values()) for name in _STATE}
    tally = np.sum([vector(piece["tally"]) for piece in pieces.values()], axis=0)
    if not np.isnan(lengths[series, 0]):
        values = vector(whole["values"])[:, None]
        tally[5] += ranges.square_residual(values)
    return {**whole, "tally": tally.tobytes()}
