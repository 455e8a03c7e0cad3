"""From the stored measurement to the tables of a release and what its manifest says; sees no row and draws no noise."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import (
    BlockResults,
    Errors,
    estimate_block,
    estimate_buckets,
    estimate_sums,
)
from dplib.jobs.range_histograms.tables import Tables
from dplib.page.chooser import MAX_NUMBERS
from dplib.page.guarantee import Promise, rows_text
from dplib.privacy.rounding import fraction_text
from dplib.spark.engine.blocks import Block, SparkSession, blocks_from, iterate_blocks, map_blocks

DRIVER_NODES = 1 << 25
"""Nodes of all histograms up to which `layout: auto` post-processes in one process."""


def layout_of(design: Design) -> str:
    """Where the run's work is done; settings only."""
    layout = design.config.publish.layout
    if layout != "auto":
        return layout
    nodes = design.strategy.tree.n_nodes * len(design.series)
    together = design.sums is not None or design.n_blocks == 1
    return "driver" if together or nodes <= DRIVER_NODES else "blocks"


def results_on_driver(design: Design, directory: Path) -> Iterator[tuple[int, BlockResults]]:
    """The results of all blocks, one after the other in this process."""
    tables = Tables(directory, design)
    if design.sums is not None:
        yield from _results_of_sums(tables)
        return
    for block in range(design.n_blocks):
        if design.adaptive:
            yield block, estimate_buckets(design, tables.read_buckets(block))
        else:
            yield block, estimate_block(design, tables.read_noisy(block))


def _results_of_sums(tables: Tables) -> Iterator[tuple[int, BlockResults]]:
    """The results of all histograms together, block by block."""
    design, bounds = tables.design, tables.design.group_bounds.tolist()
    found = estimate_sums(design, np.concatenate([tables.read_noisy(block) for block in range(design.n_blocks)]))
    for block, (first, end) in enumerate(pairwise(bounds)):
        yield block, BlockResults(found.nodes, found.estimates[first:end], found.counts[first:end])


def results_in_blocks(
    spark: SparkSession, design: Design, directory: Path, n_partitions: int | None = None
) -> Iterator[tuple[int, BlockResults]]:
    """The same with runs of groups in parallel on Spark; the numbers are equal.

    Args:
        spark: the session.
        design: the design.
        directory: holds ``measurement/``.
        n_partitions: how many tasks hold the blocks; as many as there are blocks or shuffle partitions where absent.
    """
    if design.adaptive or design.sums is not None:
        # Buckets are few by design: shipping them would cost more than the work.
        yield from results_on_driver(design, directory)
        return
    tables = Tables(directory, design)
    noisy = ((block, {"noisy": tables.read_noisy(block).astype("<f8").tobytes()}) for block in range(design.n_blocks))
    parts = n_partitions or min(design.n_blocks, int(str(spark.conf.get("spark.sql.shuffle.partitions", "200"))))
    results = map_blocks(blocks_from(spark, noisy, parts), partial(_estimate, design), ["estimates", "counts"])
    for block, found in iterate_blocks(results, "estimate the histograms"):
        size = len(design.block_groups(block))
        estimates = np.frombuffer(found["estimates"], "<f8").reshape(size, -1)
        counts = np.frombuffer(found["counts"], "<i8").reshape(size, -1)
        yield block, BlockResults(np.arange(design.strategy.tree.n_nodes), estimates, counts)


def _estimate(design: Design, _: int, columns: Block) -> Block:
    noisy = np.frombuffer(columns["noisy"], "<f8").reshape(-1, design.strategy.tree.n_nodes)
    found = estimate_block(design, noisy)
    return {"estimates": found.estimates.astype("<f8").tobytes(), "counts": found.counts.astype("<i8").tobytes()}


@dataclass(frozen=True, eq=False)
class Summary:
    """What the page shows of the tables.

    Attributes:
        totals: estimate of each group over all bins, shape (n_groups,).
        published: published total of each group, shape (n_groups,).
        shown: groups with the largest estimated totals, as many as a page has room for: number to the bins' estimates
            and published counts.
    """

    totals: FloatArray
    published: IntArray
    shown: dict[int, tuple[FloatArray, IntArray]]


