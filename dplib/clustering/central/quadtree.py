"""`quadtree`: an adaptive noisy grid, fine where the points are, then k-means of its cells. Pure epsilon, two passes.

A point's code interleaves the binary digits of its cell's coordinates, so a node of the code tree is a cube; level l
has cubes of side 2^-l of the space. The levels share epsilon in geometric progression, each next one 2^(1/3) times the
one before. A cell is cut up while its noisy count is above one standard deviation of the noise that its children
together would get, ``sqrt(2) 2^(d/2) / epsilon_next``.

A noisy number of points n~ decides, at a stated share of epsilon, which levels are measured: with m the cells an axis
that `grid` would take, from two levels above m cells to two levels below. Coarser levels would spend budget on what
their children tell, finer ones on cells of less than one point.

Cells differ so much in size that nothing can be said about the error of the loss: it is not published.

References:
    Cormode, Procopiuc, Srivastava, Shen, Yu: Differentially private spatial decompositions. ICDE 2012, section 4.2
    (geometric budgets).
    Su, Cao, Li, Bertino, Jin: Differentially private k-means clustering. CODASPY 2016 (k-means of noisy cells).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.clustering.central.cell_errors import Cells
from dplib.clustering.central.code_tree import Expand, Leaves, counts_by_code, grow, leaves_of
from dplib.clustering.central.grid import COUNT_SHARE, SU_POINTS_A_CELL, cells_an_axis, measure_count
from dplib.clustering.central.tree_errors import weight_variances
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Keyed, NoiseSource, PointSource
from dplib.clustering.start import spread_centers
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.privacy.calibration import split
from dplib.privacy.noise import NoiseEvent
from dplib.validate import positive, require

CODE_BITS = 20
MAX_EXPANDED = 1 << 16
MAX_DIMENSION = 6
GROWTH = Fraction(126, 100)  # 2^(1/3)
_AROUND = 2  # levels above and below those of a uniform grid
_UNMEASURED = 1e12  # scale of the noise of a count that says nothing


@dataclass(frozen=True)
class CubeCodes:
    """Summary by interleaved cell code: number of points.

    Attributes:
        half_widths: of the space, shape (d,).
        depth: binary digits of each coordinate.
    """

    half_widths: tuple[int, ...]
    depth: int
    width = 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        return counts_by_code(self.codes(points))

    def codes(self, points: IntArray) -> IntArray:
        """The code of each point, shape (n,)."""
        codes = np.zeros(len(points), dtype=np.int64)
        cells = [
            ((coordinate + half) << self.depth) // (2 * half + 1)
            for coordinate, half in zip(points.T, self.half_widths, strict=True)
        ]
        for digit in reversed(range(self.depth)):
            for cell in cells:
                codes = codes << 1 | cell >> digit & 1
        return codes

    def places(self, first_codes: IntArray, levels: IntArray) -> FloatArray:
        """Middles of cubes, given by their smallest code and their level, in units, shape (m, d)."""
        d = len(self.half_widths)
        places = np.empty((len(first_codes), d))
        for axis, half in enumerate(self.half_widths):
            cell = np.zeros(len(first_codes), dtype=np.int64)
            for digit in range(self.depth):
                cell |= (first_codes >> digit * d + d - 1 - axis & 1) << digit
            side = 2.0 ** (self.depth - levels)
            places[:, axis] = (cell + side / 2) / 2.0**self.depth * (2 * half + 1) - half - 0.5
        return places


def cube_depth(dimension: int) -> int:
    """Levels whose codes fit `CODE_BITS`, at most 12."""
    return max(1, min(12, CODE_BITS // dimension))


def expand_above_noise(scales: Sequence[float], dimension: int, deviations: float) -> Expand:
    """Cut up cells whose noisy count is enough deviations of the noise that all their children would get."""

    def expand(noisy: FloatArray, level: int) -> BoolArray:
        return np.asarray(noisy > deviations * np.sqrt(2.0) * 2 ** (dimension / 2) * scales[level + 1])

    return expand


def quadtree(
    source: PointSource,
    noise: NoiseSource,
    problem: Problem,
    epsilon: Fraction,
    counted: tuple[int, NoiseEvent] | None = None,
) -> Clustering:
    """Cluster through a noisy adaptive grid; ``counted`` as in `dplib.clustering.central.grid.grid`."""
    positive("epsilon", epsilon)
    space, d = problem.space, problem.space.dimension
    require(d <= MAX_DIMENSION, "dimension", f"be at most {MAX_DIMENSION} for quadtree", d)
    n, of_count = counted or measure_count(source, noise, problem, epsilon * COUNT_SHARE)
    share = epsilon * (1 - COUNT_SHARE)
    first, depth = levels_around(n, float(share) / problem.rows, d)
    shares = split(share, [GROWTH**level for level in range(first, depth + 1)])
    events = [problem.laplace_event(f"cells of level {first + i}", 1, part) for i, part in enumerate(shares)]
    scales = [float(of_count.noise.parameter), *[_UNMEASURED] * (first - 1)][:first] + [
        float(event.noise.parameter) for event in events
    ]
    codes = CubeCodes(space.half_widths, depth)
    above_noise = expand_above_noise(scales, d, 1.0)

    def measure(counts: IntArray, level: int) -> IntArray:
        if level >= first:
            return noise.add(counts, events[level - first].noise, "cells", level)
        # Of levels that are left out only the root is known, from the number of points.
        return np.full(len(counts), n if level == 0 else 0)

    def expand(noisy: FloatArray, level: int) -> BoolArray:
        return above_noise(noisy, level) if level >= first else np.ones(len(noisy), dtype=np.bool_)

    levels = grow(source.total(codes), d, depth, measure, expand, MAX_EXPANDED)
    leaves = leaves_of(levels, d, depth, [2.0 * scale**2 for scale in scales])
    places = space.clip(codes.places(leaves.first_codes, leaves.levels))
    choices = {"first level": first, "last level": depth, "cells": len(places)}
    return _cluster(places, leaves, problem, (of_count, *events), choices)


def _cluster(
    places: FloatArray, leaves: Leaves, problem: Problem, events: tuple[NoiseEvent, ...], choices: dict[str, int]
) -> Clustering:
    """Weighted k-means of the leaves' middles, with errors from the tree's noise and the cells' sizes."""
    space, k = problem.space, problem.n_clusters
    fit = weighted_kmeans(places, leaves.weights, spread_centers(space, k, problem.seed), problem.seed)

    def variances(factors: FloatArray) -> FloatArray:
        return weight_variances(leaves.errors, fit.labels, k, factors)

    sides = (2.0 * np.array(space.half_widths) + 1) * 2.0 ** -leaves.levels[:, np.newaxis]
    cells = Cells(places, sides, leaves.weights, fit.centers, fit.labels, variances, spread=1 / 24)
    return Clustering(
        method="quadtree",
        centers=fit.centers,
        weights=fit.weights,
        deviations=cells.center_errors(),
        loss=cells.loss()[0],
        events=events,
        choices=dict(choices),
        cells=places,
        cell_weights=leaves.weights,
        weight_deviations=cells.weight_errors(),
    )


def levels_around(n: float, epsilon: float, dimension: int) -> tuple[int, int]:
    """First and last level for about n points: those around the uniform grid of Su et al."""
    n_cells = cells_an_axis(n, epsilon, dimension, SU_POINTS_A_CELL)
    depth = min(max(1, round(math.log2(n_cells)) + _AROUND), cube_depth(dimension))
    return min(depth, max(0, math.floor(math.log2(n_cells)) - _AROUND)), depth
