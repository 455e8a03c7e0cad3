"""The ladder function of stars: how far one edge can move their number in a graph t edges away; the smallest there is.

Stars of k edges are sum over v of C(d_v, k). For a pair u, v let a and b be their degrees *without the edge between
them*, and D the public bound on degrees. That edge, coming or going, moves the stars by C(a, k - 1) + C(b, k - 1), a, b
at most D - 1. With t edits before it,

    I_t = max over pairs u, v, over s + r = t, of C(min(a + s, D - 1), k - 1) + C(min(b + r, D - 1), k - 1),

which for two edges is max(a + b) + t up to the cap. Proof (`dplib.graphs.statistics.ladder_rungs` has the laws). (a)
I_0 is the local sensitivity. (b) An edit of another pair than u, v touches at most one of them, and that of u, v
neither: (a, b) moves by at most 1 in all, so what t edits reach from (a, b), t + 1 reach from (a', b'). (c) The cap
2 C(D - 1, k - 1) is the sensitivity over all graphs. No ladder function is smaller where the t edits exist, which they
do up to the cap: vertices beside u and v that are not next to u, or to v. (With d1, d2 the two largest degrees in place
of a and b each edit would count twice: one edge between the two raises both.)

The binomial is convex, so all edits go to the larger of a and b first. Pairs that no other exceeds in both are at most
three: one vertex of largest degree d1 with the largest degree that it is not next to; two neighbours of the largest
degrees, d1 - 1 and d2 - 1; two vertices of degree d2 that are not neighbours.

*How much it can gain.* Noise for the worst graph errs by 2 (D - 1) / epsilon on average for two edges, a ladder by
about 2 max(a + b) / epsilon, since an exponential mechanism works at half its epsilon: on facebook (4,039 vertices,
degrees 1,045 and 792) no rungs can gain more than about 8,074 / (2 x 1,835) = 2.2 times at epsilon 1.

Cost: a few passes over the edges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from dplib.arrays import IntArray
from dplib.graphs.simple_graph import SimpleGraph

Pair = tuple[int, int]
"""Degrees of two vertices without the edge between them, the larger first."""


@dataclass(frozen=True)
class StarRungs:
    """The ladder function of stars, see the module's text.

    Attributes:
        pairs: (a, b), those that no other exceeds in both.
        arms: k - 1, the edges of a star besides the one that comes or goes.
        most: D - 1, the largest degree before an edge comes.
    """

    pairs: tuple[Pair, ...]
    arms: int
    most: int

    @property
    def largest(self) -> int:
        """The cap."""
        return largest_star_rung(self.most + 1, self.arms + 1)

    def widths(self, first: int, count: int) -> IntArray:
        """I_t for ``first <= t < first + count``; shape (count,)."""
        t, widest = np.arange(first, first + count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        for pair in self.pairs:
            a, b = (min(each, self.most) for each in pair)
            left = np.maximum(t - (self.most - a), 0)
            both = [np.minimum(a + t, self.most), np.minimum(b + left, self.most)]
            np.maximum(widest, sum(_binomials(each, self.arms) for each in both), out=widest)
        return widest


def _binomials(n: IntArray, k: int) -> IntArray:
    """C(n, k), exact while k C(n, k) fits 64 bits: each step's product is a multiple of its divisor."""
    found = np.ones_like(n)
    for step in range(k):
        found = found * np.maximum(n - step, 0) // (step + 1)
    return found


def largest_star_rung(largest_degree: int, stars: int) -> int:
    """The cap of stars of ``stars`` edges: two ends of degree D - 1, an exact integer of any size."""
    return 2 * comb(max(0, largest_degree - 1), stars - 1)


