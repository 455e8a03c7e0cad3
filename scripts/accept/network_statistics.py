"""Acceptance of network statistics: known graphs and the job; the rest stands in `scripts.accept.network_parts`."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.config.edge_input import EdgeInput
from dplib.config.load import check
from dplib.config.sections import SparkSettings
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.triangles import count_triangles, split_for_tasks
from dplib.jobs.network_statistics.check import check_tables
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import make_results, std_error
from dplib.jobs.network_statistics.measure import (
    add_noise,
    exact_counts,
    exact_statistics,
    noisy_statistics,
    rungs_of,
    statistics_of,
)
from dplib.jobs.network_statistics.rehearse import generate
from dplib.jobs.network_statistics.tables import ESTIMATES, noise_variance
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.mechanisms.ladder import draw_ladder, ladder_mean_error
from dplib.mechanisms.smooth_noise import draw_smooth_cauchy, smooth_cauchy_quantile
from dplib.randomness.keyed import KeyedStream, derive_key
from dplib.release.manifest import load_manifest
from dplib.release.tables import read_table
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.engine.session import open_session
from dplib.spark.graphs.edges import VertexDomain, collect_edges, judge_edges, open_edges
from scripts.accept import network_statistics_spark
from scripts.accept.claims import Check, Result, at_most, load, unless_busy
from scripts.accept.main_job import release_of, run_command
from scripts.accept.network_parts import CHECKS as PART_CHECKS

ROOT = Path(__file__).resolve().parents[2]
KEY = bytes(range(32))
GRAPHS = (
    ("facebook_combined.txt", " ", 4_039, 88_234, 1_612_010),
    ("ca-GrQc.txt", "\t", 26_197, 14_484, 48_260),
    ("Email-Enron.txt.gz", "\t", 36_692, 183_831, 727_044),
)
"""File, separator, declared vertices, edges without loops, triangles (SNAP's pages; ca-GrQc lists 12 loops)."""
DRAWS = 400
N_COLOURS = 8


@contextmanager
def session() -> Iterator[SparkSession]:
    """Spark with two cores."""
    with open_session("accept", SparkSettings(master="local[2]")) as spark:
        yield spark


def real_graphs() -> Iterator[Result]:
    """Known graphs: exact statistics before noise, errors after it as predicted, times."""
    folder = os.environ.get("DPLIB_SHARED")
    if not folder:
        yield Result("known graphs", "the shared data", "DPLIB_SHARED is not set", None)
        return
    # The first call compiles the kernels.
    count_triangles(SimpleGraph(3, np.array([0, 0, 1]), np.array([1, 2, 2])))
    with session() as spark:
        for name, separator, n, edges, triangles in GRAPHS:
            path = str(Path(folder) / "data" / "graphs" / name)
            settings = {
                "path": path,
                "options": {"sep": separator, "comment": "#"},
                "columns": {"source": "_c0", "target": "_c1"},
            }
            design, seconds = design_of(n), []
            for _ in range(3):
                started = time.monotonic()
                rows = open_edges(spark, EdgeInput.model_validate(settings), Path())
                graph = collect_edges(judge_edges(rows, VertexDomain(n)), n)
                exact = exact_statistics(design, graph)
                seconds.append(time.monotonic() - started)
            found = int(exact[Statistic.EDGE_COUNT][0]), int(exact[Statistic.TRIANGLES][0])
            known = (edges, triangles)
            yield Result(f"{name}: edges and triangles before noise", f"{known}", f"{found}", found == known)
            yield degrees_before_noise(path, name, design, exact)
            if name.startswith("Email"):
                claim = f"{name}: read on Spark local[2], counted on the driver, median of 3 ({load()})"
                yield unless_busy(at_most(claim, statistics.median(seconds), 8, " s"))
            yield from errors_after_noise(name, design, graph)


def degrees_before_noise(path: str, name: str, design: Design, exact: dict[Statistic, IntArray]) -> Result:
    """Degree histogram, sorted degrees and largest degree as networkx counts them in the file."""
    graph = nx.read_edgelist(path, nodetype=int)
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    degrees = np.zeros(design.n_vertices, dtype=np.int64)
    degrees[: graph.number_of_nodes()] = [degree for _, degree in graph.degree()]
    same = (
        np.array_equal(exact[Statistic.DEGREE_HISTOGRAM], np.bincount(degrees, minlength=design.last_bin + 1))
        and np.array_equal(exact[Statistic.SORTED_DEGREES], np.sort(degrees))
        and int(exact[Statistic.LARGEST_DEGREE][0]) == degrees.max()
    )
    claim = f"{name}: degree histogram, sorted and largest degree before noise, beside networkx"
    return Result(claim, "equal", "equal" if same else "different", bool(same))


FIVE = {"edge_count": 1, "largest_degree": 1, "degree_histogram": 2, "sorted_degrees": 2, "triangles": 3}


def design_of(n: int, weights: dict[str, int] = FIVE) -> Design:
    """Statistics at epsilon 1 together."""
    settings = {
        "config_version": 1,
        "job": "network-statistics",
        "dataset": "accept",
        "input": {"path": "none", "columns": {"source": "s", "target": "t"}},
        "privacy": {"budget": {"epsilon": 1}},
        "graph": {"vertices": {"count": n}, "statistics": weights, "last_bin": 2_000},
    }
    return Design.resolve(check(NetworkStatisticsConfig, settings), Path())


def errors_after_noise(name: str, design: Design, graph: SimpleGraph) -> Iterator[Result]:
    """Errors that are met, over those that were predicted."""
    exact = exact_statistics(design, graph)
    results = make_results(design, dict(noisy_statistics(design, graph, derive_key(KEY, name))), WholeGraph({}))
    gap = results.estimate[Statistic.DEGREE_HISTOGRAM] - exact[Statistic.DEGREE_HISTOGRAM]
    ratio = float(np.sqrt((gap**2).mean())) / std_error(design, Statistic.DEGREE_HISTOGRAM)
    # 2,001 bins: the root mean square of Laplace noise is off by 2.5 % (one standard error).
    yield at_most(f"{name}: degree histogram, |error met / predicted - 1|", abs(ratio - 1), 0.1)
    gap = results.estimate[Statistic.SORTED_DEGREES] - exact[Statistic.SORTED_DEGREES]
    (measured,) = (each for each in design.measurements if each.statistic is Statistic.SORTED_DEGREES)
    noise = float(np.sqrt(noise_variance(measured)))
    yield at_most(f"{name}: sorted degrees, error after isotonic regression over noise", rms(gap) / noise, 0.5)
    rungs, epsilon = rungs_of(design, exact_counts(design, graph)), Fraction(1)
    triangles = int(exact[Statistic.TRIANGLES][0])
    drawn = draw_ladder(KeyedStream(KEY, name), triangles, rungs, epsilon, DRAWS)
    met, predicted = float(np.abs(drawn - triangles).mean()), ladder_mean_error(rungs, epsilon)
    claim = f"{name}: ladder at epsilon 1, |mean error met / predicted - 1| of {DRAWS} draws ({met:,.0f} triangles)"
    # The error's standard deviation is about its mean.
    yield at_most(claim, abs(met / predicted - 1), 4 / DRAWS**0.5)
    drawn = draw_smooth_cauchy(KeyedStream(KEY, name, "smooth"), triangles, rungs, epsilon, size=DRAWS)
    below = float((np.abs(drawn - triangles) <= smooth_cauchy_quantile(rungs, epsilon, 0.5)).mean())
    claim = f"{name}: smooth sensitivity at epsilon 1, |share of {DRAWS} draws within the predicted median error - 1/2|"
    yield at_most(claim, abs(below - 0.5), 2 / DRAWS**0.5)
    yield from errors_of_single_numbers(name, graph)


def errors_of_single_numbers(name: str, graph: SimpleGraph) -> Iterator[Result]:
    """Number of edges and largest degree: the errors of many runs over the stated standard error."""
    design = design_of(graph.n_vertices, {"edge_count": 1, "largest_degree": 1})
    facts = exact_counts(design, graph)
    exact = statistics_of(design, facts)
    runs = [add_noise(design, facts, derive_key(KEY, name, run)) for run in range(DRAWS)]
    for statistic, true in exact.items():
        ratio = rms(np.array([float(run[statistic][0] - true[0]) for run in runs])) / std_error(design, statistic)
        claim = f"{name}: {str(statistic).replace('_', ' ')}, |error of {DRAWS} runs met / predicted - 1|"
        # The root mean square of this many Laplace draws is off by 5.6 % (one standard error).
        yield at_most(claim, abs(ratio - 1), 4 * (1.25 / DRAWS) ** 0.5)


def rms(values: FloatArray) -> float:
    """Root mean square."""
    return float(np.sqrt((values**2).mean()))


def large_graph() -> Iterator[Result]:
    """A million edges with hubs."""
    graph = generate(125_000, 1_060_000, 1)
    started = time.process_time()
    count_triangles(graph)
    claim = f"triangles of a graph with hubs and {graph.n_edges:,} edges, counted on the driver ({load()})"
    yield at_most(claim, time.process_time() - started, 40, " s")
    sent = sum(len(held) for held in split_for_tasks(graph.source, graph.target, N_COLOURS).values())
    degrees = graph.degrees()
    wedges = int((degrees * (degrees - 1) // 2).sum())
    claim = f"no wedge is written: edges sent to the tasks of {N_COLOURS} colours, over edges ({wedges:,} wedges)"
    yield at_most(claim, sent / graph.n_edges, N_COLOURS)


def job() -> Iterator[Result]:
    """The configuration that runs as it stands, its checks and an answer."""
    subprocess.run([sys.executable, "-m", "scripts.make_data", "friends", "data"], check=True, cwd=ROOT)
    config = ROOT / "conf" / "network.yaml"
    planned = json.loads(run_command("plan", "network-statistics", "--config", str(config), "--json").stdout)
    names = [total["accountant"] for total in planned["totals"]]
    four = ["basic", "advanced", "zcdp", "pld"]
    yield Result("plan: totals by four accountants side by side", ", ".join(four), ", ".join(names), names == four)
    compared = [
        each for each in planned["triangles"] if min(each["ladder"], each["smooth"], each["global_laplace"]) > 0
    ]
    yield Result(
        "plan: ladder, smooth and global Laplace over a range of degrees",
        "at least 3 degrees",
        f"{len(compared)}",
        len(compared) >= 3,
    )
    with tempfile.TemporaryDirectory() as name:
        release, _ = release_of(config, "friends", Path(name), "1")
        for each in check_tables(release, load_manifest(release)):
            yield Result(f"friends, {each.name}", "holds", each.detail, each.ok)
        page = (release / "report.html").read_text(encoding="utf-8")
        drawn = 'aria-label="Degree distribution of' in page
        yield Result("report: degree distribution with its band", "drawn", "drawn" if drawn else "missing", drawn)
        stated = read_table(release / ESTIMATES, ["statistic", "std_error"]).to_pylist()
        withheld = [row["std_error"] for row in stated if row["statistic"] == "triangles"]
        yield Result("triangles: the scale of the noise is withheld", "[None]", f"{withheld}", withheld == [None])
        asked = run_command("query", str(release), "--item", "degree_histogram", "--from", "0", "--to", "9")
        yield Result(
            "dplib query RELEASE --item degree_histogram", "an answer", f"exit {asked.returncode}", not asked.returncode
        )


CHECKS: tuple[Check, ...] = (
    real_graphs,
    large_graph,
    job,
    *PART_CHECKS,
    *network_statistics_spark.CHECKS,
)
