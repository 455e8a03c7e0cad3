"""Acceptance of network statistics: noisy graphs, choices and the local model on one real graph."""

import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.candidate_scores import coverage_scores, split_scores
from dplib.graphs.statistics.degrees import degree_histogram, k_stars
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.estimate import make_results, whole_graph_error
from dplib.jobs.network_statistics.noisy_graph_plan import planned_choices
from dplib.jobs.network_statistics.whole_graph import draw_whole_graph, exact_whole_graph
from dplib.randomness.keyed import derive_key
from scripts.accept.claims import Result, at_most, load
from tests.support.network_statistics import design_of

KEY = bytes(range(32))
FACEBOOK, N_FACEBOOK, TRIANGLES = "facebook_combined.txt", 4_039, 1_612_010
DRAWS = 200


def rms(values: FloatArray) -> float:
    """Root mean square."""
    return float(np.sqrt((values**2).mean()))


def noisy_graph(edges: SimpleGraph) -> Iterator[Result]:
    """The noisy adjacency matrix by its edges: as many true and false edges as the law says, and fast."""
    blocks = {"low": list(range(1_000)), "high": list(range(1_000, 2_000))}
    design = design_of(("adjacency",), {"epsilon": 8}, n=N_FACEBOOK, adjacency={"blocks": blocks})
    draw_whole_graph(design, edges.only(np.arange(edges.n_edges) < 9), derive_key(KEY, "warm"))
    started = time.process_time()
    parts = draw_whole_graph(design, edges, derive_key(KEY, FACEBOOK))
    seconds = time.process_time() - started
    assert parts.graph is not None
    graph, pairs = parts.graph, N_FACEBOOK * (N_FACEBOOK - 1) // 2
    numbers = edges.source * N_FACEBOOK + edges.target
    kept = int(np.isin(graph.edges.source * N_FACEBOOK + graph.edges.target, numbers).sum())
    true, false = graph.law.expected(edges.n_edges, pairs)
    met = kept / true - 1, (graph.edges.n_edges - kept) / false - 1
    claim = f"{FACEBOOK}: noisy graph at epsilon 8, |met / expected - 1| of"
    yield at_most(f"{claim} the {true:,.0f} true edges kept", abs(met[0]), 0.02)
    yield at_most(f"{claim} the {false:,.0f} false edges", abs(met[1]), 0.05)
    yield at_most(f"{FACEBOOK}: drawn without going through {pairs:,} pairs ({load()})", seconds, 3, " s")
    wide = design_of(("adjacency",), {"epsilon": 16}, n=20 * N_FACEBOOK)
    assert wide.measurements
    started = time.process_time()
    found = draw_whole_graph(wide, replace(edges, n_vertices=wide.n_vertices), derive_key(KEY, "wide")).graph
    assert found is not None
    claim = (
        f"the same edges among 400 times the pairs ({found.edges.n_edges:,} kept, {graph.edges.n_edges:,} before): time"
    )
    yield at_most(f"{claim} over time", (time.process_time() - started) / seconds, 20)
    results = make_results(design, dict(parts.numbers), parts)
    exact = exact_whole_graph(design, edges)[Statistic.ADJACENCY]
    gap = np.abs(results.estimate[Statistic.ADJACENCY] - exact) / results.std_error[Statistic.ADJACENCY]
    yield at_most("edges of the graph and of declared blocks, error over standard error", float(gap.max()), 4)


def choices(edges: SimpleGraph) -> Iterator[Result]:
    """The chosen candidate is as close to the best as the plan says, in at least 95 % of draws."""
    rng = np.random.default_rng(1)
    splits = {f"cut {k}": {"a": list(range(k)), "b": list(range(k, N_FACEBOOK))} for k in range(400, 4_000, 400)}
    seeds = {f"set {k}": rng.choice(N_FACEBOOK, 10, replace=False).tolist() for k in range(40)}
    design = design_of(
        ("split", "coverage"),
        {"epsilon": "0.2"},
        n=N_FACEBOOK,
        split={"candidates": splits, "resolution": "1/100"},
        coverage={"candidates": seeds},
    )
    declared = design.declared
    scores = {
        "split": split_scores(edges, list(declared.splits.values()), Fraction(1, 100)) / 100,
        "coverage": coverage_scores(edges, list(declared.seeds.values())).astype(np.float64),
    }
    drawn = [draw_whole_graph(design, edges, derive_key(KEY, "choice", trial)).choices for trial in range(DRAWS)]
    for planned in planned_choices(design):
        score = scores[planned.statistic]
        below = np.array([score.max() - score[each[Statistic(planned.statistic)]] for each in drawn])
        share = float((below > planned.within).mean())
        claim = f"{planned.statistic} at epsilon 0.1: draws more than the planned {planned.within:,.3g} below the best"
        yield at_most(claim, share, 0.05 + 3 * (0.05 * 0.95 / DRAWS) ** 0.5)


def local_model(edges: SimpleGraph) -> Iterator[Result]:
    """Reports of all vertices: estimates within their standard errors; both models side by side."""
    statistics = ("degree_sequence", "adjacency")
    design = design_of(statistics, {"epsilon": 4}, n=N_FACEBOOK, privacy={"model": "local"}, last_bin=100)
    started = time.process_time()
    parts = draw_whole_graph(design, edges, derive_key(KEY, "local"))
    seconds = time.process_time() - started
    assert parts.graph is not None
    yield at_most(f"{FACEBOOK}: reports of {N_FACEBOOK:,} vertices simulated ({load()})", seconds, 30, " s")
    results = make_results(design, dict(parts.numbers), parts)
    degrees = edges.degrees()
    true: dict[Statistic, Any] = {
        Statistic.EDGE_COUNT: edges.n_edges,
        Statistic.K_STARS: k_stars(degrees, 2),
        Statistic.TRIANGLES: TRIANGLES,
        Statistic.ADJACENCY: edges.n_edges,
    }
    for statistic, value in true.items():
        gap = abs(float(results.estimate[statistic][0]) - value)
        yield at_most(
            f"local model at epsilon 2 + 2: {statistic}, error over standard error ({gap:,.0f} of {value:,})",
            gap / float(results.std_error[statistic][0]),
            4,
        )
    histogram = degree_histogram(degrees, design.last_bin)
    error = (results.estimate[Statistic.DEGREE_HISTOGRAM] - histogram) / results.std_error[Statistic.DEGREE_HISTOGRAM]
    yield at_most("local degree histogram, root mean square of error over standard error", rms(error), 1.3)
    met = abs(float(results.estimate[Statistic.ADJACENCY][0]) - edges.n_edges) / whole_graph_error(
        design, edges.n_edges
    )
    yield at_most("randomized bits: error of the edges over the planned one", met, 4)