@dataclass(frozen=True)
class TopDegrees:
    """How many vertices have the largest degrees. NOT PRIVATE.

    Attributes:
        largest: d1.
        n_largest: vertices of degree d1.
        second: the largest degree below d1; -1 without any.
        n_second: vertices of that degree.
    """

    largest: int
    n_largest: int
    second: int
    n_second: int

    @classmethod
    def of(cls, counts: IntArray) -> "TopDegrees":
        """From the number of vertices of each degree, with at least one vertex."""
        found = np.flatnonzero(counts)[::-1].tolist()
        second = found[1] if len(found) > 1 else -1
        return cls(found[0], int(counts[found[0]]), second, int(counts[second]) if second >= 0 else 0)

    @property
    def asked(self) -> tuple[bool, bool]:
        """Whether the neighbours of the vertices of degree d1, and of the second, decide: not of more than a clique."""
        first = self.n_largest <= self.largest + 1
        return first, first and self.n_largest == 1 and 1 < self.n_second <= self.second + 1


@dataclass(frozen=True)
class Nearness:
    """What some vertices, whose edges are all known, tell of pairs; sums and largest over disjoint sets. NOT PRIVATE.

    Attributes:
        apart: the largest degree of a vertex outside the top that is not next to all of it; -1 without any.
        inside_top: neighbours within the top, summed over its vertices.
        inside_second: the same of the second.
    """

    apart: int
    inside_top: int
    inside_second: int

    @classmethod
    def of(cls, vertex: IntArray, edges: tuple[IntArray, IntArray], top: IntArray, second: IntArray) -> "Nearness":
        """Look at some vertices.

        Args:
            vertex: the vertices, increasing, shape (m,).
            edges: the ends of edges, among them all of these vertices.
            top: the vertices of degree d1.
            second: those of the next degree, where they are asked for.
        """
        ends, others = np.concatenate(edges), np.concatenate(edges[::-1])
        held = np.isin(ends, vertex)
        place, others = np.searchsorted(vertex, ends[held]), others[held]
        degrees = np.bincount(place, minlength=len(vertex))
        near, near_second = (np.bincount(place[np.isin(others, each)], minlength=len(vertex)) for each in (top, second))
        inside = np.isin(vertex, top)
        apart = degrees[~inside & (near < len(top))].max(initial=-1)
        return cls(int(apart), int(near[inside].sum()), int(near_second[np.isin(vertex, second)].sum()))

    @classmethod
    def together(cls, parts: Sequence["Nearness"]) -> "Nearness":
        """Of all the parts' vertices."""
        return cls(
            max((each.apart for each in parts), default=-1),
            sum(each.inside_top for each in parts),
            sum(each.inside_second for each in parts),
        )


def widest_pairs(degrees: TopDegrees, near: Nearness) -> tuple[Pair, ...]:
    """The pairs that no other exceeds in both, and perhaps some that are exceeded."""
    d1, n1, d2, n2 = degrees.largest, degrees.n_largest, degrees.second, degrees.n_second
    if near.inside_top < n1 * (n1 - 1) or not degrees.asked[0]:
        return ((d1, d1),)
    found = [(d1, near.apart)] if near.apart >= 0 else []
    if n1 > 1:
        found.append((d1 - 1, d1 - 1))
    elif d2 > 0:
        found.append((d1 - 1, d2 - 1))
        if n2 > 1 and (near.inside_second < n2 * (n2 - 1) or not degrees.asked[1]):
            found.append((d2, d2))
    return tuple(found)


def star_pairs(graph: SimpleGraph) -> tuple[Pair, ...]:
    """The pairs of a graph whose edges are here; see `widest_pairs`. NOT PRIVATE."""
    degrees = graph.degrees()
    top = TopDegrees.of(np.bincount(degrees))
    chosen = [
        np.flatnonzero(degrees == degree) if asked else np.zeros(0, dtype=np.int64)
        for degree, asked in zip((top.largest, top.second), top.asked, strict=True)
    ]
    return widest_pairs(top, Nearness.of(np.arange(graph.n_vertices), (graph.source, graph.target), *chosen))
