"""Cuts without a list: the exact law of proposed entries, one entry a cut, known counts at size, packings that end."""

from dataclasses import replace
from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given, settings

from dplib.arrays import WordArray
from dplib.graphs.cuts import packed_cuts
from dplib.graphs.cuts.heavy_paths import heavy_paths
from dplib.graphs.cuts.kernel import kernel
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.packed_cuts import Entry, PackedCuts
from dplib.graphs.cuts.path_masses import least_pair
from dplib.graphs.cuts.tree_packing import certified_trees
from dplib.graphs.cuts.two_respecting import _least
from dplib.graphs.edges import Graph, canonical, components, cut_value
from dplib.mechanisms.cuts.cut_draws import ScaledExponential, decay_table
from tests.support.cut_graphs import weighted_graphs
from tests.support.packed_cut_laws import RATIO, entries_of, is_exact, law_of, small_graphs, ways

PACKED = PackedCuts.packed


@pytest.fixture(params=[True, False], ids=["listed rows", "ranges"])
def by_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways to the masses, whichever is cheaper."""
    monkeypatch.setattr(packed_cuts, "rows_are_cheaper", lambda _: request.param)
    return bool(request.param)


@pytest.mark.usefixtures("by_rows")
def test_every_cut_is_met_by_one_entry_with_exactly_its_share() -> None:
    """After the chance to keep, all cuts have the same factor of ``e^(-r w)``; the cuts are all up to the bound."""
    rates = [Fraction(1, 50), Fraction(3, 10), Fraction(2)]
    for number, graph in enumerate(small_graphs(2, 40)):
        assert is_exact(graph, rates[number % 3], 1 if number % 4 == 0 else 100)


@pytest.mark.usefixtures("by_rows")
def test_the_chance_to_keep_an_entry_is_one() -> None:
    for graph in small_graphs(7, 20):
        rate = Fraction(1, 7)
        cuts = entries_of(graph, rate)
        for tree in range(len(cuts.totals)):
            for entry, chance in ways(cuts, tree):
                if chance and entry.value <= cuts._bound:
                    keep = float(Fraction(*entry.chance)) * np.exp(-float(rate) * (entry.value - cuts._least))
                    assert 0 < keep <= 1 + 1e-12


def turned(cuts: PackedCuts, entry: Entry) -> WordArray | None:
    """The side of an entry whichever edge came first."""
    ordered = replace(entry, one=min(entry.one, entry.other), other=max(entry.one, entry.other))
    return PACKED(cuts, ordered)


@pytest.mark.parametrize("fault", ["every tree counts", "either edge counts", "nothing is corrected"])
def test_a_law_without_its_corrections_is_caught(fault: str, by_rows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if fault == "either edge counts" and by_rows:
        return  # a listed row has every pair of edges once
    if fault == "every tree counts":
        monkeypatch.setattr(packed_cuts, "_first_tree", lambda trees, *_: len(trees))
    wrong = 0
    for graph in small_graphs(2, 40):
        cuts = entries_of(graph, Fraction(1, 3))
        if fault == "either edge counts":
            monkeypatch.setattr(PackedCuts, "packed", turned)
        law, _ = law_of(cuts, fault != "nothing is corrected")
        wrong += len(set(law.values())) > 1
    assert wrong > 5


def ring(n: int, weight: int) -> Graph:
    return canonical(n, np.arange(n), (np.arange(n) + 1) % n, np.full(n, weight))


@pytest.mark.parametrize("n", [1500, 40_000])
def test_a_heavy_ring_has_every_pair_of_edges(n: int) -> None:
    """The masses hardly exceed the number of cuts: once around one edge, twice around two."""
    cuts = entries_of(ring(n, 300), Fraction(1, 5))
    (total,) = cuts.totals
    exact = n - 1 + 2 * comb(n - 1, 2)
    assert 0 <= total / 2**cuts._decay.bits - exact < 1e-6 * exact
    assert exact - comb(n - 1, 2) == comb(n, 2)


@settings(max_examples=15, deadline=None)
@given(graph=weighted_graphs(least=2, connected=True))
def test_the_least_pair_is_that_of_all_values(graph: Graph) -> None:
    tree = certified_trees(graph, minimum_cut(graph).value).trees[0]
    paths = heavy_paths(graph, tree)
    value, one, other = least_pair(paths)
    assert value == _least(paths)[0]
    side = np.zeros(graph.n_vertices, dtype=np.bool_)
    side[paths.order[one : paths.end[one]]] = True
    if other != one:
        side[paths.order[other : paths.end[other]]] ^= True
    assert cut_value(graph, side) == value


def heavy_pairs(n: int) -> Graph:
    """A dense graph whose pairs share most of their weight: greedy packings of whole trees took 4,261 trees for 300."""
    source, target = np.triu_indices(n, 1)
    heavy = (source % 2 == 0) & (target == source + 1)
    return canonical(n, source, target, np.where(heavy, 43 * n // 100, 1))


def adverse(kind: str) -> Graph:
    rng = np.random.default_rng(3)
    pairs = np.triu_indices(24, 1)
    if kind == "powers of two":
        return canonical(24, *pairs, 2 ** rng.integers(0, 41, len(pairs[0])))
    if kind == "a heavy star in a light clique":
        return canonical(24, *pairs, np.where(pairs[0] == 0, 2**40, 2**36 + rng.integers(0, 2**20, len(pairs[0]))))
    if kind == "heavy pairs":
        return heavy_pairs(26)
    # A heavy path whose ends fall behind by factors of two, closed by light edges all over.
    vertex = np.arange(200)
    light = rng.integers(0, 200, (2, 1500))
    ends = np.append(vertex, light[0]), np.append((vertex + 1) % 200, light[1])
    return canonical(200, *ends, np.append(2 ** (20 + vertex % 20), rng.integers(1, 2**22, 1500)))


@pytest.mark.parametrize("kind", ["powers of two", "a heavy star in a light clique", "heavy pairs", "a path"])
@pytest.mark.parametrize("most_unproved", [1, 2000])
def test_a_certificate_is_found_whatever_the_weights(kind: str, most_unproved: int) -> None:
    """With the careful keys alone, too; the certificate by whole numbers."""
    graph = adverse(kind)
    bound = int(RATIO * minimum_cut(graph).value)
    small = kernel(graph, bound).graph
    packing = certified_trees(small, bound, most_unproved)
    assert packing.certified
    loads = [Fraction(0)] * small.n_edges
    for tree, amount in zip(packing.trees.tolist(), packing.amounts.tolist(), strict=True):
        for edge in tree:
            loads[edge] += Fraction(int(amount), int(small.weight[edge]))
        assert connected_tree(small, tree)
    assert 3 * int(packing.amounts.sum()) > bound * max(loads)


def connected_tree(graph: Graph, tree: list[int]) -> bool:
    spanning = canonical(graph.n_vertices, graph.source[tree], graph.target[tree])
    return components(spanning)[0] == 1 and len(tree) == graph.n_vertices - 1


@pytest.mark.parametrize("chance", [(1, 3), (7, 5), (2**70 + 1, 3**40), (5, 5)])
@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 3), Fraction(41, 2), Fraction(3, 10**9)])
def test_digits_of_a_scaled_exponential(chance: tuple[int, int], x: Fraction) -> None:
    """Against the exponential's own digits, 200 more of them."""
    law = ScaledExponential(*chance, x)
    digits = ScaledExponential(1, 1, x).prefix(400)
    assert digits == pytest.approx(exp(-x) * 2**400, rel=1e-12)
    for n in (0, 1, 16, 80, 200):
        low, high = (digits * chance[0] // chance[1] >> 400 - n), ((digits + 1) * chance[0] // chance[1] >> 400 - n)
        assert low <= law.prefix(n) <= high <= low + 1


@pytest.mark.parametrize("rate", [Fraction(3), Fraction(1, 5), Fraction(1, 1000), Fraction(7, 10**6)])
def test_the_table_bounds_the_exponential_from_above_and_closely(rate: Fraction) -> None:
    reach = int(40 / rate)
    table, shift, bits = decay_table(rate, reach, 1000)
    gaps = np.unique(np.linspace(0, reach, 5000).astype(np.int64))
    exact = np.exp(-float(rate) * gaps) * 2.0**bits
    assert len(table) == (reach >> shift) + 1
    assert table[0] == 1 << bits
    assert (table[gaps >> shift] >= exact * (1 - 1e-12)).all()
    assert (table[gaps >> shift] <= exact * np.exp(2.0**-6) * (1 + 1e-12) + 1).all()
    for n in (2, 10**5, 2**30):
        assert n * n << decay_table(rate, reach, n)[2] < 2**63
