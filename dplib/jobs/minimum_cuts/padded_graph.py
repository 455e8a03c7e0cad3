"""The private graph as the cut sampler asks for it: padded with the public cycle, its cuts up to a bound to draw from.

A padding of i is the first i unit edges of the public cycle, laid round after round. Deterministic methods
(`PackedCuts`) never miss a cut up to the bounds that the sampler asks for, on any graph, and make no list. A random
enumeration lists cuts and misses one with the stated failure probability, which delta pays for
(`dplib.jobs.minimum_cuts.measurement_plan`). Its trials are numbered; where they run does not change what they find.

A list has a limit, and how many cuts there are is private: a graph that has more is drawn from without a list, as the
deterministic methods draw. Both ways have the same law up to the enumeration's failure probability, so the distance to
the ideal law that delta pays for covers either, and which one it was decides nothing but time.

The sampler asks for the minimum cut value of some dozens of paddings. A cut crosses the cycle an even number of times;
those that cross it twice are arcs, whose least value is known for all paddings (`dplib.graphs.cuts.cycle_arcs`). After
j whole rounds every other cut weighs at least 4 j, so an arc below that is a minimum cut; only where there is none the
graph itself is searched.

Cost: that of the packing and its masses; neither is an output.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray
from dplib.graphs.cuts.cut_list import CutList
from dplib.graphs.cuts.cycle_arcs import Arcs
from dplib.graphs.cuts.kernel import kernel
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.packed_cuts import Entry, PackedCuts
from dplib.graphs.cuts.path_masses import Decay
from dplib.graphs.cuts.tree_packing import certified_trees
from dplib.graphs.edges import Graph, canonical, cut_value, pack_sides
from dplib.mechanisms.cuts.cut_draws import CutSource, ListedCuts, WeighedCuts, decay_table
from dplib.mechanisms.cuts.cut_sampler import cycle_edges

ListCuts = Callable[[Graph, int, int], CutList | None]
"""Lists all cuts of a connected graph of at most a bound, None where they are too many to be listed; the last argument
seeds random trials."""


def packed_cuts(graph: Graph, least: int, bound: int, rate: Fraction) -> WeighedCuts[Entry]:
    """All cuts up to a bound, weighed by ``e^(-rate w)``.

    Args:
        graph: connected, at least two vertices.
        least: its minimum cut value.
        bound: from ``least`` to 1.45 times that.
        rate: above 0.
    """
    small = kernel(graph, bound)
    trees = certified_trees(small.graph, bound).trees
    decay = Decay(*decay_table(rate, bound - least, small.graph.n_vertices))
    return WeighedCuts(PackedCuts(small.graph, small.label, trees, least, bound, decay), least, rate)


@dataclass(frozen=True)
class PaddedGraph:
    """A graph and its paddings.

    Attributes:
        graph: the private graph, at least two vertices.
        list_cuts: lists cuts by random trials; None where no cut may be missing, and none is listed.
        seed: of random trials, from 0 to 2^64 - 1; uniform and independent of all else.
    """

    graph: Graph
    list_cuts: ListCuts | None = None
    seed: int = 0

    def padded(self, padding: int) -> Graph:
        """The graph with the first ``padding`` edges of the cycle."""
        if padding == 0:
            return self.graph
        source, target, weight = cycle_edges(self.graph.n_vertices, padding)
        joined = zip((self.graph.source, self.graph.target, self.graph.weight), (source, target, weight), strict=True)
        return canonical(self.graph.n_vertices, *(np.concatenate(both) for both in joined))

    def minimum_cut(self, padding: int, /) -> int:
        """The minimum cut value."""
        n = self.graph.n_vertices
        if padding >= n and (arc := self._arcs.least(padding)) < 4 * (padding // n):
            return arc
        return minimum_cut(self.padded(padding)).value

    @cached_property
    def _arcs(self) -> Arcs:
        return Arcs(self.graph)

    def cuts_up_to(self, padding: int, bound: int, rate: Fraction, /) -> CutSource | None:
        """All cuts of weight at most ``bound``; None where random trials found none."""
        graph = self.padded(padding)
        found = None if self.list_cuts is None else self.list_cuts(graph, bound, self.seed)
        if found is None:
            return packed_cuts(graph, self.minimum_cut(padding), bound, rate)
        return ListedCuts(found.values, pack_sides(found.sides()), rate) if len(found) else None

    def weight(self, padding: int, side: BoolArray, /) -> int:
        """The weight of one cut."""
        return cut_value(self.padded(padding), side)
