"""Random contractions: the law of one trial, numbers of trials, partitions into tasks, and what is found."""

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.graphs.cuts.contraction import alias_table, contract, stream_of
from dplib.graphs.cuts.karger import TrialPlan, contraction_cuts, plan_trials, split_trials
from dplib.graphs.cuts.karger_stein import karger_stein_cuts, plan_runs
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import Graph, canonical, cut_values, find
from tests.support.cut_graphs import complete, cuts_up_to, ring_of_cliques, ring_with_chords
from tests.support.graph_oracles import sides

FAILURE = 1e-9  # of one test; a failed test is a wrong bound, not bad luck


@pytest.mark.parametrize(("n", "ratio"), [(5, Fraction(1)), (9, Fraction(1)), (9, Fraction(3, 2)), (10, Fraction(2))])
def test_one_trial_finds_a_cut_with_the_probability_of_the_product(n: int, ratio: Fraction) -> None:
    plan = plan_trials(n, ratio, 1e-6)
    left = int(2 * ratio)
    assert plan.success == pytest.approx(1 / comb(n, left), rel=1e-6)
    most = (2 ** (left - 1) - 1) * comb(n, left)  # cuts, of which a trial shows so many
    missing = [most * (1 - plan.success) ** (plan.n_trials - fewer) for fewer in (0, 1)]
    assert missing[0] <= 1e-6 < missing[1]


def test_numbers_of_trials_for_a_hundred_vertices() -> None:
    needed = [plan_trials(100, ratio, 1e-6).n_trials for ratio in (1, Fraction(3, 2), 2)]
    assert needed == pytest.approx([1.1e5, 4.4e6, 1.2e8], rel=0.02)


def test_a_graph_of_few_vertices_needs_one_trial() -> None:
    assert plan_trials(2, 1, 1e-9) == TrialPlan(Fraction(1), 2, 1.0, 1)
    assert plan_runs(5, 1, 1e-9).n_trials == 1


def pairs_left(graph: Graph, n_trials: int) -> np.ndarray:
    """How often a path of three edges loses each by contraction to two vertices."""
    share, alias = alias_table(graph.weight)
    leader, kept = np.empty(graph.n_vertices, dtype=np.int64), np.zeros(graph.n_edges)
    for trial in range(n_trials):
        ends = (graph.source, graph.target, graph.weight)
        contract(*ends, share, alias, 2, stream_of(np.uint64(5), trial), leader)
        for edge in range(graph.n_edges):
            kept[edge] += find(leader, graph.source[edge]) != find(leader, graph.target[edge])
    return kept / n_trials


@pytest.mark.parametrize("weight", [[1, 2, 5], [1, 1, 10_000], [10_000, 10_000, 1]])
def test_edges_are_contracted_in_proportion_to_their_weight(weight: list[int]) -> None:
    path = canonical(4, [0, 1, 2], [1, 2, 3], weight)
    total = sum(weight)
    # Edge e is the last one: some other is drawn first, then the third of those left.
    exact = [
        sum(
            weight[first] / total * weight[3 - edge - first] / (total - weight[first])
            for first in range(3)
            if first != edge
        )
        for edge in range(3)
    ]
    n_trials = 1500
    # Hoeffding: three frequencies off by more than this at once with probability below 1e-9.
    assert pairs_left(path, n_trials) == pytest.approx(exact, abs=(log(6 / FAILURE) / (2 * n_trials)) ** 0.5)


def test_an_alias_table_has_the_weights_as_its_law() -> None:
    weight = np.array([1, 50, 3, 3, 900, 1, 7])
    share, alias = alias_table(weight)
    law = share / len(weight)
    np.add.at(law, alias, (1 - share) / len(weight))
    assert law == pytest.approx(weight / weight.sum())


