"""Cuts by a named method: all methods agree, chance says how sure it is, graphs without cuts have an answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.graphs.cuts.choose import Method, listed_by
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import Graph, canonical
from tests.cut_graphs import complete, cuts_up_to, ring_of_cliques, weighted_graphs
from tests.graph_oracles import sides

METHODS: list[Method] = ["auto", "trees", "exhaustive", "karger", "karger-stein"]


@settings(deadline=None, max_examples=60)  # the first call compiles
@given(weighted_graphs(most=7), st.sampled_from([1.0, 1.3, 2.0]))
def test_all_methods_find_the_same_cuts(graph: Graph, ratio: float) -> None:
    bound = int(ratio * minimum_cut(graph).value)
    for method in METHODS:
        found = listed_by(graph, bound, method, failure=1e-12)
        assert found.complete
        assert found.failure <= 1e-12
        assert sides(found.cuts.sides()) == cuts_up_to(graph, bound)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [0, 1, 2])
def test_graphs_without_edges(method: Method, n: int) -> None:
    found = listed_by(canonical(n, [], []), 0, method)
    assert (found.complete, found.failure, len(found.cuts)) == (True, 0, max(n - 1, 0))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_lies_below_the_minimum(method: Method) -> None:
    found = listed_by(complete(6), 4, method)
    assert (found.complete, found.failure, len(found.cuts)) == (True, 0, 0)


def test_too_few_trials_are_not_taken_for_enough() -> None:
    graph = ring_of_cliques(8)
    found = listed_by(graph, 2, "karger", most_trials=5)
    assert (found.failure, found.n_trials) == (1, 5)
    assert sides(found.cuts.sides()) <= sides(listed_by(graph, 2).cuts.sides())
    enough = listed_by(graph, 2, "karger")
    assert enough.failure <= 1e-9
    assert len(enough.cuts) == 28


@pytest.mark.parametrize("method", METHODS)
def test_a_limit_is_kept_and_said(method: Method) -> None:
    ring = canonical(8, np.arange(8), (np.arange(8) + 1) % 8)
    found = listed_by(ring, 2, method, limit=20)
    assert (found.complete, len(found.cuts)) == (False, 20)


def test_a_seed_is_the_whole_chance() -> None:
    graph = ring_of_cliques(6)
    once, again = (listed_by(graph, 3, "karger", seed=8, most_trials=3).cuts for _ in range(2))
    other = listed_by(graph, 3, "karger", seed=9, most_trials=3).cuts
    assert np.array_equal(once.packed, again.packed)
    assert not (len(other) == len(once) and np.array_equal(other.packed, once.packed))


def test_refusals() -> None:
    with pytest.raises(
        ConfigError, match="method must be one of auto, exhaustive, karger, karger-stein, trees, got fast"
    ):
        listed_by(complete(3), 2, "fast")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="bound must be at least 0, got -1"):
        listed_by(complete(3), -1)
    with pytest.raises(ConfigError, match="ratio must lie from 1 to 6"):
        listed_by(complete(3), 14, "karger")
    with pytest.raises(ConfigError, match="n_vertices must lie from 1 to 24 for a list of all cuts, got 30"):
        listed_by(complete(30), 29, "exhaustive")
