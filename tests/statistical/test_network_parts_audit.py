"""Audit of noisy graphs, choices and local reports of network-statistics, with planted faults that it must catch.

Sensitivities first: the job's own exact numbers over all graphs of five vertices. Then epsilon: worst-case neighbours,
every trial under a key of its own.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dplib.arrays import FloatArray, IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.candidate_scores import coverage_scores, split_scores
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measure import exact_statistics
from dplib.jobs.network_statistics.parts import choice_rate
from dplib.jobs.network_statistics.whole_graph import draw_whole_graph
from dplib.mechanisms.exponential import exponential_probability
from dplib.mechanisms.local.local_degrees import Counting, DegreeProtocol
from dplib.randomness.keyed import derive_key
from tests.support import network_oracles as oracle
from tests.support.goodness_of_fit import epsilon_between
from tests.support.network_statistics import design_of

KEY = bytes(range(3, 35))
TRIALS, PAIRS, CHOICES = 350, 190, 400
"""Degrees with the noise of one end are caught by so many trials with probability 0.99."""
TWO, LOCAL = {"epsilon": 2}, {"model": "local"}
N = 5
NUMBERS = ("edge_count", "largest_degree", "degree_histogram", "cumulative_histogram", "sorted_degrees", "k_stars")
CANDIDATES: dict[str, Any] = {
    "split": {"candidates": {"halves": {"a": [0, 1], "b": [2, 3, 4]}, "all": {"a": list(range(N))}}},
    "coverage": {"candidates": {"hub": [0], "leaf": [4]}},
}


NEIGHBORS = {"edge": oracle.edge_neighbors(N), "vertex": oracle.vertex_neighbors(N)}


@cache
def exact_numbers() -> list[dict[Statistic, IntArray]]:
    """The job's numbers of all graphs, where one edge is protected."""
    design = numbers_design("edge")
    return [exact_statistics(design, oracle.numbered(N, number)) for number in range(1024)]


def numbers_design(level: str) -> Design:
    statistics = [*NUMBERS, "degree_sequence", "triangles"]
    changes: dict[str, Any] = {"privacy": {"neighbors": level}, "triangles": {"mechanism": "global"}}
    return design_of(statistics, {"epsilon": 100}, n=N, **changes)


@pytest.mark.parametrize("level", NEIGHBORS)
def test_the_job_s_own_numbers_move_by_its_own_sensitivities(level: str) -> None:
    """Never more over all pairs of neighbours; and so much for some pair."""
    design, found = numbers_design(level), exact_numbers()
    for number in range(0, 1024, 31):  # numbers are of the graph, whatever is protected
        same = exact_statistics(design, oracle.numbered(N, number))
        assert all(np.array_equal(same[name], found[number][name]) for name in found[number])
    for each in design.measurements:
        values = np.stack([exact[each.statistic] for exact in found])
        assert oracle.change(values, NEIGHBORS[level]) == each.sensitivity.l1, each.statistic
        assert oracle.change(values, NEIGHBORS[level], 2) <= each.sensitivity.l2_squared


@pytest.mark.parametrize(("counting", "moved"), [("both_ends", 2), ("one_end", 1)])
def test_one_edge_moves_the_reported_degrees_as_stated(counting: str, moved: int) -> None:
    design = design_of(["degree_sequence"], {"epsilon": 20}, n=N, privacy=LOCAL, local={"counting": counting})
    exact = np.stack([exact_statistics(design, oracle.numbered(N, g))[Statistic.DEGREE_SEQUENCE] for g in range(1024)])
    assert design.measurements[0].sensitivity.l1 == moved == oracle.change(exact, NEIGHBORS["edge"])
    assert design.degree_protocol.scale == Fraction(moved, 20)


@pytest.mark.parametrize("level", NEIGHBORS)
@pytest.mark.parametrize("statistic", ["split", "coverage"])
def test_choices_are_private_on_all_graphs_of_five_vertices(statistic: str, level: str) -> None:
    """The exact law of the job's choice; planted: one less in the sensitivity, or half of it, is caught."""
    changes: dict[str, Any] = {statistic: CANDIDATES[statistic]}
    design = design_of([statistic], TWO, n=N, privacy={"neighbors": level}, **changes)
    (each,) = design.measurements
    scores = np.stack([scores_of(design, each.statistic, oracle.numbered(N, number)) for number in range(1024)])
    first, second = NEIGHBORS[level]
    for divisor, right in ((1, True), (4, False)):
        rate = divisor * choice_rate(each.epsilon, each.sensitivity.l1, 1)
        log = np.log(exponential_probability(-scores, rate))
        assert bool(np.abs(log[first] - log[second]).max() <= 2 * (1 + 1e-9)) is right


