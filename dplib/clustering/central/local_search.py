"""`local_search` (Balcan et al.): exchanges of centers by the exponential mechanism. Pure epsilon.

1. Points are projected to at most 5 dimensions by a public matrix.
2. A third of epsilon: candidates are the middles of the heaviest cells of a noisy 2^p-ary tree of fixed depth. All
   children of an expanded cell get noise, empty ones too (`dplib.clustering.central.code_tree`), so candidates leak no
   support; they lie in the ball that the points are clipped to.
3. A third: from a start among the candidates that follows from their noisy weights, T = min(k, 20) exchanges, then a
   choice among the T + 1 sets of centers, each by an exponential mechanism at ``epsilon / (3 (T + 1))``. Its losses are
   the costs of the centers after each exchange, keeping them being one. One row's cost lies between 0 and L = (2R)^2,
   so they are monotone: rate ``epsilon / (3 (T + 1) L)`` where a row is added or removed, half of it where one is
   replaced, since its moves lie in [-L, L] (`dplib.mechanisms.exponential`).
4. A third: a noisy count and sum of the points of each center give its place in the full space.

With the survey's T = 100 k log(n / beta) each choice is nearly uniform and the search a random walk.

Passes: one for 2, T + 1 for 3 (the last reads the cost of the last set), one for 4.

References:
    Balcan, Dick, Liang, Mou, Zhang: Differentially private clustering in high-dimensional Euclidean spaces. ICML 2017.
    Gupta, Ligett, McSherry, Roth, Talwar: Differentially private combinatorial optimization. SODA 2010 (k-median).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.code_tree import grow, leaves_of
from dplib.clustering.central.lloyd import Round, add_noise, deviation, quotients
from dplib.clustering.central.quadtree import GROWTH, CubeCodes, cube_depth, expand_above_noise
from dplib.clustering.central.swaps import ExchangeCosts
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.projection import Projection, largest_squared_distance
from dplib.clustering.source import Keyed, NoiseSource, PointSource, Summary, dense
from dplib.clustering.start import spread_centers
from dplib.clustering.sums import nearest, rounded, sums_by_label
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.privacy.calibration import split
from dplib.privacy.events import BoundedRangeEvent
from dplib.privacy.noise import NoiseEvent
from dplib.validate import positive

MAX_EXCHANGES = 20
MAX_CANDIDATES = 300
"""m; k where that is more."""
PROJECTED = 5
_STEPS = 1 << 24  # of the cost of one row: its largest squared distance
_LEVELS = 8  # of the exponential mechanism's losses to one row's largest cost
_COUNT_PART = Fraction(1, 8)


@dataclass(frozen=True)
class Projected:
    """A summary of projected points."""

    projection: Projection
    summary: Summary

    @property
    def width(self) -> int:
        """As the summary it wraps."""
        return self.summary.width

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        return self.summary(self.projection(points))


@dataclass(frozen=True)
class LiftedSums:
    """Summary by nearest center among projected points: number and sum of the points themselves.

    Attributes:
        projection: applied to points for the assignment.
        centers: integers, shape (k, p).
        dimension: of the points.
    """

    projection: Projection
    centers: IntArray
    dimension: int

    @property
    def width(self) -> int:
        """One count and d sums."""
        return 1 + self.dimension

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        labels = nearest(self.projection(points), self.centers)
        return np.arange(len(self.centers)), sums_by_label(points, labels, len(self.centers))


def local_search(source: PointSource, noise: NoiseSource, problem: Problem, epsilon: Fraction) -> Clustering:
    """Cluster by private exchanges."""
    positive("epsilon", epsilon)
    k, third = problem.n_clusters, epsilon / 3
    projection = Projection.to_dimension(problem.space, PROJECTED, problem.seed)
    tree_events, cells, weights = _cells(source, noise, problem, projection, third)
    candidates, chosen = _start(cells, weights, projection, problem, max(MAX_CANDIDATES, k))
    n_exchanges = min(k, MAX_EXCHANGES)
    chosen = _search(source, noise, problem, projection, candidates, chosen, third / (n_exchanges + 1), n_exchanges)
    mean = Round(
        problem.laplace_event("counts of the centers", 1, third * _COUNT_PART),
        problem.laplace_event("sums of the centers", problem.space.l1, third * (1 - _COUNT_PART)),
    )
    centers = candidates[chosen]
    exact = dense(source.total(LiftedSums(projection, centers, problem.space.dimension)), k)
    counts = add_noise(noise, exact[:, 0], mean.count, "counts of the centers")
    sums = add_noise(noise, exact[:, 1:], mean.sums, "sums of the centers")
    before = centers if projection.matrix is None else rounded(spread_centers(problem.space, k, problem.seed))
    step = quotients(problem, before, counts, sums, mean)
    choice = BoundedRangeEvent("exchange of centers", third / (n_exchanges + 1))
    return Clustering(
        method="local_search",
        centers=step.centers,
        weights=np.maximum(counts, 0.0),
        deviations=step.deviations,
        events=(*tree_events, *(choice for _ in range(n_exchanges + 1)), mean.count, mean.sums),
        weight_deviations=np.full(k, deviation(mean.count)),
        choices={"candidates": len(candidates), "exchanges": n_exchanges, "dimensions": projection.space.dimension},
    )


def _cells(
    source: PointSource, noise: NoiseSource, problem: Problem, projection: Projection, epsilon: Fraction
) -> tuple[list[NoiseEvent], FloatArray, FloatArray]:
    """Places and weights of the cells of a noisy tree over projected points."""
    p = projection.space.dimension
    depth = cube_depth(p)
    shares = split(epsilon, [GROWTH**level for level in range(depth + 1)])
    events = [problem.laplace_event(f"cells of level {level}", 1, share) for level, share in enumerate(shares)]
    scales = [float(event.noise.parameter) for event in events]
    codes = CubeCodes(projection.space.half_widths, depth)

    def measure(counts: IntArray, level: int) -> IntArray:
        return noise.add(counts, events[level].noise, "cells", level)

    counted = source.total(Projected(projection, codes))
    levels = grow(counted, p, depth, measure, expand_above_noise(scales, p, 4.0), 1 << 10)
    leaves = leaves_of(levels, p, depth, [2.0 * scale**2 for scale in scales])
    return events, projection.space.clip(codes.places(leaves.first_codes, leaves.levels)), leaves.weights


def _start(
    cells: FloatArray, weights: FloatArray, projection: Projection, problem: Problem, most: int
) -> tuple[IntArray, IntArray]:
    """Candidates and the positions of k different ones to start from."""
    k = problem.n_clusters
    public = spread_centers(projection.space, k, problem.seed)
    fit = weighted_kmeans(cells, weights, public, problem.seed)
    heaviest = np.argsort(-weights, kind="stable")[: max(most - k, 0)]
    # The means of the noisy cells come first; they are functions of noisy numbers as the cells themselves are.
    candidates = rounded(np.concatenate([projection.space.clip(fit.centers), cells[heaviest]]))
    return candidates, np.arange(k)


def _search(
    source: PointSource,
    noise: NoiseSource,
    problem: Problem,
    projection: Projection,
    candidates: IntArray,
    chosen: IntArray,
    epsilon: Fraction,
    n_exchanges: int,
) -> IntArray:
    """Exchange centers; the positions of the finally chosen ones, shape (k,)."""
    k, m = len(chosen), len(candidates)
    step = -(-largest_squared_distance(projection.space) // _STEPS)
    coarse = _STEPS // _LEVELS
    # A row adds 0 to `_LEVELS` to each loss: 0 to `_STEPS` steps to a cost, `coarse` of them to a loss.
    rate = epsilon / (_LEVELS * problem.rows)
    sets, costs = [chosen], []
    for number in range(n_exchanges):
        totals = dense(source.total(ExchangeCosts(projection, candidates, chosen, step, _STEPS)), 1 + k * m)[:, 0]
        costs.append(int(totals[0]))
        losses = (totals[0] + np.concatenate([totals[1:], [0]])) // coarse
        picked = noise.choose(losses, rate, "exchange", number)
        chosen = chosen.copy()
        if picked < k * m:
            chosen[picked // m] = picked % m
        sets.append(chosen)
    last = dense(source.total(ExchangeCosts(projection, candidates[chosen], np.arange(k), step, _STEPS)), 1 + k * k)
    costs.append(int(last[0, 0]))
    return sets[noise.choose(np.array(costs, dtype=np.int64) // coarse, rate, "final choice")]
