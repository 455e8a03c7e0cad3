"""What follows from the noisy weights of all pairs, for nothing: near-minimum cuts, their number, the cactus.

The *value* of a cut of the synthetic graph is the sum of the noisy weights across it, negative ones included: it has
the expectation of the true value for every cut that is fixed beforehand, and the variance s (n - s) times that of a
pair, s vertices on one side. (A cut that is picked because its noisy value is small was helped by its noise;
`cut_error` of `dplib.mechanisms.pair_weights` bounds all cuts at once.)

Up to 24 vertices all cuts are looked at. For more, cuts are searched in the graph with negative weights set to 0, whose
cuts are larger; they are listed by their value in that graph. The cactus, too, is that of the graph without negative
weights, where it is connected. No row is read and no noise drawn here.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np
import numpy.typing as npt

from dplib.graphs.cactus import Cactus
from dplib.graphs.cactus_search import cactus_of_graph
from dplib.graphs.edges import MOST_TOTAL_WEIGHT, Graph, canonical, components
from dplib.graphs.exhaustive import MOST_LISTED_VERTICES, all_cut_values, numbered_sides
from dplib.graphs.minimum_cut import minimum_cut
from dplib.graphs.near_minimum import near_minimum_cuts

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Synthetic:
    """What is made of noisy pairs.

    Attributes:
        graph: with negative weights set to 0.
        sides: of the near-minimum cuts, the smallest first, True on the side without vertex 0, shape (n_cuts, n).
        values: their values, negative weights included, shape (n_cuts,).
        complete: whether these are all cuts up to the factor.
        searched: the least value where the cuts were searched: of all cuts up to 24 vertices, else without negative
            weights.
        cactus: of ``graph``; None where it is not connected.
    """

    graph: Graph
    sides: BoolArray
    values: IntArray
    complete: bool
    searched: int
    cactus: Cactus | None


def synthesise(n_vertices: int, noisy: IntArray, factor: Fraction, most_cuts: int) -> Synthetic:
    """Make everything from the noisy weights of all pairs.

    Args:
        n_vertices: at least 2.
        noisy: in the order (0, 1), (0, 2), ..., shape (n (n - 1) / 2,).
        factor: cuts are listed up to this multiple of the minimum; of a minimum that is not positive, only those of
            exactly that value.
        most_cuts: cuts listed at most.
    """
    source, target = np.triu_indices(n_vertices, 1)
    most = (MOST_TOTAL_WEIGHT - 1) // len(noisy)  # noise may not take the total out of the kernels' range
    graph = canonical(n_vertices, source, target, np.clip(noisy, 0, most))
    if n_vertices <= MOST_LISTED_VERTICES:
        every = all_cut_values(n_vertices, source, target, noisy)[1:]
        least = int(every.min())
        number = np.flatnonzero(every <= _bound(least, factor))
        number = number[np.argsort(every[number], kind="stable")]
        complete, sides = len(number) <= most_cuts, numbered_sides(number[:most_cuts] + 1, n_vertices)
    else:
        least = minimum_cut(graph).value
        found = near_minimum_cuts(graph, _bound(least, factor), limit=most_cuts)
        complete, sides = found.complete, found.cuts.sides()
        if not len(sides):
            sides = minimum_cut(graph).side[None]
    connected = components(graph)[0] == 1
    cactus = cactus_of_graph(graph, minimum_cut(graph).value) if connected else None
    return Synthetic(graph, sides, side_values(n_vertices, noisy, sides), complete, least, cactus)


def _bound(least: int, factor: Fraction) -> int:
    return floor(least * factor) if least > 0 else least


def side_values(n_vertices: int, noisy: IntArray, sides: BoolArray) -> IntArray:
    """The noisy weight across each cut, negative weights included, shape (n_cuts,)."""
    weights = np.zeros((n_vertices, n_vertices), dtype=np.int64)
    weights[np.triu_indices(n_vertices, 1)] = noisy
    values = np.empty(len(sides), dtype=np.int64)
    for cut, side in enumerate(sides):
        inside, outside = np.flatnonzero(side), np.flatnonzero(~side)
        values[cut] = weights[np.ix_(inside, outside)].sum() + weights[np.ix_(outside, inside)].sum()
    return values


def side_pairs(sides: BoolArray) -> IntArray:
    """How many pairs of vertices each cut separates, s (n - s), shape (n_cuts,)."""
    size = sides.sum(axis=1)
    return np.asarray(size * (sides.shape[1] - size), dtype=np.int64)
