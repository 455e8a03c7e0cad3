"""The exact minimum cut: against the list of all cuts, the stored cases and networkx; graphs without a cut."""

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.graphs.cuts.minimum_cut import count_zero_cuts, minimum_cut
from dplib.graphs.cuts.tree_packing import pack_trees
from dplib.graphs.cuts.two_respecting import least_cut_of_trees
from dplib.graphs.edges import Graph, canonical, cut_value
from tests.support.cut_graphs import (
    cuts_up_to,
    least_value,
    ring_with_chords,
    weighted_graphs,
)


@settings(deadline=None, max_examples=20)
@given(weighted_graphs())
def test_equals_the_least_of_all_cuts(graph: Graph) -> None:
    found = minimum_cut(graph)
    assert found.exists
    assert found.value == least_value(graph) == cut_value(graph, found.side)
    assert found.side.any()
    assert not found.side[0]


@pytest.mark.parametrize("seed", range(4))
def test_equals_networkx_where_no_list_of_cuts_is_possible(seed: int) -> None:
    graph = ring_with_chords(60, 70 + 140 * seed, 10, seed)
    peer = networkx.Graph()
    peer.add_weighted_edges_from(zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True))
    value, _ = networkx.stoer_wagner(peer)
    assert minimum_cut(graph).value == value


@pytest.mark.parametrize("weak", [None, 37])
def test_trees_finish_what_scans_hardly_contract(weak: int | None) -> None:
    corner = np.arange(2**9)
    edges = np.concatenate([np.column_stack([corner, corner ^ (1 << bit)]) for bit in range(9)])
    heavy = np.where((edges == weak).any(axis=1), 3, 4)
    edges, heavy = edges[edges[:, 0] < edges[:, 1]], heavy[edges[:, 0] < edges[:, 1]]
    found = minimum_cut(canonical(len(corner), *edges.T, heavy))
    assert found.value == (36 if weak is None else 27)
    if weak is not None:
        assert np.flatnonzero(found.side).tolist() == [weak]


@settings(deadline=None, max_examples=15)
@given(weighted_graphs(connected=True))
def test_enough_trees_hold_a_minimum_cut(graph: Graph) -> None:
    packing = pack_trees(graph, least_value(graph))
    value, side = least_cut_of_trees(graph, packing.trees)
    assert packing.certified
    assert value == least_value(graph) == cut_value(graph, side)


@pytest.mark.parametrize("n", [0, 1])
def test_fewer_than_two_vertices_have_no_cut(n: int) -> None:
    found = minimum_cut(canonical(n, [], []))
    assert (found.exists, found.value, found.side.tolist()) == (False, 0, [False] * n)


@pytest.mark.parametrize(("n_components", "n_cuts"), [(0, 0), (1, 0), (2, 1), (3, 3), (6, 31), (70, 2**69 - 1)])
def test_components_are_separated_at_no_cost(n_components: int, n_cuts: int) -> None:
    ends = 2 * np.arange(n_components)
    graph = canonical(2 * n_components, ends, ends + 1, 9 * np.ones(n_components, dtype=np.int64))
    assert count_zero_cuts(graph) == n_cuts
    found = minimum_cut(graph)
    if n_components > 1:
        assert (found.value, np.flatnonzero(~found.side).tolist()) == (0, [0, 1])
        if n_components < 7:
            assert len(cuts_up_to(graph, 0)) == n_cuts


@settings(deadline=None, max_examples=20)
@given(weighted_graphs(connected=True), st.integers(2, 1000))
def test_scales_with_the_weights(graph: Graph, factor: int) -> None:
    scaled = Graph(graph.n_vertices, graph.source, graph.target, factor * graph.weight)
    assert minimum_cut(scaled).value == factor * minimum_cut(graph).value


@settings(deadline=None, max_examples=20)
@given(weighted_graphs(), st.data())
def test_one_more_unit_on_a_pair_moves_the_value_by_at_most_one(graph: Graph, data: st.DataObject) -> None:
    pair = data.draw(st.lists(st.integers(0, graph.n_vertices - 1), min_size=2, max_size=2, unique=True))
    ends = (np.append(graph.source, pair[0]), np.append(graph.target, pair[1]), np.append(graph.weight, 1))
    assert 0 <= minimum_cut(canonical(graph.n_vertices, *ends)).value - minimum_cut(graph).value <= 1


@settings(deadline=None, max_examples=20)
@given(weighted_graphs(least=3), st.data())
def test_names_of_vertices_do_not_matter_and_contraction_loses_only_cuts(graph: Graph, data: st.DataObject) -> None:
    order = np.array(data.draw(st.permutations(range(graph.n_vertices))))
    value = minimum_cut(graph).value
    assert (
        minimum_cut(canonical(graph.n_vertices, order[graph.source], order[graph.target], graph.weight)).value == value
    )
    joined = np.maximum(np.arange(graph.n_vertices) - 1, 0)
    small = canonical(graph.n_vertices - 1, joined[graph.source], joined[graph.target], graph.weight)
    assert minimum_cut(small).value >= value


def test_large_weights_do_not_overflow() -> None:
    heavy = 2**55
    graph = canonical(4, [0, 1, 2, 3, 0], [1, 2, 3, 0, 2], [heavy, heavy + 1, heavy + 2, heavy + 3, 5])
    assert minimum_cut(graph).value == least_value(graph)
