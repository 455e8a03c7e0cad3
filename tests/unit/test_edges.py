"""The one form of a graph: sums, drops, refusals, contraction; against dictionaries and networkx."""

from collections import Counter

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.graphs.edges import Graph, canonical

Listed = tuple[int, list[tuple[int, int, int]]]


@st.composite
def listed_graphs(draw: st.DrawFn) -> Listed:
    """A number of vertices and edges as a person lists them: loops, parallel edges, zeros, both directions."""
    n = draw(st.integers(1, 9))
    end = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(end, end, st.integers(0, 5)), max_size=25))


def made(listed: Listed) -> Graph:
    n, edges = listed
    return canonical(n, *np.array(edges, dtype=np.int64).reshape(-1, 3).T)


@given(listed_graphs())
def test_equals_a_dictionary_of_pairs(listed: Listed) -> None:
    sums: Counter[tuple[int, int]] = Counter()
    for u, v, w in listed[1]:
        sums[min(u, v), max(u, v)] += w
    expected = sorted((u, v, w) for (u, v), w in sums.items() if u != v and w > 0)
    graph = made(listed)
    got = zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True)
    assert list(got) == expected


@given(listed_graphs())
def test_neighbours_degrees_and_components_equal_networkx(listed: Listed) -> None:
    graph = made(listed)
    peer = networkx.Graph()
    peer.add_nodes_from(range(graph.n_vertices))
    ends = (graph.source.tolist(), graph.target.tolist(), graph.weight.tolist())
    peer.add_weighted_edges_from(zip(*ends, strict=True))
    start, neighbor, weight = graph.adjacency.start, graph.adjacency.neighbor, graph.adjacency.weight
    for vertex in range(graph.n_vertices):
        own = slice(start[vertex], start[vertex + 1])
        around = {other: data["weight"] for other, data in sorted(peer[vertex].items())}
        assert neighbor[own].tolist() == list(around)
        assert weight[own].tolist() == list(around.values())
        assert graph.degree[vertex] == sum(around.values())
    components = sorted(map(sorted, networkx.connected_components(peer)))
    assert [np.flatnonzero(graph.component == c).tolist() for c in range(graph.n_components)] == components


@given(listed_graphs(), st.data())
def test_contraction_keeps_the_values_of_the_cuts_it_keeps(listed: Listed, data: st.DataObject) -> None:
    graph = made(listed)
    n_labels = data.draw(st.integers(1, graph.n_vertices))
    label = np.array(data.draw(st.permutations([v % n_labels for v in range(graph.n_vertices)])))
    small = graph.contracted(label, n_labels)
    sides = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=n_labels, max_size=n_labels), min_size=1)))
    assert small.cut_values(sides).tolist() == graph.cut_values(sides[:, label]).tolist()
    assert [small.cut_value(side) for side in sides] == small.cut_values(sides).tolist()


def test_a_graph_on_some_vertices_keeps_their_edges() -> None:
    graph = canonical(5, [0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]).induced(np.array([1, 2, 4]))
    assert (graph.source.tolist(), graph.target.tolist(), graph.weight.tolist()) == ([0], [1], [2])


@pytest.mark.parametrize(("n", "components"), [(0, 0), (1, 1), (3, 3)])
def test_graphs_without_edges_are_graphs(n: int, components: int) -> None:
    graph = canonical(n, [], [])
    assert (graph.n_edges, graph.n_components, graph.degree.tolist()) == (0, components, [0] * n)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((-1, [], []), "at least 0"),
        ((2, [0], [2]), "join vertices from 0 to 1"),
        ((2, [-1], [1]), "join vertices from 0 to 1"),
        ((2, [0], [1], [-1]), "at least 0"),
        ((2, [0], [1], [0.5]), "hold integers"),
        ((2, [0], [1], [float("nan")]), "hold integers"),
        ((2, [0], [1], ["a"]), "hold integers"),
        ((2, [0], [1], np.array([2**63], dtype=np.uint64)), "hold integers"),
        ((2, [0, 0], [1, 1], [2**52, 2**52]), "total less than"),
        ((2, [0, 1], [1]), "two ends"),
        ((2, [[0]], [[1]]), "one dimension"),
    ],
)
def test_what_is_no_graph_is_refused(arguments: tuple[object, ...], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        canonical(*arguments)  # type: ignore[arg-type]


def test_sides_of_another_length_are_refused() -> None:
    graph = canonical(2, [0], [1])
    with pytest.raises(ConfigError, match="one entry a vertex"):
        graph.cut_value([True])
    with pytest.raises(ConfigError, match="one column a vertex"):
        graph.cut_values([[True]])
