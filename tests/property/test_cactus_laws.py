"""Laws of cacti: what one stands for is what it was made from, in whatever numbering and form."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.graphs.cactus.cactus import Cactus, checked_cactus
from dplib.graphs.cactus.cactus_cuts import count_standard_cuts, cut_set
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cactus.cactus_standard_form import equivalent, standard_form
from dplib.graphs.cut_analysis.cactus_generation import cactus_of_cuts
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.edges import Graph, canonical
from tests.support.graph_oracles import sides


@st.composite
def cacti(draw: st.DrawFn, most_blocks: int = 6) -> Cactus:
    """A valid cactus of any form: tree edges and rings of 2 to 6 nodes hung together, some nodes empty."""
    blocks: list[list[int]] = []
    n_nodes = 1
    for _ in range(draw(st.integers(1, most_blocks))):
        size = draw(st.sampled_from([1, 1, 1, 2, 3, 4, 5]))
        is_edge = size == 1 and draw(st.booleans())
        blocks.append([draw(st.integers(0, n_nodes - 1)), *range(n_nodes, n_nodes + size), *([-1] if is_edge else [])])
        n_nodes += size
    edges = [block[:2] for block in blocks if block[-1] == -1]
    rings = [block for block in blocks if block[-1] != -1]
    n_blocks = np.bincount([node for block in [*edges, *rings] for node in block], minlength=n_nodes)
    held: list[int] = []
    for node in range(n_nodes):  # an end of the tree of blocks must hold a vertex
        held += [node] * draw(st.integers(1 if n_blocks[node] == 1 else 0, 2))
    node_of = draw(st.permutations(held))
    return checked_cactus(n_nodes, node_of, edges, rings)


def graph_of(cactus: Cactus) -> Graph:
    """A graph with one vertex a node and the cactus's own edges; its minimum cut value is 2."""
    parts = [np.repeat(cactus.tree_edges, 2, axis=0)]
    parts += [np.column_stack([ring, np.roll(ring, -1)]) for ring in cactus.rings]
    return canonical(cactus.n_nodes, *np.vstack(parts).T)


def renamed(cactus: Cactus, names: list[int]) -> Cactus:
    """The same cactus of the graph whose vertex ``v`` is called ``names[v]``, its nodes and edges in another order."""
    node_of = np.empty_like(cactus.node_of)
    node_of[names] = cactus.n_nodes - 1 - cactus.node_of
    edges = cactus.n_nodes - 1 - cactus.tree_edges[::-1, ::-1]
    rings = [np.roll(cactus.n_nodes - 1 - ring[::-1], 1) for ring in cactus.rings]
    return checked_cactus(cactus.n_nodes, node_of, edges, rings[::-1])


@settings(max_examples=25)
@given(cacti())
def test_standard_form_keeps_the_cuts_and_is_the_only_one(cactus: Cactus) -> None:
    cuts = cut_set(cactus)
    standard = standard_form(cactus)
    np.testing.assert_array_equal(cut_set(standard), cuts)
    assert count_standard_cuts(standard) == len(cuts)
    assert standard_form(standard).equals(standard)
    assert cactus_of_cuts(cuts).equals(standard)
    assert equivalent(cactus, standard)


@settings(max_examples=25)
@given(cacti())
def test_shape_of_the_standard_form(cactus: Cactus) -> None:
    standard = standard_form(cactus)
    tree_degree = np.bincount(standard.tree_edges.ravel(), minlength=standard.n_nodes)
    n_held = np.bincount(standard.node_of, minlength=standard.n_nodes)
    on_ring = np.zeros(standard.n_nodes, dtype=int)
    for ring in standard.rings:
        assert len(ring) >= 4
        on_ring[ring] += 1
    assert on_ring.max() <= 1
    assert (tree_degree[on_ring == 1] == 1).all()
    assert (n_held[on_ring == 1] == 0).all()
    assert (tree_degree[(on_ring == 0) & (n_held == 0)] >= 3).all()


@settings(max_examples=25)
@given(cacti(), st.data())
def test_standard_form_follows_new_names(cactus: Cactus, data: st.DataObject) -> None:
    names = data.draw(st.permutations(range(cactus.n_vertices)))
    other = renamed(cactus, list(names))
    cuts = cut_set(cactus)
    assert sides(cut_set(other)[:, names]) == sides(cuts)
    back = renamed(other, np.argsort(names).tolist())
    assert standard_form(back).equals(standard_form(cactus))
    assert equivalent(other, cactus) == np.array_equal(cut_set(other), cuts)


@settings(max_examples=15)
@given(cacti(12))
def test_search_in_the_graph_finds_the_same_as_the_list(cactus: Cactus) -> None:
    graph = graph_of(cactus)
    assert minimum_cut(graph).value == 2
    full = checked_cactus(cactus.n_nodes, np.arange(cactus.n_nodes), cactus.tree_edges, cactus.rings)
    found = cactus_of_graph(graph, 2)
    assert found.equals(standard_form(full))
    np.testing.assert_array_equal(cut_set(found), cut_set(full))
