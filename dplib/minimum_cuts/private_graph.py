"""The private graph as the cut sampler asks for it: padded with the public cycle, its cuts listed up to a bound.

A padding of i is the first i unit edges of the public cycle, laid round after round. The list of cuts is complete:
deterministic methods never miss one, up to the bounds that the sampler asks for; a random one does with the stated
failure probability, which delta pays for (`dplib.minimum_cuts.measurement_plan`). Its trials are numbered; where they
run does not change what they find.

The sampler asks for the minimum cut value of thousands of paddings. A cut crosses the cycle an even number of times;
those that cross it twice are *arcs*, n (n - 1) / 2 of them, whose least value is known for all paddings after O(n^2)
steps (`Arcs`). After j whole rounds every other cut weighs at least 4 j, so an arc below that is a minimum cut; only
where there is none the graph itself is searched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dplib.errors import DplibError
from dplib.graphs.cut_list import CutList
from dplib.graphs.edges import Graph, WordArray, canonical, cut_value, pack_sides, unpack_sides
from dplib.graphs.minimum_cut import minimum_cut
from dplib.graphs.near_minimum import near_minimum_cuts
from dplib.mechanisms.cut_sampler import cycle_edges

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
MOST_TREES, MOST_STEPS = 2**16, 2**62
"""A dense graph of 300 vertices with heavy pairs takes 4,261 trees until it is certified, and has no room for flows."""
_CHUNK = 1 << 14
ListCuts = Callable[[Graph, int, int], CutList]
"""Lists all cuts of a connected graph of at most a bound; the last argument seeds random trials."""


def listed_certainly(graph: Graph, bound: int, seed: int = 0) -> CutList:
    """All cuts up to a bound below 1.5 times the minimum: by packed trees, and where these certify nothing by flows.

    Flows get all the steps they ask for: a list that gave up would depend on the graph, and no delta pays for that.

    Raises:
        DplibError: if the list were not complete, which no graph within the sampler's limits can bring about.
    """
    found = near_minimum_cuts(graph, bound, most_trees=MOST_TREES, most_steps=MOST_STEPS)
    if not found.complete:
        raise DplibError("sampled_cuts must list all cuts up to its bound, got a list without certificate")
    return found.cuts


class Arcs:
    """The least value of the cuts that cross the public cycle twice, for every padding.

    Pair p of the cycle joins vertices p and p + 1 mod n; the arc between pairs p < q holds the vertices p + 1 to q.
    With j rounds and r more edges it weighs its value in the graph, 2 j, and 1 for each of p and q below r.
    """

    def __init__(self, graph: Graph) -> None:
        n = graph.n_vertices
        between = np.zeros((n + 1, n + 1), dtype=np.int64)
        between[graph.source + 1, graph.target + 1] = graph.weight
        between += between.T
        inside = between.cumsum(axis=0).cumsum(axis=1)
        degree = np.cumsum(np.concatenate([[0], graph.degrees()]))
        first, last = np.arange(1, n + 1)[:, None], np.arange(1, n + 1)[None, :]  # the arc begins and ends there
        within = inside[last, last] - inside[first, last] - inside[last, first] + inside[first, first]
        value = degree[last] - degree[first] - within
        unused = np.iinfo(np.int64).max // 2
        value[np.tril_indices(n)] = unused
        # Least values with p and q from r on, with p below r alone, and with both below r, for r = 0 .. n - 1.
        rows = np.minimum.accumulate(value[:, ::-1], axis=1)[:, ::-1]  # least over q from each place on
        none = np.minimum.accumulate(rows.min(axis=1)[::-1])[::-1]
        below = np.minimum.accumulate(rows, axis=0)
        one = np.concatenate([[unused], below[np.arange(n - 1), np.arange(1, n)]])
        columns = np.minimum.accumulate(value.min(axis=0))
        both = np.concatenate([[unused], columns[:-1]])
        self._least = np.minimum(none, np.minimum(one + 1, both + 2))
        self._n = n

    def least(self, padding: int) -> int:
        """The least value of an arc in the graph with so many edges of the cycle."""
        rounds, rest = divmod(padding, self._n)
        return int(self._least[rest]) + 2 * rounds


@dataclass(frozen=True)
class CycledGraph:
    """A graph and its paddings.

    Attributes:
        graph: the private graph, at least two vertices.
        list_cuts: how cuts are listed.
        seed: of random trials, from 0 to 2^64 - 1; uniform and independent of all else.
    """

    graph: Graph
    list_cuts: ListCuts = listed_certainly
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

    def cuts_up_to(self, padding: int, bound: int, /) -> tuple[IntArray, WordArray]:
        """All cuts of weight at most ``bound``: weights (n_cuts,), packed sides without vertex 0 (n_cuts, n_words)."""
        found = self.list_cuts(self.padded(padding), bound, self.seed)
        if np.array_equal(found.label, np.arange(self.graph.n_vertices)):
            return found.values, found.packed
        # Unpacked all at once they would take a byte a vertex and cut.
        parts = (found.packed[start : start + _CHUNK] for start in range(0, len(found), _CHUNK))
        sides = [pack_sides(unpack_sides(part, 64 * part.shape[1])[:, found.label]) for part in parts]
        return found.values, np.concatenate([pack_sides(np.zeros((0, len(found.label)), dtype=np.bool_)), *sides])

    def weight(self, padding: int, side: BoolArray, /) -> int:
        """The weight of one cut."""
        return cut_value(self.padded(padding), side)
