"""The private part of minimum-cuts and what follows from it, against all cuts listed by brute force."""

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dplib.graphs.cuts.cut_list import CutList
from dplib.graphs.cuts.cycle_arcs import Arcs
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import Graph, canonical, unpack_sides
from dplib.jobs.minimum_cuts.estimate import SAMPLED_REFUSED, make_results
from dplib.jobs.minimum_cuts.expected_accuracy import expected_accuracies, laplace_tail, ring_share
from dplib.jobs.minimum_cuts.measure import count_minimum_cuts, drawn
from dplib.jobs.minimum_cuts.padded_graph import PaddedGraph
from dplib.jobs.minimum_cuts.plan import make_plan
from dplib.jobs.minimum_cuts.synthetic import side_values, synthesise
from dplib.mechanisms.discrete_laplace import discrete_laplace_probability
from dplib.randomness.keyed import KeyedStream
from tests.support.cut_graphs import weighted_graphs
from tests.support.cut_mechanism_laws import all_cuts, all_sides
from tests.support.cut_padded_graph import DensePaddedGraph
from tests.support.minimum_cuts import design_of

KEY = bytes(range(3, 35))
EDGES = [(0, 1, 4), (0, 2, 3), (1, 2, 5), (2, 3, 1), (3, 4, 6), (4, 5, 7), (3, 5, 2), (5, 6, 9), (6, 7, 8), (4, 7, 1)]
EXACT = {"epsilon": 31 * 9}
"""Noise of scale 1/31 in every number below: other than 0 with a probability below 1e-11."""


def graph_of(n: int, edges: list[tuple[int, int, int]]) -> Graph:
    return canonical(n, *np.array(edges, dtype=np.int64).reshape(-1, 3).T)


def pair_weights(graph: Graph) -> np.ndarray:
    matrix = np.zeros((graph.n_vertices, graph.n_vertices), dtype=np.int64)
    matrix[graph.source, graph.target] = graph.weight
    return matrix[np.triu_indices(graph.n_vertices, 1)]


def every(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    return all_sides(graph.n_vertices), all_cuts(graph.n_vertices, pair_weights(graph))


@pytest.mark.parametrize(
    ("n", "edges", "value", "count"),
    [
        (4, [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)], 2, 6),
        (5, [], 0, 15),
        (4, [(0, 1, 3), (2, 3, 3)], 0, 1),
        (3, [(0, 1, 2), (1, 2, 2)], 2, 2),
    ],
)
def test_every_graph_has_a_defined_answer(n: int, edges: list[tuple[int, int, int]], value: int, count: int) -> None:
    graph = graph_of(n, edges)
    assert count_minimum_cuts(graph) == count == int((every(graph)[1] == value).sum())
    releases: dict[str, Any] = {
        "minimum_cut_value": {},
        "synthetic_graph": {},
        "minimum_cut_count": {},
        "soft_cut_count": {},
        "top_cuts": {"k": 2},
        "sampled_cuts": {"k": 2},
    }
    for when in ("refuse", "pad"):
        asked = releases | {"sampled_cuts": {"k": 2, "when_small": when}}
        design = design_of(asked, {"epsilon": 2, "delta": "0.000001"}, n=n)
        results = make_results(design, drawn(design, graph, KEY))
        refused = next(each.estimate for each in results.numbers if each.statistic == SAMPLED_REFUSED)
        assert refused == (when == "refuse")
        assert ("sampled_cuts" in results.cuts) == (when == "pad")
        assert all(np.isfinite(each.estimate) for each in results.numbers)


def test_counts_come_near_the_truth_where_the_budget_is_large() -> None:
    graph = graph_of(6, [(vertex, (vertex + 1) % 6, 1) for vertex in range(6)])
    design = design_of({"minimum_cut_count": {}, "soft_cut_count": {"eta": 3}}, {"epsilon": 600}, n=6)
    count, soft = make_results(design, drawn(design, graph, KEY)).numbers
    assert count.estimate == pytest.approx(15, abs=0.5)
    values = every(graph)[1]
    assert soft.estimate == pytest.approx(float(np.log(np.exp(-3.0 * (values - 2)).sum())), abs=0.1)


def test_the_padded_graph_is_that_of_the_definition() -> None:
    graph = graph_of(6, [(0, 1, 30), (1, 2, 40), (2, 3, 35), (3, 4, 50), (4, 5, 33), (5, 0, 31), (1, 4, 20)])
    ours, dense = PaddedGraph(graph), DensePaddedGraph(6, pair_weights(graph))
    for padding in (0, 1, 5, 6, 13):
        least = ours.minimum_cut(padding)
        assert least == dense.minimum_cut(padding)
        bound, rate = least * 145 // 100, Fraction(1, 12)
        found, listed = ours.cuts_up_to(padding, bound, rate), dense.cuts_up_to(padding, bound, rate)
        assert found is not None
        assert listed is not None
        weights, packed = found.draw(KeyedStream(KEY, "draws", padding), 50)
        place = {words: number for number, words in enumerate(listed.packed[:, 0].tolist())}
        assert all(
            listed.weights[place[words]] == weight for words, weight in zip(packed[:, 0].tolist(), weights, strict=True)
        )
        assert ours.weight(padding, unpack_sides(packed, 6)[0]) == weights[0]


