"""The paper's own grouping on Spark: every item's tree by itself, then every day's constraints by themselves.

A row is one series with all its nodes. A half round passes each series up and down its tree; a shuffle groups the
pieces of all series by range of nodes, where the constraints are projected; a second shuffle groups them by series
again. Where the projections commute (`commuting`, and `tree_blue` without constraints) one round is exact, with the
constraints at every node; otherwise rounds repeat until the threshold (algorithm 1), the constraints on the days.

It is the reference that the block layout is tested against and costs two shuffles a round. Errors and integer tables
are made on the driver. Numbers are those of one process: each series is summed in the same order; the mean change and
the deviation are sums over series and ranges, and projections may differ in the last bits as products of small matrices
do. Methods that join all series of a node (`tree_smoother`, `krylov`) cannot be grouped so.

Reference: Cai, Liu, Xiong, Ying, Wu, Journal on Communications 42(6), 2021, algorithm 1.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.day_projection import project_days
from dplib.consistency.problem import Solution
from dplib.consistency.unmeasured import measured_part
from dplib.estimates.tree_blue import TreeGains, downward, tree_gains, upward
from dplib.jobs.consistent_histograms.block_rounds import RoundGroup, require_measured_days
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes, day_constraints_between
from dplib.jobs.consistent_histograms.block_solvers import SeriesGroup, TreePasses, series_groups, top_gains
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import Errors, integer_tables, options, problem
from dplib.jobs.consistent_histograms.publish import Results
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.progress import Progress, Round
from dplib.projection.residual import daily_residual, tree_residual
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

TASK = "estimate the counts"
CUT_EVERY = 8
"""Rounds after which Spark's plan is cut by a checkpoint."""


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
    _gains: list[TreeGains] = field(default_factory=list)

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

    def project_tree(self, values: FloatArray) -> FloatArray:
        """One series up and down its tree, shape (n_nodes, 1)."""
        if not self._gains:
            self._gains.append(tree_gains(self.tree, self.variance[self.tree.level][:, None]))
        return downward(self._gains[0], upward(self._gains[0], values))


def takes(design: Design) -> bool:
    """Whether the settings can be solved in this layout."""
    if design.config.publish.solver.method == "alternating":
        return True
    return all(group.solver in ("tree_blue", "commuting") for group in series_groups(design))


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
    ranges = NodeRanges.of(design)
    with ExitStack() as stack:
        start = blocks_from(spark, rows, n_partitions).persist()
        stack.callback(start.unpersist)
        if design.config.publish.solver.method == "alternating":
            solution = _alternate(stack, design, ranges, start, noisy, progress)
        else:
            solution = _once(design, ranges, start)
    tables = integer_tables(design, solution.values)
    return Results(solution, Errors(design).node_std_error(), tables, "reference")


def _vector(packed: bytes) -> FloatArray:
    return np.frombuffer(packed, "<f8")


def _gathered(design: Design, items: DataFrame) -> FloatArray:
    values = np.empty((design.tree.n_nodes, len(design.series)))
    for series, columns in iterate_blocks(items, TASK):
        values[:, series] = _vector(columns["values"])
    return values


def _joined(_: int, pieces: Mapping[int, Block]) -> Block:
    return {"values": b"".join(piece["values"] for piece in pieces.values())}


def _matrix(pieces: Mapping[int, Block], series: IntArray, column: str) -> FloatArray:
    return np.stack([_vector(pieces[int(number)][column]) for number in series], axis=1)


def _once(design: Design, ranges: NodeRanges, start: DataFrame) -> Solution:
    """Trees, then every node's constraints."""
    shapes = BlockShapes.of(design)
    top_gains(design)
    solvers = [TreePasses.of(group, shapes) for group in series_groups(design)]
    trees = split_blocks(start, partial(_split_tree, ranges), ["values"])
    projected = map_parts(trees, partial(_project_nodes, ranges, solvers), ["values"])
    values = _gathered(design, join_pieces(projected, _joined, ["values"]))
    return Solution(values, ", ".join(dict.fromkeys(solver.group.solver for solver in solvers)))


def _split_tree(ranges: NodeRanges, series: int, columns: Block) -> dict[int, Block]:
    values = ranges.project_tree(_vector(columns["values"])[:, None])[:, 0]
    return {part: {"values": values[ranges.nodes(part)].tobytes()} for part in range(ranges.n_ranges)}


