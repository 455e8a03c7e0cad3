"""The exact law of what `PackedCuts` proposes, by going through every way to an entry."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import numpy as np

from dplib.graphs.cuts import packed_cuts, path_masses
from dplib.graphs.cuts.heavy_paths import HeavyPaths, heavy_paths
from dplib.graphs.cuts.kernel import kernel
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.cuts.packed_cuts import Entry, PackedCuts
from dplib.graphs.cuts.path_masses import Decay
from dplib.graphs.cuts.tree_packing import certified_trees
from dplib.graphs.edges import Graph, canonical
from dplib.mechanisms.cuts.cut_draws import decay_table

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
        while lists(paths) and place < ends[row]:  # places side by side stand for one entry
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
                entry = cuts._descend(tree, paths, masses, row, _Answers(turns).below)
                yield entry, Fraction(mass, whole) * chance


class _Answers:
    """Answers that take given turns."""

    def __init__(self, turns: tuple[bool, ...]) -> None:
        self._turns = iter(turns)

    def below(self, end: int) -> int:
        return 0 if next(self._turns) else end - 1


def lists(paths: HeavyPaths) -> bool:
    """Whether the masses of a tree were listed row by row."""
    return bool(packed_cuts.__dict__["rows_are_cheaper"](paths))


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


def is_exact(graph: Graph, rate: Fraction, most_unproved: int = 100) -> bool:
    """Whether the cuts met are all up to the bound, and all have the same factor of ``e^(-r w)``."""
    cuts = entries_of(graph, rate, most_unproved)
    law, values = law_of(cuts)
    found = near_minimum_cuts(graph, int(RATIO * minimum_cut(graph).value)).cuts.spread()
    listed = {words.tobytes(): int(value) for words, value in zip(found.packed, found.values, strict=True)}
    return values == listed and set(law.values()) == {Fraction(1 << cuts.bits, sum(cuts.totals))}


def small_graphs(seed: int, n_graphs: int) -> Iterator[Graph]:
    """Random connected graphs of 2 to 6 vertices, some pairs without an edge."""
    rng = np.random.default_rng(seed)
    while n_graphs:
        n = int(rng.integers(2, 7))
        pairs = np.triu_indices(n, 1)
        graph = canonical(n, *pairs, rng.integers(0, 4, len(pairs[0])) * rng.integers(1, 20))
        if minimum_cut(graph).value > 0:
            n_graphs -= 1
            yield graph
