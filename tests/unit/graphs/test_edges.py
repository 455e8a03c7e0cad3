"""The canonical graph: sums, drops, refusals, packed sides; against dictionaries and networkx."""

from collections import Counter

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.graphs.edges import (
    Graph,
    canonical,
    components,
    cut_value,
    induced,
    neighbor_lists,
    pack_sides,
    unpack_sides,
    word_count,
)

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


@settings(deadline=None)  # the first call compiles
@given(listed_graphs())
def test_equals_a_dictionary_of_pairs(listed: Listed) -> None:
    sums: Counter[tuple[int, int]] = Counter()
    for u, v, w in listed[1]:
        sums[min(u, v), max(u, v)] += w
    expected = sorted((u, v, w) for (u, v), w in sums.items() if u != v and w > 0)
    graph = made(listed)
    got = zip(graph.source.tolist(), graph.target.tolist(), graph.weight.tolist(), strict=True)
    assert list(got) == expected


@settings(max_examples=25)
@given(listed_graphs())
def test_neighbours_degrees_and_components_equal_networkx(listed: Listed) -> None:
    graph = made(listed)
    peer = networkx.Graph()
    peer.add_nodes_from(range(graph.n_vertices))
    ends = (graph.source.tolist(), graph.target.tolist(), graph.weight.tolist())
    peer.add_weighted_edges_from(zip(*ends, strict=True))
    arrays = neighbor_lists(graph.n_vertices, graph.source, graph.target, graph.weight)
    (first, neighbor, weight, edge), degrees = arrays, graph.degrees()
    for vertex in range(graph.n_vertices):
        own = slice(first[vertex], first[vertex + 1])
        around = {other: data["weight"] for other, data in sorted(peer[vertex].items())}
        assert neighbor[own].tolist() == list(around)
        assert weight[own].tolist() == list(around.values())
        assert graph.weight[edge[own]].tolist() == list(around.values())
        assert degrees[vertex] == sum(around.values())
    n_components, label = components(graph)
    expected = sorted(map(sorted, networkx.connected_components(peer)))
    assert [np.flatnonzero(label == c).tolist() for c in range(n_components)] == expected


@settings(deadline=None)  # the first call compiles
@given(st.integers(1, 200), st.data())
def test_packed_sides_are_one_word_row_for_each_cut(n: int, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, 2**n - 1))
    side = np.array([bits >> vertex & 1 == 1 for vertex in range(n)])
    packed = pack_sides([side, ~side])
    assert packed.shape == (2, word_count(n))
    assert (packed[0] == packed[1]).all()
    assert (unpack_sides(packed, n)[0] == side ^ side[0]).all()
    number = sum(int(word) << (64 * place) for place, word in enumerate(packed[0].tolist()))
    assert number == sum(1 << vertex for vertex in np.flatnonzero(side ^ side[0]).tolist())


def test_a_graph_on_some_vertices_keeps_their_edges() -> None:
    graph = canonical(5, [0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4])
    kept, vertices = induced(graph, [False, True, True, False, True])
    assert vertices.tolist() == [1, 2, 4]
    assert (kept.source.tolist(), kept.target.tolist(), kept.weight.tolist()) == ([0], [1], [2])


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 1), (3, 3)])
def test_graphs_without_edges_are_graphs(n: int, expected: int) -> None:
    graph = canonical(n, [], [])
    assert (graph.n_edges, components(graph)[0], graph.degrees().tolist()) == (0, expected, [0] * n)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((-1, [], []), "lie from 0 to"),
        ((2, [0], [2]), "hold vertices from 0 to 1"),
        ((2, [-1], [1]), "hold vertices from 0 to 1"),
        ((2, [0], [1], [-1]), "at least 0"),
        ((2, [0], [1], [0.5]), "whole numbers"),
        ((2, [0], [1], [float("nan")]), "whole numbers"),
        ((2, [0], [1], ["a"]), "whole numbers"),
        ((2, [0], [1], np.array([2**63], dtype=np.uint64)), "whole numbers"),
        ((2, [0, 0], [1, 1], [2**59, 2**59]), "add up to less than"),
        ((2, [0, 1], [1]), "two ends"),
        ((2, [[0]], [[1]]), "one row"),
    ],
)
def test_what_is_no_graph_is_refused(arguments: tuple[object, ...], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        canonical(*arguments)  # type: ignore[arg-type]


def test_sides_of_another_shape_are_refused() -> None:
    graph = canonical(2, [0], [1])
    with pytest.raises(ConfigError, match="one entry a vertex"):
        cut_value(graph, [True])
    with pytest.raises(ConfigError, match="one row a cut"):
        pack_sides([True, False])
