"""Searches for small cuts by signed weights: planted cuts behind noise, exact sums, the same cuts every time."""

import shutil
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cuts.exhaustive import all_cut_values, numbered_sides
from dplib.graphs.cuts.signed_cuts import cut_sums, different, leading_vectors, small_cuts
from dplib.graphs.edges import Graph, canonical
from dplib.jobs.minimum_cuts import publish
from dplib.jobs.minimum_cuts.check import check_tables
from dplib.jobs.minimum_cuts.estimate import FoundCuts, Number, Results, make_results
from dplib.jobs.minimum_cuts.measure import drawn, measure_graph
from dplib.jobs.minimum_cuts.page import _listed
from dplib.jobs.minimum_cuts.publish import write_tables
from dplib.jobs.minimum_cuts.synthetic import pair_matrix, side_values, synthesise, with_cuts
from dplib.jobs.minimum_cuts.tables import Tables
from dplib.randomness.keyed import derive_key
from tests.support.golden import golden_keys
from tests.support.minimum_cuts import design_of

KEY = bytes(range(5, 37))


def two_cliques(n: int, bridges: int) -> tuple[Graph, BoolArray]:
    """Two complete halves with few edges between them, in a mixed order, and their split: the only minimum cut."""
    vertex = np.random.default_rng(n).permutation(n)
    source, target = np.triu_indices(n, 1)
    half = source // (n // 2) == target // (n // 2)
    ends = [source[half], target[half]]
    ends = [np.append(ends[0], np.arange(bridges)), np.append(ends[1], n - 1 - np.arange(bridges))]
    split = np.zeros(n, dtype=np.bool_)
    split[vertex[n // 2 :]] = True
    return canonical(n, vertex[ends[0]], vertex[ends[1]]), split ^ split[0]


@pytest.mark.parametrize(("n", "bridges", "least"), [(40, 1, 2), (100, 3, 2)])
def test_the_minimum_cut_of_two_cliques_is_in_the_list(n: int, bridges: int, least: int) -> None:
    """Two keys at epsilon 1. Without negative weights the split gains some n^2 / 8: it was in none of the lists."""
    graph, split = two_cliques(n, bridges)
    design = design_of({"synthetic_graph": {}}, {"epsilon": 1}, n=n)
    found = 0
    for run in range(2):
        results = make_results(design, drawn(design, graph, derive_key(KEY, n, run)))
        cuts, synthetic = results.cuts["synthetic_graph"], results.synthetic
        assert synthetic is not None
        assert not synthetic.complete
        assert "all there are" not in _listed(design, synthetic)
        assert (np.diff(cuts.value) >= 0).all()
        found += bool((cuts.sides == split).all(axis=1).any())
    assert found >= least


def test_a_list_is_called_whole_only_where_that_is_proved() -> None:
    positive = np.full(30 * 29 // 2, 40)
    whole = synthesise(30, positive, Fraction(11, 10), 100, variance=1.0)
    assert (whole.complete, len(whole.sides)) == (True, 30)
    one_below = positive.copy()
    one_below[7] = -1
    assert not synthesise(30, one_below, Fraction(11, 10), 100, variance=1.0).complete
    assert not synthesise(30, positive, Fraction(11, 10), 29, variance=1.0).complete


def test_cuts_are_listed_by_what_the_noise_of_their_size_leaves_open() -> None:
    graph, _ = two_cliques(40, 1)
    noisy = drawn(design_of({"synthetic_graph": {}}, n=40), graph, KEY).noisy["synthetic_graph"]
    made = synthesise(40, noisy, Fraction(1), 1_000, variance=2.0)
    size = made.sides.sum(axis=1)
    assert made.searched == made.values.min()
    assert (made.values - 2 * np.sqrt(2.0 * size * (40 - size)) <= made.searched).all()
    again = with_cuts(40, noisy, made.sides)
    assert np.array_equal(again.values, made.values)
    assert np.array_equal(again.graph.weight, made.graph.weight)


def signed(n: int, seed: int) -> IntArray:
    return pair_matrix(n, np.random.default_rng(seed).integers(-4, 7, n * (n - 1) // 2))


@pytest.mark.parametrize("seed", range(6))
def test_the_least_of_all_cuts_is_found_where_all_can_be_looked_at(seed: int) -> None:
    weights = signed(13, seed)
    source, target = np.triu_indices(13, 1)
    values = all_cut_values(13, source, target, weights[source, target])
    found = small_cuts(weights)
    assert cut_sums(weights, found).min() == values[1:].min()
    sides = numbered_sides(np.arange(1, 2**12), 13)
    assert np.array_equal(cut_sums(weights, sides), values[1:])
    assert np.array_equal(different(np.concatenate([~found, found])), found)
    assert not found[:, 0].any()
    assert found.any(axis=1).all()


@pytest.mark.parametrize("case", ["zero", "two", "three", "huge", "negative"])
def test_every_matrix_of_weights_has_its_cuts(case: str) -> None:
    weights: dict[str, Any] = {
        "zero": np.zeros((30, 30), dtype=np.int64),
        "two": pair_matrix(2, np.array([-3])),
        "three": pair_matrix(3, np.array([1, -5, 2])),
        "huge": pair_matrix(30, np.full(435, 2**50)),
        "negative": pair_matrix(30, np.full(435, -1)),
    }
    found = small_cuts(weights[case])
    assert len(found) >= (1 if case == "two" else len(weights[case]))
    sums = cut_sums(weights[case], found)
    by_hand = [int(weights[case][np.ix_(side, ~side)].sum()) for side in found]
    assert sums.tolist() == by_hand


def test_vectors_are_whole_and_near_the_eigenvectors() -> None:
    graph, split = two_cliques(60, 0)
    weights = np.zeros((60, 60), dtype=np.int64)
    weights[graph.source, graph.target] = weights[graph.target, graph.source] = 1
    vectors = leading_vectors(weights, 2)
    assert np.array_equal(vectors, np.rint(vectors))
    for side in (split, ~split):
        assert (np.ptp(vectors[side], axis=0) <= 2).all()
    assert side_values(60, weights[np.triu_indices(60, 1)], split[None])[0] == 0
    # In another order of the vertices sums meet in another order; whole numbers below 2^53 do not notice.
    assert np.array_equal(small_cuts(weights), small_cuts(np.asfortranarray(weights)))


def test_releases_of_any_search_are_verified_by_their_values(tmp_path: Path) -> None:
    """Another version may find other cuts, so a release from before still verifies; a changed value does not."""
    graph, _ = two_cliques(30, 1)
    design = design_of({"synthetic_graph": {}}, {"epsilon": 1}, n=30)
    measure_graph(design, graph, golden_keys("minimum-cuts", design.public()), tmp_path)
    write_tables(design, tmp_path)
    manifest: Any = SimpleNamespace(job="minimum-cuts", details={"design": design.public()})
    assert all(check.ok for check in check_tables(tmp_path, manifest))
    noisy = Tables(tmp_path, design).read_measurement().noisy["synthetic_graph"]
    single = with_cuts(30, noisy, np.eye(30, dtype=np.bool_)[3:5])
    values = single.values.astype(np.float64)
    for off in (0, 1):
        shutil.rmtree(tmp_path / "estimates")
        found = FoundCuts(single.sides, values + off, np.sqrt(29 * design.variance_of("synthetic_graph")) * np.ones(2))
        numbers = (Number("synthetic_graph_value", float(values.min())), Number("synthetic_graph_cuts", 2.0))
        old = Results(numbers, {"synthetic_graph": found}, single)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(publish, "make_results", lambda *_, old=old: old)
            write_tables(design, tmp_path)
        assert all(check.ok for check in check_tables(tmp_path, manifest)) == (off == 0)
