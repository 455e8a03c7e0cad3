"""Post-processing in blocks on Spark: no shuffle after the blocks are laid out, no array of all nodes on the driver.

The measurement goes to the executors once, a logical block a row. An exact solver takes one round: every block sends
the mean of its root, the driver solves the tree above the blocks and sends each block the value of its root, and the
estimates are made inside the blocks. Iterative ones repeat such rounds (`block_rounds`). Integer tables take
one more exchange of the same kind (`block_tables`). Executors get settings and noisy values only.

The finished blocks are written into arrays that live in temporary files, so memory holds what is being read or written.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.alternating import ACCELERATED, PLAIN
from dplib.consistency.integers.publication import plan_publication, publish_tables
from dplib.consistency.problem import Solution
from dplib.jobs.consistent_histograms.block_rounds import (
    AlternatingStepper,
    GroupProgress,
    RoundBlocks,
    alternate_blocks,
)
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes
from dplib.jobs.consistent_histograms.block_solvers import ExactPasses, exact_passes, series_groups, solve_top
from dplib.jobs.consistent_histograms.block_sweeps import SweepStepper, sweep_blocks, sweep_to_the_end
from dplib.jobs.consistent_histograms.block_tables import BlockDivision, BlockErrors, block_divisions
from dplib.jobs.consistent_histograms.convergence import require_converged
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import PublishedTable, choice_of, day_constraints_of, options
from dplib.jobs.consistent_histograms.nearest_table import nearest_in_blocks
from dplib.jobs.consistent_histograms.publish import Results
from dplib.jobs.consistent_histograms.tables import Tables, block_nodes
from dplib.jobs.consistent_histograms.work_blocks import StoredBlocks, in_work_blocks
from dplib.progress import Progress
from dplib.spark.engine.blocks import (
    Block,
    DataFrame,
    SparkSession,
    blocks_from,
    collect_blocks,
    iterate_blocks,
    map_blocks,
    materialise_blocks,
)
from dplib.spark.engine.rounds import BlockRounds, Stepper


def results_in_blocks(
    spark: SparkSession, design: Design, directory: Path, progress: Progress, n_partitions: int
) -> Results:
    """Estimate, bound the errors and round, in blocks.

    Args:
        spark: the session.
        design: the design.
        directory: holds ``measurement/``.
        progress: told of each round of an iterative solver.
        n_partitions: how many tasks hold the blocks; changes no number.

    Raises:
        SolverError: if the configured solver does not take the settings.
        DplibError: if Spark fails.
    """
    stored = StoredBlocks(Tables(directory, design), in_work_blocks(design))
    design = stored.work
    shapes = BlockShapes.of(design)
    with ExitStack() as stack:
        laid_out = _persisted(stack, blocks_from(spark, stored.blocks(), n_partitions))
        top = stored.top()
        solution, estimated = (
            _iterative(stack, design, shapes, laid_out, top, progress)
            if design.config.publish.solver.by_rounds
            else _exact(stack, design, shapes, laid_out, top)
        )
        return _results(stack, design, shapes, estimated, solution)


def _persisted(stack: ExitStack, blocks: DataFrame) -> DataFrame:
    blocks = blocks.persist()
    stack.callback(blocks.unpersist)
    return blocks


def _floats(packed: bytes, n_columns: int) -> FloatArray:
    return np.frombuffer(packed, "<f8").reshape(-1, n_columns)


def _exact(
    stack: ExitStack, design: Design, shapes: BlockShapes, laid_out: DataFrame, top: FloatArray
) -> tuple[Solution, DataFrame]:
    """One round: means up, values of the roots down; what is solved matrix-free goes by rounds (`block_sweeps`)."""
    chosen = series_groups(design)
    solvers = [exact_passes(group, shapes) for group in chosen if group.solver != "matrix_free"]
    free = [group for group in chosen if group.solver == "matrix_free"]
    means = np.empty((shapes.n_blocks, shapes.n_series))
    sent = map_blocks(laid_out, partial(_send_means, shapes, solvers), ["means"])
    for block, columns in collect_blocks(sent, "estimate the counts") if solvers else ():
        means[block] = np.frombuffer(columns["means"], "<f8")
    values, roots = np.full_like(top, np.nan), np.empty_like(means)
    for solver in solvers:
        series = solver.group.series
        values[:, series], roots[:, series] = solve_top(design, solver, top[:, series], means[:, series])
    names = dict.fromkeys(group.solver for group in chosen)
    if not free:
        estimated = map_blocks(laid_out, partial(_estimate, shapes, solvers, roots), ["values"])
        return Solution(values, ", ".join(names)), _persisted(stack, estimated)
    stepper = SweepStepper(RoundBlocks.of(design, shapes, free))
    rounds = BlockRounds(laid_out, stepper)
    stack.callback(rounds.close)
    ends = sweep_to_the_end(rounds, stepper, design, top)
    for group, end in zip(stepper.blocks.groups, ends, strict=True):
        values[:, group.series] = end.top
    estimated = rounds.mapped(partial(_estimate_rest, stepper.blocks, solvers, roots), ["values"])
    return Solution(values, ", ".join(names)), _persisted(stack, estimated)


def _iterative(
    stack: ExitStack,
    design: Design,
    shapes: BlockShapes,
    laid_out: DataFrame,
    top: FloatArray,
    progress: Progress,
) -> tuple[Solution, DataFrame]:
    """Rounds until the threshold."""
    settings = design.config.publish.solver
    blocks = RoundBlocks.of(design, shapes, series_groups(design))
    ends: Sequence[GroupProgress]
    accelerated = options(settings).accelerated
    stepper: Stepper[Any] = SweepStepper(blocks) if accelerated else AlternatingStepper(blocks)
    rounds = BlockRounds(laid_out, stepper)
    stack.callback(rounds.close)
    if isinstance(stepper, SweepStepper):
        ends = sweep_blocks(rounds, stepper, design, top, options(settings), progress)
    else:
        ends = alternate_blocks(rounds, AlternatingStepper(blocks), design, top, options(settings), progress)
    values = np.full_like(top, np.nan)
    for group, end in zip(blocks.groups, ends, strict=True):
        values[:, group.series] = end.top
    estimated = _persisted(stack, rounds.mapped(partial(_restore, blocks), ["values"]))
    history = max((end.rounds for end in ends), key=len)
    name = ACCELERATED if accelerated else PLAIN
    solution = Solution(values, name, tuple(history), all(end.converged for end in ends))
    require_converged(settings, solution)
    return solution, estimated


def _restore(blocks: RoundBlocks, _: Stepper[Any], block: int, state: Any) -> Block:
    return {"values": blocks.restored(block, state.values).astype("<f8").tobytes()}


def _send_means(shapes: BlockShapes, solvers: Sequence[ExactPasses], block: int, columns: Block) -> Block:
    noisy = shapes.noisy(block, columns["noisy"])
    means = np.zeros(shapes.n_series)
    for solver in solvers:
        means[solver.group.series] = solver.upward(block, noisy[:, solver.group.series])[0]
    return {"means": means.astype("<f8").tobytes()}


def _estimate(
    shapes: BlockShapes, solvers: Sequence[ExactPasses], roots: FloatArray, block: int, columns: Block
) -> Block:
    values = shapes.noisy(block, columns["noisy"])
    _solve(solvers, roots, block, values)
    return {"values": values.astype("<f8").tobytes()}


def _solve(solvers: Sequence[ExactPasses], roots: FloatArray, block: int, values: FloatArray) -> None:
    """The estimates of some groups in place of a block's noisy counts."""
    for solver in solvers:
        series = solver.group.series
        means = solver.upward(block, values[:, series])
        values[:, series] = solver.downward(block, means, roots[block, series])


