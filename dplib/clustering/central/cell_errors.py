"""Standard errors of centers and weights that come from noisy counts of cells: noise, and what cells do not tell.

Target. A center c with weight W, the sum of the weights w_i of the cells whose middles p_i are nearest to it, estimates
the mean of the points that are nearest to c, and W their number. Two kinds of error:

*Noise.* A change of the weights moves c by ``sum_i dw_i (p_i - c) / W`` (delta method: W itself moves too, which is why
distances are taken from c). The variance of such a sum is the caller's: cells may have independent noise (`grid`) or
weights that are made consistent along a tree (`dplib.clustering.central.tree_errors`).

*Resolution.* Nothing tells where in its cell a point is. The mean of a cell's points is taken to lie anywhere in the
cell, rather near a border than in the middle (arcsine law), independently of the other cells' means: variance ``w_i^2
s_i^2 / 8 / W^2`` along an axis where the cell is s_i wide. A cell that is parted by the border to the next nearest
center gives away up to half of its area, f, any part with equal probability, and each of its points with probability f:
mean square ``w_i^2 E f^2 + w_i E f (1 - f) = w_i (w_i + 2) / 12`` in both centers' W, and that times ``(p_i - c)^2 /
W^2`` in c. This is a model, not a bound: within a cell points may gather anywhere, and where they do so alike in all
cells (on a line, or with coordinates rounded to steps of about a cell) errors are too small. It is what makes the error
of a cluster that fills one cell a third of the cell's width, not 0. A tree cuts a cell up where points gather, so in
those that are left they are taken to be more even: a third of that variance. How often these errors hold is counted in
`tests/statistical/test_kmeans_errors.py`, on point sets that decided nothing here too.

*Left out.* A center found from some cells only (`grid` drops those that do not stand out from the noise) misses the
mean of all by ``sum_i w_i (p_i - c) / W`` over the noisy counts of all cells, up to their noise. That is added as it
is, squared: where little is left out it is noise, and the error a little high.

Cost: O(cells times centers).

References:
    Sheppard: On the calculation of the most probable values of frequency-constants, for data arranged according to
    equidistant divisions of a scale. Proceedings of the London Mathematical Society 29, 1897.
    Cochran: Sampling Techniques. Wiley 1977, section 2.11 (variance of a ratio).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.compiled import compiled

SumVariances = Callable[[FloatArray], FloatArray]
"""Variances of each center's sum of weights times factors, of factors of shape (m,); shape (k,)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Weighted cells and their centers.

    Attributes:
        places: their middles, shape (m, d).
        sides: their widths along each axis, shape (m, d).
        weights: noisy, shape (m,).
        centers: shape (k, d).
        labels: position of each cell's nearest center, shape (m,).
        noise: of the weights.
        spread: variance of the mean of a cell's points, in squared widths.
    """

    places: FloatArray
    sides: FloatArray
    weights: FloatArray
    centers: FloatArray
    labels: IntArray
    noise: SumVariances
    spread: float = 1 / 8

    def center_errors(self, missed: FloatArray | float = 0.0) -> FloatArray:
        """Standard errors of the centers, ``inf`` where none of a center's cells has weight, shape (k, d).

        ``missed`` are the `moments` of all cells, where these are some of them.
        """
        totals = self._sums(self.labels, self.weights)
        found = np.empty(self.centers.shape)
        for axis in range(self.centers.shape[1]):
            ways = self.places[:, axis] - self.centers[:, axis][self.labels]
            within = self._sums(self.labels, self.spread * (self.weights * self.sides[:, axis]) ** 2)
            found[:, axis] = np.sqrt(self.noise(ways) + within + self._parted(axis))
        errors = np.hypot(found, missed) / np.maximum(totals, 1e-9)[:, np.newaxis]
        return np.where((totals > 0)[:, np.newaxis], errors, np.inf)

    def moments(self) -> FloatArray:
        """Sums of weights times their cells' ways from the center, shape (k, d)."""
        ways = self.weights[:, np.newaxis] * (self.places - self.centers[self.labels])
        return np.stack([self._sums(self.labels, way) for way in ways.T], axis=1)

    def weight_errors(self) -> FloatArray:
        """Standard errors of the centers' weights, the sums of their cells', shape (k,); NaN where there are none."""
        found = np.sqrt(self.noise(np.ones(len(self.places))) + self._parted())
        return np.where(np.bincount(self.labels, minlength=len(self.centers)) > 0, found, np.nan)

    def loss(self) -> tuple[float, float]:
        """Sum of squared distances as if all points stood in the middles of their cells, and its standard error.

        With R the sum of ``s_i^2 / 12`` over points, R is missing where points are spread evenly, and R is too much
        where they thin out away from their center (Sheppard's correction); which it is is the same in all cells. The
        error holds both.
        """
        within = (self.sides**2).sum(axis=1) / 12
        away = self.places - self.centers[self.labels]
        squared = (away**2).sum(axis=1)
        gathered = float(self.weights @ within) ** 2 / 2
        moved = float(self.weights**2 @ (away**2 * self.sides**2).sum(axis=1)) / 3
        error = np.sqrt(float(self.noise(squared).sum()) + gathered + moved)
        return max(0.0, float(self.weights @ squared)), float(error)

    def _parted(self, axis: int | None = None) -> FloatArray:
        """Mean squares of what goes over the borders, times the squared ways from the center along an axis, (k,)."""
        weights, (cut, second) = np.maximum(self.weights, 0.0), self._cut
        found = np.zeros(len(self.centers))
        for of in (self.labels, second):
            ways = 1.0 if axis is None else self.places[:, axis] - self.centers[:, axis][of]
            found += self._sums(of, cut * weights * (weights + 2) / 12 * ways**2)
        return found

    def _sums(self, of: IntArray, values: FloatArray) -> FloatArray:
        return np.bincount(of, values, minlength=len(self.centers)).astype(np.float64)

    @cached_property
    def _cut(self) -> tuple[BoolArray, IntArray]:
        """Which cells the border between their center and the next nearest one cuts in two, and that one, (m,) both."""
        second = np.zeros(len(self.places), dtype=np.int64)
        if len(self.centers) < 2:
            return np.zeros(len(self.places), dtype=np.bool_), second
        _second_nearest(np.ascontiguousarray(self.places), np.ascontiguousarray(self.centers), self.labels, second)
        one, other = self.centers[self.labels], self.centers[second]
        # How far the middle is on its own side of the border, and how far the cell reaches, times the distance of both.
        inside = ((self.places - other) ** 2).sum(axis=1) - ((self.places - one) ** 2).sum(axis=1)
        return np.asarray(inside / 2 < (np.abs(other - one) * self.sides).sum(axis=1) / 2), second


@compiled
def _second_nearest(places: FloatArray, centers: FloatArray, labels: IntArray, second: IntArray) -> None:
    for i in range(len(places)):
        best = np.inf
        for j in range(len(centers)):
            if j != labels[i]:
                distance = 0.0
                for c in range(places.shape[1]):
                    distance += (places[i, c] - centers[j, c]) ** 2
                if distance < best:
                    best = distance
                    second[i] = j
