"""Which method clusters the points, and why: from settings, and for ``auto`` in few dimensions from a noisy number.

*auto, up to 3 coordinates*: a fortieth of epsilon pays a noisy number of points n~. The uniform grid is taken where n~
epsilon is below `MANY`, the quadtree above: its cells adapt to the points, but its levels share the budget.

*auto, 4 coordinates and more*: tree_coreset where the budget has a delta or is in rho, local_search where it is a pure
epsilon.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from dplib.clustering.grid import grid, measure_count
from dplib.clustering.kvariates import kvariates
from dplib.clustering.lloyd import lloyd_gaussian, lloyd_laplace
from dplib.clustering.local_search import local_search
from dplib.clustering.max_cover import max_cover
from dplib.clustering.privgene import privgene
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.quadtree import quadtree
from dplib.clustering.sample_aggregate import sample_aggregate
from dplib.clustering.source import Noise, PointSource
from dplib.clustering.tree_coreset import tree_coreset
from dplib.kmeans.design import Design

Method = Callable[[PointSource, Noise, Problem, Fraction], Clustering]

CHOICE_SHARE = Fraction(1, 40)
MANY = 200_000
"""n~ epsilon above which ``auto`` takes the quadtree."""


def _sample_aggregate_laplace(source: PointSource, noise: Noise, problem: Problem, budget: Fraction) -> Clustering:
    start = grid if problem.space.dimension <= 3 else local_search
    return sample_aggregate(source, noise, problem, budget, start, gaussian=False)


def _sample_aggregate_gaussian(source: PointSource, noise: Noise, problem: Problem, budget: Fraction) -> Clustering:
    return sample_aggregate(source, noise, problem, budget, tree_coreset, gaussian=True)


def _auto(source: PointSource, noise: Noise, problem: Problem, budget: Fraction) -> Clustering:
    """A grid or a quadtree, by a noisy number of points."""
    n, counted = measure_count(source, noise, problem, budget * CHOICE_SHARE)
    rest = budget * (1 - CHOICE_SHARE)
    many = n * float(budget) / problem.rows > MANY
    found = quadtree(source, noise, problem, rest) if many else grid(source, noise, problem, rest)
    return replace(found, events=(counted, *found.events))


_METHODS: Mapping[tuple[str, bool], Method] = {
    ("auto", False): _auto,
    ("grid", False): grid,
    ("quadtree", False): quadtree,
    ("local_search", False): local_search,
    ("kvariates", False): kvariates,
    ("privgene", False): privgene,
    ("tree_coreset", True): tree_coreset,
    ("max_cover", True): max_cover,
    ("lloyd", False): lloyd_laplace,
    ("lloyd", True): lloyd_gaussian,
    ("sample_aggregate", False): _sample_aggregate_laplace,
    ("sample_aggregate", True): _sample_aggregate_gaussian,
}
"""By name, and whether the budget is in rho."""

_WHAT = {
    "auto": "a noisy grid, or a quadtree where n epsilon is above 200,000 by a noisy number of points n",
    "grid": "a noisy histogram over a uniform grid, sized by a noisy number of points, and k-means of its cells",
    "quadtree": "noisy counts of cells that are cut up where points are, and k-means of the cells",
    "local_search": "exchanges of centers among private candidates by the exponential mechanism (Balcan et al. 2017)",
    "tree_coreset": "noisy counts and means of a hashing tree's leaves, k-means of them, then noisy Lloyd rounds",
    "lloyd": "Lloyd's iterations on noisy counts and sums from a public start (DPLloyd, Su et al. 2016)",
    "kvariates": "k-means++ whose draws are hidden by noise for the worst case (Nock et al. 2016)",
    "max_cover": "balls that cover the most points, drawn by the exponential mechanism (Nguyen et al. 2021)",
    "sample_aggregate": "k-means in many blocks of rows from a private common start, averaged with noise",
    "privgene": "genetic search by the exponential mechanism (Zhang et al. 2013)",
}
_WARNINGS = {
    "lloyd": "Its start knows nothing of the points: in many dimensions it stays in poor local optima.",
    "kvariates": "Its noise is as wide as the space unless epsilon is above 2 k: about as good as random centers.",
    "sample_aggregate": "It is for comparison; its error is far above that of the default method.",
    "privgene": "It is for comparison; slow, and its error is several times that of the default method.",
    "max_cover": "It is for comparison; the grid has less error.",
}


def cluster_points(design: Design, source: PointSource, noise: Noise) -> Clustering:
    """Cluster by the design's method.

    Args:
        design: the design.
        source: the points; none where the noise replays stored numbers.
        noise: exact noise.
    """
    return _METHODS[design.method, design.gaussian](source, noise, design.problem, design.budget)


def method_text(method: str) -> str:
    """What a method does, in a phrase."""
    return _WHAT[method]


def reason_text(design: Design) -> str:
    """Why this method, in a sentence."""
    if design.config.clustering.method != "auto":
        return f"The settings name the method {design.method}."
    d = len(design.coordinates)
    if design.method == "auto":
        return (
            f"With {d} coordinate{'s' if d > 1 else ''} cells can follow the points: a grid while points are few, a "
            "quadtree where n epsilon is above 200,000, which a noisy number of points decides."
        )
    kind = "and a delta (or rho)" if design.method == "tree_coreset" else "and a pure epsilon"
    return f"With {d} coordinates {kind}, {design.method} has the least error of the methods that are private at all."


def warning_text(method: str) -> str | None:
    """What to know before taking a named method; None where there is nothing."""
    return _WARNINGS.get(method)
