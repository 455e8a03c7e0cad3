"""All cuts up to a bound: against the list of all cuts, the stored cases, graphs of known count; limits and proofs."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.graphs.cuts.exhaustive import all_cut_values, listed_cuts
from dplib.graphs.cuts.flow_branching import branched_cuts
from dplib.graphs.cuts.kernel import kernel
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.cuts.tree_packing import pack_trees
from dplib.graphs.cuts.two_respecting import cuts_of_trees
from dplib.graphs.edges import Graph, canonical, cut_values
from tests.support.cut_graphs import (
    complete,
    cuts_up_to,
    least_value,
    ring_of_cliques,
    ring_with_chords,
    weighted_graphs,
)
from tests.support.cut_mechanism_laws import all_sides
from tests.support.graph_oracles import cut_values as values_by_matrix
from tests.support.graph_oracles import sides


def bounds(draw: st.DrawFn, graph: Graph) -> int:
    return int(least_value(graph) * draw(st.sampled_from([1, 1.2, 1.4, 1.7, 2.5]))) + draw(st.integers(0, 2))


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_equals_the_list_of_all_cuts(data: st.DataObject) -> None:
    graph = data.draw(weighted_graphs())
    bound = bounds(data.draw, graph)
    found = near_minimum_cuts(graph, bound)
    assert found.complete
    wanted = cuts_up_to(graph, bound)
    assert sides(found.cuts.sides()) == wanted
    assert len(found.cuts) == len(wanted)
    spread = found.cuts.spread()
    assert np.array_equal(cut_values(graph, spread.packed), spread.values)
    assert (np.diff(found.cuts.values) >= 0).all()


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_a_kernel_keeps_every_cut_up_to_its_bound(data: st.DataObject) -> None:
    graph = data.draw(weighted_graphs())
    small = kernel(graph, bounds(data.draw, graph))
    assert small.label[0] == 0
    kept = cuts_up_to(small.graph, small.bound) if small.graph.n_vertices > 1 else set()
    spread = {tuple(np.flatnonzero(np.isin(small.label, side)).tolist()) for side in kept}
    assert spread == cuts_up_to(graph, small.bound)


@settings(deadline=None, max_examples=15)
@given(weighted_graphs(least=3, connected=True))
def test_below_three_halves_of_the_minimum_trees_certify(graph: Graph) -> None:
    bound = int(1.45 * minimum_cut(graph).value)
    packing = pack_trees(graph, bound)
    assert packing.certified
    cuts, complete_list = cuts_of_trees(graph, packing.trees, bound, 10_000)
    assert complete_list
    assert sides(cuts.sides()) == cuts_up_to(graph, bound)


def test_every_tree_spans_and_no_load_breaks_the_certificate() -> None:
    graph = ring_with_chords(40, 200, 5)
    bound = int(1.4 * minimum_cut(graph).value)
    packing = pack_trees(graph, bound)
    amounts = np.repeat(packing.amounts, 39)
    load = np.bincount(packing.trees.ravel(), amounts, minlength=graph.n_edges)
    assert packing.certified
    assert (3 * packing.amounts.sum() * graph.weight > bound * load).all()
    for tree in packing.trees:
        assert minimum_cut(canonical(40, graph.source[tree], graph.target[tree])).value == 1


@pytest.mark.parametrize("n", [3, 8, 64, 65, 130])
def test_a_ring_has_every_pair_of_edges(n: int) -> None:
    ring = canonical(n, np.arange(n), (np.arange(n) + 1) % n)
    found = near_minimum_cuts(ring, 2)
    assert (found.complete, found.certificate, len(found.cuts)) == (True, "trees", comb(n, 2))


@pytest.mark.parametrize("n_components", [2, 3, 5])
def test_components_in_any_choice(n_components: int) -> None:
    triangle = np.array([[0, 1], [1, 2], [0, 2]])
    edges = np.concatenate([triangle + 3 * part for part in range(n_components)])
    graph = canonical(3 * n_components, *edges.T)
    for bound in (0, 1, 2, 4):
        found = near_minimum_cuts(graph, bound)
        assert found.complete
        expected = values_by_matrix(graph, all_sides(graph.n_vertices)) <= bound
        assert len(found.cuts) == expected.sum()
        assert sides(found.cuts.sides()) == cuts_up_to(graph, bound)
    assert len(near_minimum_cuts(graph, 0).cuts) == 2 ** (n_components - 1) - 1


@settings(deadline=None, max_examples=20)
@given(weighted_graphs(), st.integers(1, 6), st.integers(0, 40))
def test_a_limit_is_kept_and_said(graph: Graph, limit: int, bound: int) -> None:
    found = near_minimum_cuts(graph, bound, limit)
    expected = cuts_up_to(graph, bound)
    assert found.complete == (len(expected) <= limit)
    assert len(found.cuts) == min(limit, len(expected))
    assert sides(found.cuts.sides()) <= expected


def test_without_edges_the_number_of_cuts_is_no_obstacle() -> None:
    found = near_minimum_cuts(canonical(3000, [], []), 5, limit=1000)
    assert (found.complete, len(found.cuts), set(found.cuts.values.tolist())) == (False, 1000, {0})


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_vertices_have_none(n: int) -> None:
    found = near_minimum_cuts(canonical(n, [], []), 3)
    assert (found.complete, len(found.cuts), found.cuts.sides().shape) == (True, 0, (0, n))


@pytest.mark.parametrize(
    ("n", "bound", "limits", "certificate"),
    [
        (10, 24, {}, "exhaustive"),
        (23, 42, {"most_trees": 3}, "flows"),
        (23, 42, {"most_trees": 3, "most_steps": 100}, "none"),
    ],
)
def test_what_certifies_where_no_packing_does(n: int, bound: int, limits: dict[str, int], certificate: str) -> None:
    found = near_minimum_cuts(complete(n), bound, **limits)
    # Sides of s and n - s vertices have value s (n - s).
    expected = sum(comb(n, size) for size in range(1, n // 2) if size * (n - size) <= bound)
    assert (found.complete, found.certificate) == (certificate != "none", certificate)
    assert 0 < len(found.cuts) <= expected
    assert not found.complete or len(found.cuts) == expected
    spread = found.cuts.spread()
    assert np.array_equal(cut_values(complete(n), spread.packed), spread.values)
    assert (spread.values <= bound).all()


@settings(deadline=None, max_examples=15)
@given(weighted_graphs(), st.integers(0, 80))
def test_branching_meets_every_cut_once_for_any_bound(graph: Graph, bound: int) -> None:
    cuts, finished = branched_cuts(graph, bound, 1000)
    assert finished
    wanted = cuts_up_to(graph, bound)
    assert sides(cuts.sides()) == wanted
    assert len(cuts) == len(wanted)
    assert np.array_equal(cut_values(graph, cuts.packed), cuts.values)


def test_branching_agrees_with_trees_where_no_list_of_cuts_is_possible() -> None:
    graph = ring_with_chords(80, 200, 4)
    bound = int(1.45 * minimum_cut(graph).value)
    flows, finished = branched_cuts(graph, bound, 10_000)
    trees = near_minimum_cuts(graph, bound)
    assert (finished, trees.certificate) == (True, "trees")
    assert np.array_equal(flows.packed, trees.cuts.spread().packed)


def test_branching_stops_at_its_limits() -> None:
    cuts, finished = branched_cuts(complete(8), 12, 20)
    assert (finished, len(cuts)) == (False, 20)
    cuts, finished = branched_cuts(complete(8), 12, 1000, most_steps=60)
    assert (finished, len(cuts) < 36) == (False, True)
    with pytest.raises(ConfigError, match="graph must have at least two vertices, got 1"):
        branched_cuts(canonical(1, [], []), 1, 1)
    with pytest.raises(ConfigError, match="graph must fit into memory once a vertex, got a larger one"):
        branched_cuts(ring_of_cliques(1000), 1, 1)


@settings(deadline=None, max_examples=20)
@given(weighted_graphs(least=1, most=8), st.data())
def test_values_of_all_cuts_by_number_also_for_negative_weights(graph: Graph, data: st.DataObject) -> None:
    signed = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=graph.n_edges, max_size=graph.n_edges)), np.int64)
    values = all_cut_values(graph.n_vertices, graph.source, graph.target, signed)
    expected = values_by_matrix(replace(graph, weight=signed), all_sides(graph.n_vertices))
    assert values[0] == 0
    assert np.array_equal(values[1:], expected)  # both number cuts by the bits of vertices 1, 2, ...


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="bound must be at least 0, got -1"):
        near_minimum_cuts(complete(3), -1)
    with pytest.raises(ConfigError, match="limit must be at least 1, got 0"):
        near_minimum_cuts(complete(3), 1, limit=0)
    with pytest.raises(ConfigError, match="n_vertices must lie from 1 to 24 for a list of all cuts, got 25"):
        listed_cuts(complete(25), 1)
    with pytest.raises(ConfigError, match="graph must be connected, got separate parts"):
        pack_trees(canonical(3, [0], [1]), 1)
    with pytest.raises(ConfigError, match="graph must have at least two vertices, got 1"):
        pack_trees(canonical(1, [], []), 1)
