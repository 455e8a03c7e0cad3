"""Cuts without a list: the exact law of proposed entries, one entry a cut, known counts at size, packings that end."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings

from dplib.graphs import packed_cuts, path_masses
from dplib.graphs.edges import Graph, canonical, components, cut_value
from dplib.graphs.heavy_paths import heavy_paths
from dplib.graphs.kernel import kernel
from dplib.graphs.minimum_cut import minimum_cut
from dplib.graphs.near_minimum import near_minimum_cuts
from dplib.graphs.packed_cuts import Entry, PackedCuts
from dplib.graphs.path_masses import Decay, least_pair
from dplib.graphs.tree_packing import certified_trees
from dplib.graphs.two_respecting import _least
from dplib.mechanisms.cut_draws import decay_table
from tests.cut_graphs import weighted_graphs

Law = dict[bytes, Fraction]
RATIO = Fraction(29, 20)


def entries_of(graph: Graph, rate: Fraction, most_unproved: int = 100) -> PackedCuts:
    """The cuts up to 1.45 times the minimum, which is above 0."""
    least = minimum_cut(graph).value
    bound = int(RATIO * least)
    small = kernel(graph, bound)
    trees = certified_trees(small.graph, bound, most_unproved).trees
    decay = Decay(*decay_table(rate, bound - least, small.graph.n_vertices))
    return PackedCuts(small.graph, small.label, trees, least, bound, decay)


def ways(cuts: PackedCuts, tree: int) -> Iterator[tuple[Entry, Fraction]]:
    """Every entry of a tree with the chance that it is proposed."""
    paths, ends = heavy_paths(cuts._graph, cuts._trees[tree]), cuts._ends[tree].tolist()
    whole = sum(cuts.totals)
    for row in range(1, len(ends)):
        place, mass = ends[row - 1], ends[row] - ends[row - 1]
        while packed_cuts.rows_are_cheaper(paths) and place < ends[row]:  # places side by side stand for one entry
            (entry,) = cuts.propose(tree, np.array([place]), lambda _: 0)
            yield entry, Fraction(entry.chance[1], whole)
            place += entry.chance[1]
        if place == ends[row] or not mass:
            continue
        masses = path_masses.new_masses(paths, cuts._decay)
        path_masses.grow(paths, masses, cuts._decay, -1, row)
        path_masses.open_row(paths, masses, cuts._decay, row)
        depth = (len(masses.low) // 2).bit_length() - 1
        for turns in product([True, False], repeat=depth):
            chance = chance_of(masses, cuts._decay, turns)
            if chance:
                answers = iter(turns)
                entry = cuts._descend(tree, paths, masses, row, lambda end, turn=answers: 0 if next(turn) else end - 1)
                yield entry, Fraction(mass, whole) * chance


def chance_of(masses: path_masses.Masses, decay: Decay, turns: tuple[bool, ...]) -> Fraction:
    """The chance of a walk down the binary tree; True is the turn to the part with the smaller least value."""
    chance, node = Fraction(1), 1
    for turn in turns:
        one, other = 2 * node, 2 * node + 1
        near, far = (one, other) if masses.low[one] <= masses.low[other] else (other, one)
        rest = int(path_masses.decayed(masses.mass[far], masses.low[far] - masses.low[near], decay))
        taken, node = (int(masses.mass[near]), near) if turn else (rest, far)
        chance *= Fraction(taken, int(masses.mass[near]) + rest)
    return chance


def law_of(cuts: PackedCuts, corrected: bool = True) -> tuple[Law, dict[bytes, int]]:
    """How likely each cut is met and kept, but for ``e^(-r (w - least))``, and its value."""
    law: Law = {}
    values: dict[bytes, int] = {}
    for tree in range(len(cuts.totals)):
        for entry, chance in ways(cuts, tree):
            words = cuts.packed(entry)
            if words is not None:
                kept = chance * (Fraction(*entry.chance) if corrected else 1)
                law[words.tobytes()] = law.get(words.tobytes(), Fraction(0)) + kept
                values[words.tobytes()] = entry.value
    return law, values


@pytest.fixture(params=[True, False], ids=["listed rows", "ranges"])
def by_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both ways to the masses, whichever is cheaper."""
    monkeypatch.setattr(packed_cuts, "rows_are_cheaper", lambda _: request.param)
    return bool(request.param)


def small_graphs(seed: int, n_graphs: int) -> Iterator[Graph]:
    rng = np.random.default_rng(seed)
    while n_graphs:
        n = int(rng.integers(2, 7))
        pairs = np.triu_indices(n, 1)
        graph = canonical(n, *pairs, rng.integers(0, 4, len(pairs[0])) * rng.integers(1, 20))
        if minimum_cut(graph).value > 0:
            n_graphs -= 1
            yield graph


@pytest.mark.usefixtures("by_rows")
def test_every_cut_is_met_by_one_entry_with_exactly_its_share() -> None:
    """After the chance to keep, all cuts have the same factor of ``e^(-r w)``; the cuts are all up to the bound."""
    rates = [Fraction(1, 50), Fraction(3, 10), Fraction(2)]
    for number, graph in enumerate(small_graphs(2, 40)):
        cuts = entries_of(graph, rates[number % 3], 1 if number % 4 == 0 else 100)
        law, values = law_of(cuts)
        found = near_minimum_cuts(graph, int(RATIO * minimum_cut(graph).value)).cuts.spread()
        listed = zip(found.packed, found.values, strict=True)
        assert values == {words.tobytes(): int(value) for words, value in listed}
        assert set(law.values()) == {Fraction(1 << cuts._decay.bits, sum(cuts.totals))}


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
            known = cuts.packed
            cuts.packed = lambda e, known=known: known(  # type: ignore[method-assign]
                Entry(e.tree, min(e.one, e.other), max(e.one, e.other), e.value, e.chance)
            )
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


@settings(max_examples=60, deadline=None)
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
        return heavy_pairs(40)
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
