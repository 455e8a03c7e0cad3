"""All cuts of value up to a bound, deterministically and with a certificate that none is missing.

Contract what no such cut separates (`dplib.graphs.cuts.kernel`), pack trees into the kernel until every such cut is
certified to cross one of them in at most two edges, and list the cuts that do (`dplib.graphs.cuts.two_respecting`). For
a bound below 1.5 times the minimum cut value trees enough can always be packed; above it that depends on the graph.
Where the packing gives no certificate, kernels of few vertices are listed exhaustively and others are searched by flows
(`dplib.graphs.cuts.flow_branching`) within a limit of steps. Components are treated one by one; a cut of the whole is
any choice of cuts, empty or full sides of theirs.

Nothing here fails for a large answer: a list that reached its limit, or that nothing certifies, says so. All cuts in
it are still cuts of at most the bound, with their values.

Cost: a few scans of the graph; then, for a kernel of ``k`` vertices, ``k^2`` steps a tree.

References: as in `dplib.graphs.cuts.kernel` and `dplib.graphs.cuts.tree_packing`; the number of cuts of at most ``a``
times the minimum is at most ``n^(2 a)``: Karger, "Minimum cuts in near-linear time", J. ACM 47 (2000), theorem 6.2.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cuts.cut_list import MAX_CUTS, CutList, limit_of, sorted_cuts
from dplib.graphs.cuts.exhaustive import listed_cuts
from dplib.graphs.cuts.flow_branching import MAX_STEPS, branched_cuts, can_branch
from dplib.graphs.cuts.kernel import kernel
from dplib.graphs.cuts.tree_packing import MAX_TREES, pack_trees
from dplib.graphs.cuts.two_respecting import cuts_of_trees
from dplib.graphs.edges import Graph, components, induced, pack_sides, word_count
from dplib.validate import at_least

Certificate = Literal["exhaustive", "flows", "trees", "none"]

# Rows of a tree cost the square of the kernel's size: seconds here, minutes beyond.
MAX_KERNEL_VERTICES = 30_000
MAX_EXHAUSTIVE_VERTICES = 20


@dataclass(frozen=True, eq=False)
class NearMinimumCuts:
    """The cuts of value up to a bound.

    Attributes:
        cuts: different cuts of at most ``bound``.
        bound: see ``cuts``.
        certificate: what certifies that every such cut was met: that all cuts were looked at, that flows exclude the
            others, or the packed trees; the last named where components differ.
        complete: whether ``cuts`` are all; False without certificate or where there are more than the limit.
    """

    cuts: CutList
    bound: int
    certificate: Certificate
    complete: bool


def near_minimum_cuts(
    graph: Graph, bound: int, limit: int = MAX_CUTS, most_trees: int = MAX_TREES, most_steps: int = MAX_STEPS
) -> NearMinimumCuts:
    """Return all cuts of value up to a bound; the same list for the same graph on every machine.

    Args:
        graph: any; connected or not, noisy weights or not. With fewer than two vertices there is no cut.
        bound: at least 0. A graph of ``c`` components has ``2^(c - 1) - 1`` cuts of value 0.
        limit: the most cuts to list, at least 1; fewer where the kernel's packed sides would take more than 512 MB.
        most_trees: the most trees to pack into a component.
        most_steps: the most arcs to look at for a component that packed trees do not certify.

    Raises:
        ConfigError: a number is out of range.
    """
    at_least("limit", limit, 1)
    small = kernel(graph, bound)
    limit = limit_of(small.graph.n_vertices, limit)
    n_components, component = components(small.graph)
    if n_components == 1:
        found, below, certificate = _connected_cuts(small.graph, bound, limit, most_trees, most_steps)
        cuts = CutList(small.label, found.packed[:limit], found.values[:limit])
        return NearMinimumCuts(cuts, bound, certificate, below and certificate != "none")
    made = _Product(small.graph.n_vertices, limit)
    certificate = "exhaustive"
    for number in range(n_components):
        part, vertices = induced(small.graph, component == number)
        found, below, proof = _connected_cuts(part, bound, limit, most_trees, most_steps)
        certificate = min(certificate, proof, key=("none", "trees", "flows", "exhaustive").index)
        made.add(found, vertices, bound)
        if not (below and made.complete):
            made.complete = False
            break
    cuts = made.cuts(small.label)
    return NearMinimumCuts(cuts, bound, certificate, made.complete and certificate != "none")


def _connected_cuts(
    graph: Graph, bound: int, limit: int, most_trees: int, most_steps: int
) -> tuple[CutList, bool, Certificate]:
    """Cuts of a connected graph, whether fewer than the limit, and what certifies them."""
    n = graph.n_vertices
    if n <= 2:
        return listed_cuts(graph, bound), True, "exhaustive"
    if n > MAX_KERNEL_VERTICES:
        none = np.zeros((0, word_count(n)), dtype=np.uint64)
        return CutList(np.arange(n), none, np.zeros(0, dtype=np.int64)), True, "none"
    packing = pack_trees(graph, bound, most_trees)
    if packing.certified:
        return *cuts_of_trees(graph, packing.trees, bound, limit), "trees"
    if n <= MAX_EXHAUSTIVE_VERTICES:
        cuts = listed_cuts(graph, bound)
        return cuts, len(cuts) <= limit, "exhaustive"
    if can_branch(graph):
        cuts, finished = branched_cuts(graph, bound, limit, most_steps)
        if finished or len(cuts) == limit:
            return cuts, finished, "flows"
    return *cuts_of_trees(graph, packing.trees, bound, limit), "none"


class _Product:
    """Sides put together from the sides of components; row 0 is the empty side."""

    def __init__(self, n_vertices: int, limit: int) -> None:
        self.complete = True
        self._limit = limit
        self._n = n_vertices
        self._packed = np.zeros((1, word_count(n_vertices)), dtype=np.uint64)
        self._values = np.zeros(1, dtype=np.int64)

    def add(self, found: CutList, vertices: IntArray, bound: int) -> None:
        """Put the cuts of one component, on these vertices, beside all sides so far."""
        own = found.sides()
        if len(vertices) and vertices[0] == 0:
            own, values = np.concatenate([np.zeros((1, own.shape[1]), np.bool_), own]), np.append(0, found.values)
        else:
            ends = np.zeros((2, own.shape[1]), dtype=np.bool_)
            ends[1] = True
            own = np.concatenate([ends, own, ~own])
            values = np.concatenate([[0, 0], found.values, found.values])
        order = np.argsort(values, kind="stable")
        own, values = own[order], values[order]
        partners = np.searchsorted(values, bound - self._values, side="right")
        if partners.sum() > self._limit + 1:
            self.complete = False
            kept = int(np.searchsorted(np.cumsum(partners), self._limit + 1)) + 1
            partners = partners[:kept]
            partners[-1] -= partners.sum() - (self._limit + 1)
        one = np.repeat(np.arange(len(partners)), partners)
        other = np.arange(len(one)) - np.repeat(np.cumsum(partners) - partners, partners)
        self._packed = self._packed[one] | self._placed(own, vertices)[other]
        self._values = self._values[one] + values[other]

    def _placed(self, own: BoolArray, vertices: IntArray) -> np.ndarray:
        sides = np.zeros((len(own), self._n), dtype=np.bool_)
        sides[:, vertices] = own
        return pack_sides(sides)

    def cuts(self, label: IntArray) -> CutList:
        """The cuts made, without the empty side."""
        return sorted_cuts(label, self._packed[1:], self._values[1:])