@pytest.mark.parametrize(
    ("graph", "ratio"),
    [
        (complete(7), 1),
        (complete(7), Fraction(5, 3)),
        (ring_of_cliques(4), Fraction(3, 2)),
        (ring_with_chords(12, 20, 4), 2),
    ],
)
def test_all_near_minimum_cuts_are_found(graph: Graph, ratio: Fraction) -> None:
    bound = int(ratio * minimum_cut(graph).value)
    exact = Fraction(bound, minimum_cut(graph).value)
    plain, recursive = plan_trials(graph.n_vertices, exact, FAILURE), plan_runs(graph.n_vertices, exact, FAILURE)
    found = (
        contraction_cuts(graph, bound, plain.n_left, 1, 0, min(plain.n_trials, 20_000)),
        karger_stein_cuts(graph, bound, exact, 1, 0, recursive.n_trials),
    )
    wanted = cuts_up_to(graph, bound)
    for cuts in found:
        assert sides(cuts.sides()) <= wanted
        assert np.array_equal(cut_values(graph, cuts.packed), cuts.values)
    assert sides(found[1].sides()) == wanted
    if plain.n_trials <= 20_000:
        assert sides(found[0].sides()) == wanted


@pytest.mark.parametrize("n_tasks", [1, 2, 7])
def test_any_partition_of_the_trials_finds_the_same_cuts(n_tasks: int) -> None:
    graph = ring_with_chords(70, 110, 3)
    bound = 2 * minimum_cut(graph).value
    whole = contraction_cuts(graph, bound, 4, 11, 0, 500)
    tasks = split_trials(500, n_tasks)
    apart = [contraction_cuts(graph, bound, 4, 11, first, n).packed for first, n in tasks]
    assert np.array_equal(np.unique(whole.packed, axis=0), np.unique(np.concatenate(apart), axis=0))
    runs = [karger_stein_cuts(graph, bound, 1, 11, first, n).packed for first, n in split_trials(6, n_tasks)]
    at_once = karger_stein_cuts(graph, bound, 1, 11, 0, 6).packed
    assert np.array_equal(np.unique(at_once, axis=0), np.unique(np.concatenate(runs), axis=0))


def test_tasks_are_even_and_none_is_empty() -> None:
    assert split_trials(10, 3) == [(0, 3), (3, 3), (6, 4)]
    assert split_trials(2, 7) == [(0, 1), (1, 1)]
    assert split_trials(0, 4) == []


def test_a_list_ends_one_beyond_its_limit() -> None:
    assert len(contraction_cuts(complete(9), 20, 4, 0, 0, 1000, limit=10)) == 11
    assert len(karger_stein_cuts(complete(9), 20, 2, 0, 0, 100, limit=10)) == 11


def test_recursion_needs_far_fewer_runs() -> None:
    assert plan_runs(1000, 1, 1e-6).n_trials < 200 < 10**7 < plan_trials(1000, 1, 1e-6).n_trials


def test_refusals() -> None:
    for wrong, rule in (
        (
            lambda: contraction_cuts(canonical(3, [0], [1]), 1, 2, 0, 0, 1),
            "graph must be connected, got separate parts",
        ),
        (lambda: karger_stein_cuts(canonical(3, [0], [1]), 1, 1, 0, 0, 1), "graph must be connected"),
        (lambda: contraction_cuts(canonical(1, [], []), 1, 2, 0, 0, 1), "graph must have at least two vertices, got 1"),
        (lambda: karger_stein_cuts(canonical(1, [], []), 1, 1, 0, 0, 1), "n_vertices must lie from 2 to 4000, got 1"),
        (lambda: contraction_cuts(complete(3), 1, 2, -1, 0, 1), r"seed must lie from 0 to 2\^64 - 1"),
        (lambda: plan_trials(5, Fraction(1, 2), 0.1), "ratio must lie from 1 to 6, got 1/2"),
        (lambda: plan_runs(5, 1, 1), "failure must lie strictly between 0 and 1, got 1"),
        (lambda: split_trials(5, 0), "n_tasks must be at least 1, got 0"),
    ):
        with pytest.raises(ConfigError, match=rule):
            wrong()