def write_tables(design: Design, results: Iterator[tuple[int, BlockResults]], directory: Path) -> Summary:
    """Write ``estimates/`` and ``published/``, a block at a time."""
    tables, errors, bins = Tables(directory, design), Errors(design), design.strategy.tree.leaf_nodes
    summary = Summary(np.zeros(len(design.series)), np.zeros(len(design.series), dtype=np.int64), {})
    for block, found in results:
        std_error = errors.nodes(found.nodes, np.arange(*design.group_bounds[block : block + 2]))
        values = {"estimate": found.estimates, "std_error": std_error}
        tables.write_estimates(block, found.nodes, values)
        tables.write_published(block, found.counts)
        leaves = found.estimates if design.adaptive else found.estimates[:, bins]
        _add(summary, int(design.group_bounds[block]), leaves, found.counts)
    return summary


def _add(summary: Summary, first: int, leaves: FloatArray, counts: IntArray) -> None:
    """Add the groups of a block; only the largest keep their bins."""
    groups = slice(first, first + len(leaves))
    summary.totals[groups], summary.published[groups] = leaves.sum(axis=1), counts.sum(axis=1)
    summary.shown.update({first + row: (leaves[row], counts[row]) for row in range(len(leaves))})
    room = max(1, MAX_NUMBERS // leaves.shape[1])
    kept = sorted(summary.shown, key=lambda group: (-summary.totals[group], group))[:room]
    for group in set(summary.shown) - set(kept):
        del summary.shown[group]


def manifest_fields(design: Design, layout: str) -> dict[str, Any]:
    """What the manifest says besides the fields that every job has."""
    privacy = design.config.privacy
    return {
        "sensitivities": {
            "max_rows_per_unit": privacy.rows_per_unit,
            design.config.privacy.mechanism.norm: design.sensitivity,
        },
        "mechanisms": [event.to_dict() for event in design.events],
        "solver": {
            "name": _solver(design),
            "layout": layout,
            "integer_tables": "top-down division and controlled rounding",
        },
        "domain": design.bins.public(),
        "details": {
            "method": design.config.method,
            "levels": level_noise(design),
        }
        | ({} if design.sums is None else {"columns": column_noise(design)}),
    }


def _solver(design: Design) -> str:
    if design.sums is not None:
        return "least squares on all trees together"
    return "least squares on the tree of buckets" if design.adaptive else "least squares on each tree"


def column_noise(design: Design) -> list[dict[str, Any]]:
    """The groups and each kind of totals: how many, their share of the budget and their sensitivity, as JSON values."""
    assert design.sums is not None
    sums, grouping, found = design.sums, design.sums.constraints.series_grouping, []
    for number, name in enumerate(sums.names):
        own = grouping == number
        column = int(sums.columns.of[own][0])
        measured = bool(design.measured[own].any())
        share = fraction_text(sums.columns.shares[column]) if measured else None
        row = {"name": name, "n_histograms": int(own.sum()), "share": share, "together": not sums.columns.names}
        found.append(row | {design.config.privacy.mechanism.norm: design.sensitivity_of(column) if measured else None})
    return found


def level_noise(design: Design) -> list[dict[str, Any]]:
    """The range of the noise's parameter on each level of a group's tree, as JSON values."""
    tree, found = design.strategy.tree, []
    for level in range(tree.n_levels):
        shares = design.strategy.shares[tree.level_slice(level)]
        measured = shares[shares > 0]
        ends = [
            design.noise_parameter(int(share)) for share in ((measured.max(), measured.min()) if len(measured) else ())
        ]
        found.append(
            {
                "level": level,
                "n_nodes": len(shares),
                "measured": len(measured),
                "least": fraction_text(ends[0]) if ends else None,
                "most": fraction_text(ends[1]) if ends else None,
            }
        )
    return found


def promise(design: Design) -> Promise:
    """What the release promises, in the job's own words."""
    privacy = design.config.privacy
    chosen = ", chosen once for all runs of the stream" if design.stream is not None and privacy.spans_days else ""
    return Promise(
        caps=f"{rows_text(privacy.rows_per_unit, privacy.unit)}, in all groups together{chosen}",
        invariants=tuple(invariants(design)),
        public_settings="Bins, groups, caps, tree and budget",
    )


def invariants(design: Design) -> list[str]:
    """The public invariants on which the guarantee is conditional, in words."""
    if not design.total_is_public:
        return []
    each = "of every group" if design.bins.grouped else "in all"
    return [f"The number of rows that count {each} is public and published as it is."]
