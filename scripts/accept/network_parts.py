"""Acceptance of network statistics: noisy graphs, choices, and the central model beside the local one."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray
from dplib.config.edge_input import EdgeInput
from dplib.config.load import check
from dplib.config.sections import SparkSettings
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.candidate_scores import coverage_scores, split_scores
from dplib.graphs.statistics.degrees import degree_histogram, k_stars
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.estimate import make_results, whole_graph_error
from dplib.jobs.network_statistics.noisy_graph_plan import compared_models, planned_choices
from dplib.jobs.network_statistics.noisy_graph_tables import passing_of
from dplib.jobs.network_statistics.plan import make_plan
from dplib.jobs.network_statistics.publish import invariants
from dplib.jobs.network_statistics.whole_graph import draw_whole_graph, exact_whole_graph
from dplib.privacy.accountant import totals
from dplib.randomness.keyed import derive_key
from dplib.spark.engine.session import open_session
from dplib.spark.graphs.edges import VertexDomain, collect_edges, judge_edges, open_edges
from dplib.workflow.design import delta_of
from scripts.accept.claims import Check, Result, at_most, load

KEY = bytes(range(32))
FACEBOOK, N_FACEBOOK, TRIANGLES = "facebook_combined.txt", 4_039, 1_612_010
DRAWS = 200


def designed(n: int, privacy: dict[str, Any], statistics: dict[str, int], **graph: Any) -> Design:
    """A design that reads no file."""
    settings = {
        "config_version": 1,
        "job": "network-statistics",
        "dataset": "accept",
        "input": {"path": "none", "columns": {"source": "s", "target": "t"}},
        "privacy": privacy,
        "graph": {"vertices": {"count": n}, "statistics": statistics} | graph,
    }
    return Design.resolve(check(NetworkStatisticsConfig, settings), Path())


def facebook() -> SimpleGraph | None:
    """The edges of the friendship graph, read on Spark; None without the shared data."""
    folder = os.environ.get("DPLIB_SHARED")
    if not folder:
        return None
    columns = {"source": "_c0", "target": "_c1"}
    path = str(Path(folder) / "data" / "graphs" / FACEBOOK)
    source = EdgeInput.model_validate({"path": path, "options": {"sep": " "}, "columns": columns})
    with open_session("accept", SparkSettings(master="local[2]")) as spark:
        return collect_edges(judge_edges(open_edges(spark, source, Path()), VertexDomain(N_FACEBOOK)), N_FACEBOOK)


def real_parts() -> Iterator[Result]:
    """All of it on one real graph."""
    edges = facebook()
    if edges is None:
        yield Result("noisy graph, choices and local model of a real graph", FACEBOOK, "DPLIB_SHARED is not set", None)
        return
    yield from noisy_graph(edges)
    yield from choices(edges)
    yield from local_model(edges)


def noisy_graph(edges: SimpleGraph) -> Iterator[Result]:
    """The noisy adjacency matrix by its edges: as many true and false edges as the law says, and fast."""
    blocks = {"low": list(range(1_000)), "high": list(range(1_000, 2_000))}
    design = designed(N_FACEBOOK, {"budget": {"epsilon": 8}}, {"adjacency": 1}, adjacency={"blocks": blocks})
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
    wide = designed(20 * N_FACEBOOK, {"budget": {"epsilon": 16}}, {"adjacency": 1})
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
    passing = passing_of(graph.law)
    yield Result(
        "is there an edge: probabilities behind the bit",
        "p(kept) > p(false)",
        f"{passing.edge:.3g}, {passing.other:.3g}",
        passing.edge > passing.other,
    )


def choices(edges: SimpleGraph) -> Iterator[Result]:
    """The chosen candidate is as close to the best as the plan says, in at least 95 % of draws."""
    rng = np.random.default_rng(1)
    splits = {f"cut {k}": {"a": list(range(k)), "b": list(range(k, N_FACEBOOK))} for k in range(400, 4_000, 400)}
    seeds = {f"set {k}": rng.choice(N_FACEBOOK, 10, replace=False).tolist() for k in range(40)}
    design = designed(
        N_FACEBOOK,
        {"budget": {"epsilon": "0.2"}},
        {"split": 1, "coverage": 1},
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
    statistics = {"degree_sequence": 1, "adjacency": 1}
    design = designed(N_FACEBOOK, {"budget": {"epsilon": 4}, "model": "local"}, statistics, last_bin=100)
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
    again = draw_whole_graph(design, edges, derive_key(KEY, "local"))
    assert again.graph is not None
    same = np.array_equal(again.graph.edges.source, parts.graph.edges.source) and all(
        np.array_equal(again.numbers[name], parts.numbers[name]) for name in parts.numbers
    )
    yield Result("a report that is computed again is the same report", "equal", "equal" if same else "other", same)
    met = abs(float(results.estimate[Statistic.ADJACENCY][0]) - edges.n_edges) / whole_graph_error(
        design, edges.n_edges
    )
    yield at_most("randomized bits: error of the edges over the planned one", met, 4)


def rms(values: FloatArray) -> float:
    """Root mean square."""
    return float(np.sqrt((values**2).mean()))


def both_models() -> Iterator[Result]:
    """The note's numbers for Email-Enron at epsilon 1, from settings alone; and what plans say."""
    design = designed(36_692, {"budget": {"epsilon": 1}}, {"edge_count": 1})
    errors = {(each.number, each.how): each for each in compared_models(design)}
    degrees = errors["edge count", "noisy degrees, one end"].local
    yield at_most(
        "edges from noisy degrees grow with sqrt(2 n), |error / sqrt(2 n) - 1|", abs(degrees / 270.9 - 1), 0.05
    )
    bits = errors["edge count", "randomized bits"].local
    yield at_most("edges from all pairs' bits: |error / 24,870 - 1|", abs(bits / 24_870 - 1), 0.01)
    behind = sum(each.central > each.local for each in errors.values())
    yield Result("plan: central beside local, central never worse", "0 worse", f"{behind} worse", behind == 0)
    local = designed(50, {"budget": {"epsilon": 1}, "model": "local"}, {"degree_sequence": 1, "adjacency": 1})
    words = " ".join(make_plan(local, "").frame.notes)
    for told in ("Edge local differential privacy", "so that an edge is reported once", "not against anyone who runs"):
        yield Result(
            f"plan of the local model says: {told}", "said", "said" if told in words else "missing", told in words
        )
    promised = designed(
        50, {"budget": {"epsilon": 1}}, {"triangles": 1}, degree_bound={"bounding": "promised", "largest": 9}
    )
    facts = " ".join(invariants(promised))
    stated = "promised, not checked" in facts
    yield Result(
        "a promised degree bound is stated as an invariant", "stated", "stated" if stated else "missing", stated
    )


