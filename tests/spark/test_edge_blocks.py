"""Edges in blocks on Spark: counts, digests and projection equal those of one process, however the rows are spread."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from dplib.graphs.mixing import vertex_colours
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.common_neighbors import common_neighbor_frontier
from dplib.graphs.statistics.degrees import degree_histogram, largest_degree
from dplib.graphs.statistics.triangles import count_triangles
from dplib.graphs.statistics.truncation import project_graph
from dplib.spark.engine import in_process
from dplib.spark.engine.blocks import DataFrame, SparkSession, collect_blocks
from dplib.spark.engine.in_process import session_in_process
from dplib.spark.engine.rounds import BlockRounds
from dplib.spark.graphs import edge_blocks, graph_projection
from dplib.spark.graphs.edge_blocks import edge_words, make_edge_blocks, pack_edges, read_ends
from dplib.spark.graphs.graph_counts import count_triangles_in_blocks, degree_counts, frontier_in_blocks
from dplib.spark.graphs.graph_projection import project_blocks
from tests.support.network_oracles import random_graph

N = 60
GRAPHS = {"dense": (0.3, 1), "sparse": (0.02, 5), "empty": (0.0, 1)}


def rows_of(spark: SparkSession, graph: SimpleGraph, n_partitions: int) -> DataFrame:
    """The edges as rows in no order, every third twice."""
    source, target = graph.source, graph.target
    chosen = np.random.default_rng(n_partitions).permutation(
        np.append(np.arange(len(source)), np.arange(0, len(source), 3))
    )
    table = pa.table({"source": source[chosen], "target": target[chosen], "failed": pa.nulls(len(chosen), pa.int32())})
    return spark.createDataFrame(table).repartition(n_partitions)


ON_SPARK = "dense", 2
"""Blocks that Spark makes, maps and brings together; the others are mapped by the same functions without it."""


@pytest.fixture(
    scope="module",
    params=[ON_SPARK, ("dense", 4), ("sparse", 4), ("empty", 2)],
    ids=lambda each: "-".join(map(str, each)),
)
def blocks(request: pytest.FixtureRequest) -> Iterator[tuple[DataFrame, int, SimpleGraph]]:
    name, n_blocks = request.param
    graph = random_graph(N, *GRAPHS[name])
    if request.param == ON_SPARK:
        made = make_edge_blocks(rows_of(request.getfixturevalue("spark"), graph, 3), n_blocks).persist()
    else:
        pieces = edge_blocks._pieces([pack_edges(graph.source, graph.target)], n_blocks)
        made = session_in_process().createDataFrame(pa.Table.from_batches([pieces]))
    yield made, n_blocks, graph
    made.unpersist()


def test_blocks_and_counts(blocks: tuple[DataFrame, int, SimpleGraph]) -> None:
    made, n_blocks, graph = blocks
    source, target = graph.source, graph.target
    found = collect_blocks(made, "make blocks")
    assert [block for block, _ in found] == list(range(n_blocks))
    for block, columns in found:
        mine = (vertex_colours(source, n_blocks) == block) | (vertex_colours(target, n_blocks) == block)
        held = read_ends(columns["edges"])
        assert pack_edges(*held).tolist() == pack_edges(source[mine], target[mine]).tolist()
    degrees = graph.degrees()
    counts = degree_counts(made, n_blocks, N)
    assert counts.tolist() == degree_histogram(degrees, largest_degree(degrees)).tolist()
    assert count_triangles_in_blocks(made, n_blocks) == count_triangles(graph)
    frontier = frontier_in_blocks(made, n_blocks, counts)
    assert frontier.tolist() == common_neighbor_frontier(graph).tolist()


def test_projection(blocks: tuple[DataFrame, int, SimpleGraph], monkeypatch: pytest.MonkeyPatch) -> None:
    # States are stored after every second round and the plan is cut after two of them, so that few rounds do it all.
    monkeypatch.setattr(graph_projection, "BlockRounds", partial(BlockRounds, keep_every=2, max_depth=2))
    made, n_blocks, graph = blocks
    # Who decides the last edges is no matter of Spark's.
    for bound, alone in ((5, 200), (3, 0))[: 2 if isinstance(made, in_process._Frame) else 1]:
        projected = project_blocks(made, n_blocks, bound, 11, alone)
        kept = project_graph(graph, bound, 11)
        held = [edge_words(columns["edges"]) for _, columns in collect_blocks(projected, "project")]
        assert np.unique(np.concatenate(held)).tolist() == pack_edges(kept.source, kept.target).tolist()
        degrees = kept.degrees()
        histogram = degree_histogram(degrees, largest_degree(degrees))
        assert degree_counts(projected, n_blocks, N).tolist() == histogram.tolist()
        assert graph.n_edges < N or degrees.max() == bound
        projected.unpersist()