def _estimate_rest(
    blocks: RoundBlocks, solvers: Sequence[ExactPasses], roots: FloatArray, _: Stepper[Any], block: int, state: Any
) -> Block:
    values = blocks.restored(block, state.values)
    _solve(solvers, roots, block, values)
    return {"values": values.astype("<f8").tobytes()}


def _results(
    stack: ExitStack, design: Design, shapes: BlockShapes, estimated: DataFrame, solution: Solution
) -> Results:
    """Errors and integers of blocks whose estimates are there."""
    plan, n_series = design.blocks, shapes.n_series
    by_grouping = design.columns.n_columns > 1
    errors, unknown = [], np.zeros(n_series, dtype=bool)
    for group in () if by_grouping else series_groups(design):
        if choice_of(design, group.series, group.day_constraints).name == "matrix_free":
            unknown[group.series] = True
        else:
            errors.append(BlockErrors.of(design, group, shapes))
    reals = design.config.publish.counts == "reals"
    divisions, programmes = ([], []) if reals else block_divisions(design, shapes)
    n_top = plan.n_top_nodes
    values, std_error = _array(design, "<f8"), _array(design, "<f8")
    counts = _array(design, "<f8" if reals else "<i8")
    values[:n_top] = solution.values
    for error in errors:
        std_error[:n_top, error.group.series] = error.top
    targets = _collect_roots(design, divisions, estimated, shapes, values)
    shares = []
    for division, sent in zip(divisions, targets, strict=True):
        upper = values[: n_top + shapes.n_blocks, division.series]
        counts[:n_top, division.series], share = division.divide_top(design, upper, sent)
        shares.append(share)
    finished = _persisted(
        stack,
        map_blocks(estimated, partial(_finish, shapes, errors, divisions, shares), ["values", "errors", "counts"]),
    )
    materialise_blocks(finished, "finish the tables")
    for block, columns in iterate_blocks(finished, "finish the tables"):
        nodes = block_nodes(design, plan.name(block))
        values[nodes] = _floats(columns["values"], n_series)
        std_error[nodes] = _floats(columns["errors"], n_series)
        counts[nodes] = np.frombuffer(columns["counts"], "<i8").reshape(-1, n_series)
    std_error[:, unknown] = np.nan
    if by_grouping:
        std_error = Errors(design).node_std_error()
    published = np.zeros(n_series, dtype=bool)
    for division in divisions:
        published[division.series] = True
    weights = design.constraints.measured.astype(np.float64)
    for series in programmes:
        day_constraints = day_constraints_of(design, series)
        whole = publish_tables(
            plan_publication(day_constraints), design.tree, values[:, series], day_constraints, weights[series]
        )
        assert whole is not None
        counts[:, series] = whole
        published[series] = True
    made = Solution(values, solution.solver, solution.rounds, solution.converged)
    table = PublishedTable(counts, published)
    if reals:
        table = nearest_in_blocks(stack, design, shapes, estimated, counts, float(np.abs(values).max()))
    return Results(made, std_error, table, "blocks")


