"""Acceptance of the job minimum-cuts: recall and utility, what the plan promises, a real graph end to end."""

import json
import os
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
from scripts.accept.claims import Check, Result, at_least, at_most, load
from scripts.accept.main_job import run_command
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
    plan, least = design.measurements[0].sampler, PaddedGraph(graph).minimum_cut(0)
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


def enron_end_to_end() -> Iterator[Result]:
    """Email-Enron (SNAP): 36,692 vertices, 183,831 edges in both directions, through init, run and verify."""
    shared = os.environ.get("DPLIB_SHARED")
    source = Path(shared or "") / "data" / "graphs" / "Email-Enron.txt.gz"
    if shared is None or not source.is_file():
        yield Result("Email-Enron end to end", "released", "DPLIB_SHARED lacks it", None)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {
            "config_version": 1,
            "job": "minimum-cuts",
            "dataset": "enron",
            "input": {"path": str(source), "format": "snap"},
            "privacy": {"unit": "correspondence", "budget": {"epsilon": 20}},
            "graph": {"vertices": {"count": 36_692}, "weights": {"largest": 1, "repeats": "once"}},
            "cuts": {"releases": {"minimum_cut_value": {"share": 1}}},
            "publish": {"output": {"path": "releases"}},
        }
        config = folder / "enron.yaml"
        config.write_text(json.dumps(settings), encoding="utf-8")
        run_command("init", "--config", str(config), "--budget", "20", "--yes")
        started = time.perf_counter()
        done = run_command("run", "minimum-cuts", "--config", str(config))
        took = time.perf_counter() - started
        if done.returncode:
            yield Result("Email-Enron end to end", "exit 0", f"exit {done.returncode}: {done.stderr[-200:]}", False)
            return
        release = Path(done.stdout.splitlines()[-1])
        answer = json.loads(run_command("query", str(release), "--json").stdout)[0]
        # The graph has 1,065 components: its minimum cut value is 0, and noise of scale 1/20 hardly ever shows.
        yield at_most(f"Email-Enron end to end ({took:.0f} s, {load()}): |value - 0|", abs(answer["estimate"]), 1)
        checked = run_command("verify", str(release), "--ledger", f"sqlite:///{folder}/ledger.db")
        yield Result(
            "Email-Enron: the release verifies", "exit 0", f"exit {checked.returncode}", checked.returncode == 0
        )


CHECKS: tuple[Check, ...] = (
    recall_of_releases,
    oneshot_is_worse,
    least_values_of_the_plan,
    sampled_cuts_keep_their_bound,
    enron_end_to_end,
)