def composition() -> Iterator[Result]:
    """Four accountants of one release: exact sums, and none beaten by a looser one."""
    many = ("edge_count", "largest_degree", "degree_histogram", "cumulative_histogram", "sorted_degrees", "k_stars")
    design = designed(100, {"budget": {"epsilon": "0.06"}}, dict.fromkeys([*many, "triangles", "adjacency"], 1))
    found = {each.accountant: each for each in totals(design.events, delta_of(design))}
    exact = sum(event.epsilon or 0 for event in design.events)
    yield Result("basic: the exact sum", "3/50", f"{found['basic'].exact}", found["basic"].exact == exact)
    rho = sum(event.rho for event in design.events)
    yield Result("zCDP: the exact sum", f"{rho}", f"{found['zcdp'].exact}", found["zcdp"].exact == rho)
    least = min(found["advanced"].epsilon, found["basic"].epsilon, found["zcdp"].epsilon)
    yield at_most("PLD: at most any of the others", found["pld"].epsilon, least)
    yield at_most("advanced: at most basic", found["advanced"].epsilon, found["basic"].epsilon)


def plan_file() -> Iterator[Result]:
    """A plan of everything at once is JSON that a program can read."""
    candidates = {"split": {"candidates": {"one": {"a": [0, 1]}}}, "coverage": {"candidates": {"one": [0], "two": [1]}}}
    design = designed(30, {"budget": {"epsilon": 3}}, {"adjacency": 1, "split": 1, "coverage": 1}, **candidates)
    made = json.loads(json.dumps(make_plan(design, "").to_dict()))
    whole = all(made[name] for name in ("graphs", "choices", "models"))
    yield Result(
        "plan: noisy graph, choices and both models with their errors", "all", "all" if whole else "less", whole
    )


CHECKS: tuple[Check, ...] = (real_parts, both_models, composition, plan_file)
