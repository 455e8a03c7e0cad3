"""Conjugate gradients in blocks, held in one process, go as far as the kernels do."""

import numpy as np

from dplib.jobs.consistent_histograms.block_rounds import RoundBlocks
from dplib.jobs.consistent_histograms.block_shapes import BlockShapes, pack_counts
from dplib.jobs.consistent_histograms.block_solvers import series_groups
from dplib.jobs.consistent_histograms.block_sweeps import SweepState, SweepStepper, sweep_to_the_end
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.consistent_histograms.tables import block_nodes
from dplib.spark.engine.rounds import HeldBlocks
from tests.spark.test_layouts import make_design


def test_sweeps_end_at_the_exact_estimate() -> None:
    """Three times of packages and a tree of four levels: each round gains a digit or so, none gains all at once.

    With a tolerance a million times larger the estimates are off by 3e-9 of the largest.
    """
    design = make_design("menus", tree={"branching": [3, 2, 10], "root": True})
    noisy = np.random.default_rng(3).integers(0, 400, (design.tree.n_nodes, len(design.series)))
    wanted = estimate(design, noisy.astype(np.float64), design.config.publish.solver)
    assert wanted.solver == "tree_smoother"
    stepper = SweepStepper(RoundBlocks.of(design, BlockShapes.of(design), series_groups(design)))
    plan = design.blocks
    nodes = [block_nodes(design, plan.name(block)) for block in range(plan.n_blocks)]
    states = [stepper.load(block, {"noisy": pack_counts(noisy[own])}) for block, own in enumerate(nodes)]
    held: HeldBlocks[SweepState] = HeldBlocks(stepper, states)
    (end,) = sweep_to_the_end(held, stepper, design, noisy[: plan.n_top_nodes].astype(np.float64))
    top, *blocks = end.top, *(stepper.blocks.restored(at, state.values) for at, state in enumerate(held.states))
    off = np.abs(np.concatenate([top, *blocks]) - wanted.values[np.concatenate([np.arange(plan.n_top_nodes), *nodes])])
    assert off.max() < 1e-12 * np.abs(wanted.values).max()
