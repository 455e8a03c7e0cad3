"""Minimum cuts by flows between neighbours: the list of all cuts, and grids of known value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.graphs.cuts.local_flows import least_by_flows
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import Graph, canonical, cut_value
from tests.support.cut_graphs import complete, least_value, weighted_graphs


def torus(rows: int, columns: int) -> Graph:
    """A grid whose ends are joined, weights of 1."""
    place = np.arange(rows * columns).reshape(rows, columns)
    target = np.concatenate([np.roll(place, 1, axis=0), np.roll(place, 1, axis=1)]).ravel()
    return canonical(place.size, np.concatenate([place, place]).ravel(), target)


@settings(deadline=None, max_examples=15)
@given(weighted_graphs(connected=True), st.integers(0, 3))
def test_equals_the_least_of_all_cuts_from_any_value_above(graph: Graph, above: int) -> None:
    least = least_value(graph)
    value, side, finished = least_by_flows(graph, least + above, 10**9)
    assert (value, finished) == (least, True)
    if above:
        assert cut_value(graph, side) == least
        assert 0 < side.sum() < graph.n_vertices


@settings(deadline=None, max_examples=15)
@given(weighted_graphs(connected=True), st.integers(0, 40))
def test_given_up_it_still_names_a_cut(graph: Graph, most_steps: int) -> None:
    seen = graph.total_weight + 1
    value, side, finished = least_by_flows(graph, seen, most_steps)
    assert least_value(graph) <= value <= seen
    assert value == seen or cut_value(graph, side) == value
    assert not finished or value == least_value(graph)


@pytest.mark.parametrize(("rows", "columns", "value"), [(25, 25, 4), (8, 150, 4), (40, 50, 4)])
def test_on_a_torus_a_flow_looks_at_few_arcs(rows: int, columns: int, value: int) -> None:
    graph = torus(rows, columns)
    found, _, finished = least_by_flows(graph, value + 1, 400 * graph.n_vertices)
    assert (found, finished) == (value, True)
    assert minimum_cut(graph).value == value


def test_a_light_belt_of_a_torus_is_found_and_the_next_flows_begin_afresh() -> None:
    graph = torus(20, 60)
    # Cut off rows 0 to 9 of the columns 5 to 8: lighter than around any vertex.
    block = np.zeros((20, 60), dtype=np.bool_)
    block[:10, 5:9] = True
    side = block.ravel()
    crosses = side[graph.source] != side[graph.target]
    belted = canonical(graph.n_vertices, graph.source, graph.target, np.where(crosses, 1, 20))
    value, found, finished = least_by_flows(belted, 80, 10**8)
    assert (value, finished) == (int(crosses.sum()), True)
    assert np.array_equal(found ^ found[0], side ^ side[0])
    assert minimum_cut(belted).value == value


def test_more_ways_than_arcs_change_and_are_undone() -> None:
    graph = complete(30)
    heavy = canonical(30, graph.source, graph.target, np.full(graph.n_edges, 10**6))
    assert least_by_flows(heavy, 29 * 10**6 + 5, 10**9)[::2] == (29 * 10**6, True)
