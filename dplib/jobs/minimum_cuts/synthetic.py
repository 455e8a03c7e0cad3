"""What follows from the noisy weights of all pairs, at no privacy cost: near-minimum cuts, their number, the cactus.

The *value* of a cut of the synthetic graph is the sum of the noisy weights across it, negative ones included: it has
the expectation of the true value for every cut that is fixed beforehand, and the variance s (n - s) times that of a
pair, s vertices on one side. (A cut that is picked because its noisy value is small was helped by its noise;
`cut_error` of `dplib.mechanisms.cuts.pair_weights` bounds all cuts at once.)

Up to 24 vertices all cuts are looked at. For more, which cut of signed weights is the least is not known: to find out
is as hard as the maximum cut. Cuts are searched by their signed weights (`dplib.graphs.cuts.signed_cuts`), and near the
minimum of the graph with negative weights set to 0, which tells where weights are far above the noise. The noise of a
cut between halves is far larger than that of a cut around one vertex, so a cut is listed if its value *less two
standard errors of a cut of its size* is at most the factor times the least value found. A cut that is fixed beforehand,
whose true value is no larger than that and which the search found, is left out with a probability of some 2 %. That
no cut is missing is claimed only where it is proved: up to 24 vertices, or where no weight is negative and the list of
that graph is complete.

The cactus is that of the graph without negative weights, where it is connected. No row is read and no noise drawn here.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.graphs.cactus.cactus import Cactus
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cuts.exhaustive import MAX_LISTED_VERTICES, all_cut_values, numbered_sides
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.cuts.signed_cuts import cut_sums, different, small_cuts
from dplib.graphs.edges import MAX_TOTAL_WEIGHT, Graph, canonical, components

_ERRORS = 2


@dataclass(frozen=True, eq=False)
class Synthetic:
    """What is made of noisy pairs.

    Attributes:
        graph: with negative weights set to 0.
        sides: of the near-minimum cuts, the smallest first, True on the side without vertex 0, shape (n_cuts, n).
        values: their values, negative weights included, shape (n_cuts,).
        complete: whether these are proved to hold all cuts up to the factor.
        searched: the least value of a cut: of all up to 24 vertices, else of those found.
        cactus: of ``graph``; None where it is not connected.
    """

    graph: Graph
    sides: BoolArray
    values: IntArray
    complete: bool
    searched: int
    cactus: Cactus | None


def synthesise(
    n_vertices: int, noisy: IntArray, factor: Fraction, most_cuts: int, variance: float | None = None
) -> Synthetic:
    """Make everything from the noisy weights of all pairs.

    Args:
        n_vertices: at least 2.
        noisy: in the order (0, 1), (0, 2), ..., shape (n (n - 1) / 2,).
        factor: cuts are listed up to this multiple of the minimum; of a minimum that is not positive, only those of
            exactly that value.
        most_cuts: cuts listed at most.
        variance: of the noise of one pair; None for what the negative weights, which are all noise, say of it.
    """
    if n_vertices <= MAX_LISTED_VERTICES:
        source, target = np.triu_indices(n_vertices, 1)
        every = all_cut_values(n_vertices, source, target, noisy)[1:]
        least = int(every.min())
        number = np.flatnonzero(every <= _bound(least, factor))
        number = number[np.argsort(every[number], kind="stable")]
        complete, sides = len(number) <= most_cuts, numbered_sides(number[:most_cuts] + 1, n_vertices)
    else:
        if variance is None:
            variance = 2 * float(np.mean(np.minimum(noisy, 0).astype(np.float64) ** 2))
        sides, least, complete = _searched(n_vertices, noisy, factor, most_cuts, variance)
    graph = _nonnegative(n_vertices, noisy)
    return Synthetic(graph, sides, side_values(n_vertices, noisy, sides), complete, least, _cactus(graph))


def with_cuts(n_vertices: int, noisy: IntArray, sides: BoolArray) -> Synthetic:
    """The same with these cuts, at least one, instead of a search; ``complete`` says nothing."""
    values = side_values(n_vertices, noisy, sides)
    graph = _nonnegative(n_vertices, noisy)
    return Synthetic(graph, sides, values, False, int(values.min()), _cactus(graph))


def _nonnegative(n_vertices: int, noisy: IntArray) -> Graph:
    """The graph with negative weights set to 0."""
    return canonical(n_vertices, *np.triu_indices(n_vertices, 1), np.maximum(_bounded(noisy), 0))


def _cactus(graph: Graph) -> Cactus | None:
    return cactus_of_graph(graph, minimum_cut(graph).value) if components(graph)[0] == 1 else None


def _bounded(noisy: IntArray) -> IntArray:
    """Noise may not take the total out of the kernels' range."""
    most = (MAX_TOTAL_WEIGHT - 1) // len(noisy)
    return np.clip(noisy, -most, most)


def _searched(
    n: int, noisy: IntArray, factor: Fraction, most_cuts: int, variance: float
) -> tuple[BoolArray, int, bool]:
    """Cuts found of a graph with too many to look at all, the least value among them, and whether no cut is missing."""
    graph = _nonnegative(n, noisy)
    near = near_minimum_cuts(graph, _bound(minimum_cut(graph).value, factor), limit=most_cuts)
    bounded = _bounded(noisy)
    sides = different(np.concatenate([near.cuts.sides(), small_cuts(pair_matrix(n, bounded))]))
    values = side_values(n, noisy, sides)
    least = int(values.min())
    doubt = _ERRORS * np.sqrt(variance * side_pairs(sides))
    listed = np.flatnonzero(values - doubt <= _bound(least, factor))
    listed = listed[np.argsort(values[listed], kind="stable")]
    exact = bool((noisy >= 0).all()) and np.array_equal(bounded, noisy)
    complete = near.complete and exact and len(listed) <= most_cuts
    return sides[listed[:most_cuts]], least, complete


def pair_matrix(n_vertices: int, noisy: IntArray) -> IntArray:
    """The symmetric matrix of the pairs' weights."""
    weights = np.zeros((n_vertices, n_vertices), dtype=np.int64)
    weights[np.triu_indices(n_vertices, 1)] = noisy
    return weights + weights.T


def _bound(least: int, factor: Fraction) -> int:
    return floor(least * factor) if least > 0 else least


def side_values(n_vertices: int, noisy: IntArray, sides: BoolArray) -> IntArray:
    """The noisy weight across each cut, negative weights included, shape (n_cuts,)."""
    return cut_sums(pair_matrix(n_vertices, noisy), sides)


def side_pairs(sides: BoolArray) -> IntArray:
    """How many pairs of vertices each cut separates, s (n - s), shape (n_cuts,)."""
    size = sides.sum(axis=1)
    return np.asarray(size * (sides.shape[1] - size), dtype=np.int64)
