"""Conjugate gradients in the paper's own grouping: sweeps through the split, a job a round (`projection.alternating`).

Vectors live on the nodes of a series, so that each series carries its own. A round is

    series   d = g + beta d;  x += alpha d;  the way there through each sum by itself, where the split names sums
    ranges   through the other groups of the split there and back
    series   the way back through the trees or the sums: g is the move of the whole;  <g, g> and <g, d> are tallied,
             with the energy of the way there

Both lengths of a round follow from its tallies (``<d, d>`` is ``<g, g> + 2 beta <g, d> + beta^2 <d, d>`` of before), so
that a round takes two shuffles as a plain one does.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.lblue import equation_maps
from dplib.consistency.problem import SolverOptions
from dplib.jobs.consistent_histograms.block_rounds import TASK
from dplib.jobs.consistent_histograms.block_shapes import day_constraints_between
from dplib.jobs.consistent_histograms.node_ranges import NodeRanges, matrix, vector
from dplib.jobs.consistent_histograms.round_groups import RoundGroup
from dplib.progress import Progress, Round
from dplib.projection.alternating import Map, sweep
from dplib.spark.engine.blocks import Block, DataFrame, collect_blocks, iterate_blocks
from dplib.spark.engine.regroup import join_pieces, map_parts, split_blocks

CUT_EVERY = 8
"""Rounds after which Spark's plan is cut by a checkpoint."""
_STATE = "values", "direction", "move"
_TALLIES = 5


@dataclass(eq=False)
class GradientProgress:
    """Where the conjugate gradients of one group are.

    Attributes:
        group: the group.
        alpha: length of the next step.
        beta: factor of the old direction in it.
        square: <d, d> of the next direction.
        energies: of the sweeps so far.
        rounds: the rounds so far.
        converged: whether the stop rule was met.
    """

    group: RoundGroup
    alpha: float = 0.0
    beta: float = 0.0
    square: float = 0.0
    energies: list[float] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    converged: bool = False

    def advance(self, tally: FloatArray, n_nodes: int, tol: float, progress: Progress) -> None:
        """From the tallies of a sweep: the round whose step came before it, and the next step."""
        energy, own, mixed, change, deviation = tally.tolist()
        size = n_nodes * len(self.group.series)
        if self.energies:
            self.rounds.append(Round(len(self.rounds) + 1, change / size, deviation / size))
            progress.round(self.rounds[-1])
            self.converged = change / size <= tol
        self.energies.append(energy)
        self.converged |= energy <= 1e-30 * self.energies[0]
        if not self.converged:
            self.beta = energy / self.energies[-2] if len(self.energies) > 1 else 0.0
            self.square = own + 2 * self.beta * mixed + self.beta**2 * self.square
            self.alpha = energy / self.square


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
    states, items = [GradientProgress(group) for group in groups], start
    for number in range(options.max_rounds + 1):
        active = [state for state in states if not state.converged]
        if not active:
            break
        items = _advanced(ranges, active, items, values.shape[1], number == 0)
        items = items.localCheckpoint(eager=False) if number and number % CUT_EVERY == 0 else items.persist()
        stack.callback(items.unpersist)
        tallies = np.zeros((values.shape[1], _TALLIES))
        for series, columns in collect_blocks(items.select("block", "tally"), TASK):
            tallies[series] = vector(columns["tally"])
        for state in active:
            state.advance(tallies[state.group.series].sum(axis=0), ranges.tree.n_nodes, options.tol, progress)
    found = np.empty_like(values, dtype=np.float64)
    for series, columns in iterate_blocks(items.select("block", "values"), TASK):
        found[:, series] = vector(columns["values"])
    return found, states


def _advanced(
    ranges: NodeRanges, active: Sequence[GradientProgress], items: DataFrame, n_series: int, first: bool
) -> DataFrame:
    """One round; the first has no step to take."""
    lengths = np.full((n_series, 2), np.nan)
    for state in active:
        lengths[state.group.series] = state.alpha, state.beta
    groups, names = [state.group for state in active], ["before", "swept", "direction", "tally"]
    columns = ["values"] if first else [*_STATE]
    split = split_blocks(items.select("block", *columns), partial(_split_round, ranges, groups, lengths), names)
    swept = map_parts(split, partial(_sweep_range, ranges, groups), names)
    return join_pieces(swept, partial(_join_round, ranges, groups, lengths), [*_STATE, "tally"])


