"""The nearest non-negative real table as a published one, in this process and in blocks on Spark.

By Newton's method (`newton_rounds`) where the covariances of linked series are small, by conjugate gradients on the
days that are pushed (`nonnegative`) elsewhere; both end by the same certificate.
"""

from contextlib import ExitStack
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import PublishedTable
from dplib.jobs.consistent_histograms.newton_rounds import NewtonStepper
from dplib.jobs.consistent_histograms.nonnegative import ROUNDING, TASK, Nearness, PushStepper, nearest_nonnegative
from dplib.jobs.consistent_histograms.tables import block_nodes
from dplib.jobs.consistent_histograms.work_blocks import in_work_blocks
from dplib.spark.engine.blocks import Block, DataFrame, iterate_blocks
from dplib.spark.engine.rounds import BlockRounds, HeldBlocks, Rounds

KEEP_EVERY = 2
"""Rounds of conjugate gradients after which the blocks' state is stored; Newton's are stored each time."""


def nearest_on_driver(design: Design, values: FloatArray) -> PublishedTable:
    """The table of estimates of shape (n_nodes, n_series).

    Raises:
        ConfigError: if the rounds end before their threshold.
    """
    work = in_work_blocks(design)
    plan, shapes = work.blocks, BlockShapes.of(work)
    stepper = _stepper(work, shapes, float(np.abs(values).max()))
    nodes = [block_nodes(work, plan.name(block)) for block in range(plan.n_blocks)]
    states = [stepper.load(block, {"values": values[own].astype("<f8").tobytes()}) for block, own in enumerate(nodes)]
    held: HeldBlocks[Any] = HeldBlocks(stepper, states)
    found = _nearest(held, stepper, work, float(np.abs(values).max()))
    counts = np.empty(values.shape)
    for block, own in enumerate(nodes):
        counts[own] = stepper.final(block, held.states[block])
    return _with_top(work, counts, found)


def nearest_in_blocks(
    stack: ExitStack, design: Design, shapes: BlockShapes, estimated: DataFrame, counts: FloatArray, largest: float
) -> PublishedTable:
    """The table of estimates in blocks.

    Args:
        stack: drops what is persisted.
        design: the design in the blocks of the work.
        shapes: these blocks.
        estimated: the blocks with their estimates, persisted.
        counts: filled with the table, shape (n_nodes, n_series).
        largest: largest estimate, in absolute value.

    Raises:
        ConfigError: if the rounds end before their threshold.
    """
    stepper, plan = _stepper(design, shapes, largest), design.blocks
    rounds = BlockRounds(estimated, stepper, 1 if isinstance(stepper, NewtonStepper) else KEEP_EVERY)
    stack.callback(rounds.close)
    found = _nearest(rounds, stepper, design, largest)
    for block, columns in iterate_blocks(rounds.mapped(_final, ["counts"]), TASK):
        made = np.frombuffer(columns["counts"], "<f8").reshape(-1, shapes.n_series)
        counts[block_nodes(design, plan.name(block))] = made
    return _with_top(design, counts, found)


def _with_top(design: Design, counts: FloatArray, found: Nearness) -> PublishedTable:
    """The table with the sums above its blocks."""
    plan = design.blocks
    roots = counts[plan.n_top_nodes : plan.n_top_nodes + plan.n_blocks]
    counts[: plan.n_top_nodes] = plan.top_tree.sums(roots)[: plan.n_top_nodes]
    return PublishedTable(counts, np.full(counts.shape[1], found.converged))


def _final(stepper: Any, block: int, state: Any) -> Block:
    return {"counts": stepper.final(block, state).astype("<f8").tobytes()}


def _stepper(design: Design, shapes: BlockShapes, largest: float) -> NewtonStepper | PushStepper:
    tol = max(design.config.publish.solver.tol, ROUNDING * largest)
    return NewtonStepper.of(design, shapes, tol, largest) or PushStepper.of(design, shapes)


def _nearest(rounds: Rounds, stepper: NewtonStepper | PushStepper, design: Design, largest: float) -> Nearness:
    solver = design.config.publish.solver
    if isinstance(stepper, NewtonStepper):
        found = _newton(rounds, stepper, design, solver.max_rounds)
    else:
        found = nearest_nonnegative(rounds, stepper, design, largest, solver.tol, solver.max_rounds)
    if not found.converged and not solver.accept_unconverged:
        raise ConfigError(
            "publish.solver.max_rounds",
            f"be enough for the nearest non-negative table within {solver.tol:g} counts a day",
            f"{found.n_rounds} rounds that miss it by {found.violation:.3g}: raise it or publish.solver.tol, or leave "
            "publish.counts at integers; the measurement is kept, and publishing again costs nothing",
        )
    return found


def _newton(rounds: Rounds, stepper: NewtonStepper, design: Design, max_rounds: int) -> Nearness:
    plan, found = design.blocks, stepper.read(rounds.send(None, TASK))
    moved = np.zeros((plan.n_blocks, len(design.series)))
    for number in range(1, max_rounds + 1):
        above = np.asarray(plan.top_tree.sums(moved)[: plan.n_top_nodes], dtype=np.float64)
        steps = stepper.roots(design, found, above)
        moved += steps
        found = stepper.read(rounds.send(steps, TASK, ends_round=True))
        if found.violation <= stepper.tol or number == max_rounds:
            return Nearness(number, found.violation, found.violation <= stepper.tol)
    raise AssertionError
