"""Exact counting of graphs on Spark, from rows of edges in a started session, by one core and by two.

    python -m scripts.bench.network_counting [--rounds 3]

Graphs: Email-Enron (where DPLIB_SHARED names the folder that has it) and a generated one of a million edges whose
degrees follow a power law. For each master a process of its own; every stage starts from the rows. The first round pays
for Java's and Python's start as well. `scripts.accept.network_statistics` holds the medians against their targets.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from dplib.config.edge_input import EdgeInput, VertexDomain
from dplib.config.sections import SparkSettings
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.common_neighbors import common_neighbor_frontier
from dplib.graphs.statistics.triangles import count_triangles
from dplib.graphs.statistics.truncation import project_graph
from dplib.jobs.network_statistics.distributed import MIN_BLOCKS
from dplib.jobs.network_statistics.rehearse import generate
from dplib.spark.engine.blocks import DataFrame, SparkSession, materialise_blocks
from dplib.spark.engine.session import open_session
from dplib.spark.graphs.edge_blocks import make_edge_blocks
from dplib.spark.graphs.edges import collect_edges, judge_edges, open_edges
from dplib.spark.graphs.graph_counts import count_triangles_in_blocks, degree_counts, frontier_in_blocks
from dplib.spark.graphs.graph_projection import project_blocks

MASTERS = ("local[1]", "local[2]")
DEGREE_BOUND = 50
ROUNDS = 3


@dataclass(frozen=True)
class Timing:
    """One stage on one graph.

    Attributes:
        graph: which.
        master: where.
        stage: what, from the rows on.
        first: seconds of the first round.
        median: seconds, over all rounds.
        count: the number that came out: triangles, most common neighbours, kept edges.
        right: whether it is that of one process.
    """

    graph: str
    master: str
    stage: str
    first: float
    median: float
    count: int
    right: bool


def graphs(folder: Path) -> Iterator[tuple[str, int, dict[str, object]]]:
    """Name, vertices and input of each graph."""
    columns = {"source": "_c0", "target": "_c1"}
    shared = os.environ.get("DPLIB_SHARED")
    if shared:
        path = Path(shared) / "data" / "graphs" / "Email-Enron.txt.gz"
        yield "Email-Enron", 36_692, {"path": str(path), "options": {"sep": "\t", "comment": "#"}, "columns": columns}
    n, rows = 125_000, folder / "edges.csv"
    graph = generate(n, 1_060_000, 1)
    np.savetxt(rows, np.stack([graph.source, graph.target], axis=1), fmt="%d", delimiter=",")
    yield "power law", n, {"path": str(rows), "columns": columns}


def stages(n: int) -> dict[str, Callable[[DataFrame], int]]:
    """From blocks of edges to a number."""

    def degrees_and_triangles(blocks: DataFrame) -> int:
        degree_counts(blocks, MIN_BLOCKS, n)
        return count_triangles_in_blocks(blocks, MIN_BLOCKS)

    def common_neighbours(blocks: DataFrame) -> int:
        return len(frontier_in_blocks(blocks, MIN_BLOCKS, degree_counts(blocks, MIN_BLOCKS, n))) - 1

    def projection(blocks: DataFrame) -> int:
        kept = project_blocks(blocks, MIN_BLOCKS, DEGREE_BOUND, 0)
        counts = degree_counts(kept, MIN_BLOCKS, n)
        kept.unpersist()
        return int(counts @ np.arange(len(counts))) // 2

    return {
        "degrees and triangles": degrees_and_triangles,
        "common neighbours": common_neighbours,
        f"projection to {DEGREE_BOUND}": projection,
    }


def expected(graph: SimpleGraph) -> list[int]:
    """The stages' numbers in one process."""
    kept = project_graph(graph, DEGREE_BOUND, 0)
    return [count_triangles(graph), len(common_neighbor_frontier(graph)) - 1, kept.n_edges]


def time_master(master: str, rounds: int, graph: str) -> list[Timing]:
    """All stages in a session of this process, for graphs whose name holds ``graph``."""
    found: list[Timing] = []
    with (
        tempfile.TemporaryDirectory() as name,
        open_session("bench", SparkSettings(master=master)) as spark,
    ):
        for each, n, given in graphs(Path(name)):
            if graph in each:
                found += _time_graph(spark, master, rounds, each, n, EdgeInput.model_validate(given))
    return found


def _time_graph(
    spark: SparkSession, master: str, rounds: int, graph: str, n: int, given: EdgeInput
) -> Iterator[Timing]:
    def rows() -> DataFrame:
        return judge_edges(open_edges(spark, given, Path()), VertexDomain(n))

    seconds: dict[str, list[float]] = {}
    counts = {}
    for _ in range(rounds):
        for stage, work in stages(n).items():
            started = time.monotonic()
            blocks = make_edge_blocks(rows(), MIN_BLOCKS).persist()
            materialise_blocks(blocks, "read the edges")
            counts[stage] = work(blocks)
            blocks.unpersist()
            seconds.setdefault(stage, []).append(time.monotonic() - started)
    for stage, right in zip(seconds, expected(collect_edges(rows(), n)), strict=True):
        took = seconds[stage]
        yield Timing(graph, master, stage, took[0], statistics.median(took), counts[stage], counts[stage] == right)


def time_in_process(master: str, rounds: int = ROUNDS, graph: str = "") -> list[Timing]:
    """The same in a process of its own: a session's master cannot be changed."""
    command = [sys.executable, "-m", "scripts.bench.network_counting", "--master", master]
    done = subprocess.run(
        [*command, "--rounds", str(rounds), "--graph", graph], check=True, stdout=subprocess.PIPE, text=True
    )
    return [Timing(**each) for each in json.loads(done.stdout.splitlines()[-1])]


def main() -> None:
    """Print one line a stage, or with ``--master`` their JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--graph", default="", help="only graphs whose name holds this")
    given = parser.parse_args()
    if given.master:
        print(json.dumps([asdict(each) for each in time_master(given.master, given.rounds, given.graph)]))
        return
    for master in MASTERS:
        for each in time_in_process(master, given.rounds, given.graph):
            right = "" if each.right else ": NOT what one process counts"
            timed = f"{each.median:6.2f} s (first {each.first:6.2f} s), {each.count:,}{right}"
            print(f"{each.graph}, {master}, {each.stage}: {timed}", flush=True)


if __name__ == "__main__":
    main()
