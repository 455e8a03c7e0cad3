"""The cuts up to a bound as an implicit list: one entry a cut, weighed by e^(-r w), for draws without making the list.

A ring of 100,000 vertices has five thousand million minimum cuts. None is listed here. An *entry* is a packed tree with
one or two of its edges; it stands for the cut that crosses the tree in just these. Where the packing certifies a bound
(`dplib.graphs.cuts.tree_packing`), every cut up to it has an entry; it has one in each tree that it crosses at most
twice. Only the one in the first of these trees counts, so that entries that count and cuts up to the bound are the
same.

`totals` are masses of whole trees, in units of 2^-bits: numbers of *places*. A uniform place leads to one entry
(`propose`), which is to be accepted with the chance ``chance e^(-r (w - least))``; then each entry is met with a chance
proportional to ``e^(-r w)``, exactly, whichever way the masses of its tree were bounded. `packed` rejects entries above
the bound and those that do not count.

The masses of a tree come from rows in one of two ways, whichever takes less: all values of a row one by one
(`dplib.graphs.cuts.two_respecting`), O(n^2) a tree, for dense graphs; or bounds of whole ranges
(`dplib.graphs.cuts.path_masses`), O(m log^3 n) at worst, for large sparse ones.

Cost: that for each tree, and again for the rows that are proposed; O(n_trees n) for each proposal; no more memory than
the trees.

References: as in `dplib.graphs.cuts.tree_packing` and `dplib.graphs.cuts.path_masses`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, Int32Array, IntArray, WordArray
from dplib.compiled import compiled
from dplib.graphs.cuts.heavy_paths import HeavyPaths, heavy_paths
from dplib.graphs.cuts.path_masses import (
    Decay,
    Masses,
    clear,
    close_row,
    decayed,
    grow,
    new_masses,
    open_row,
    row_masses,
    rows_are_cheaper,
)
from dplib.graphs.cuts.two_respecting import entry_of_row, is_shallow, listed_row_masses
from dplib.graphs.edges import Graph, pack_sides

Below = Callable[[int], int]
"""Draws a uniform whole number from 0 to before its argument."""


@dataclass(frozen=True)
class Entry:
    """One or two edges of a tree.

    Attributes:
        tree: its number.
        one: the position below one edge.
        other: of the other edge, the same for one edge alone.
        value: w, of the cut.
        chance: numerator and denominator, see the module.
    """

    tree: int
    one: int
    other: int
    value: int
    chance: tuple[int, int]


class PackedCuts:
    """The cuts of a connected graph up to a bound.

    Attributes:
        totals: places of each tree.
        bits: a place stands for a mass of ``2^-bits``.
    """

    def __init__(self, graph: Graph, label: IntArray, trees: Int32Array, least: int, bound: int, decay: Decay) -> None:
        """Compute the masses.

        Args:
            graph: connected, at least two vertices.
            label: the vertex of ``graph`` that each original vertex became part of, shape (n_original,).
            trees: of a packing that certifies ``bound``, shape (n_trees, n_vertices - 1).
            least: the minimum cut value.
            bound: at least ``least``.
            decay: reaches to ``bound - least``.
        """
        self._graph, self._label, self._trees = graph, label, trees
        self._least, self._bound, self._decay = least, bound, decay
        self.bits = decay.bits
        self._last: tuple[int, HeavyPaths] | None = None
        self._ends = [np.cumsum(self._masses(self._paths(tree))) for tree in range(len(trees))]
        self.totals: Sequence[int] = [int(ends[-1]) for ends in self._ends]

    def _paths(self, tree: int) -> HeavyPaths:
        """Of one tree; the last ones are kept."""
        if self._last is None or self._last[0] != tree:
            self._last = tree, heavy_paths(self._graph, self._trees[tree])
        return self._last[1]

    def _masses(self, paths: HeavyPaths) -> IntArray:
        if rows_are_cheaper(paths):
            return listed_row_masses(paths, self._walks(paths), self._least, self._bound, self._decay)
        return row_masses(paths, new_masses(paths, self._decay), self._decay, self._least)[0]

    def _walks(self, paths: HeavyPaths) -> bool:
        return bool(self._bound < 2 * paths.single[1:].min() and is_shallow(paths))

    def propose(self, tree: int, places: IntArray, below: Below, /) -> list[Entry]:
        """Return the entries at places of a tree, below its total; ``below`` draws (`Below`) independently of them."""
        paths, ends = self._paths(tree), self._ends[tree]
        rows = np.searchsorted(ends, places, side="right")
        if rows_are_cheaper(paths):
            return [
                self._listed(tree, paths, int(row), int(p - ends[row - 1])) for row, p in zip(rows, places, strict=True)
            ]
        found: list[Entry | None] = [None] * len(places)
        masses, inner = new_masses(paths, self._decay), -1
        for row in np.unique(rows)[::-1].tolist():  # along each path from its end to its head
            if inner >= 0 and paths.head[inner] != paths.head[row]:
                clear(paths, masses, self._decay, inner)
                inner = -1
            grow(paths, masses, self._decay, inner, row)
            open_row(paths, masses, self._decay, row)
            for number in np.flatnonzero(rows == row).tolist():
                found[number] = self._descend(tree, paths, masses, row, below)
            close_row(paths, masses, self._decay, row)
            inner = row
        return [entry for entry in found if entry is not None]

    def _listed(self, tree: int, paths: HeavyPaths, row: int, place: int) -> Entry:
        terms = self._walks(paths), self._least, self._bound, self._decay
        other, value, mass = entry_of_row(paths, *terms, row, place)
        return Entry(tree, row, int(other), int(value), (1 << self._decay.bits, int(mass)))

    def _descend(self, tree: int, paths: HeavyPaths, masses: Masses, row: int, below: Below) -> Entry:
        """Walk down the binary tree, each way with a chance in proportion to its mass.

        A node is left for the part with the smaller least value with the chance ``mass / whole``, for the other with
        ``decayed / whole``. So an end is met with the product over the steps of the second kind of ``decayed / mass``,
        times ``2^bits`` over the mass at the top, and the row with the decayed mass at the top over all places.
        """
        low, mass, decay = masses.low, masses.mass, self._decay
        top = int(low[1]) + int(paths.single[row])
        numerator, denominator = int(mass[1]), int(decayed(mass[1], top - self._least, decay))
        node, value, n_leaves = 1, int(paths.single[row]), len(low) // 2
        while node < n_leaves:
            value += int(masses.tag[node])
            near, far = (2 * node, 2 * node + 1) if low[2 * node] <= low[2 * node + 1] else (2 * node + 1, 2 * node)
            rest = int(decayed(mass[far], low[far] - low[near], decay))
            if below(int(mass[near]) + rest) < mass[near]:
                node = near
            else:
                numerator, denominator, node = numerator * int(mass[far]), denominator * rest, far
        return Entry(tree, row, node - n_leaves, value + int(low[node]), (numerator, denominator))

    def packed(self, entry: Entry, /) -> WordArray | None:
        """Return the packed side of the cut that an entry counts for, over original vertices; None for others.

        Two edges are met from either one where rows are bounded; the entry with the smaller position first counts.
        """
        if entry.value > self._bound or entry.other < entry.one:
            return None
        paths = self._paths(entry.tree)
        side = np.zeros(self._graph.n_vertices, dtype=np.bool_)
        side[paths.order[entry.one : paths.end[entry.one]]] = True
        if entry.other != entry.one:
            side[paths.order[entry.other : paths.end[entry.other]]] ^= True
        first = _first_tree(self._trees[: entry.tree], self._graph.source, self._graph.target, side)
        return pack_sides(side[np.newaxis, self._label])[0] if first == entry.tree else None


@compiled
def _first_tree(trees: Int32Array, source: IntArray, target: IntArray, side: BoolArray) -> int:
    """The first tree that a cut crosses at most twice; their number if there is none."""
    for tree in range(len(trees)):
        crossed = 0
        for edge in trees[tree]:
            if side[source[edge]] != side[target[edge]]:
                crossed += 1
                if crossed > 2:
                    break
        if crossed <= 2:
            return tree
    return len(trees)
