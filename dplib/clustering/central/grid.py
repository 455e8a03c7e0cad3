"""`grid` (EUGkM): a noisy histogram over a uniform grid, then k-means of its cells. Pure epsilon, two passes.

The number of cells comes from a noisy count of the points, n~: ``M = (n~ epsilon / 3)^(2d / (2 + d))``. (Su et al.
have 10 for 3, for a histogram that is used as it is. Here cells that do not stand out from the noise are dropped,
`dplib.clustering.central.occupied_cells`, so finer cells cost little.) A stated share of epsilon pays that count, the
rest one discrete Laplace draw in every cell, empty or not. One row is in one cell, so the histogram has sensitivity 1
and the cost is epsilon whatever the grid. Cells that the public space does not meet hold no points by definition; they
are left out.

Weights and loss come from all cells, dropped ones too: sums of noisy counts as they were drawn, without the bias of
dropping. A center has that bias; how far all cells together would move it is in its error. Errors:
`dplib.clustering.central.cell_errors`.

Good where the clusters fill the space (d at most 3); at d = 6 and beyond two cells an axis are all that is left.

References:
    Su, Cao, Li, Bertino, Jin: Differentially private k-means clustering. CODASPY 2016, section 4.2 (EUGkM).
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.clustering.central.cell_errors import Cells
from dplib.clustering.central.occupied_cells import occupied_cells
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Keyed, NoiseSource, PointSource, dense
from dplib.clustering.space import UNITS
from dplib.clustering.start import spread_centers
from dplib.clustering.sums import PointCount
from dplib.clustering.weighted_kmeans import nearest_centers, weighted_kmeans
from dplib.clustering.weights import nearest_weights
from dplib.privacy.noise import NoiseEvent
from dplib.validate import positive, require

COUNT_SHARE = Fraction(1, 20)
MAX_CELLS = 1 << 20
POINTS_A_CELL = 3.0
"""Points a cell for epsilon 1."""
SU_POINTS_A_CELL = 10.0
"""The same in Su et al.'s rule, which sizes the quadtree, and sized the grid in format 1."""


@dataclass(frozen=True)
class CellCounts:
    """Summary by cell of a uniform grid: number of points.

    Attributes:
        half_widths: of the space, shape (d,).
        n_cells: cells an axis.
    """

    half_widths: tuple[int, ...]
    n_cells: int
    width = 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        key = np.zeros(len(points), dtype=np.int64)
        for coordinate, half in zip(points.T, self.half_widths, strict=True):
            key = key * self.n_cells + (coordinate + half) * self.n_cells // (2 * half + 1)
        cells, counts = np.unique(key, return_counts=True)
        return cells, counts.astype(np.int64)[:, np.newaxis]


def measure_count(
    source: PointSource, noise: NoiseSource, problem: Problem, epsilon: Fraction
) -> tuple[int, NoiseEvent]:
    """A noisy number of points, for choices of sizes."""
    event = problem.laplace_event("number of points", 1, epsilon)
    counted = dense(source.total(PointCount()), 1)[:, 0]
    return int(noise.add(counted, event.noise, "number of points")[0]), event


def cells_an_axis(n: float, epsilon: float, dimension: int, points_a_cell: float = POINTS_A_CELL) -> int:
    """Cells an axis for about n points: at least 2, at most `MAX_CELLS` cells together."""
    wanted = (max(n, 1.0) * epsilon / points_a_cell) ** (2 / (2 + dimension))
    largest = int(float(MAX_CELLS) ** (1 / dimension) + 1e-9)
    return max(2, min(round(float(wanted)), largest))


def cell_places(half_widths: tuple[int, ...], n_cells: int) -> FloatArray:
    """Middles of all cells in units, in the order of their keys, shape (n_cells^d, d)."""
    axes = [(np.arange(n_cells) + 0.5) / n_cells * (2 * half + 1) - half - 0.5 for half in half_widths]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(half_widths))


