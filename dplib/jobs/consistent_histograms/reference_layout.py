"""The paper's own grouping on Spark: every item's tree by itself, then every day's constraints by themselves.

A row is one series with all its nodes. A half round passes each series up and down its tree; a shuffle groups the
pieces of all series by range of nodes, where the constraints are projected; a second shuffle groups them by series
again. Where the projections commute (`commuting`, and `tree_blue` without constraints) one round is exact, with the
constraints at every node; otherwise rounds repeat until the threshold (algorithm 1), the constraints on the days.

It is the reference that the block layout is tested against and costs two shuffles a round. Errors and integer tables
are made on the driver. Numbers are those of one process: each series is summed in the same order; the mean change and
the deviation are sums over series and ranges, and projections may differ in the last bits as products of small matrices
do. `tree_smoother`, which joins all series of a node, cannot be grouped so. Rounds are accelerated unless that is
switched off (`reference_gradients`).

Reference: Cai, Liu, Xiong, Ying, Wu, Journal on Communications 42(6), 2021, algorithm 1.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.alternating import ACCELERATED, PLAIN
from dplib.consistency.problem import Solution, SolverOptions
from dplib.consistency.unmeasured import measured_part
from dplib.jobs.consistent_histograms.block_rounds import TASK
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes, day_constraints_between
from dplib.jobs.consistent_histograms.block_solvers import SeriesGroup, TreePasses, series_groups, top_gains
from dplib.jobs.consistent_histograms.convergence import require_converged
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import options, problem
from dplib.jobs.consistent_histograms.node_ranges import NodeRanges, joined, matrix, split_tree, vector
from dplib.jobs.consistent_histograms.publish import Results, published_table
from dplib.jobs.consistent_histograms.reference_gradients import CUT_EVERY, gradient_rounds
from dplib.jobs.consistent_histograms.round_groups import RoundGroup
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.jobs.consistent_histograms.work_blocks import in_work_blocks
from dplib.progress import Progress, Round
from dplib.projection.residual import daily_residual
from dplib.spark.engine.blocks import (
    Block,
    DataFrame,
    SparkSession,
    blocks_from,
    collect_blocks,
    iterate_blocks,
)
from dplib.spark.engine.regroup import join_pieces, map_parts, split_blocks
from dplib.trees.interval_tree import IntervalTree


def takes(design: Design) -> bool:
    """Whether the settings can be solved in this layout."""
    if design.config.publish.solver.by_rounds:
        return True
    by_grouping = design.columns.n_columns > 1 and design.exact_weights
    return not by_grouping and all(group.solver in ("tree_blue", "commuting") for group in series_groups(design))


def results_by_item_and_day(
    spark: SparkSession, design: Design, directory: Path, progress: Progress, n_partitions: int
) -> Results:
    """Estimate by item and by day on Spark; bound the errors and round on the driver.

    Args:
        spark: the session.
        design: the design, one that this layout `takes`.
        directory: holds ``measurement/``.
        progress: told of each round of each group.
        n_partitions: how many tasks hold the series at first; changes no number.

    Raises:
        SolverError: if the configured solver does not take the settings.
        DplibError: if Spark fails.
    """
    noisy = Tables(directory, design).read_measurement()
    rows = ((series, {"values": noisy[:, series].astype("<f8").tobytes()}) for series in range(noisy.shape[1]))
    ranges = NodeRanges.of(in_work_blocks(design))
    with ExitStack() as stack:
        start = blocks_from(spark, rows, n_partitions).persist()
        stack.callback(start.unpersist)
        if design.config.publish.solver.by_rounds:
            solution = _iterated(stack, design, ranges, start, noisy, progress)
            require_converged(design.config.publish.solver, solution)
        else:
            solution = _once(design, ranges, start)
    tables = published_table(design, solution.values)
    return Results(solution, Errors(design).node_std_error(), tables, "reference")


def _gathered(design: Design, items: DataFrame) -> FloatArray:
    values = np.empty((design.tree.n_nodes, len(design.series)))
    for series, columns in iterate_blocks(items, TASK):
        values[:, series] = vector(columns["values"])
    return values


def _once(design: Design, ranges: NodeRanges, start: DataFrame) -> Solution:
    """Trees, then every node's constraints."""
    shapes = BlockShapes.of(design)
    top_gains(design, design.level_variance[:, None])
    solvers = [TreePasses.of(group, shapes) for group in series_groups(design)]
    trees = split_blocks(start, partial(split_tree, ranges), ["values"])
    projected = map_parts(trees, partial(_project_nodes, ranges, solvers), ["values"])
    values = _gathered(design, join_pieces(projected, joined, ["values"]))
    return Solution(values, ", ".join(dict.fromkeys(solver.group.solver for solver in solvers)))


def _project_nodes(
    ranges: NodeRanges, solvers: Sequence[TreePasses], part: int, pieces: Mapping[int, Block]
) -> dict[int, Block]:
    nodes = ranges.nodes(part)
    found: dict[int, Block] = {}
    for solver in solvers:
        series = solver.group.series
        values = solver.project(matrix(pieces, series, "values"), ranges.tree.lo[nodes], ranges.tree.hi[nodes])
        found |= {int(number): {"values": values[:, place].tobytes()} for place, number in enumerate(series)}
    return found


