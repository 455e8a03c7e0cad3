"""The private part: exact counts of the bins, their keyed digest, and noise drawn exactly once for every tree.

Privacy statement: `dplib.jobs.range_histograms.design`. The histograms of one unit's rows share its budget, so groups
do not multiply the cost. Streams are named by the measurement key, the group and the share; the key depends on a keyed
digest of all counts (`dplib.workflow.run_keys`).

Two layouts with the same bytes. *Driver*: the counts fit one process. *Blocks*: Spark's tasks hold a run of groups
each, with the strategy among what they capture; a first pass returns digests, a second one draws the noise and refuses
to if a recomputed block no longer has the digest that entered the key.

Cost: one pass over the rows, then one draw a node.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from dplib.arrays import IntArray
from dplib.errors import IntegrityError
from dplib.estimates.adaptive_partition import partition_penalty, private_partition
from dplib.jobs.range_histograms.design import STATISTIC, Design
from dplib.jobs.range_histograms.tables import Tables
from dplib.mechanisms.partition import PartitionNoise
from dplib.release.digest import block_digest, combine_digests
from dplib.spark.engine.blocks import Block, DataFrame, collect_blocks, iterate_blocks, map_blocks
from dplib.spark.rows.counts import block_counts, count_blocks
from dplib.workflow.run_keys import MeasurementKeys, RunKeys


@dataclass(frozen=True, eq=False)
class NoisyHistogram:
    """What is stored of one histogram.

    Attributes:
        noisy: of the nodes, shape (n_nodes,); zeros where not measured.
        edges: first bin of each bucket with the number of bins appended; None where every bin is measured.
    """

    noisy: IntArray
    edges: IntArray | None = None


def noisy_histogram(design: Design, group: str, counts: IntArray, key: bytes, column: int = 0) -> NoisyHistogram:
    """Draw the noise of one histogram.

    Args:
        design: the design.
        group: its name.
        counts: exact counts of its bins, shape (n_bins,).
        key: the noise key.
        column: its column.
    """
    measure = design.mechanism(key, group, column)
    strategy, edges = design.strategy, None
    if design.adaptive:
        noise = PartitionNoise(key, f"{STATISTIC} of {group}")
        for_counts = design.budget - design.partition_budget
        penalty = partition_penalty(design.partition_budget, for_counts, design.sensitivity)
        edges = private_partition(counts, design.partition_budget, penalty, noise, design.sensitivity)
        counts = np.add.reduceat(counts, edges[:-1])
        strategy = design.bucket_strategy(len(counts))
    nodes = strategy.tree.sums(counts).astype(np.int64)
    noisy = measure(strategy.tree, nodes, strategy.shares)
    if design.total_is_public:
        noisy[0] = nodes[0]
    return NoisyHistogram(noisy, edges)


def noisy_block(design: Design, block: int, counts: IntArray, key: bytes) -> Iterator[NoisyHistogram]:
    """Draw the noise of a block's histograms, zeros for those that are not measured.

    Args:
        design: the design.
        block: its number.
        counts: exact counts by histogram and bin, shape (histograms of the block, n_bins).
        key: the noise key.
    """
    for number, row in enumerate(counts, start=int(design.group_bounds[block])):
        if design.measured[number]:
            yield noisy_histogram(design, design.series[number], row, key, int(design.column_of[number]))
        else:
            yield NoisyHistogram(np.zeros(design.strategy.tree.n_nodes, dtype=np.int64))


def store_block(tables: Tables, block: int, histograms: Iterable[NoisyHistogram]) -> None:
    """Write one block of the measurement."""
    found = list(histograms)
    if tables.design.adaptive:
        edges = [each.edges for each in found if each.edges is not None]
        tables.write_buckets(block, edges, [each.noisy for each in found])
    else:
        tables.write_measurement(block, np.stack([each.noisy for each in found]))


def measure_on_driver(design: Design, counts: IntArray, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Draw the noise of all histograms in this process and store the measurement.

    Args:
        design: the design.
        counts: exact counts by group and bin, shape (n_groups, n_bins).
        keys: the run's sub-keys.
        directory: staging directory; gets ``measurement/``.
    """
    bounds, counts = design.group_bounds, design.with_totals(counts)
    parts = [np.ascontiguousarray(counts[bounds[block] : bounds[block + 1]]) for block in range(design.n_blocks)]
    digests = [
        (design.block_name(block), block_digest(keys.digest, design.block_name(block), part))
        for block, part in enumerate(parts)
    ]
    digest = combine_digests(keys.digest, digests)
    key = keys.measurement(digest)
    for block, part in enumerate(parts):
        store_block(Tables(directory, design), block, noisy_block(design, block, part, key))
    return keys.recorded(digest)


