"""Cuts, bundles and cacti: equal to the stored cases and to definitions read word for word."""

import itertools
from typing import Any

import numpy as np
import pytest

from dplib.arrays import BoolArray
from dplib.graphs.cactus.cactus_cuts import canonical_cuts, count_standard_cuts, cut_set
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cactus.cactus_standard_form import equivalent, numbered, standard_form
from dplib.graphs.cut_analysis.cactus_generation import cactus_of_cuts
from dplib.graphs.cut_analysis.cut_tree import bundle_graph, bundle_of, cut_tree, is_parallel_cut, is_ring
from dplib.graphs.edges import Graph, canonical
from tests.support.graph_oracles import (
    CUT_CASE_NAMES,
    CUT_CASES,
    between_every_pair,
    bundles_by_definition,
    case_cactus,
    case_graph,
    crossing,
    loosened,
    minimum_cuts,
    random_graph,
    sides,
)


def graphs(n_graphs: int, largest: int = 8) -> list[Graph]:
    rng = np.random.default_rng(n_graphs)
    return [random_graph(rng, int(rng.integers(2, largest + 1))) for _ in range(n_graphs)]


@pytest.mark.parametrize("case", CUT_CASES, ids=CUT_CASE_NAMES)
def test_stored_cases(case: dict[str, Any]) -> None:
    graph = case_graph(case)
    value, cuts = minimum_cuts(graph)
    assert value == case["min_cut_value"]
    assert sides(cuts) == {tuple(cut) for cut in case["min_cuts"]}
    parallel = is_parallel_cut(cuts)
    assert sides(cuts[parallel]) == {tuple(cut) for cut in case["p_cuts"]}
    assert sides(cuts[~parallel]) == {tuple(cut) for cut in case["t_cuts"]}
    made = cactus_of_cuts(cuts)
    assert made.equals(numbered(case_cactus(case)))
    assert made.equals(standard_form(case_cactus(case)))
    assert made.equals(cactus_of_graph(graph, value))
    assert sides(cut_set(made)) == sides(cuts)
    assert count_standard_cuts(made) == case["num_min_cuts"]


@pytest.mark.parametrize("case", CUT_CASES, ids=CUT_CASE_NAMES)
def test_stored_cases_under_other_names(case: dict[str, Any]) -> None:
    """The search starts along other edges: along the prism's edges between its triangles too."""
    graph = case_graph(case)
    value, cuts = minimum_cuts(graph)
    rng = np.random.default_rng(graph.n_vertices)
    for _ in range(3):
        names = rng.permutation(graph.n_vertices)
        renamed = canonical(graph.n_vertices, names[graph.source], names[graph.target], graph.weight)
        assert cactus_of_graph(renamed, value).equals(cactus_of_cuts(cuts[:, np.argsort(names)]))


def test_parallel_cuts_by_definition() -> None:
    """Also of 130 vertices, which fill three words; there cuts cross where the reduced ones do."""
    rng = np.random.default_rng(0)
    families = [minimum_cuts(graph)[1] for graph in graphs(60)]
    for _ in range(50):
        coarse = rng.random((8, 6)) < 0.5
        families.append(canonical_cuts(coarse[coarse.any(axis=1) & ~coarse.all(axis=1)][:, rng.integers(0, 6, 130)]))
    for cuts in families:
        by_definition = [not any(crossing(one, other) for other in cuts) for one in cuts]
        np.testing.assert_array_equal(is_parallel_cut(cuts), by_definition)


def test_canonical_cuts_are_one_form() -> None:
    rng = np.random.default_rng(1)
    cuts = canonical_cuts(np.vstack([np.eye(9, dtype=bool)[1:], rng.random((30, 9)) < 0.5]))
    scrambled = np.repeat(cuts, 2, axis=0)[rng.permutation(2 * len(cuts))]
    scrambled[::3] ^= True
    np.testing.assert_array_equal(canonical_cuts(scrambled), cuts)
    keys = [(int(cut.sum()), np.flatnonzero(cut).tolist()) for cut in cuts]
    assert keys == sorted(keys)
    assert not cuts[:, 0].any()


