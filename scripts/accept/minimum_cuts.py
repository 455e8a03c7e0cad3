"""Acceptance of minimum cuts.

* this module: recall and utility of releases, what plans promise, whole jobs on large graphs;
* `scripts.accept.minimum_cuts_graphs`: known graphs, read on Spark, against networkx;
* `scripts.accept.minimum_cuts_speed`: times, memory, trials as Spark tasks;
* `scripts.accept.minimum_cuts_any_n`: sampled cuts of 100,000 vertices, their laws and times;
* `scripts.accept.minimum_cuts_audit`: hockey-stick divergences over all small neighbours.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from dplib.graphs.edges import Graph, canonical, cut_values, pack_sides
from dplib.jobs.minimum_cuts.estimate import make_results
from dplib.jobs.minimum_cuts.measure import drawn, true_values
from dplib.jobs.minimum_cuts.padded_graph import PaddedGraph
from dplib.jobs.minimum_cuts.synthetic import synthesise
from dplib.mechanisms.cuts.cut_sampler_plan import ENUMERABLE, plan_cut_sampler
from dplib.privacy.budget import ApproxDP
from dplib.randomness.keyed import derive_key
from scripts.accept import minimum_cuts_any_n, minimum_cuts_audit, minimum_cuts_graphs, minimum_cuts_speed
from scripts.accept.claims import Check, Result, at_least, at_most, load
from scripts.accept.runs import needs_shared, release_of, run_command, shared, verifies, written
from tests.support.minimum_cuts import design_of

KEY = bytes(range(32))
RUNS, K = 40, 6
PURE, DELTA = {"epsilon": 1}, {"epsilon": 1, "delta": "0.000001"}
TOP = {"k": K, "values_share": 0}
RECALL: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[float, float, float]]] = {
    "synthetic graph": ({"synthetic_graph": {}}, PURE, (0.93, 1.0, 1.0)),
    "peeling, pure": ({"top_cuts": TOP}, PURE, (0.95, 1.0, 1.0)),
    "peeling, zCDP": ({"top_cuts": TOP}, DELTA, (0.94, 1.0, 1.0)),
}
"""Releases with the mean recall of a reference run at minimum cut values 10, 40 and 160."""
VALUES = (10, 40, 160)
T_LOW = ((20, 1, 6, 91), (100, 1, 6, 109), (100, 20, 6, 1_487), (100, 200, 6, 5_030))
"""Vertices, draws, exponent of delta, the smallest minimum cut value of the design at epsilon 1."""
N_JOB = 5_000


def ring_of_four_cliques(value: int) -> Graph:
    """Sixteen vertices with six minimum cuts of this value, every other cut through a clique."""
    edges = [(4 * c + a, 4 * c + b, 1_000) for c in range(4) for a, b in combinations(range(4), 2)]
    edges += [(4 * c + 3, (4 * c + 4) % 16, value // 2) for c in range(4)]
    return canonical(16, *np.array(edges, dtype=np.int64).T)


def recall_of_releases() -> Iterator[Result]:
    """The table of recalls: how many of the six minimum cuts of a ring of cliques are among six released ones."""
    for name, (releases, budget, targets) in RECALL.items():
        design = design_of(releases, budget, n=16)
        for value, target in zip(VALUES, targets, strict=True):
            graph, found = ring_of_four_cliques(value), []
            for run in range(RUNS):
                stored = drawn(design, graph, derive_key(KEY, name, value, run))
                sides = stored.chosen.get("top_cuts")
                if sides is None:
                    sides = synthesise(16, stored.noisy["synthetic_graph"], Fraction(2), 100_000).sides[:K]
                found.append(float((cut_values(graph, pack_sides(sides)) == value).mean()))
            # Twice the standard deviation of the two means of 40 runs, at least one cut in ten runs.
            slack = max(0.02, 2 * float(np.std(found)) * (2 / RUNS) ** 0.5)
            yield at_least(f"recall of {name}, minimum {value}", float(np.mean(found)), target - slack)


def oneshot_is_worse() -> Iterator[Result]:
    """Oneshot Laplace inside its theorem's conditions (epsilon 0.2) beside peeling with the same budget."""
    graph, budget = ring_of_four_cliques(160), {"epsilon": "0.2", "delta": "0.000001"}
    means = {}
    for method in ("oneshot", "peeling"):
        design = design_of({"top_cuts": TOP | {"method": method}}, budget, n=16)
        sides = [drawn(design, graph, derive_key(KEY, method, run)).chosen["top_cuts"] for run in range(RUNS)]
        means[method] = float(np.mean([(cut_values(graph, pack_sides(each)) == 160).mean() for each in sides]))
    # Of the order of five standard errors of oneshot's mean over 40 runs.
    ahead = means["peeling"] - means["oneshot"]
    yield at_least("peeling's recall over oneshot's, epsilon 0.2, minimum 160", ahead, 0.1)