def _array(design: Design, kind: str) -> npt.NDArray[Any]:
    """An array of all nodes and series in a temporary file that vanishes with it."""
    with TemporaryFile() as file:
        return np.memmap(file, dtype=kind, mode="w+", shape=(design.tree.n_nodes, len(design.series)))


def _collect_roots(
    design: Design, divisions: Sequence[BlockDivision], estimated: DataFrame, shapes: BlockShapes, values: FloatArray
) -> list[FloatArray]:
    """Fill in the estimates of the blocks' roots, and of series above that follow from them; returns their targets."""
    n_top = design.blocks.n_top_nodes
    found = [np.empty((shapes.n_blocks, division.space.n_generators)) for division in divisions]
    bounds = np.cumsum([shapes.n_series, *(division.space.n_generators for division in divisions)])
    sent = map_blocks(estimated, partial(_send_targets, shapes, divisions), ["targets"])
    for block, columns in collect_blocks(sent, "divide the integer tables"):
        root, *parts = np.split(np.frombuffer(columns["targets"], "<f8"), bounds[:-1])
        values[n_top + block] = root
        for each, part in zip(found, parts, strict=True):
            each[block] = part
    if n_top:
        follow = np.flatnonzero(np.isnan(values[0]))
        roots = values[n_top : n_top + shapes.n_blocks][:, follow]
        values[:n_top, follow] = design.blocks.top_tree.sums(roots)[:n_top]
    return found


def _send_targets(shapes: BlockShapes, divisions: Sequence[BlockDivision], block: int, columns: Block) -> Block:
    values = _floats(columns["values"], shapes.n_series)
    targets = [division.targets(block, values[:, division.series])[0] for division in divisions]
    return {"targets": np.concatenate([values[0], *targets]).astype("<f8").tobytes()}


def _finish(
    shapes: BlockShapes,
    errors: Sequence[BlockErrors],
    divisions: Sequence[BlockDivision],
    shares: Sequence[IntArray],
    block: int,
    columns: Block,
) -> Block:
    values = _floats(columns["values"], shapes.n_series)
    std_error, counts = np.zeros_like(values), np.zeros(values.shape, dtype="<i8")
    for error in errors:
        std_error[:, error.group.series] = error.block(block)
    for division, share in zip(divisions, shares, strict=True):
        counts[:, division.series] = division.counts(block, values[:, division.series], share[block])
    return {"values": columns["values"], "errors": std_error.astype("<f8").tobytes(), "counts": counts.tobytes()}
