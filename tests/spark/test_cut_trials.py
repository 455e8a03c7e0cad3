"""Searches for cuts as Spark tasks: the single process's cuts, whatever the number of tasks."""

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.graphs.cuts.cut_list import CutList
from dplib.graphs.cuts.exhaustive import listed_cuts
from dplib.graphs.cuts.karger import contraction_cuts, plan_trials
from dplib.graphs.cuts.karger_stein import plan_runs
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import Graph, canonical
from dplib.jobs.minimum_cuts.padded_graph import PaddedGraph
from dplib.randomness.keyed import KeyedStream
from dplib.spark.graphs import cut_trials
from dplib.spark.graphs.cut_trials import Method, search_cuts
from tests.support.cut_graphs import ring_with_chords

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEED = 0x9E3779B97F4A7C15


def assert_same(one: CutList | None, other: CutList) -> None:
    assert one is not None
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(one.sides(), other.sides())


@pytest.mark.parametrize("method", ["karger", "karger-stein"])
def test_all_cuts_are_found_whatever_the_number_of_tasks(spark: "SparkSession", method: Method) -> None:
    graph = ring_with_chords(14, 34, 4, 3)
    bound = minimum_cut(graph).value * 3 // 2
    plan = (plan_trials if method == "karger" else plan_runs)(14, 2, 1e-9)
    expected = listed_cuts(graph, bound)
    assert len(expected) > 3
    n_tasks = {"karger": 5, "karger-stein": 3}[method]
    assert_same(search_cuts(spark, graph, bound, plan, SEED, n_tasks, method), expected)


@pytest.mark.parametrize("method", ["karger", "karger-stein"])
def test_too_many_cuts_for_a_list_end_no_run(spark: "SparkSession", method: Method) -> None:
    """One unit of weight decides whether the list has room; the graph and its neighbour are drawn from all the same."""
    plan, vertex = (plan_trials if method == "karger" else plan_runs)(10, 2, 1e-9), np.arange(10)
    complete, different = {}, {}
    for name, least in (("ring", 30), ("one unit less", 29)):  # 45 minimum cuts, and 9
        weight = np.where(vertex == 0, least, 30)

        def listed(graph: Graph, bound: int, seed: int, name: str = name) -> CutList | None:
            if method == "karger":
                found = search_cuts(spark, graph, bound, plan, seed, 3, method, limit=20)
            else:  # what a task does
                found = cut_trials._by_trials(graph, bound, plan, seed, method, 20, (0, plan.n_trials))
            complete[name] = found is not None
            return found

        graph = PaddedGraph(canonical(10, vertex, (vertex + 1) % 10, weight), listed, SEED)
        cuts = graph.cuts_up_to(0, graph.minimum_cut(0), Fraction(1, 3))
        assert cuts is not None
        weights, packed = cuts.draw(KeyedStream(bytes(range(32)), name), 1_000)
        assert set(weights.tolist()) == {least + 30}
        different[name] = len(set(packed[:, 0].tolist()))
    assert complete == {"ring": False, "one unit less": True}
    assert different == {"ring": 45, "one unit less": 9}


def test_few_trials_find_the_single_process_s_cuts(spark: "SparkSession") -> None:
    graph, n_trials = ring_with_chords(70, 170, 4, 4), 300
    plan = plan_trials(70, 2, 0.5)
    short = replace(plan, n_trials=n_trials)
    bound = 4 * minimum_cut(graph).value
    alone = contraction_cuts(graph, bound, plan.n_left, SEED, 0, n_trials)
    assert len(alone) > 10
    # Whether there are too many does not depend on which task meets them.
    assert_same(search_cuts(spark, graph, bound, short, SEED, 7, limit=len(alone)), alone)
    assert search_cuts(spark, graph, bound, short, SEED, 7, limit=len(alone) - 1) is None


def test_graphs_without_trials_have_their_answer(spark: "SparkSession") -> None:
    plan = plan_trials(4, 1, 0.01)
    parts = canonical(4, [0, 1], [1, 2])  # vertex 3 is isolated
    assert_same(search_cuts(spark, parts, 0, plan, SEED, 2), listed_cuts(parts, 0))
    for n in (0, 1):
        found = search_cuts(spark, canonical(n, [], []), 5, plan, SEED, 2)
        assert found is not None
        assert len(found) == 0
    with pytest.raises(ConfigError, match="seed"):
        search_cuts(spark, ring_with_chords(5, 10, 4), 1, plan, -1, 2)