def grid(
    source: PointSource,
    noise: NoiseSource,
    problem: Problem,
    epsilon: Fraction,
    counted: tuple[int, NoiseEvent] | None = None,
    points_a_cell: float = POINTS_A_CELL,
) -> Clustering:
    """Cluster through a noisy uniform grid.

    ``counted`` is the noisy number of points and its noise, if `COUNT_SHARE` of epsilon has paid for it before;
    ``points_a_cell`` is for epsilon 1, Su et al.'s in format 1.
    """
    positive("epsilon", epsilon)
    space = problem.space
    require(2**space.dimension <= MAX_CELLS, "dimension", "be at most 20 for grid", space.dimension)
    n, of_count = counted or measure_count(source, noise, problem, epsilon * COUNT_SHARE)
    share = epsilon * (1 - COUNT_SHARE)
    points_a_cell = points_a_cell if problem.format > 1 else SU_POINTS_A_CELL
    n_cells = cells_an_axis(n, float(share) / problem.rows, space.dimension, points_a_cell)
    event = problem.laplace_event("cells of the grid", 1, share)
    size = n_cells**space.dimension
    exact = dense(source.total(CellCounts(space.half_widths, n_cells)), size)[:, 0]
    noisy = noise.add(exact, event.noise, "cells of the grid").astype(np.float64)
    places = cell_places(space.half_widths, n_cells)
    inside, scale = _meets_space(places, problem, n_cells), float(event.noise.parameter)
    total, kept = _total(n, float(of_count.noise.parameter), noisy[inside], scale), inside
    if problem.format > 1:
        kept = occupied_cells(noisy, inside, scale, total, n_cells)
    found = _cluster(problem, noisy[inside], space.clip(places[inside]), kept[inside], total, scale, n_cells)
    choices: dict[str, str | int | float] = {"cells an axis": n_cells, "cells kept": int(kept.sum())}
    return replace(found, events=(of_count, event), choices=choices)


def _cluster(
    problem: Problem, noisy: FloatArray, places: FloatArray, kept: BoolArray, total: float, scale: float, n_cells: int
) -> Clustering:
    """k-means of the kept cells; weights and loss from all of them; without events.

    Args:
        problem: the settings.
        noisy: noisy counts of the cells that the space meets, shape (m,).
        places: their middles, shape (m, d).
        kept: which of them the centers are found from, shape (m,).
        total: noisy number of points.
        scale: of the noise.
        n_cells: cells an axis.
    """
    space, k = problem.space, problem.n_clusters
    mass = total if kept.all() else max(float(noisy[kept].sum()), 1.0)
    cell_weights = nearest_weights(noisy[kept][np.newaxis], np.array([mass]))[0]
    fit = weighted_kmeans(places[kept], cell_weights, spread_centers(space, k, problem.seed), problem.seed)
    widths = (2.0 * np.array(space.half_widths) + 1) / n_cells

    def cells(of: BoolArray, weights: FloatArray, noise_where: BoolArray) -> Cells:
        labels = np.zeros(len(weights), dtype=np.int64)
        nearest_centers(np.ascontiguousarray(places[of]), fit.centers, labels)

        def noise(factors: FloatArray) -> FloatArray:
            return np.asarray(np.bincount(labels, 2 * (scale * factors * noise_where) ** 2, minlength=k), np.float64)

        sides = np.broadcast_to(widths, places[of].shape)
        return Cells(places[of], sides, weights, fit.centers, labels, noise)

    everywhere = cells(np.ones(len(noisy), dtype=np.bool_), noisy, np.ones(len(noisy), dtype=np.bool_))
    loss, loss_deviation = everywhere.loss()
    return Clustering(
        method="grid",
        centers=fit.centers,
        weights=np.maximum(np.bincount(everywhere.labels, noisy, minlength=k), 0.0),
        deviations=cells(kept, cell_weights, cell_weights > 0).center_errors(everywhere.moments()),
        loss=loss,
        events=(),
        cells=places[kept],
        cell_weights=cell_weights,
        weight_deviations=everywhere.weight_errors(),
        loss_deviation=loss_deviation,
    )


def _meets_space(places: FloatArray, problem: Problem, n_cells: int) -> BoolArray:
    if not problem.space.round:
        return np.ones(len(places), dtype=np.bool_)
    half_cell = (2 * UNITS + 1) / (2 * n_cells)
    nearest = np.maximum(np.abs(places) - half_cell, 0.0)
    return np.asarray((nearest**2).sum(axis=1) <= UNITS**2)


def _total(n: float, count_scale: float, noisy: FloatArray, cell_scale: float) -> float:
    """Two noisy totals, weighted by their variances."""
    first, second = 1 / count_scale**2, 1 / (cell_scale**2 * len(noisy))
    return float((first * n + second * noisy.sum()) / (first + second))
