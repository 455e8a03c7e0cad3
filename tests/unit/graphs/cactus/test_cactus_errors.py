"""Malformed cacti, lists of cuts and graphs are refused; the smallest inputs are not."""

import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.graphs.cactus.cactus import checked_cactus
from dplib.graphs.cactus.cactus_cuts import canonical_cuts, cut_set
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cactus.cactus_standard_form import standard_form
from dplib.graphs.cut_analysis.cactus_generation import cactus_of_cuts
from dplib.graphs.cut_analysis.cut_tree import cut_tree
from dplib.graphs.edges import canonical
from tests.support.graph_oracles import sides


@pytest.mark.parametrize(
    ("n_nodes", "node_of", "tree_edges", "rings", "message"),
    [
        (2, [0, 0], [[0, 1]], [], "vertex in every leaf"),
        (4, [0, 1, 2], [], [[0, 1, 2, 3]], "touches one ring only"),
        (2, [0, 0], [], [[0, 1]], "touches one ring only"),
        (3, [0, 1, 2], [[0, 1]], [], "be connected"),
        (4, [0, 1, 2, 3], [[0, 1]], [[2, 3]], "be connected"),
        (3, [0, 1, 2], [[0, 1], [1, 2], [2, 0]], [], "at most one simple cycle"),
        (4, [0, 1, 2, 3], [[0, 2]], [[0, 1, 2, 3]], "at most one simple cycle"),
        (4, [0, 1, 2, 3], [], [[0, 1, 2], [0, 1, 3]], "at most one simple cycle"),
        (2, [0, 1], [[0, 1], [0, 1]], [], "at most one simple cycle"),
        (2, [0, 1], [[0, 0], [0, 1]], [], "different nodes"),
        (3, [0, 1, 2], [], [[0, 1, 2, 1]], "different nodes"),
        (1, [0], [], [[0]], "different nodes"),
        (2, [0, 2], [[0, 1]], [], "nodes 0 to 1"),
        (2, [0, 1], [[0, 5]], [], "nodes 0 to 1"),
        (2, [0, -1], [[0, 1]], [], "nodes 0 to 1"),
        (0, [], [], [], "at least 1"),
        (1, [], [], [], "at least one vertex"),
    ],
)
def test_malformed_cacti_are_refused(
    n_nodes: int, node_of: list[int], tree_edges: list[list[int]], rings: list[list[int]], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        checked_cactus(n_nodes, node_of, tree_edges, rings)


def test_thesis_figure_3_4() -> None:
    """One graph, two cacti: a ring of three and an edge, or three double edges and an edge in two (lemma 3.2.1)."""
    ring = checked_cactus(4, [0, 1, 2, 3], [[0, 3]], [[0, 1, 2]])
    star = checked_cactus(6, [0, 1, 2, 3], [[0, 4], [4, 3]], [[0, 5], [1, 5], [2, 5]])
    expected = {(1, 2), (2,), (1,), (3,)}  # equation 3.7 with vertices counted from 0
    assert sides(cut_set(ring)) == sides(cut_set(star)) == expected
    assert standard_form(ring).equals(standard_form(star))


def test_lists_that_are_not_all_minimum_cuts() -> None:
    for cuts in (np.zeros((0, 3)), np.array([[0, 1, 1, 0], [0, 0, 1, 1]])):
        with pytest.raises(ConfigError, match="all minimum cuts"):
            cactus_of_cuts(cuts)


@pytest.mark.parametrize("n", [4, 5, 6, 7])
def test_a_list_with_a_cut_left_out_is_refused_or_stands_for_itself(n: int) -> None:
    single = np.eye(n, dtype=bool)
    cuts = canonical_cuts([single[i:j].any(axis=0) for i in range(1, n) for j in range(i + 1, n + 1)])
    assert len(cactus_of_cuts(cuts).rings) == 1
    stands = []
    for left_out in range(len(cuts)):
        rest = np.delete(cuts, left_out, axis=0)
        try:
            made = cactus_of_cuts(rest)
        except ConfigError:
            continue
        assert sides(cut_set(made)) == sides(rest)
        stands.append(left_out)
    # Only the ring of four has a list that stands for another graph: without one of its two crossing cuts.
    assert len(stands) == (2 if n == 4 else 0)


def test_cuts_need_two_sides_and_two_dimensions() -> None:
    with pytest.raises(ConfigError, match="both sides"):
        canonical_cuts([[1, 1, 1]])
    with pytest.raises(ConfigError, match="one column a vertex"):
        canonical_cuts([0, 1])
    with pytest.raises(ConfigError, match="parallel"):
        cut_tree(np.array([[0, 1, 1, 0], [0, 0, 1, 1]], dtype=bool))


def test_one_vertex_has_a_cactus_of_one_node() -> None:
    for made in (cactus_of_cuts(np.zeros((0, 1))), cactus_of_graph(canonical(1, [], []), 0)):
        assert (made.n_nodes, made.node_of.tolist(), len(made.tree_edges), made.rings) == (1, [0], 0, ())
        assert cut_set(made).shape == (0, 1)
        assert standard_form(made).equals(made)


@pytest.mark.parametrize("value", [1, 3])
def test_a_wrong_minimum_cut_value_is_refused(value: int) -> None:
    with pytest.raises(ConfigError, match="min_cut_value must be the minimum cut value"):
        cactus_of_graph(canonical(4, [0, 1, 2, 3], [1, 2, 3, 0]), value)
    with pytest.raises(ConfigError, match="min_cut_value must be the minimum cut value"):
        cactus_of_graph(canonical(3, [0, 1], [1, 2], [2, 2]), value)


def test_a_disconnected_graph_has_no_cactus() -> None:
    with pytest.raises(ConfigError, match="graph must be connected"):
        cactus_of_graph(canonical(4, [0, 2], [1, 3]), 1)
    with pytest.raises(ConfigError, match="graph must be connected"):
        cactus_of_graph(canonical(0, [], []), 1)
