"""The measurement with the edges in blocks on Spark, with the same bytes as in one process (`measure`).

ExactCounts only reach the driver: how many vertices have each degree, the number of triangles, the frontier of common
neighbours. Statistics that need the edges themselves (`dplib.jobs.network_statistics.whole_graph`) stay in one process.

The layout follows from public settings alone, and so does the number of blocks. Both leave every number as it is.

Cost: `dplib.spark.graphs.edge_blocks`, `graph_counts`, `graph_projection`.
"""

from functools import partial
from pathlib import Path

import numpy as np

from dplib.errors import IntegrityError
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.degrees import sorted_degrees_from_histogram
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measure import (
    DIGEST_BLOCKS,
    ExactCounts,
    counts_triangles,
    digest_name,
    edge_digests,
    needs_frontier,
    needs_star_pairs,
    write_noisy,
)
from dplib.release.digest import combine_digests
from dplib.spark.engine.blocks import Block, DataFrame, collect_blocks, map_blocks
from dplib.spark.graphs.edge_blocks import make_edge_blocks, read_ends
from dplib.spark.graphs.graph_counts import (
    count_triangles_in_blocks,
    degree_counts,
    frontier_in_blocks,
    star_pairs_in_blocks,
)
from dplib.spark.graphs.graph_projection import project_blocks
from dplib.workflow.run_keys import MeasurementKeys, RunKeys

DRIVER_EDGES = 1 << 24
"""Expected edges up to which `layout: auto` stays in one process: some hundred megabytes."""
EDGES_A_VERTEX = 16
"""What is expected where nothing is declared."""
TASK_EDGES = 1 << 22
"""Edges that a task of the triangle count should get at most."""
MIN_BLOCKS, MAX_BLOCKS = 4, 32
"""Powers of two that divide `DIGEST_BLOCKS`."""
_DIGEST_BYTES = 32


def expected_edges(design: Design) -> int:
    """How many edges the settings expect."""
    n, declared = design.n_vertices, design.config.counting.expected_edges
    return min(n * (n - 1) // 2, EDGES_A_VERTEX * n if declared is None else declared)


def layout_of(design: Design) -> str:
    """Where the graph is counted, ``driver`` or ``spark``; settings only."""
    layout = design.config.counting.layout
    if design.needs_edges:
        return "driver"  # the design refuses `spark` here
    if layout != "auto":
        return layout
    return "driver" if expected_edges(design) <= DRIVER_EDGES else "spark"


def block_count(design: Design) -> int:
    """How many colours the vertices get: a task for three of them needs about 6m / c^2 edges."""
    n_blocks = MIN_BLOCKS
    while n_blocks < MAX_BLOCKS and 6 * expected_edges(design) > TASK_EDGES * n_blocks**2:
        n_blocks *= 2
    return n_blocks


def measure_on_spark(judged: DataFrame, design: Design, keys: RunKeys, directory: Path) -> MeasurementKeys:
    """Count on Spark, draw the noise of every statistic once and store the measurement.

    Args:
        judged: rows (`dplib.spark.graphs.edges.judge_edges`).
        design: the design.
        keys: the run's sub-keys; the executors get the digest key only.
        directory: staging directory; gets ``measurement/``.

    Raises:
        SchemaError: if the input cannot be read.
        IntegrityError: if blocks that Spark computed again have other edges, because the input changed meanwhile.
        DplibError: if Spark fails otherwise.
    """
    n_blocks = block_count(design)
    blocks = make_edge_blocks(judged, n_blocks).persist()
    try:
        digest = _digest(blocks, n_blocks, keys.digest)
        counts = _count(blocks, n_blocks, design)
        if _digest(blocks, n_blocks, keys.digest) != digest:
            raise IntegrityError("input must not change while it is read, got edges other than before")
    finally:
        blocks.unpersist()
    none = np.zeros(0, dtype=np.int64)
    write_noisy(design, counts, SimpleGraph(design.n_vertices, none, none), keys.measurement(digest), directory)
    return keys.recorded(digest)


def _count(blocks: DataFrame, n_blocks: int, design: Design) -> ExactCounts:
    if not design.projected:
        return _count_kept(blocks, n_blocks, design)
    salt = design.config.graph.degree_bound.salt
    kept = project_blocks(blocks, n_blocks, design.largest_degree, salt)
    try:
        return _count_kept(kept, n_blocks, design)
    finally:
        kept.unpersist()


def _count_kept(kept: DataFrame, n_blocks: int, design: Design) -> ExactCounts:
    counts = degree_counts(kept, n_blocks, design.n_vertices)
    return ExactCounts(
        sorted_degrees_from_histogram(counts),
        count_triangles_in_blocks(kept, n_blocks) if counts_triangles(design) else 0,
        frontier_in_blocks(kept, n_blocks, counts) if needs_frontier(design) else None,
        star_pairs_in_blocks(kept, n_blocks, counts) if needs_star_pairs(design) else (),
    )


def _digest(blocks: DataFrame, n_blocks: int, key: bytes) -> bytes:
    found = collect_blocks(map_blocks(blocks, partial(_digests, n_blocks, key), ["digests"]), "read the edges")
    named = [
        (digest_name(each), columns["digests"][place * _DIGEST_BYTES : (place + 1) * _DIGEST_BYTES])
        for block, columns in found
        for place, each in enumerate(_digest_blocks(block, n_blocks))
    ]
    return combine_digests(key, named)


def _digests(n_blocks: int, key: bytes, block: int, columns: Block) -> Block:
    """Digests of the edges whose smaller end is in the block."""
    named = edge_digests(key, *read_ends(columns["edges"]), _digest_blocks(block, n_blocks))
    return {"digests": b"".join(digest for _, digest in named)}


def _digest_blocks(block: int, n_blocks: int) -> range:
    """A colour among fewer, powers of two, is that among more modulo their number."""
    return range(block, DIGEST_BLOCKS, n_blocks)
