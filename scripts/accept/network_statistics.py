"""Acceptance of network statistics: known graphs, a large one, the job, times on Spark.

Noisy graphs, choices and the local model on one of the known graphs: `scripts.accept.network_parts`.
"""

import statistics
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from dplib.config.edge_input import EdgeInput, VertexDomain
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.triangles import count_triangles
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import make_results, std_error
from dplib.jobs.network_statistics.measure import (
    exact_counts,
    exact_statistics,
    noisy_numbers,
    noisy_statistics,
    rungs_of,
    statistics_of,
)
from dplib.jobs.network_statistics.rehearse import generate
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.mechanisms.ladder import draw_ladder, ladder_mean_error
from dplib.mechanisms.smooth_noise import draw_smooth_cauchy, smooth_cauchy_quantile
from dplib.randomness.keyed import KeyedStream, derive_key
from dplib.spark.graphs.edges import collect_edges, judge_edges, open_edges
from scripts.accept.claims import Check, Result, at_most, load, unless_busy
from scripts.accept.network_parts import FACEBOOK, KEY, choices, local_model, noisy_graph, rms
from scripts.accept.runs import as_it_stands, needs_shared, run_command, session, shared, verifies
from scripts.bench.network_counting import time_in_process
from tests.support.network_statistics import design_of

GRAPHS = (
    (FACEBOOK, " ", 4_039, 88_234, 1_612_010),
    ("ca-GrQc.txt", "\t", 26_197, 14_484, 48_260),
    ("Email-Enron.txt.gz", "\t", 36_692, 183_831, 727_044),
)
"""File, separator, declared vertices, edges without loops, triangles (SNAP's pages; ca-GrQc lists 12 loops)."""
DRAWS = 400
TARGETS = {"Email-Enron": 8, "power law": 40}
"""Seconds for degrees and triangles on two cores."""
FIVE = {"edge_count": 1, "largest_degree": 1, "degree_histogram": 2, "sorted_degrees": 2, "triangles": 3}


@needs_shared
def real_graphs() -> Iterator[Result]:
    """Known graphs: exact statistics before noise, errors after it as predicted, times; all parts of one of them."""
    # The first call compiles the kernels.
    count_triangles(SimpleGraph(3, np.array([0, 0, 1]), np.array([1, 2, 2])))
    for name, separator, n, edges, triangles in GRAPHS:
        columns, options = {"source": "_c0", "target": "_c1"}, {"sep": separator, "comment": "#"}
        source = EdgeInput.model_validate({"path": str(shared("graphs", name)), "options": options, "columns": columns})
        design, seconds = design_of(FIVE, {"epsilon": 1}, n=n, last_bin=2_000), []
        with session() as spark:
            for _ in range(3):
                started = time.monotonic()
                graph = collect_edges(judge_edges(open_edges(spark, source, Path()), VertexDomain(n)), n)
                exact = exact_statistics(design, graph)
                seconds.append(time.monotonic() - started)
        found = int(exact[Statistic.EDGE_COUNT][0]), int(exact[Statistic.TRIANGLES][0])
        known = (edges, triangles)
        yield Result(f"{name}: edges and triangles before noise", f"{known}", f"{found}", found == known)
        if name.startswith("Email"):
            claim = f"{name}: read on Spark local[2], counted on the driver, median of 3 ({load()})"
            yield unless_busy(at_most(claim, statistics.median(seconds), 8, " s"))
        yield from errors_after_noise(name, design, graph)
        if name == FACEBOOK:
            yield from noisy_graph(graph)
            yield from choices(graph)
            yield from local_model(graph)


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
    assert measured.noise is not None
    noise = float(np.sqrt(measured.noise.variance))
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
    design = design_of(("edge_count", "largest_degree"), {"epsilon": 1}, n=graph.n_vertices)
    facts = exact_counts(design, graph)
    exact = statistics_of(design, facts)
    runs = [noisy_numbers(design, facts, derive_key(KEY, name, run)) for run in range(DRAWS)]
    for statistic, true in exact.items():
        ratio = rms(np.array([float(run[statistic][0] - true[0]) for run in runs])) / std_error(design, statistic)
        claim = f"{name}: {str(statistic).replace('_', ' ')}, |error of {DRAWS} runs met / predicted - 1|"
        # The root mean square of this many Laplace draws is off by 5.6 % (one standard error).
        yield at_most(claim, abs(ratio - 1), 4 * (1.25 / DRAWS) ** 0.5)


def large_graph() -> Iterator[Result]:
    """A million edges with hubs."""
    graph = generate(125_000, 1_060_000, 1)
    started = time.process_time()
    count_triangles(graph)
    claim = f"triangles of a graph with hubs and {graph.n_edges:,} edges, counted on the driver ({load()})"
    yield at_most(claim, time.process_time() - started, 40, " s")


def job() -> Iterator[Result]:
    """The configuration that runs as it stands, and an answer."""
    with tempfile.TemporaryDirectory() as name:
        release = as_it_stands("network.yaml", "friends", Path(name))
        yield verifies(release)
        asked = run_command("query", str(release), "--item", "degree_histogram", "--from", "0", "--to", "9")
        claim = "dplib query RELEASE --item degree_histogram"
        yield Result(claim, "an answer", f"exit {asked.returncode}", not asked.returncode)


@needs_shared
def times_on_spark() -> Iterator[Result]:
    """From rows of edges, after the session has started; three rounds, each from the rows."""
    before = load()
    for each in time_in_process("local[2]"):
        title = f"{each.graph} on Spark, local[2], {each.stage}"
        yield Result(f"{title}: that of one process", "equal", f"{each.count:,}", each.right)
        if each.stage.endswith("triangles"):
            claim = f"{title}, from rows, median of 3, the first {each.first:.1f} s ({before} at the start)"
            yield unless_busy(at_most(claim, each.median, TARGETS[each.graph], " s"))


CHECKS: tuple[Check, ...] = (real_graphs, large_graph, job, times_on_spark)
