"""The nearest non-negative real table as a published one, in this process and in blocks on Spark."""

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import PublishedTable
from dplib.jobs.consistent_histograms.nonnegative import (
    TASK,
    HeldBlock,
    Nearness,
    PushState,
    PushStepper,
    nearest_nonnegative,
)
from dplib.jobs.consistent_histograms.solver_config import Solver
from dplib.jobs.consistent_histograms.tables import block_nodes
from dplib.spark.engine.blocks import Block, DataFrame, iterate_blocks
from dplib.spark.engine.rounds import BlockRounds

KEEP_EVERY = 2
"""Rounds after which the blocks' state is stored: a message costs as much as storing it."""


def nearest_on_driver(design: Design, values: FloatArray) -> PublishedTable:
    """The table of estimates of shape (n_nodes, n_series).

    Raises:
        ConfigError: if the rounds end before their threshold.
    """
    whole = replace(design, block_cells=values.size + design.tree.n_nodes * design.block_width)
    shapes = BlockShapes.of(whole)
    stepper = PushStepper.of(whole, shapes)
    held = HeldBlock(stepper, stepper.load(0, {"values": values.astype("<f8").tobytes()}))
    found = _nearest(held, stepper, whole, float(np.abs(values).max()))
    return PublishedTable(stepper.final(0, held.state), np.full(values.shape[1], found.converged))


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
    stepper, plan = PushStepper.of(design, shapes), design.blocks
    rounds = BlockRounds(estimated, stepper, keep_every=KEEP_EVERY)
    stack.callback(rounds.close)
    found = _nearest(rounds, stepper, design, largest)
    for block, columns in iterate_blocks(rounds.mapped(_final, ["counts"]), TASK):
        made = np.frombuffer(columns["counts"], "<f8").reshape(-1, shapes.n_series)
        counts[block_nodes(design, plan.name(block))] = made
    roots = counts[plan.n_top_nodes : plan.n_top_nodes + plan.n_blocks]
    counts[: plan.n_top_nodes] = plan.top_tree.sums(roots)[: plan.n_top_nodes]
    return PublishedTable(counts, np.full(shapes.n_series, found.converged))


def _final(stepper: Any, block: int, state: PushState) -> Block:
    return {"counts": stepper.final(block, state).astype("<f8").tobytes()}


def _nearest(rounds: HeldBlock | BlockRounds, stepper: PushStepper, design: Design, largest: float) -> Nearness:
    solver = design.config.publish.solver
    found = nearest_nonnegative(rounds, stepper, design, largest, solver.tol, solver.max_rounds)
    _require_near(solver, found)
    return found


def _require_near(solver: Solver, found: Nearness) -> None:
    if found.converged or solver.accept_unconverged:
        return
    raise ConfigError(
        "publish.solver.max_rounds",
        f"be enough for the nearest non-negative table within {solver.tol:g} counts a day",
        f"{found.n_rounds} rounds that miss it by {found.violation:.3g}: raise it or publish.solver.tol, or leave "
        "publish.counts at integers; the measurement is kept, and publishing again costs nothing",
    )
