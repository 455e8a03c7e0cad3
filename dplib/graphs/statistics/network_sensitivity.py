"""How much one edge, or one vertex with all of its edges, can change each statistic of a graph.

Neighbours. The vertex set is declared: n and the vertices' names are public. *Edge*: one edge more or less. *Vertex*:
all edges of one vertex v taken away or put in; v stays, with degree 0. (Where v vanishes with its edges, a histogram
changes by one less; such guarantees do not hold for a declared vertex set.)

Bounds. ``promised``: every graph has degrees of at most D by the way it was collected (a form with D slots that both
ends fill). Without any promise D = n - 1, so the unbounded case is the same formula. ``projected``: any graph, cut to
degrees of at most D by `dplib.graphs.statistics.truncation`; the sensitivity is that of projection and statistic
together.

Derivations. d is a degree before the edges come in; one new edge takes both ends from d to d + 1, and the edges of a
vertex take v from 0 to k <= D and k others from d to d + 1. After a projection the others' changes add up to at most k
(and to at most 2 for one edge), but may meet in one vertex: see the proof there.

edge_count             1; k <= D.
largest_degree         1; D (a star). Projected: an edge that makes others swap found a full vertex, so that both graphs
                       have largest degree D; otherwise nothing but its own ends changes.
degree_histogram       A vertex that changes its degree takes 1 from one bin and gives it to another. 2 vertices: L1 4;
                       v and D others: 2D + 2. L2: all that move may leave one bin and meet in one bin, 2 (movers)^2.
cumulative_histogram   #{degree <= j}, j = 0, 1, ...: a step of one degree changes one bin by 1. Edge: 2, and both steps
                       may hit one bin (L2^2 4). Vertex: v crosses k bins, k steps of the others: 2D = max(D + 1, 2D);
                       L2^2: all k steps in a bin that v crosses, (k + 1)^2 + k - 1 = k^2 + 3k.
degree_sequence        2 ends; v by k and the others by k: 2D. L2^2: 2; D^2 + D. Projected: 4; 2D^2.
sorted_degrees         As the sequence by vertex: sorting brings two vectors closer in L1 and L2, never apart.
k_stars                sum C(d, k): a step up from d adds C(d, k-1) <= C(D-1, k-1). Edge: two steps. Vertex: v adds C(D,
                       k), the others D steps.
triangles              An edge: the common neighbours of its ends, at most D - 1. A vertex: pairs of its neighbours,
                       C(D, 2). Projected: refused.
adjacency              Upper triangle: 1; D. Projected: refused.
split                  Edges inside the groups, edges cut, or their difference: each edge counts +1, 0 or -1: 1; D.
coverage               Vertices in or next to a seed set. An edge covers at most one more. The edges of v: if v is no
                       seed, v itself; if it is, its neighbours, at most D.

The brute-force test goes through all graphs of five vertices, their neighbours, and several orders of projection.

References:
    Karwa, Raskhodnikova, Smith, Yaroslavtsev: Private analysis of graph structure. PVLDB 4(11), 2011.
    Kasiviswanathan, Nissim, Raskhodnikova, Smith: Analyzing graphs with node differential privacy. TCC 2013.
    Day, Li, Lyu: Publishing graph degree distribution with node differential privacy. SIGMOD 2016.
    Hay, Li, Miklau, Jensen: Accurate estimation of the degree distribution of private networks. ICDM 2009.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import comb

from dplib.errors import ConfigError
from dplib.privacy.neighbors import Neighbors
from dplib.validate import at_least, integer_norms, one_of, require


class Statistic(StrEnum):
    """What a network release can measure."""

    EDGE_COUNT = "edge_count"
    LARGEST_DEGREE = "largest_degree"
    DEGREE_HISTOGRAM = "degree_histogram"
    CUMULATIVE_HISTOGRAM = "cumulative_histogram"
    DEGREE_SEQUENCE = "degree_sequence"
    SORTED_DEGREES = "sorted_degrees"
    K_STARS = "k_stars"
    TRIANGLES = "triangles"
    ADJACENCY = "adjacency"
    SPLIT = "split"
    COVERAGE = "coverage"


class Bounding(StrEnum):
    """Why degrees are at most D."""

    NONE = "none"
    PROMISED = "promised"
    PROJECTED = "projected"


REFUSED_BOUNDINGS = {
    "top_edges": (
        "keeping each vertex's first D edges (an edge stays if it is among the first D at both ends) has unbounded"
        " sensitivity: a hub that comes first in every list removes the edges of all the others"
    ),
    "drop_vertices": (
        "dropping the vertices of degree above D has unbounded sensitivity: one edge can push two vertices over D and"
        " take all of their edges away"
    ),
}
REFUSED_STATISTICS = {
    "influence_spread": (
        "one edge can be the only bridge to all other vertices, so its sensitivity is n - 1; choose seeds by coverage"
    ),
}
_AFTER_PROJECTION = {
    Statistic.TRIANGLES: (
        "one vertex, and even one edge, starts a chain of swapped edges: with D = 2 a vertex can change 2 triangles"
        " where C(D, 2) = 1"
    ),
    Statistic.ADJACENCY: "one edge starts a chain of swapped edges as long as the graph",
    Statistic.SPLIT: "one edge starts a chain of swapped edges as long as the graph",
    Statistic.COVERAGE: "one edge starts a chain of swapped edges as long as the graph",
}


@dataclass(frozen=True)
class DegreeBound:
    """What is known of the largest degree.

    Attributes:
        bounding: none, promised by the collection, or projected.
        largest: D; None exactly where nothing bounds.
    """

    bounding: Bounding
    largest: int | None = None

    def __post_init__(self) -> None:
        if self.bounding in REFUSED_BOUNDINGS:
            raise ConfigError(
                "degree bounding",
                "be one of none, projected, promised",
                f"{self.bounding}: {REFUSED_BOUNDINGS[self.bounding]}",
            )
        object.__setattr__(self, "bounding", Bounding(one_of("degree bounding", self.bounding, list(Bounding))))
        if self.bounding is Bounding.NONE:
            require(self.largest is None, "degree bound", "be left out where nothing bounds", self.largest)
        else:
            require(self.largest is not None, "degree bound", f"be given where it is {self.bounding}", self.largest)
            at_least("degree bound", self.largest or 0, 1)

    def within(self, n_vertices: int) -> int:
        """The largest degree D that a graph of n vertices can have."""
        return max(0, n_vertices - 1 if self.largest is None else min(self.largest, n_vertices - 1))


UNBOUNDED = DegreeBound(Bounding.NONE)


@dataclass(frozen=True)
class Sensitivity:
    """Largest change of a statistic between neighbours.

    Attributes:
        l1: sum of the absolute changes.
        l2_squared: sum of their squares (may come from another pair of neighbours).
    """

    l1: int
    l2_squared: int

    def __post_init__(self) -> None:
        integer_norms("sensitivity", self.l1, self.l2_squared)


def sensitivity(
    statistic: Statistic, neighbors: Neighbors, n_vertices: int, bound: DegreeBound = UNBOUNDED, stars: int = 2
) -> Sensitivity:
    """The sensitivity of a statistic (``stars``: edges of a star); derivations are in the module's text.

    Raises:
        ConfigError: for neighbours other than these, and where the statistic has no useful sensitivity: the reason is
            in the message.
    """
    statistic = known_statistic(statistic)
    one_of("neighbors", neighbors, [Neighbors.EDGE, Neighbors.VERTEX])
    at_least("number of vertices", n_vertices, 1)
    at_least("edges of a star", stars, 1)
    projected = bound.bounding is Bounding.PROJECTED
    if projected and statistic in _AFTER_PROJECTION:
        raise ConfigError(
            "statistic",
            "be a function of the degrees alone after a projection",
            f"{statistic}: {_AFTER_PROJECTION[statistic]}",
        )
    largest = bound.within(n_vertices)
    if largest == 0:
        return Sensitivity(0, 0)
    if neighbors == Neighbors.EDGE:
        return _edge_sensitivity(statistic, largest, projected, stars)
    return _vertex_sensitivity(statistic, largest, projected, stars)


def known_statistic(name: str) -> Statistic:
    """Return the statistic of that name.

    Raises:
        ConfigError: for an unknown name, and for those that are refused, with the reason.
    """
    if name in REFUSED_STATISTICS:
        raise ConfigError("statistic", "be one with a useful sensitivity", f"{name}: {REFUSED_STATISTICS[name]}")
    return Statistic(one_of("statistic", name, list(Statistic)))


def _edge_sensitivity(statistic: Statistic, largest: int, projected: bool, stars: int) -> Sensitivity:
    by_degree = Sensitivity(2, 4 if projected else 2)
    return {
        Statistic.DEGREE_HISTOGRAM: Sensitivity(4, 8),
        Statistic.CUMULATIVE_HISTOGRAM: Sensitivity(2, 4),
        Statistic.DEGREE_SEQUENCE: by_degree,
        Statistic.SORTED_DEGREES: by_degree,
        Statistic.K_STARS: _number(2 * comb(largest - 1, stars - 1)),
        Statistic.TRIANGLES: _number(largest - 1),
    }.get(statistic, _number(1))


def _vertex_sensitivity(statistic: Statistic, largest: int, projected: bool, stars: int) -> Sensitivity:
    D = largest
    by_degree = Sensitivity(2 * D, 2 * D**2 if projected else D**2 + D)
    return {
        Statistic.DEGREE_HISTOGRAM: Sensitivity(2 * D + 2, 2 * (D + 1) ** 2),
        Statistic.CUMULATIVE_HISTOGRAM: Sensitivity(2 * D, D**2 + 3 * D),
        Statistic.DEGREE_SEQUENCE: by_degree,
        Statistic.SORTED_DEGREES: by_degree,
        Statistic.K_STARS: _number(comb(D, stars) + D * comb(D - 1, stars - 1)),
        Statistic.TRIANGLES: _number(comb(D, 2)),
        Statistic.ADJACENCY: Sensitivity(D, D),
    }.get(statistic, _number(D))


def _number(change: int) -> Sensitivity:
    return Sensitivity(change, change**2)
