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
from dplib.spark.engine.blocks import DataFrame, SparkSession, collect_blocks
from dplib.spark.engine.rounds import BlockRounds
from dplib.spark.graphs import graph_projection
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


@pytest.fixture(
    params=[
        ("dense", 2, 3),
        pytest.param(("dense", 4, 1), marks=pytest.mark.slow),
        pytest.param(("sparse", 4, 2), marks=pytest.mark.slow),
        ("empty", 2, 1),
    ],
    ids=str,
)
def blocks(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[tuple[DataFrame, int, SimpleGraph]]:
    name, n_blocks, n_partitions = request.param
    graph = random_graph(N, *GRAPHS[name])
    made = make_edge_blocks(rows_of(spark, graph, n_partitions), n_blocks).persist()
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


@pytest.mark.parametrize(
    ("name", "n_blocks", "n_partitions", "bound", "alone"),
    [pytest.param("dense", 4, 2, 3, 0, marks=pytest.mark.slow), ("dense", 2, 1, 5, 200), ("empty", 2, 1, 1, 5)],
)
def test_projection(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    n_blocks: int,
    n_partitions: int,
    bound: int,
    alone: int,
) -> None:
    # States are stored after every second round and the plan is cut after two of them, so that few rounds do it all.
    monkeypatch.setattr(graph_projection, "BlockRounds", partial(BlockRounds, keep_every=2, max_depth=2))
    graph = random_graph(N, *GRAPHS[name])
    made = make_edge_blocks(rows_of(spark, graph, n_partitions), n_blocks).persist()
    projected = project_blocks(made, n_blocks, bound, 11, alone)
    kept = project_graph(graph, bound, 11)
    held = [edge_words(columns["edges"]) for _, columns in collect_blocks(projected, "project")]
    assert np.unique(np.concatenate(held)).tolist() == pack_edges(kept.source, kept.target).tolist()
    degrees = kept.degrees()
    assert degree_counts(projected, n_blocks, N).tolist() == degree_histogram(degrees, largest_degree(degrees)).tolist()
    assert name == "empty" or degrees.max() == bound
    projected.unpersist()
    made.unpersist()
