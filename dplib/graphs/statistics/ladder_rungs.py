"""Ladder functions of triangles: how far one edge can move their number in a graph t edges away.

A ladder function I_t has (a) I_0 at least the local sensitivity, the largest change by any one edge; (b) I_t of a graph
at most I_{t+1} of its edge neighbours; (c) a cap that depends on public numbers only. The ladder mechanism and smooth
sensitivity take any such function. That of stars: `dplib.graphs.statistics.star_rungs`.

*Triangles.* An edge changes them by the common neighbours of its ends. Three functions, from the cheapest to the
smallest:

second degree      min(d2 + t, cap), d2 the second-largest degree. Two vertices share no more neighbours than the
                   smaller of their degrees, which is at most d2; one edge moves d2 by at most 1.
common neighbours  min(a_max + t, cap), a_max the largest number of common neighbours; one edge moves it by at most 1.
exact              max over pairs of min(a + floor((t + min(t, b)) / 2), cap), a common neighbours and b vertices next
                   to exactly one of the two: the largest local sensitivity within t edges, hence the smallest function
                   that there is.

The first needs the degrees only; the others the frontier of `dplib.graphs.statistics.common_neighbors`. All are
private.

References:
    Zhang, Cormode, Procopiuc, Srivastava, Xiao: Private release of graph statistics using ladder functions. SIGMOD
    2015, definition 4.1, section 5.1 (triangles).
    Nissim, Raskhodnikova, Smith: Smooth sensitivity and sampling in private data analysis. STOC 2007, claim 3.13 of the
    full version.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import IntArray
from dplib.validate import at_least

_ALWAYS_BOTH = 2**62  # a b that no distance reaches: both summands grow for ever


@dataclass(frozen=True)
class Rungs:
    """A ladder function as the upper hull of pairs (a, b), see the module's text.

    Attributes:
        pairs: (a, b) with a rising and b falling.
        largest: the cap.
    """

    pairs: tuple[tuple[int, int], ...]
    largest: int

    def widths(self, first: int, count: int) -> IntArray:
        """I_t for ``first <= t < first + count``; shape (count,)."""
        t = np.arange(first, first + count, dtype=np.int64)
        widest = np.zeros(count, dtype=np.int64)
        for a, b in self.pairs:
            np.maximum(widest, a + (t + np.minimum(t, b)) // 2, out=widest)
        return np.minimum(widest, self.largest)


def largest_rung(n_vertices: int, promised_degree: int | None = None) -> int:
    """The cap: n - 2 common neighbours, or D - 1 where degrees of at most D are promised."""
    at_least("number of vertices", n_vertices, 0)
    common = n_vertices - 2 if promised_degree is None else min(n_vertices - 2, promised_degree - 1)
    return max(0, common)


def second_degree_rungs(second_degree: int, largest: int) -> Rungs:
    """Rungs from the second-largest degree."""
    return Rungs(((min(second_degree, largest), _ALWAYS_BOTH),), largest)


def common_neighbor_rungs(frontier: IntArray, largest: int) -> Rungs:
    """Rungs from the largest number of common neighbours, the length of the frontier less one."""
    return Rungs(((len(frontier) - 1, _ALWAYS_BOTH),), largest)


def exact_rungs(frontier: IntArray, largest: int) -> Rungs:
    """Rungs that equal the local sensitivity at each distance, of a frontier as `common_neighbor_frontier` gives it."""
    pairs = []
    widest = -1
    for a in range(len(frontier) - 1, -1, -1):
        # A pair with fewer common neighbours only counts if more vertices are next to one of the two.
        if frontier[a] > widest:
            widest = int(frontier[a])
            pairs.append((a, widest))
    return Rungs(tuple(reversed(pairs)), largest)
