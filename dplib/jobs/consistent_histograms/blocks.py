"""The measurement in blocks on Spark, with the same bytes as on the driver (`measure_on_driver`)."""

from functools import partial
from pathlib import Path

import numpy as np

from dplib.errors import IntegrityError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.measure import noisy_block, write_top
from dplib.jobs.consistent_histograms.rows import SeriesCounts, row_kinds
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.release.digest import block_digest, combine_digests
from dplib.spark.engine.blocks import Block, DataFrame, iterate_blocks, map_blocks
from dplib.spark.rows.counts import block_counts, count_blocks
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


def measure_in_blocks(rows: DataFrame, design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count, draw the noise and store the measurement, a block at a time.

    Args:
        rows: bounded rows (`dplib.spark.rows.contributions.bound_rows`).
        design: the design.
        keys: the run's sub-keys; the executors get the digest key and the noise key only.
        directory: staging directory; gets ``measurement/``.

    Raises:
        IntegrityError: if a block that Spark computed again has other counts, because the input changed meanwhile.
    """
    tables = Tables(directory, design)
    plan, n_kinds = design.blocks, len(row_kinds(design))
    counted = count_blocks(rows, plan.day_bounds, n_kinds).persist()
    try:
        digests: list[tuple[str, bytes]] = []
        totals = np.zeros((plan.n_blocks, len(design.measured_series)), dtype=np.int64)
        summaries = map_blocks(counted, partial(_summarise, design, keys.digest, n_kinds), ["digest", "total"])
        for block, summary in iterate_blocks(summaries, "count the rows"):
            digests.append((plan.name(block), summary["digest"]))
            totals[block] = np.frombuffer(summary["total"], "<i8")
        digest = combine_digests(keys.digest, digests)
        key = keys.measurement(digest)
        noisy = map_blocks(counted, partial(_add_noise, design, keys.digest, n_kinds, key, dict(digests)), ["noisy"])
        for block, found in iterate_blocks(noisy, "draw the noise"):
            if not found["noisy"]:
                raise IntegrityError(
                    "input must not change while it is read, got a block with other counts than before"
                )
            values = np.frombuffer(found["noisy"], "<i8").reshape(-1, len(design.measured_series))
            tables.write_measurement(plan.name(block), values)
    finally:
        counted.unpersist()
    write_top(tables, totals, key)
    return keys.recorded(digest)


def _summarise(design: Design, digest_key: bytes, n_kinds: int, block: int, columns: Block) -> Block:
    """The digest and the series' totals of one block."""
    counts = block_counts(columns["counts"], n_kinds)
    plan = design.blocks
    total = SeriesCounts(design).of(counts, plan.days(block)[0]).sum(axis=0)
    digest = block_digest(digest_key, plan.name(block), counts)
    return {"digest": digest, "total": total.astype("<i8").tobytes()}


def _add_noise(
    design: Design,
    digest_key: bytes,
    n_kinds: int,
    key: bytes,
    digests: dict[str, bytes],
    block: int,
    columns: Block,
) -> Block:
    """The noisy counts of one block; no bytes where its counts are no longer those of the digest."""
    counts = block_counts(columns["counts"], n_kinds)
    plan = design.blocks
    name = plan.name(block)
    if block_digest(digest_key, name, counts) != digests[name]:
        return {"noisy": b""}
    leaves = SeriesCounts(design).of(counts, plan.days(block)[0])
    return {"noisy": noisy_block(design, block, leaves, key).astype("<i8").tobytes()}
