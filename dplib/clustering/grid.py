"""`grid` (EUGkM): a noisy histogram over a uniform grid, then k-means of its cells. Pure epsilon, two passes.

The number of cells comes from a noisy count of the points, n~: ``M = (n~ epsilon / 10)^(2d / (2 + d))``. A stated share
of epsilon pays that count, the rest one discrete Laplace draw in every cell, empty or not. One row is in one cell, so
the histogram has sensitivity 1 and the cost is epsilon whatever the grid. Cells that the public space does not meet
hold no points by definition; they are left out.

Good where the clusters fill the space (d at most 3); at d = 6 and beyond two cells an axis are all that is left.

References:
    Su, Cao, Li, Bertino, Jin: Differentially private k-means clustering. CODASPY 2016, section 4.2 (EUGkM).
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Keyed, Noise, PointSource, dense
from dplib.clustering.space import UNITS
from dplib.clustering.start import spread_centers
from dplib.clustering.sums import PointCount
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.clustering.weights import nearest_weights
from dplib.privacy.events import DiscreteLaplaceEvent
from dplib.validate import between, positive, require

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COUNT_SHARE = Fraction(1, 20)
MOST_CELLS = 1 << 20
_POINTS_A_CELL = 10.0  # in units of 1 / epsilon: Su et al.'s constant


@dataclass(frozen=True)
class CellCounts:
    """Summary by cell of a uniform grid: number of points.

    Attributes:
        half_widths: of the space, shape (d,).
        n_cells: cells an axis.
    """

    half_widths: tuple[int, ...]
    n_cells: int

    @property
    def width(self) -> int:
        """One count."""
        return 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        key = np.zeros(len(points), dtype=np.int64)
        for coordinate, half in zip(points.T, self.half_widths, strict=True):
            key = key * self.n_cells + (coordinate + half) * self.n_cells // (2 * half + 1)
        cells, counts = np.unique(key, return_counts=True)
        return cells, counts.astype(np.int64)[:, np.newaxis]


def measure_count(
    source: PointSource, noise: Noise, problem: Problem, epsilon: Fraction
) -> tuple[int, DiscreteLaplaceEvent]:
    """A noisy number of points, for choices of sizes."""
    event = problem.laplace_event("number of points", 1, epsilon)
    counted = dense(source.total(PointCount()), 1, 1)[:, 0]
    return int(noise.laplace(counted, event.scale, "number of points")[0]), event


def cells_an_axis(n: float, epsilon: float, dimension: int) -> int:
    """Cells an axis for about n points: at least 2, at most `MOST_CELLS` cells together."""
    wanted = (max(n, 1.0) * epsilon / _POINTS_A_CELL) ** (2 / (2 + dimension))
    largest = int(float(MOST_CELLS) ** (1 / dimension) + 1e-9)
    return max(2, min(round(float(wanted)), largest))


def cell_places(half_widths: tuple[int, ...], n_cells: int) -> FloatArray:
    """Middles of all cells in units, in the order of their keys, shape (n_cells^d, d)."""
    axes = [(np.arange(n_cells) + 0.5) / n_cells * (2 * half + 1) - half - 0.5 for half in half_widths]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(half_widths))


def grid(
    source: PointSource,
    noise: Noise,
    problem: Problem,
    epsilon: Fraction,
    count_share: Fraction = COUNT_SHARE,
    counted: tuple[int, DiscreteLaplaceEvent] | None = None,
) -> Clustering:
    """Cluster through a noisy uniform grid.

    Args:
        source: the points.
        noise: exact noise.
        problem: the settings.
        epsilon: of the whole, pure.
        count_share: part of epsilon for the noisy number of points.
        counted: that number and its noise, if it was measured before at this share.

    Raises:
        ConfigError: if a setting is out of range or the dimension above 20.
    """
    positive("epsilon", epsilon)
    between("count_share", count_share, Fraction(0), Fraction(1))
    space = problem.space
    require(2**space.dimension <= MOST_CELLS, "dimension", "be at most 20 for grid", space.dimension)
    n, of_count = counted or measure_count(source, noise, problem, epsilon * count_share)
    share = epsilon * (1 - count_share)
    n_cells = cells_an_axis(n, float(share) / problem.rows, space.dimension)
    event = problem.laplace_event("cells of the grid", 1, share)
    size = n_cells**space.dimension
    exact = dense(source.total(CellCounts(space.half_widths, n_cells)), size, 1)[:, 0]
    noisy = noise.laplace(exact, event.scale, "cells of the grid").astype(np.float64)
    places = cell_places(space.half_widths, n_cells)
    inside = _meets_space(places, problem, n_cells)
    total = _total(n, float(of_count.scale), noisy[inside], float(event.scale))
    weights = nearest_weights(noisy[inside][np.newaxis], np.array([total]))[0]
    scales = np.full(len(weights), float(event.scale))
    found = cluster_cells("grid", problem, space.clip(places[inside]), weights, scales)
    return replace(
        found,
        loss=found.loss + total * _within_cell(space.half_widths, n_cells),
        events=(of_count, event),
        choices={"cells an axis": n_cells},
    )


def cluster_cells(
    method: str, problem: Problem, places: FloatArray, weights: FloatArray, scales: FloatArray
) -> Clustering:
    """k-means of noisy cells, with what independent Laplace noise in them does to the centers.

    Args:
        method: name of the method.
        problem: the settings.
        places: shape (m, d).
        weights: at least 0, shape (m,).
        scales: of the noise of each cell, shape (m,).

    Returns:
        A clustering without events.
    """
    k = problem.n_clusters
    fit = weighted_kmeans(places, weights, spread_centers(problem.space, k, problem.seed), problem.seed)
    # Noise w in a cell moves its center by w (place - center) / weight.
    moved = 2 * scales**2 * ((places - fit.centers[fit.labels]) ** 2).sum(axis=1) / problem.space.dimension
    spread = np.sqrt(np.bincount(fit.labels, moved, minlength=k))
    return Clustering(
        method=method,
        centers=fit.centers,
        weights=fit.weights,
        deviations=np.where(fit.weights > 0, spread / np.maximum(fit.weights, 1e-9), np.inf),
        loss=fit.loss,
        events=(),
        cells=places,
        cell_weights=weights,
    )


def _meets_space(places: FloatArray, problem: Problem, n_cells: int) -> npt.NDArray[np.bool_]:
    if not problem.space.round:
        return np.ones(len(places), dtype=np.bool_)
    half_cell = (2 * UNITS + 1) / (2 * n_cells)
    nearest = np.maximum(np.abs(places) - half_cell, 0.0)
    return np.asarray((nearest**2).sum(axis=1) <= UNITS**2)


def _total(n: float, count_scale: float, noisy: FloatArray, cell_scale: float) -> float:
    """Two noisy totals, weighted by their variances."""
    first, second = 1 / count_scale**2, 1 / (cell_scale**2 * len(noisy))
    return float((first * n + second * noisy.sum()) / (first + second))


def _within_cell(half_widths: tuple[int, ...], n_cells: int) -> float:
    """Mean squared distance to the middle of a cell of evenly spread points."""
    return sum((2 * half / n_cells) ** 2 / 12 for half in half_widths)