def scores_of(design: Design, statistic: Statistic, graph: SimpleGraph) -> IntArray:
    declared = design.declared
    if statistic is Statistic.SPLIT:
        return split_scores(graph, list(declared.splits.values()))
    return coverage_scores(graph, list(declared.seeds.values()))


def test_the_choice_that_is_drawn_has_that_law() -> None:
    """The hub covers all vertices, or itself alone where its edges are gone."""
    star, empty = oracle.graph_of(N, [(0, 1), (0, 2), (0, 3), (0, 4)]), oracle.graph_of(N, [])
    design = design_of(["coverage"], TWO, n=N, privacy={"neighbors": "vertex"}, coverage=CANDIDATES["coverage"])
    drawn = [
        np.array(
            [
                draw_whole_graph(design, graph, derive_key(KEY, name, t)).choices[Statistic.COVERAGE]
                for t in range(CHOICES)
            ]
        )
        for name, graph in (("star", star), ("empty", empty))
    ]
    rate = choice_rate(Fraction(2), 4, 1)
    for picks, graph in zip(drawn, (star, empty), strict=True):
        expected = exponential_probability(-scores_of(design, Statistic.COVERAGE, graph), rate)[0]
        assert abs((picks == 0).mean() - expected) < 6 * (0.25 / CHOICES) ** 0.5
    assert epsilon_between(*((picks == 0).astype(float) for picks in drawn), error=1e-3) <= 2


def test_a_pair_of_the_noisy_graph_keeps_its_epsilon() -> None:
    """The likelihood ratio is a function of the noisy count (through the threshold) and of the one pair's bit."""
    others = [(0, 1), (1, 2), (3, 4)]
    for threshold in ("match_edges", 1):
        adjacency = {"threshold": threshold, "steps": 4 if threshold == "match_edges" else 1}
        design = design_of(["adjacency"], TWO, n=6, adjacency=adjacency)
        bits = []
        for name, graph in (("with", oracle.graph_of(6, [*others, (0, 5)])), ("without", oracle.graph_of(6, others))):
            found = []
            for trial in range(PAIRS):
                released = draw_whole_graph(design, graph, derive_key(KEY, name, trial)).graph
                assert released is not None
                found.append(bool(((released.edges.source == 0) & (released.edges.target == 5)).any()))
            bits.append(np.array(found, dtype=float))
        assert 0.3 < epsilon_between(*bits, error=1e-3) <= 2


def test_the_transcript_of_all_reports_keeps_its_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edge moves two noisy degrees and one bit. Planted: degrees with the noise of one end; a bit from both ends."""
    with_edge, without = oracle.graph_of(3, [(0, 1), (1, 2)]), oracle.graph_of(3, [(0, 1)])
    design = design_of(["degree_sequence", "adjacency"], TWO, n=3, privacy=LOCAL)

    def loss(used: Design, name: str, graph: SimpleGraph, claimed: float) -> FloatArray:
        """Likelihood ratio of what was reported, under the law that was drawn."""
        found = []
        for trial in range(TRIALS):
            parts = draw_whole_graph(used, graph, derive_key(KEY, name, trial))
            assert parts.graph is not None
            degrees = parts.numbers[Statistic.DEGREE_SEQUENCE]
            near = np.abs(degrees[1:] - [1, 0]) - np.abs(degrees[1:] - [2, 1])
            bit = bool(((parts.graph.edges.source == 1) & (parts.graph.edges.target == 2)).any())
            found.append(claimed * near.sum() / 2 + (1 if bit else -1))
        return np.array(found, dtype=np.float64)

    right = [loss(design, name, graph, 1.0) for name, graph in (("with", with_edge), ("without", without))]
    assert 0.8 < epsilon_between(*right, error=1e-3) <= 2

    # Scale 1/2 where 2 is due.
    monkeypatch.setattr(Design, "degree_protocol", DegreeProtocol(Fraction(4), Counting.BOTH_ENDS))
    wrong = [loss(replace(design), name, graph, 4.0) for name, graph in (("with", with_edge), ("without", without))]
    assert epsilon_between(*wrong, error=1e-3) > 2


def test_composition_is_shown_for_every_kind_of_part() -> None:
    design = design_of(
        ["edge_count", "adjacency", "coverage"], {"epsilon": "0.3"}, n=N, coverage=CANDIDATES["coverage"]
    )
    assert [event.epsilon for event in design.events] == [Fraction(1, 10)] * 3
    rho = [event.rho for event in design.events]
    assert rho == [Fraction(1, 200), Fraction(1, 200), Fraction(1, 800)], "a choice costs a quarter in rho"