@pytest.mark.parametrize("graph", graphs(24))
def test_bundles_by_definition(graph: Graph) -> None:
    value, cuts = minimum_cuts(graph)
    parallel = is_parallel_cut(cuts)
    tree = cut_tree(cuts[parallel])
    bundles = [tree.outer_sides(node) for node in range(tree.n_nodes)]
    as_sets = [frozenset(tuple(np.flatnonzero(side).tolist()) for side in bundle) for bundle in bundles]
    assert set(as_sets) == bundles_by_definition(cuts[parallel])
    assert len(set(as_sets)) == tree.n_nodes
    owner = dict.fromkeys(range(tree.n_nodes), 0)
    for t_cut in cuts[~parallel]:
        of = [node for node, bundle in enumerate(bundles) if belongs(t_cut, bundle)]
        assert of == [bundle_of(tree, t_cut)[0]]
        owner[of[0]] += 1
    for node, bundle in enumerate(bundles):
        held = ~bundle.any(axis=0)
        np.testing.assert_array_equal(np.flatnonzero(held), np.flatnonzero(tree.node_of == node))
        structure = bundle_graph(graph, bundle)
        length = len(bundle)
        if owner[node]:  # theorem 3.1.7
            assert not held.any()
            assert length >= 4
            assert owner[node] == length * (length - 3) // 2
            assert is_ring(structure, value)
        elif length == 3 and not held.any():
            assert is_ring(structure, value)
        assert structure.sum() == 2 * graph.weight[structure_edges(graph, bundle)].sum()


def belongs(t_cut: BoolArray, outer_sides: BoolArray) -> bool:
    """It splits none of the two or more outer sides of a bundle."""
    split = (outer_sides & t_cut).any(axis=1) & (outer_sides & ~t_cut).any(axis=1)
    return len(outer_sides) >= 2 and not split.any()


def structure_edges(graph: Graph, bundle: np.ndarray[Any, np.dtype[np.bool_]]) -> Any:
    within_one = (bundle[:, graph.source] & bundle[:, graph.target]).any(axis=0)
    return ~within_one


def test_no_t_cut_meets_the_printed_definition() -> None:
    memberships = n_graphs = 0
    for graph in graphs(100):
        _, cuts = minimum_cuts(graph)
        parallel = is_parallel_cut(cuts)
        tree = cut_tree(cuts[parallel])
        pairs = itertools.product(cuts[~parallel], range(tree.n_nodes))
        bundles = [tree.outer_sides(node) for node in range(tree.n_nodes)]
        memberships += sum(between_every_pair(cut, bundles[node]) for cut, node in pairs if len(bundles[node]) > 1)
        n_graphs += not parallel.all()
    assert n_graphs > 15
    assert memberships == 0


@pytest.mark.parametrize("seed", range(4))
def test_all_ways_to_the_cactus_agree_with_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(20):
        graph = random_graph(rng, int(rng.integers(2, 9)))
        value, cuts = minimum_cuts(graph)
        made = cactus_of_cuts(cuts)
        assert sides(cut_set(made)) == sides(cuts)
        assert count_standard_cuts(made) == len(cuts)
        assert made.equals(cactus_of_graph(graph, value))
        other = loosened(rng, made)
        assert sides(cut_set(other)) == sides(cuts)
        assert standard_form(other).equals(made)
        assert equivalent(other, made)


def test_two_graphs_with_other_cuts_are_not_equivalent() -> None:
    every = [minimum_cuts(graph)[1] for graph in graphs(28, 5)]
    found = [(cactus_of_cuts(cuts), sides(cuts)) for cuts in every]
    agree = 0
    for (one, cuts), (other, other_cuts) in itertools.combinations(found, 2):
        if one.n_vertices == other.n_vertices:
            assert equivalent(one, other) == (cuts == other_cuts)
            agree += equivalent(one, other)
    assert agree > 5


def test_a_long_ring_of_cliques_needs_no_list_of_cuts() -> None:
    n = 2_000
    first = 4 * np.arange(n)
    within = [(first + one, first + other) for one, other in itertools.combinations(range(4), 2)]
    source, target = map(np.concatenate, zip(*within, (first + 3, np.roll(first, -1)), strict=True))
    found = cactus_of_graph(canonical(4 * n, source, target), 2)
    assert count_standard_cuts(found) == n * (n - 1) // 2
    assert [len(ring) for ring in found.rings] == [n]
    assert (found.node_of.reshape(n, 4) == found.node_of[first][:, None]).all()
    assert len(np.unique(found.node_of)) == n
