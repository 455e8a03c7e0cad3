"""The measurement of a network has the same bytes whether its edges are on the driver or in blocks on Spark."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dplib.errors import IntegrityError
from dplib.graphs.simple_graph import SimpleGraph
from dplib.jobs.network_statistics import distributed
from dplib.jobs.network_statistics.distributed import measure_on_spark
from dplib.jobs.network_statistics.measure import measure_edges
from dplib.spark.engine.blocks import DataFrame, SparkSession
from dplib.spark.engine.in_process import session_in_process
from dplib.spark.graphs import edge_blocks
from dplib.workflow.run_keys import RunKeys
from tests.support.network_oracles import random_graph
from tests.support.network_statistics import design_of

N = 40
CASES: dict[str, dict[str, Any]] = {
    "exact rungs": {
        "statistics": {"edge_count": 1, "largest_degree": 1, "degree_histogram": 2, "k_stars": 9, "triangles": 2},
        "triangles": {"rungs": "exact"},
    },
    "smooth": {"statistics": {"triangles": 1}, "triangles": {"mechanism": "smooth", "rungs": "common_neighbors"}},
    "projected": {
        "statistics": {"edge_count": 1, "cumulative_histogram": 2, "sorted_degrees": 2},
        "degree_bound": {"bounding": "projected", "largest": 4, "salt": 7},
    },
}


def judged(spark: SparkSession, graph: SimpleGraph, n_partitions: int) -> DataFrame:
    """Every edge twice, and a row that a rule drops."""
    source, target = graph.source, graph.target
    chosen = np.random.default_rng(n_partitions).permutation(np.append(np.arange(len(source)), np.arange(len(source))))
    ends = {"source": np.append(source[chosen], -1), "target": np.append(target[chosen], 3)}
    failed = pa.array([None] * len(chosen) + [2], pa.int32())
    return spark.createDataFrame(pa.table(ends | {"failed": failed})).repartition(n_partitions)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", list(CASES))
def test_layouts_agree(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, secret: bytes, case: str) -> None:
    """Blocks are mapped without Spark here; that Spark maps them alike is tested block by block."""
    design, graph = design_of(budget={"epsilon": 2}, n=N, **CASES[case]), random_graph(N, 0.3, 4)
    keys = RunKeys("test", secret, secret, secret)
    pieces = edge_blocks._pieces([edge_blocks.pack_edges(graph.source, graph.target)], distributed.block_count(design))
    blocks = session_in_process().createDataFrame(pa.Table.from_batches([pieces]))
    monkeypatch.setattr(distributed, "make_edge_blocks", lambda judged, n_blocks: judged)
    here = measure_edges(design, graph, keys, tmp_path / "driver")
    there = measure_on_spark(blocks, design, keys, tmp_path / "spark")
    assert there == here
    assert content(tmp_path / "spark") == content(tmp_path / "driver") != {}
    fewer = graph.only(np.arange(graph.n_edges) > 0)
    assert measure_edges(design, fewer, keys, tmp_path / "fewer") != here


def test_an_input_that_changes_meanwhile_is_refused(
    spark: SparkSession, tmp_path: Path, secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    design = design_of(["edge_count"], n=N)
    # As if blocks were lost after the first digest and made again of other rows.
    digests = iter([b"1" * 32, b"2" * 32])
    monkeypatch.setattr(distributed, "_digest", lambda blocks, n_blocks, key: next(digests))
    with pytest.raises(IntegrityError, match="must not change"):
        measure_on_spark(
            judged(spark, random_graph(N, 0.3, 4), 1), design, RunKeys("test", secret, secret, secret), tmp_path
        )
    assert content(tmp_path) == {}