def measure_in_blocks(rows: DataFrame, design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count, draw the noise of runs of groups in parallel on Spark, and store the measurement.

    Args:
        rows: bounded rows (`dplib.spark.rows.contributions.bound_rows`): day is the group, row_type the bin.
        design: the design.
        keys: the run's sub-keys; the executors get the digest key and the noise key only.
        directory: staging directory; gets ``measurement/``.

    Raises:
        IntegrityError: if a block that Spark computed again has other counts, because the input changed meanwhile.
    """
    counted = count_blocks(rows, design.group_bounds, design.bins.n_bins).persist()
    try:
        summaries = map_blocks(counted, partial(_digest, keys.digest, design.bins.n_bins), ["digest"])
        digests = {
            design.block_name(block): found["digest"] for block, found in collect_blocks(summaries, "count the rows")
        }
        digest = combine_digests(keys.digest, digests.items())
        draw = partial(_draw, design, keys.digest, keys.measurement(digest), digests)
        for block, found in iterate_blocks(map_blocks(counted, draw, ["noisy", "edges"]), "draw the noise"):
            if not found["noisy"]:
                rule = "input must not change while it is read, got a block with other counts than before"
                raise IntegrityError(rule)
            store_block(Tables(directory, design), block, _unpack(design, found))
    finally:
        counted.unpersist()
    return keys.recorded(digest)


def _digest(digest_key: bytes, n_bins: int, block: int, columns: Block) -> Block:
    counts = block_counts(columns["counts"], n_bins)
    return {"digest": block_digest(digest_key, f"block-{block:06d}", counts)}


def _draw(
    design: Design, digest_key: bytes, key: bytes, digests: dict[str, bytes], block: int, columns: Block
) -> Block:
    """The noisy histograms of one block; no bytes where its counts are no longer those of the digest."""
    counts, name = block_counts(columns["counts"], design.bins.n_bins), design.block_name(block)
    if block_digest(digest_key, name, counts) != digests[name]:
        return {"noisy": b"", "edges": b""}
    found = list(noisy_block(design, block, counts, key))
    edges = [each.edges for each in found if each.edges is not None]
    joined = np.concatenate(edges).astype("<i8").tobytes() if edges else b""
    return {"noisy": np.concatenate([each.noisy for each in found]).astype("<i8").tobytes(), "edges": joined}


def _unpack(design: Design, columns: dict[str, bytes]) -> list[NoisyHistogram]:
    noisy = np.frombuffer(columns["noisy"], "<i8").astype(np.int64)
    if not design.adaptive:
        return [NoisyHistogram(row) for row in noisy.reshape(-1, design.strategy.tree.n_nodes)]
    joined = np.frombuffer(columns["edges"], "<i8").astype(np.int64)
    found, start = [], 0
    for edges in np.split(joined, np.flatnonzero(joined == design.bins.n_bins)[:-1] + 1):
        size = design.bucket_strategy(len(edges) - 1).tree.n_nodes
        found.append(NoisyHistogram(noisy[start : start + size], edges))
        start += size
    return found
