"""`quadtree`: an adaptive noisy grid, fine where the points are, then k-means of its cells. Pure epsilon, one pass.

A point's code interleaves the binary digits of its cell's coordinates, so a node of the code tree is a cube; level l
has cubes of side 2^-l of the space. The levels share epsilon in geometric progression, each next one 2^(1/3) times the
one before. A cell is cut up while its noisy count is at least ``4 sqrt(2) 2^(d/2) / epsilon_next``, four standard
deviations of the noise that its children together would get.

Better than the uniform grid where points are many (n epsilon above some 50,000) or fill little of the space.

References:
    Cormode, Procopiuc, Srivastava, Shen, Yu: Differentially private spatial decompositions. ICDE 2012, section 4.2
    (geometric budgets).
    Su, Cao, Li, Bertino, Jin: Differentially private k-means clustering. CODASPY 2016 (k-means of noisy cells).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dplib.clustering.code_tree import Expand, grow, leaves_of
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Keyed, Noise, PointSource
from dplib.clustering.start import spread_centers
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.privacy.calibration import split
from dplib.validate import positive, require

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CODE_BITS = 20
MOST_EXPANDED = 1 << 16
LARGEST_DIMENSION = 6
GROWTH = Fraction(126, 100)  # 2^(1/3)
_DEVIATIONS = 4.0


@dataclass(frozen=True)
class CubeCodes:
    """Summary by interleaved cell code: number of points.

    Attributes:
        half_widths: of the space, shape (d,).
        depth: binary digits of each coordinate.
    """

    half_widths: tuple[int, ...]
    depth: int

    @property
    def width(self) -> int:
        """One count."""
        return 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        counts = np.bincount(self.codes(points), minlength=1)
        codes = np.flatnonzero(counts)
        return codes, counts[codes].astype(np.int64)[:, np.newaxis]

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


def expand_above_noise(scales: Sequence[float], dimension: int) -> Expand:
    """Cut up cells whose noisy count is four deviations of the noise that all their children would get."""

    def expand(noisy: FloatArray, level: int) -> BoolArray:
        return np.asarray(noisy > _DEVIATIONS * np.sqrt(2.0) * 2 ** (dimension / 2) * scales[level + 1])

    return expand


def quadtree(source: PointSource, noise: Noise, problem: Problem, epsilon: Fraction) -> Clustering:
    """Cluster through a noisy adaptive grid.

    Args:
        source: the points.
        noise: exact noise.
        problem: the settings.
        epsilon: of the whole, pure.

    Raises:
        ConfigError: if epsilon is out of range or the dimension above `LARGEST_DIMENSION`.
    """
    positive("epsilon", epsilon)
    space, d = problem.space, problem.space.dimension
    require(d <= LARGEST_DIMENSION, "dimension", f"be at most {LARGEST_DIMENSION} for quadtree", d)
    depth = cube_depth(d)
    shares = split(epsilon, [GROWTH**level for level in range(depth + 1)])
    events = [problem.laplace_event(f"cells of level {level}", 1, share) for level, share in enumerate(shares)]

    def measure(counts: IntArray, level: int) -> IntArray:
        return noise.laplace(counts, events[level].scale, "cells", level)

    scales = [float(event.scale) for event in events]
    codes = CubeCodes(space.half_widths, depth)
    levels = grow(source.total(codes), d, depth, measure, expand_above_noise(scales, d), MOST_EXPANDED)
    leaves = leaves_of(levels, d, depth, [2.0 * scale**2 for scale in scales])
    places = space.clip(codes.places(leaves.first_codes, leaves.levels))
    fit = weighted_kmeans(places, leaves.weights, spread_centers(space, problem.n_clusters, problem.seed), problem.seed)
    squared = ((places - fit.centers[fit.labels]) ** 2).sum(axis=1) * np.array(scales)[leaves.levels] ** 2
    spread = np.bincount(fit.labels, squared, minlength=problem.n_clusters)
    sides = 4.0 * float(sum(half**2 for half in space.half_widths)) / 12 * 4.0**-leaves.levels
    return Clustering(
        method="quadtree",
        centers=fit.centers,
        weights=fit.weights,
        deviations=np.where(fit.weights > 0, np.sqrt(2 * spread / d) / np.maximum(fit.weights, 1e-9), np.inf),
        loss=fit.loss + float(sides @ leaves.weights),
        events=tuple(events),
        choices={"levels": len(levels), "cells": len(places)},
        cells=places,
        cell_weights=leaves.weights,
    )
