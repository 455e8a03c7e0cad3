"""`max_cover` (Nguyen, Chaturvedi, Xu): balls that cover the most points, drawn privately, then noisy means. rho-zCDP.

1. Points are rounded to a fine public grid and counted (exactly; the counts stay with the driver).
2. For radii from small to large, k times each: a ball around a point of a coarser grid is drawn by the exponential
   mechanism with the number of still uncovered points in it as score, of sensitivity 1; its points are covered from
   then on.
3. Every cell goes to the nearest drawn middle; noisy counts of those are weights; k-means of the middles gives k
   centers (fewer different middles than k are filled up with public centers).
4. A noisy count and sum of the points of each center.

At most 3 dimensions: a point lies in too many balls of a grid: the search would have no end; `tree_coreset` is
for those.

Privacy. Scores only grow with a row, so a draw at rate r is in bounded range r: r^2 / 8 of zCDP. All N draws are
charged: ``r = sqrt(8 rho / N)``. (The paper charges a logarithm in 1 / delta for all draws together, since a covered
point does not count again; at some hundred draws the sum of squares is the smaller charge.) A fifth of rho for the
draws, a fifth for the weights, the rest for the means.

Passes: two.

References:
    Nguyen, Chaturvedi, Xu: Differentially private k-means via exponential mechanism and max cover. AAAI 2021.
    Cesar, Rogers: Bounding, concentrating, and truncating: unifying privacy loss composition for data analytics.
    ALT 2021 (bounded range).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import scipy

from dplib.arrays import BoolArray, IntArray
from dplib.clustering.central.grid import CellCounts, cell_places
from dplib.clustering.central.lloyd import add_noise, deviation, gaussian_rounds, take_rounds
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import NoiseSource, PointSource, dense
from dplib.clustering.start import spread_centers
from dplib.clustering.sums import nearest, rounded
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.privacy.events import BoundedRangeEvent
from dplib.privacy.rounding import round_down
from dplib.validate import positive, require

MAX_DIMENSION = 3
_CELLS = {1: 1024, 2: 128, 3: 48}  # an axis, by dimension
_RADII = {1: (4, 8, 16, 32, 64, 128), 2: (2, 4, 8, 16, 32), 3: (2, 4, 8, 16)}  # in cells


def max_cover(source: PointSource, noise: NoiseSource, problem: Problem, rho: Fraction) -> Clustering:
    """Cluster by private covering."""
    positive("rho", rho)
    space, k, d = problem.space, problem.n_clusters, problem.space.dimension
    rule = f"be at most {MAX_DIMENSION} for max_cover (a point lies in too many balls; use tree_coreset)"
    require(d <= MAX_DIMENSION, "dimension", rule, d)
    n_cells = _CELLS[d]
    cells = dense(source.total(CellCounts(space.half_widths, n_cells)), n_cells**d)[:, 0]
    draw = _draw_event(k * len(_RADII[d]), rho / 5)
    middles = _cover(noise, cells.reshape((n_cells,) * d), problem, draw.epsilon / problem.rows)
    weigh = problem.gaussian_event("points of the balls", 1, rho / 5)
    # A middle drawn twice, or at two radii, is one point of the coreset.
    places = np.unique(rounded(cell_places(space.half_widths, n_cells))[middles], axis=0)
    labels = nearest(rounded(cell_places(space.half_widths, n_cells)), places)
    exact = np.zeros(len(places), dtype=np.int64)
    np.add.at(exact, labels, cells)
    noisy = add_noise(noise, exact, weigh, "points of the balls")
    weights = np.where(noisy > 2 * deviation(weigh), noisy, 0.0)
    start = spread_centers(space, k, problem.seed)
    fit = weighted_kmeans(space.clip(places.astype(np.float64)), weights, start, problem.seed)
    rounds = gaussian_rounds(problem, rho * 3 / 5, 1)
    step = take_rounds(source, noise, problem, rounds, fit.centers)
    return Clustering(
        method="max_cover",
        centers=step.centers,
        weights=np.maximum(step.counts, 0.0),
        deviations=step.deviations,
        events=(*(draw for _ in middles), weigh, rounds[0].count, rounds[0].sums),
        choices={"balls": len(middles)},
        weight_deviations=np.full(k, deviation(rounds[0].count)),
        cells=places.astype(np.float64),
        cell_weights=weights,
    )


def _draw_event(n_draws: int, rho: Fraction) -> BoundedRangeEvent:
    """One of the draws, all of which share rho: epsilon with ``n epsilon^2 / 8 <= rho``."""
    root = Fraction(float(8 * rho / n_draws) ** 0.5) * (1 - Fraction(1, 10**12))
    return BoundedRangeEvent("middle of a ball", round_down(root))


def _cover(noise: NoiseSource, cells: IntArray, problem: Problem, rate: Fraction) -> IntArray:
    """Draw middles; their positions among the cells, shape (n_draws,)."""
    left = cells.copy()
    middles = []
    for radius in _RADII[cells.ndim]:
        ball = _ball(radius, cells.ndim)
        scores = _Scores.of(ball, cells.shape)
        stride = max(1, int(radius / np.sqrt(cells.ndim)))
        grid = tuple(slice(stride // 2, None, stride) for _ in cells.shape)
        positions = np.arange(cells.size).reshape(cells.shape)[grid].ravel()
        for number in range(problem.n_clusters):
            picked = int(positions[noise.choose(-scores(left)[grid].ravel(), rate, "ball", radius, number)])
            middles.append(picked)
            _empty(left, np.unravel_index(picked, cells.shape), ball, radius)
    return np.array(middles)


@dataclass(frozen=True, eq=False)
class _Scores:
    """Points in the ball around every cell, by a transform of the ball that all its rounds share.

    Attributes:
        ball: its transform.
        shape: of the cells, with room for the ball beside them, that transforms are fast for.
        radius: of the ball, in cells.
    """

    ball: npt.NDArray[np.complexfloating]
    shape: tuple[int, ...]
    radius: int

    @classmethod
    def of(cls, ball: BoolArray, cells: tuple[int, ...]) -> "_Scores":
        """Of a ball in a grid of cells."""
        room = tuple(scipy.fft.next_fast_len(n + len(ball) - 1, real=True) for n in cells)
        return cls(scipy.fft.rfftn(ball.astype(np.float64), room), room, len(ball) // 2)

    def __call__(self, left: IntArray) -> IntArray:
        """Of the points that are left, shape of the cells; sums below 2^40 are off by far less than a half."""
        found = scipy.fft.irfftn(scipy.fft.rfftn(left.astype(np.float64), self.shape) * self.ball, self.shape)
        return np.asarray(np.rint(found[tuple(slice(self.radius, self.radius + n) for n in left.shape)]), np.int64)


def _ball(radius: int, dimension: int) -> BoolArray:
    steps = np.arange(-radius, radius + 1) ** 2
    squared = sum(np.ix_(*[steps] * dimension))
    return np.asarray(squared <= radius**2)


def _empty(left: IntArray, middle: tuple[np.intp, ...], ball: BoolArray, radius: int) -> None:
    """Take the points of a ball away."""
    here = tuple(slice(max(0, int(m) - radius), int(m) + radius + 1) for m in middle)
    there = tuple(
        slice(max(0, radius - int(m)), min(2 * radius + 1, radius - int(m) + size))
        for m, size in zip(middle, left.shape, strict=True)
    )
    left[here][ball[there]] = 0
