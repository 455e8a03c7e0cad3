"""Acceptance of minimum cuts.

* this module: exact cuts, structure and sensitivity against stored cases and brute force;
* `scripts.accept.minimum_cuts_graphs`: known graphs, read on Spark, against networkx;
* `scripts.accept.minimum_cuts_speed`: times, memory, trials as Spark tasks;
* `scripts.accept.minimum_cuts_job`: recall, sampled cuts and a real graph through the job;
* `scripts.accept.minimum_cuts_audit`: hockey-stick divergences over all small neighbours, broken variants;
* `scripts.accept.minimum_cuts_any_n`: sampled cuts of 100,000 vertices, their laws and times.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from dplib.graphs.cactus.cactus import Cactus
from dplib.graphs.cactus.cactus_cuts import canonical_cuts, cut_set
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cactus.cactus_standard_form import equivalent, standard_form
from dplib.graphs.cut_analysis.cactus_generation import cactus_of_cuts
from dplib.graphs.cut_analysis.cut_count_sensitivity import (
    bound_by_count,
    bound_by_parameters,
    cactus_parameters,
    edge_effect,
)
from dplib.graphs.cut_analysis.cut_tree import is_parallel_cut
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import Graph
from scripts.accept import (
    minimum_cuts_any_n,
    minimum_cuts_audit,
    minimum_cuts_graphs,
    minimum_cuts_job,
    minimum_cuts_speed,
)
from scripts.accept.claims import Check, Result
from tests.support.graph_oracles import CUT_CASES, case_cactus, case_graph, minimum_cuts, plus, random_graph, sides

Case = dict[str, Any]
FACETS = ("value", "minimum cuts", "p-cuts and t-cuts", "cactus by three ways", "CutSet of the cactus", "alphas")
N_RANDOM, SEED = 400, 20_251


def reference_cases() -> Iterator[Result]:
    """All 41 stored cases, each facet of them."""
    yield from results_of(CUT_CASES)


def results_of(cases: Sequence[Case]) -> Iterator[Result]:
    """One result a facet: in how many cases it is as stored."""
    right = np.array([facets_of(case) for case in cases])
    yield Result("reference cases", "41", f"{len(cases)}", len(cases) == 41)
    for facet, ok in zip(FACETS, right.T, strict=True):
        wrong = ", ".join(case["name"] for case, holds in zip(cases, ok, strict=True) if not holds)
        yield Result(f"reference cases: {facet}", f"{len(cases)} equal", f"{ok.sum()} equal {wrong}".strip(), ok.all())


def facets_of(case: Case) -> list[bool]:
    """Whether each facet of a case is as stored."""
    graph = case_graph(case)
    value = minimum_cut(graph).value
    found = near_minimum_cuts(graph, value)
    cuts = canonical_cuts(found.cuts.sides())
    parallel = is_parallel_cut(cuts)
    searched, stored = cactus_of_graph(graph, value), case_cactus(case)
    given = {name: {tuple(cut) for cut in case[name]} for name in ("min_cuts", "p_cuts", "t_cuts")}
    cacti = (searched, standard_form(cactus_of_cuts(cuts)), standard_form(stored))
    return [
        value == case["min_cut_value"],
        found.complete and sides(cuts) == given["min_cuts"] and len(cuts) == case["num_min_cuts"],
        sides(cuts[parallel]) == given["p_cuts"] and sides(cuts[~parallel]) == given["t_cuts"],
        all(each.equals(cacti[0]) for each in cacti) and equivalent(searched, stored),
        sides(cut_set(stored)) == sides(cut_set(searched)) == given["min_cuts"],
        vars(cactus_parameters(stored)) == case["params"],
    ]


def planted_false_target() -> Iterator[Result]:
    """A wrong reference value is found, and a missed target ends with exit code 1."""
    planted = deepcopy(CUT_CASES)
    planted[3]["min_cut_value"] += 1
    (found,) = (each for each in results_of(planted) if each.claim.endswith(": value"))
    claim = "planted: a reference value that is off by one"
    yield Result(claim, "FAIL", "FAIL" if found.ok is not True else "pass", not found.ok)
    program = (
        "from scripts.accept.claims import accept, at_most; "
        "raise SystemExit(accept('planted', [lambda: [at_most('planted', 2, 1)]]))"
    )
    code = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode
    yield Result("planted: a target that is missed", "exit 1", f"exit {code}", code == 1)


def brute_force() -> Iterator[Result]:
    """Graphs of at most 8 vertices: cuts, cactus and the effect of each new edge, by listing all cuts."""
    rng = np.random.default_rng(SEED)
    right = np.zeros(4, dtype=np.int64)
    n_pairs = 0
    for _ in range(N_RANDOM):
        graph = random_graph(rng, int(rng.integers(2, 9)))
        value, cuts = minimum_cuts(graph)
        cactus = cactus_of_graph(graph, value)
        right[0] += minimum_cut(graph).value == value
        right[1] += sides(near_minimum_cuts(graph, value).cuts.sides()) == sides(cuts)
        right[2] += sides(cut_set(cactus)) == sides(cuts) and cactus.equals(cactus_of_cuts(cuts))
        pairs = [(u, v) for u in range(graph.n_vertices) for v in range(u)]
        right[3] += sum(effect_is_right(graph, cactus, value, len(cuts), u, v) for u, v in pairs)
        n_pairs += len(pairs)
    names = (
        "value",
        "all minimum cuts",
        "cactus",
        "effect of one more edge on value and number, theorems 4.2.1, 4.2.3",
    )
    for name, n_right, total in zip(names, right, (N_RANDOM, N_RANDOM, N_RANDOM, n_pairs), strict=True):
        claim = f"brute force, n <= 8: {name}"
        yield Result(claim, f"{total} equal", f"{n_right} equal", bool(n_right == total))


def effect_is_right(graph: Graph, cactus: Cactus, value: int, n_cuts: int, u: int, v: int) -> bool:
    """One more unit between two vertices, by listing all cuts again."""
    after, cuts = minimum_cuts(plus(graph, u, v))
    effect = edge_effect(cactus, u, v)
    if after > value:
        return effect.value_rises
    least = max(bound_by_parameters(n_cuts, cactus_parameters(cactus)), bound_by_count(n_cuts, graph.n_vertices))
    return not effect.value_rises and len(cuts) == n_cuts - effect.lost_cuts and len(cuts) >= least


CHECKS: tuple[Check, ...] = (
    reference_cases,
    planted_false_target,
    brute_force,
    *minimum_cuts_graphs.CHECKS,
    *minimum_cuts_speed.CHECKS,
    *minimum_cuts_audit.CHECKS,
    *minimum_cuts_job.CHECKS,
    *minimum_cuts_any_n.CHECKS,
)