def _iterated(
    stack: ExitStack,
    design: Design,
    ranges: NodeRanges,
    start: DataFrame,
    noisy: FloatArray,
    progress: Progress,
) -> Solution:
    """Rounds until the threshold or their limit."""
    settings = options(design.config.publish.solver)
    groups = [RoundGroup.of(design, group) for group in series_groups(design)]
    if not settings.accelerated:
        return _alternate(stack, design, ranges, groups, start, settings, progress)
    values, ends = gradient_rounds(stack, ranges, groups, start, noisy, settings, progress)
    longest = max((end.rounds for end in ends), key=len)
    converged = all(end.converged for end in ends)
    return Solution(_restored(design, groups, values), ACCELERATED, tuple(longest), converged)


def _alternate(
    stack: ExitStack,
    design: Design,
    ranges: NodeRanges,
    groups: Sequence[RoundGroup],
    start: DataFrame,
    settings: SolverOptions,
    progress: Progress,
) -> Solution:
    """Trees, then days, again and again; one job a round."""
    rounds: list[list[Round]] = [[] for _ in groups]
    converged = [False] * len(groups)
    items = start
    for number in range(1, settings.max_rounds + 1):
        active = [group for group, done in zip(groups, converged, strict=True) if not done]
        before, items = items, _round(ranges, active, items)
        items = items.localCheckpoint(eager=False) if number % CUT_EVERY == 0 else items.persist()
        tallies = np.zeros((len(design.series), 2))
        for series, columns in collect_blocks(items.select("block", "tally"), TASK):
            tallies[series] = vector(columns["tally"])
        before.unpersist()
        for place, group in enumerate(groups):
            if converged[place]:
                continue
            change, square = tallies[group.series].sum(axis=0) / (design.tree.n_nodes * len(group.series))
            rounds[place].append(Round(number, float(change), float(square)))
            converged[place] = bool(change <= settings.tol)
            progress.round(rounds[place][-1])
        if all(converged):
            break
    stack.callback(items.unpersist)
    values = _restored(design, groups, _gathered(design, items))
    longest = max(rounds, key=lambda each: len(each))
    return Solution(values, PLAIN, tuple(longest), all(converged))


def _round(ranges: NodeRanges, active: Sequence[RoundGroup], items: DataFrame) -> DataFrame:
    moving = np.concatenate([group.series for group in active])
    trees = split_blocks(items, partial(_split_round, ranges, moving), ["values", "before"])
    days = map_parts(trees, partial(_project_range, ranges, active), ["values", "tally"])
    return join_pieces(days, partial(_join_round, ranges, moving), ["values", "tally"])


def _split_round(ranges: NodeRanges, moving: IntArray, series: int, columns: Block) -> dict[int, Block]:
    before = vector(columns["values"])
    after = ranges.project_tree(before[:, None])[:, 0] if series in moving else before
    return {
        part: {"values": after[ranges.nodes(part)].tobytes(), "before": before[ranges.nodes(part)].tobytes()}
        for part in range(ranges.n_ranges)
    }


def _project_range(
    ranges: NodeRanges, active: Sequence[RoundGroup], part: int, pieces: Mapping[int, Block]
) -> dict[int, Block]:
    """The other groups of the split on a range; tallies the change, and the squared residual at one series."""
    found: dict[int, Block] = {
        series: {"values": piece["values"], "tally": np.zeros(2).tobytes()} for series, piece in pieces.items()
    }
    days = ranges.days(part)
    for group in active:
        values, before = (matrix(pieces, group.series, column) for column in ("values", "before"))
        tally = np.zeros((len(group.series), 2))
        for each in group.maps(ranges.range_nodes(part)):
            values = each(values)
        if days is not None:
            tally[0, 1] = _square_residual(group, days, values)
        tally[:, 0] = np.abs(values - before).sum(axis=0)
        for place, series in enumerate(group.series):
            found[int(series)] = {"values": values[:, place].tobytes(), "tally": tally[place].tobytes()}
    return found


def _square_residual(group: RoundGroup, days: tuple[int, int], values: FloatArray) -> float:
    leaves = IntervalTree.from_level_edges([[0, len(values)], range(len(values) + 1)])
    padded = np.concatenate([np.zeros((1, values.shape[1])), values])
    between = day_constraints_between(group.day_constraints, *days)
    return sum(float((left**2).sum()) for left in daily_residual(leaves, between, padded))


def _join_round(ranges: NodeRanges, moving: IntArray, series: int, pieces: Mapping[int, Block]) -> Block:
    whole = joined(series, pieces)
    tally = np.sum([vector(piece["tally"]) for piece in pieces.values()], axis=0)
    if series in moving:
        tally[1] += ranges.square_residual(vector(whole["values"])[:, None])
    return {**whole, "tally": tally.tobytes()}


def _restored(design: Design, groups: Sequence[RoundGroup], values: FloatArray) -> FloatArray:
    """Values of all series, the unmeasured ones from the others."""
    for each in groups:
        group: SeriesGroup = each.group
        part = measured_part(problem(design, values).restrict(group.series))
        values[:, group.series] = part.restore(values[:, each.series])
    return values