def _project_nodes(
    ranges: NodeRanges, solvers: Sequence[TreePasses], part: int, pieces: Mapping[int, Block]
) -> dict[int, Block]:
    nodes = ranges.nodes(part)
    found: dict[int, Block] = {}
    for solver in solvers:
        series = solver.group.series
        values = solver.project(_matrix(pieces, series, "values"), ranges.tree.lo[nodes], ranges.tree.hi[nodes])
        found |= {int(number): {"values": values[:, place].tobytes()} for place, number in enumerate(series)}
    return found


def _alternate(
    stack: ExitStack,
    design: Design,
    ranges: NodeRanges,
    start: DataFrame,
    noisy: FloatArray,
    progress: Progress,
) -> Solution:
    """Trees, then days, again and again; one job a round."""
    settings = options(design.config.publish.solver)
    require_measured_days(design)
    groups = [RoundGroup.of(group) for group in series_groups(design)]
    rounds: list[list[Round]] = [[] for _ in groups]
    converged = [False] * len(groups)
    items = start
    for number in range(1, settings.max_rounds + 1):
        active = [group for group, done in zip(groups, converged, strict=True) if not done]
        before, items = items, _round(ranges, active, items)
        items = items.localCheckpoint(eager=False) if number % CUT_EVERY == 0 else items.persist()
        tallies = np.zeros((len(design.series), 2))
        for series, columns in collect_blocks(items.select("block", "tally"), TASK):
            tallies[series] = _vector(columns["tally"])
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
    return Solution(values, "alternating", tuple(longest), all(converged))


def _round(ranges: NodeRanges, active: Sequence[RoundGroup], items: DataFrame) -> DataFrame:
    moving = np.concatenate([group.series for group in active])
    trees = split_blocks(items, partial(_split_round, ranges, moving), ["values", "before"])
    days = map_parts(trees, partial(_project_range, ranges, active), ["values", "tally"])
    return join_pieces(days, partial(_join_round, ranges, moving), ["values", "tally"])


def _split_round(ranges: NodeRanges, moving: IntArray, series: int, columns: Block) -> dict[int, Block]:
    before = _vector(columns["values"])
    after = ranges.project_tree(before[:, None])[:, 0] if series in moving else before
    return {
        part: {"values": after[ranges.nodes(part)].tobytes(), "before": before[ranges.nodes(part)].tobytes()}
        for part in range(ranges.n_ranges)
    }


def _project_range(
    ranges: NodeRanges, active: Sequence[RoundGroup], part: int, pieces: Mapping[int, Block]
) -> dict[int, Block]:
    """The days of a range onto their constraints; tallies the change, and the squared residual at one series."""
    found: dict[int, Block] = {
        series: {"values": piece["values"], "tally": np.zeros(2).tobytes()} for series, piece in pieces.items()
    }
    days = ranges.days(part)
    for group in active:
        values, before = (_matrix(pieces, group.series, column) for column in ("values", "before"))
        tally = np.zeros((len(group.series), 2))
        if days is not None:
            values, tally[0, 1] = _project_range_days(ranges, group, days, values)
        tally[:, 0] = np.abs(values - before).sum(axis=0)
        for place, series in enumerate(group.series):
            found[int(series)] = {"values": values[:, place].tobytes(), "tally": tally[place].tobytes()}
    return found


def _project_range_days(
    ranges: NodeRanges, group: RoundGroup, days: tuple[int, int], values: FloatArray
) -> tuple[FloatArray, float]:
    day_constraints = day_constraints_between(group.day_constraints, *days)
    if any(daily.n_constraints for daily in day_constraints):
        variance = np.broadcast_to(ranges.variance[-1], values.shape)
        values = project_days(day_constraints, variance, np.arange(len(values)))(values)
    leaves = IntervalTree.from_level_edges([[0, len(values)], range(len(values) + 1)])
    padded = np.concatenate([np.zeros((1, values.shape[1])), values])
    return values, sum(float((left**2).sum()) for left in daily_residual(leaves, day_constraints, padded))


def _join_round(ranges: NodeRanges, moving: IntArray, series: int, pieces: Mapping[int, Block]) -> Block:
    joined = _joined(series, pieces)
    tally = np.sum([_vector(piece["tally"]) for piece in pieces.values()], axis=0)
    if series in moving:
        tally[1] += (tree_residual(ranges.tree, _vector(joined["values"])[:, None]) ** 2).sum()
    return {**joined, "tally": tally.tobytes()}


def _restored(design: Design, groups: Sequence[RoundGroup], values: FloatArray) -> FloatArray:
    """Values of all series, the unmeasured ones from the others."""
    for each in groups:
        group: SeriesGroup = each.group
        part = measured_part(problem(design, values).restrict(group.series))
        values[:, group.series] = part.restore(values[:, each.series])
    return values
