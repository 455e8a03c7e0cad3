"""Faults of cuts: limits that rows reach, cuts hidden by noise."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import numpy as np
from pyspark.sql import SparkSession

from dplib.arrays import BoolArray
from dplib.config.sections import SparkSettings
from dplib.graphs.cuts.cut_list import CutList
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import Graph, canonical
from dplib.jobs.minimum_cuts.estimate import make_results
from dplib.jobs.minimum_cuts.measure import drawn
from dplib.jobs.minimum_cuts.page import _listed
from dplib.jobs.minimum_cuts.private_graph import CycledGraph
from dplib.randomness.keyed import KeyedStream, derive_key
from dplib.spark.engine.session import start_session
from dplib.spark.graphs.cut_trials import Method, search_cuts
from scripts.accept.claims import Check, Result, at_least
from tests.support.minimum_cuts import design_of

KEY = bytes(range(32))
RUNS = 5
RING, LIMIT = 32, 480
"""Pairs of a ring's edges are its cuts: 496 of all 32 edges, 465 without one of them; the lowered limit is between."""
APPROX = {"epsilon": 8, "delta": "0.000001"}


@lru_cache(maxsize=1)
def session() -> SparkSession:
    """One session for all checks."""
    return start_session("faults of cuts", SparkSettings(master="local[2]"))


def no_number_of_cuts_ends_a_run() -> Iterator[Result]:
    """A graph with more cuts than may be listed, and its neighbour with fewer, where the limit is lowered."""
    for method in ("karger", "karger-stein"):
        releases = {"sampled_cuts": {"k": 3, "when_small": "refuse"}}
        design = design_of(releases, APPROX, n=RING, method=method)
        (measured,) = design.measurements
        plan, trials = measured.sampler, design.enumeration.trials(RING)
        assert plan is not None
        assert trials is not None
        vertex = np.arange(RING)
        weight = np.full(RING, 2 * plan.gate)
        bound = plan.bound(2 * int(weight[0]))
        outcomes, numbers = [], []
        for more in (0, 1):
            weight[0] = bound - int(weight[1]) + more  # with one unit more the edge is in no cut up to the bound
            graph = canonical(RING, vertex, (vertex + 1) % RING, weight)
            numbers.append(len(near_minimum_cuts(graph, bound).cuts))
            complete: list[bool] = []

            def listed(graph: Graph, bound: int, seed: int, complete: list[bool] = complete) -> CutList | None:
                kind: Method = "karger" if method == "karger" else "karger-stein"  # noqa: B023
                found = search_cuts(session(), graph, bound, trials, seed, 4, kind, LIMIT)  # noqa: B023
                complete.append(found.complete)
                return found.cuts if found.complete else None

            stored = drawn(design, graph, derive_key(KEY, method, more), listed)
            outcomes.append((complete == [more != 0], len(stored.chosen.get("sampled_cuts", ()))))
        seen = f"{numbers[0]} cuts: {outcomes[0][1]} drawn; {numbers[1]} cuts: {outcomes[1][1]} drawn"
        ok = numbers == [496, 465] and all(right and n_drawn > 0 for right, n_drawn in outcomes)
        yield Result(f"{method}, at most {LIMIT} cuts listed", "both graphs are drawn from", seen, ok)


def the_fallback_has_the_same_law() -> Iterator[Result]:
    """A list and no list: shares of the single vertices among 4,000 draws."""
    pairs = np.array(list(combinations(range(9), 2)))
    graph = canonical(9, pairs[:, 0], pairs[:, 1], np.full(len(pairs), 4))  # 9 cuts of 32, 36 of 56 are too many

    def every(padded: Graph, bound: int, _: int) -> CutList:
        return near_minimum_cuts(padded, bound).cuts

    shares = []
    for lister in (every, lambda *_: None):
        cuts = CycledGraph(graph, lister).cuts_up_to(0, 45, Fraction(1))
        assert cuts is not None
        _, packed = cuts.draw(KeyedStream(KEY, "law"), 4_000)
        shares.append(np.sort(np.unique(packed[:, 0], return_counts=True)[1] / 4_000))
    off = float(np.abs(shares[0] - shares[1]).max()) if len(shares[0]) == len(shares[1]) else 1.0
    yield Result("drawn with and without a list", "shares apart by < 0.03", f"{off:.4f}", off < 0.03)


def two_cliques(n: int) -> tuple[Graph, BoolArray]:
    """Two complete halves and one edge between them: the split is the only minimum cut."""
    source, target = np.triu_indices(n, 1)
    half = (source < n // 2) == (target < n // 2)
    split = np.arange(n) >= n // 2
    return canonical(n, np.append(source[half], n // 2 - 1), np.append(target[half], n // 2)), split


def the_true_cut_is_listed() -> Iterator[Result]:
    """Two cliques of n/2 at epsilon 1, five keys: in none of the lists where negative noise is set to 0."""
    for n, least in ((40, 4), (100, 5), (200, 5)):
        graph, split = two_cliques(n)
        design, hits, words = design_of({"synthetic_graph": {}}, {"epsilon": 1}, n=n), 0, set()
        for run in range(RUNS):
            results = make_results(design, drawn(design, graph, derive_key(KEY, "cliques", n, run)))
            hits += bool((results.cuts["synthetic_graph"].sides == split).all(axis=1).any())
            assert results.synthetic is not None
            words.add("all there are" in _listed(design, results.synthetic))
        yield at_least(f"n = {n}: lists of {RUNS} with the true minimum cut", hits, least)
        yield Result(f"n = {n}: the page says", "not: all there are", f"{words}", words == {False})


CHECKS: tuple[Check, ...] = (
    no_number_of_cuts_ends_a_run,
    the_fallback_has_the_same_law,
    the_true_cut_is_listed,
)