@settings(max_examples=20)
@given(weighted_graphs(least=3, most=7))
def test_the_least_arc_is_that_of_the_padded_graph(graph: Graph) -> None:
    n, ours = graph.n_vertices, PaddedGraph(graph)
    arcs = Arcs(graph)
    sides = all_sides(n)
    two = sum((sides[:, v] != sides[:, (v + 1) % n]).astype(int) for v in range(n)) == 2
    for padding in (0, 1, n - 1, n, 2 * n + 1, 9 * n + 2):
        values = all_cuts(n, pair_weights(ours.padded(padding)))
        assert arcs.least(padding) == values[two].min()
        assert ours.minimum_cut(padding) == values.min()


def test_cuts_of_a_contracted_graph_are_those_of_the_graph() -> None:
    """A ring of 7 heavy pairs: 21 minimum cuts, drawn over 7, listed by trials, or too many for a list."""
    ring = [(2 * pair, 2 * pair + 1, 100) for pair in range(7)] + [(2 * p + 1, (2 * p + 2) % 14, 30) for p in range(7)]
    graph = graph_of(14, ring)

    def by_hand(padded: Graph, bound: int, _: int) -> CutList:
        return near_minimum_cuts(padded, bound).cuts

    for lister in (None, by_hand, lambda *_: None):
        ours = PaddedGraph(graph, lister)
        cuts = ours.cuts_up_to(0, 60, Fraction(1))
        assert cuts is not None
        weights, packed = cuts.draw(KeyedStream(KEY, "draws"), 300)
        assert len(set(packed[:, 0].tolist())) == 21
        assert set(weights.tolist()) == {60}
        assert all(ours.weight(0, side) == 60 for side in unpack_sides(packed, 14))


@pytest.mark.parametrize("n", [6, 30])
def test_a_noisy_graph_with_negative_weights(n: int) -> None:
    rng = np.random.default_rng(n)
    noisy = rng.integers(-3, 9, n * (n - 1) // 2)
    found = synthesise(n, noisy, Fraction(6, 5), 100)
    assert np.array_equal(found.values, side_values(n, noisy, found.sides))
    matrix = np.zeros((n, n), dtype=np.int64)
    matrix[np.triu_indices(n, 1)] = noisy
    side = rng.random(n) < 0.5
    side[0] = False
    split = sum(matrix[u, v] for u, v in combinations(range(n), 2) if side[u] != side[v])
    assert side_values(n, noisy, side[None])[0] == split
    if n == 6:
        values = all_cuts(n, noisy)
        least = values.min()
        bound = 1.2 * least if least > 0 else least
        assert sorted(found.values.tolist()) == sorted(values[values <= bound].tolist())
    short = synthesise(n, noisy, Fraction(2), 3)
    assert len(short.sides) == 3
    assert not short.complete


def test_two_vertices_and_enormous_weights() -> None:
    found = synthesise(2, np.array([-7]), Fraction(1), 10)
    assert (found.values.tolist(), found.cactus) == ([-7], None)
    found = synthesise(30, np.full(435, 2**58), Fraction(1), 100)
    assert len(found.sides) == 30
    design = design_of({"minimum_cut_value": {}, "synthetic_graph": {}}, {"epsilon": 60}, n=2)
    results = make_results(design, drawn(design, graph_of(2, [(0, 1, 5)]), KEY))
    assert [each.estimate for each in results.numbers] == [5, 5, 1]


def test_a_ring_share_is_that_of_all_its_cuts() -> None:
    graph = graph_of(7, [(vertex, (vertex + 1) % 7, 3) for vertex in range(7)])
    values = every(graph)[1]
    mass = np.exp(-0.2 * values)
    assert ring_share(7, 6, 0.2, 0) == pytest.approx(mass[values == 6].sum() / mass.sum())
    left = (values == 6).sum() - 4
    others = mass[values > 6].sum()
    least = np.exp(-1.2)
    assert ring_share(7, 6, 0.2, 4) == pytest.approx(left * least / (left * least + others))


def test_tails_of_the_noisy_value() -> None:
    scale = Fraction(7, 2)
    k = np.arange(-400, 401)
    mass = discrete_laplace_probability(k, scale)
    for least in (-9, -1, 0, 1, 5):
        assert laplace_tail(least, float(scale)) == pytest.approx(float(mass[k >= least].sum()), rel=1e-12)


def test_the_plan_says_the_outlook_of_every_drawing_release() -> None:
    releases = {"top_cuts": {"k": 2}, "sampled_cuts": {"k": 2}, "synthetic_graph": {}}
    design = design_of(releases, {"epsilon": 4, "delta": "0.000001"}, n=20)
    plan = make_plan(design, "0" * 64)
    assert [each.value for each in expected_accuracies(design) if each.release == "top_cuts"] == [10, 40, 160, 640]
    assert plan.sampler is not None
    strong = [
        each for each in plan.expected_accuracy if each.release == "sampled_cuts" and each.value >= plan.sampler.gate
    ]
    assert strong
    assert all(each.accepted >= 0.5 and each.excess is not None for each in strong)
    weak = next(each for each in plan.expected_accuracy if each.release == "sampled_cuts" and each.value == 10)
    assert weak.accepted < 1e-6
    assert weak.excess is None
    assert [each.side_size for each in plan.synthetic] == [1, 2, 5, 10]
    assert plan.to_dict()["relation"].startswith("two graphs on the declared vertices")
    # An edge of any weight is not what the guarantee hides: the sentence beside epsilon must not say so.
    assert plan.frame.neighbors == plan.relation
