"""The private graph as the cut sampler asks for it: padded with the public cycle, its cuts listed up to a bound.

A padding of i is the first i unit edges of the public cycle, laid round after round. The list of cuts is complete:
deterministic methods never miss one, up to the bounds that the sampler asks for; a random one does with the stated
failure probability, which delta pays for (`dplib.minimum_cuts.measurement_plan`). Its trials are numbered; where they
run does not change what they find.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.errors import DplibError
from dplib.graphs.cut_list import CutList
from dplib.graphs.edges import Graph, canonical, cut_value
from dplib.graphs.minimum_cut import minimum_cut
from dplib.graphs.near_minimum import near_minimum_cuts
from dplib.mechanisms.cut_sampler import cycle_edges

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
MOST_TREES, MOST_STEPS = 2**16, 2**62
"""A dense graph of 300 vertices with heavy pairs takes 4,261 trees until it is certified, and has no room for flows."""
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
        return minimum_cut(self.padded(padding)).value

    def cuts_up_to(self, padding: int, bound: int, /) -> tuple[IntArray, BoolArray]:
        """All cuts of weight at most ``bound``: weights (n_cuts,), sides (n_cuts, n_vertices)."""
        found = self.list_cuts(self.padded(padding), bound, self.seed)
        return found.values, found.sides()

    def weight(self, padding: int, side: BoolArray, /) -> int:
        """The weight of one cut."""
        return cut_value(self.padded(padding), side)
