"""The private part: exact counts, their keyed digest, and noise drawn exactly once.

Privacy statement. The counts of one level change by at most the design's sensitivity between neighbours
(`dplib.jobs.consistent_histograms.design`); every measured cell gets independent exact integer noise
(`dplib.mechanisms.tree_counts`). The noise key depends on a keyed digest of the exact counts
(`dplib.workflow.run_keys`): the same counts get the same noise, different counts never share it.

Two layouts with the same bytes. *Driver*: the counts fit one process. *Blocks*: executors hold one logical block each;
a first pass returns the blocks' digests and totals, a second one draws the noise and refuses to (`IntegrityError`) if
a recomputed block no longer has the digest that entered the key, which happens when the input changes under the job.

Cost: one pass over the rows; then one draw a cell.
"""

from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.rows import SeriesCounts
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.mechanisms.tree_counts import measure_levels
from dplib.release.digest import block_digest, combine_digests
from dplib.trees.block_plan import TOP
from dplib.trees.interval_tree import IntervalTree
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

STATISTIC = "counts by item and day"


def measure_on_driver(design: Design, counts: IntArray, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of all blocks in this process and store the measurement.

    Args:
        design: the design.
        counts: exact counts by day and row kind, shape (n_days, n_kinds).
        keys: the run's sub-keys.
        directory: staging directory; gets ``measurement/``.
    """
    plan = design.blocks
    names = [plan.name(block) for block in range(plan.n_blocks)]
    bounds = plan.day_bounds
    parts = [counts[bounds[block] : bounds[block + 1]] for block in range(plan.n_blocks)]
    digests = [
        (name, block_digest(keys.digest, name, np.ascontiguousarray(part)))
        for name, part in zip(names, parts, strict=True)
    ]
    digest = combine_digests(keys.digest, digests)
    key = keys.measurement(digest)
    totals = np.empty((plan.n_blocks, len(design.measured_series)), dtype=np.int64)
    tables, series = Tables(directory, design), SeriesCounts(design)
    for block, part in enumerate(parts):
        leaves = series.of(part, int(bounds[block]))
        totals[block] = leaves.sum(axis=0)
        tables.write_measurement(names[block], noisy_block(design, block, leaves, key))
    write_top(tables, totals, key)
    return keys.recorded(digest)


def write_top(tables: Tables, totals: IntArray, key: bytes) -> None:
    """Draw the noise of the nodes above the blocks and store it; nothing where there is only one block.

    Args:
        tables: of the staging directory.
        totals: exact totals of the blocks, shape (n_blocks, n_measured_series).
        key: the noise key.
    """
    design, plan = tables.design, tables.design.blocks
    if plan.n_top_nodes:
        values = np.asarray(plan.top_tree.sums(totals), dtype=np.int64)[: plan.n_top_nodes]
        tables.write_measurement(TOP, _measure(design, plan.top_tree, values, 0, key, TOP, plan.cut_level))


def noisy_block(design: Design, block: int, leaves: IntArray, key: bytes) -> IntArray:
    """The noisy counts of one block.

    Args:
        design: the design.
        block: number of the block.
        leaves: exact counts of its days, shape (days of the block, n_measured_series).
        key: the noise key.

    Returns:
        Shape (nodes of the block, n_measured_series); zeros where a level is not measured.
    """
    plan = design.blocks
    tree, _ = plan.block_tree(block)
    values = np.asarray(tree.sums(leaves), dtype=np.int64)
    return _measure(design, tree, values, plan.cut_level, key, plan.name(block))


def _measure(
    design: Design, tree: IntervalTree, values: IntArray, first: int, key: bytes, name: str, n_levels: int | None = None
) -> IntArray:
    """Draw the noise of the levels from ``first`` on, one column after the other, each from streams of its own."""
    columns = design.columns
    own = columns.of[list(design.measured_series)]
    levels = [values[tree.level_slice(level)] for level in range(tree.n_levels if n_levels is None else n_levels)]
    found = np.zeros((sum(map(len, levels)), values.shape[1]), dtype=np.int64)
    for column in range(columns.n_columns):
        events = [design.noise_of(first + level)[column] for level in range(len(levels))]
        noise = [None if each is None else each.noise for each in events]
        statistic = f"{STATISTIC}: {columns.streams[column]}" if columns.streams else STATISTIC
        mine = np.flatnonzero(own == column)
        if len(mine):
            counts = [np.ascontiguousarray(level[:, mine]) for level in levels]
            found[:, mine] = np.concatenate(measure_levels(counts, noise, key, statistic, name))
    return found
