"""Edges in blocks on Spark: counts, digests and projection equal those of one process, however the rows are spread."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from dplib.graphs.common_neighbors import common_neighbor_front
from dplib.graphs.degrees import degree_histogram, largest_degree, vertex_degrees
from dplib.graphs.triangles import count_triangles, vertex_colours
from dplib.spark.blocks import DataFrame, SparkSession, collect_blocks
from dplib.spark.edge_blocks import make_edge_blocks, pack_edges, read_ends
from dplib.spark.graph_counts import count_triangles_in_blocks, degree_counts, front_in_blocks
from tests.network_oracles import IntArray, random_edges

N = 60
GRAPHS = {"dense": (0.3, 1), "sparse": (0.02, 5), "empty": (0.0, 1)}


def graph(name: str) -> tuple[IntArray, IntArray]:
    """Sorted edges, the smaller end first."""
    ends = np.sort(np.stack(random_edges(N, *GRAPHS[name])), axis=0)
    source, target = ends[:, np.lexsort(ends[::-1])]
    return source, target


def rows_of(spark: SparkSession, source: IntArray, target: IntArray, n_partitions: int) -> DataFrame:
    """The edges as rows in no order, every third twice."""
    chosen = np.random.default_rng(n_partitions).permutation(
        np.append(np.arange(len(source)), np.arange(0, len(source), 3))
    )
    table = pa.table({"source": source[chosen], "target": target[chosen]})
    return spark.createDataFrame(table).repartition(n_partitions)


@pytest.fixture(params=[("dense", 4, 1), ("dense", 2, 7), ("sparse", 4, 2), ("empty", 2, 1)], ids=str)
def blocks(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[tuple[DataFrame, int, IntArray, IntArray]]:
    name, n_blocks, n_partitions = request.param
    source, target = graph(name)
    made = make_edge_blocks(rows_of(spark, source, target, n_partitions), n_blocks).persist()
    yield made, n_blocks, source, target
    made.unpersist()


def test_blocks_and_counts(blocks: tuple[DataFrame, int, IntArray, IntArray]) -> None:
    made, n_blocks, source, target = blocks
    found = collect_blocks(made, "make blocks")
    assert [block for block, _ in found] == list(range(n_blocks))
    for block, columns in found:
        mine = (vertex_colours(source, n_blocks) == block) | (vertex_colours(target, n_blocks) == block)
        held = read_ends(columns["edges"])
        assert pack_edges(*held).tolist() == pack_edges(source[mine], target[mine]).tolist()
    degrees = vertex_degrees(N, source, target)
    counts = degree_counts(made, n_blocks, N)
    assert counts.tolist() == degree_histogram(degrees, largest_degree(degrees)).tolist()
    assert count_triangles_in_blocks(made, n_blocks) == count_triangles(N, source, target)
    front = front_in_blocks(made, n_blocks, counts)
    assert front.tolist() == common_neighbor_front(N, source, target).tolist()