def _sums(ranges: NodeRanges, groups: Sequence[RoundGroup], series: int) -> list[Map] | None:
    """The sums of a series' tree from the root down; None where its group takes whole trees."""
    group = next((group for group in groups if series in group.series), None)
    if group is None or group.by_trees:
        return None
    variance = group.variance[:, group.series == series]
    return equation_maps(ranges.tree, variance[ranges.tree.level])[::-1]


def _split_round(
    ranges: NodeRanges, groups: Sequence[RoundGroup], lengths: FloatArray, series: int, columns: Block
) -> dict[int, Block]:
    """The step, and the way there through the sums; as it is where a group is done."""
    values, tally = vector(columns["values"])[:, None], np.zeros(_TALLIES)
    direction = np.zeros_like(values)
    sums = _sums(ranges, groups, series)
    alpha, beta = lengths[series]
    if "move" in columns:
        direction = vector(columns["direction"])[:, None]
        if not np.isnan(alpha):
            direction = vector(columns["move"])[:, None] + beta * direction
            values = values + alpha * direction
            tally[3] = abs(alpha) * np.abs(direction).sum()
    elif not np.isnan(alpha):
        values = ranges.project_tree(values, _variance(groups, series)) if sums is None else sums[0](values)
    swept = values
    if sums is not None:
        weight = _weight(ranges, groups, series)
        for each in sums[1:]:
            before, swept = swept, each(swept)
            tally[0] += float((weight * (swept - before) ** 2).sum())
    found: dict[int, Block] = {}
    for part in range(ranges.n_ranges):
        nodes = ranges.nodes(part)
        arrays = values[nodes], swept[nodes], direction[nodes], tally if part == 0 else np.zeros(_TALLIES)
        names = "before", "swept", "direction", "tally"
        found[part] = {name: array.tobytes() for name, array in zip(names, arrays, strict=True)}
    return found


def _variance(groups: Sequence[RoundGroup], series: int) -> FloatArray:
    """Variances of the levels of a series, shape (n_levels, 1)."""
    group = next(group for group in groups if series in group.series)
    return group.variance[:, group.series == series]


def _weight(ranges: NodeRanges, groups: Sequence[RoundGroup], series: int) -> FloatArray:
    """Inverse variances of the nodes of a series, shape (n_nodes, 1)."""
    own = _variance(groups, series)[ranges.tree.level]
    return np.where(np.isfinite(own), 1.0 / own, 0.0)


def _sweep_range(
    ranges: NodeRanges, groups: Sequence[RoundGroup], part: int, pieces: Mapping[int, Block]
) -> dict[int, Block]:
    """The other groups of the split, there and back; energy and squared residual are tallied at the first series."""
    found, nodes, days = dict(pieces), ranges.range_nodes(part), ranges.days(part)
    for group in groups:
        swept, energy = sweep(group.maps(nodes), matrix(pieces, group.series, "swept"), group.weight(nodes.level))
        tally = matrix(pieces, group.series, "tally")
        tally[0, 0] += energy
        if days is not None:
            values = matrix(pieces, group.series, "before")
            for daily in day_constraints_between(group.day_constraints, *days):
                left = values[daily.first : daily.end] @ daily.matrix.T - daily.rhs
                tally[4, 0] += float((left**2).sum())
        for place, series in enumerate(group.series):
            own = {"swept": swept[:, place].tobytes(), "tally": tally[:, place].tobytes()}
            found[int(series)] = {**pieces[int(series)], **own}
    return found


def _join_round(
    ranges: NodeRanges, groups: Sequence[RoundGroup], lengths: FloatArray, series: int, pieces: Mapping[int, Block]
) -> Block:
    """The way back of the whole tree, and the tallies of its move."""
    values, swept, direction = (
        vector(b"".join(piece[name] for piece in pieces.values()))[:, None] for name in ("before", "swept", "direction")
    )
    tally, move = np.sum([vector(piece["tally"]) for piece in pieces.values()], axis=0), np.zeros_like(values)
    if not np.isnan(lengths[series, 0]):
        sums, weight = _sums(ranges, groups, series), _weight(ranges, groups, series)
        if sums is None:
            move = ranges.project_tree(swept - values, _variance(groups, series))
        else:
            for each in reversed(sums):
                swept = each(swept)
            move = swept - values
        tally[1:3] = float((weight * move**2).sum()), float((weight * move * direction).sum())
        tally[4] += ranges.square_residual(values)
    arrays = values, direction, move, tally
    return {name: array.tobytes() for name, array in zip([*_STATE, "tally"], arrays, strict=True)}