def the_true_cut_is_listed() -> Iterator[Result]:
    """Two cliques of n/2 and one edge between them at epsilon 1: how many of five lists hold the only minimum cut."""
    for n, least in ((40, 4), (100, 5), (200, 5)):
        source, target = np.triu_indices(n, 1)
        split = np.arange(n) >= n // 2
        inside = split[source] == split[target]
        graph = canonical(n, np.append(source[inside], n // 2 - 1), np.append(target[inside], n // 2))
        design, hits = design_of({"synthetic_graph": {}}, PURE, n=n), 0
        for run in range(5):
            found = make_results(design, drawn(design, graph, derive_key(KEY, "cliques", n, run)))
            hits += bool((found.cuts["synthetic_graph"].sides == split).all(axis=1).any())
        yield at_least(f"two cliques of {n // 2}: lists of 5 with the true minimum cut", hits, least)


def least_values_of_the_plan() -> Iterator[Result]:
    """T_low of the design's table, and that a plan takes no longer than a look."""
    for n, k, exponent, target in T_LOW:
        started = time.perf_counter()
        plan = plan_cut_sampler(n, k, ApproxDP(Fraction(1), Fraction(1, 10**exponent)), 1, "pad")
        took = time.perf_counter() - started
        yield at_most(f"T_low, n = {n}, k = {k} ({took:.2f} s)", plan.lowest, 1.02 * target)
        # No smaller than what the tail bound of the module leaves: below it the bound passes the ratio.
        below = plan.exact_bound(plan.lowest - 1)
        least = below is None or below > ENUMERABLE * (plan.lowest - 1)
        yield Result(f"T_low, n = {n}, k = {k}: smallest that the tail bound allows", "holds", f"{least}", least)


def sampled_cuts_keep_their_bound() -> Iterator[Result]:
    """A hundred vertices, 1,000 draws: none above the bound at 1 in 1,000; values within their errors."""
    rng = np.random.default_rng(1)
    pairs = np.array(list(combinations(range(100), 2)))
    graph = canonical(100, pairs[:, 0], pairs[:, 1], rng.integers(5, 15, len(pairs)))
    design = design_of({"sampled_cuts": {"k": 2}}, {"epsilon": 3, "delta": "0.000001"}, n=100)
    plan, least = design.sampler, PaddedGraph(graph).minimum_cut(0)
    assert plan is not None
    excess, scores = [], []
    for run in range(500):
        cuts = make_results(design, drawn(design, graph, derive_key(KEY, "sampled", run))).cuts.get("sampled_cuts")
        if cuts is not None:
            true = true_values(graph, cuts.sides)
            excess.append(int(true.max()) - least)
            scores += ((cuts.value - true) / cuts.std_error).tolist()
    yield at_least("sampled cuts: runs that are not refused, of 500", len(excess), 499)
    yield at_most("sampled cuts: largest excess of 500 runs", max(excess), plan.excess(least, 1e-3))
    yield at_most("sampled cuts: |rms of (value - truth) / error - 1|", abs(float(np.std(scores)) - 1), 0.15)


@needs_shared
def enron_end_to_end() -> Iterator[Result]:
    """Email-Enron (SNAP): 36,692 vertices, 183,831 edges in both directions, through init, run and verify."""
    with tempfile.TemporaryDirectory() as name:
        settings = {
            "job": "minimum-cuts",
            "dataset": "enron",
            "input": {"path": str(shared("graphs", "Email-Enron.txt.gz")), "format": "snap"},
            "privacy": {"unit": "correspondence", "budget": {"epsilon": 20}},
            "graph": {"vertices": {"count": 36_692}, "weights": {"largest": 1, "repeats": "once"}},
            "cuts": {"releases": {"minimum_cut_value": {"share": 1}}},
        }
        started = time.perf_counter()
        release = release_of(written(Path(name), settings), "--budget", "20")
        took = time.perf_counter() - started
        answer = json.loads(run_command("query", str(release), "--json").stdout)[0]
        # The graph has 1,065 components: its minimum cut value is 0, and noise of scale 1/20 hardly ever shows.
        yield at_most(f"Email-Enron end to end ({took:.0f} s, {load()}): |value - 0|", abs(answer["estimate"]), 1)
        yield verifies(release)


def job_above_1414_vertices() -> Iterator[Result]:
    """A ring of 5,000 vertices and chords through init, run, query and verify on Spark local."""
    with tempfile.TemporaryDirectory() as name:
        folder, rng, vertex = Path(name), np.random.default_rng(2), np.arange(N_JOB)
        ends = np.append(vertex, rng.integers(0, N_JOB, N_JOB)), np.append((vertex + 1) % N_JOB, rng.permutation(N_JOB))
        rows = np.stack([*ends, np.append(np.full(N_JOB, 900), np.ones(N_JOB, dtype=np.int64))], axis=1)
        np.savetxt(folder / "edges.csv", rows, "%d", ",", header="one,other,times", comments="")
        settings = {
            "job": "minimum-cuts",
            "dataset": "large",
            "input": {
                "path": "edges.csv",
                "format": "csv",
                "options": {"header": "true"},
                "columns": {"source": "one", "target": "other", "weight": "times"},
            },
            "privacy": {"unit": "tie", "budget": {"epsilon": 4, "delta": "0.000001"}},
            "graph": {"vertices": {"count": N_JOB}, "weights": {"largest": 1_000, "capped": "promised"}},
            "cuts": {"releases": {"sampled_cuts": {"share": 1, "k": 3, "values_share": "1/3"}}},
        }
        release = release_of(written(folder, settings), "--budget", "4", "--delta", "0.000001")
        answers = json.loads(run_command("query", str(release), "--item", "sampled_cuts", "--json").stdout)
        cuts = [each for each in answers if each["cut"] is not None]
        off = max((abs(each["estimate"] - 1_800) for each in cuts), default=np.inf)
        yield at_most(f"job, {N_JOB:,} vertices: a drawn cut's noisy value, off the ring's 1,800", off, 300)
        yield verifies(release)


CHECKS: tuple[Check, ...] = (
    *minimum_cuts_graphs.CHECKS, *minimum_cuts_speed.CHECKS, *minimum_cuts_any_n.CHECKS, *minimum_cuts_audit.CHECKS,
    recall_of_releases, oneshot_is_worse, the_true_cut_is_listed, least_values_of_the_plan,
    sampled_cuts_keep_their_bound, enron_end_to_end, job_above_1414_vertices,
)  # fmt: skip
