"""`kvariates` (k-variates++): k-means++ with every draw hidden by noise for the worst case. Pure epsilon.

Each next center is a point drawn with probability proportional to its squared distance to the centers so far, published
with noise. The paper's much smaller noise rests on spread and monotonicity of the data set, which hold for some data
only; here the guarantee holds for all.

Privacy. Given the published centers before it, a center's law is a mixture of the noise's laws around points of the
space, whatever the drawing probabilities are. Two mixtures over the same space differ by at most the largest ratio of
the noise at one output around two points: ``e^(2 l1 / b)`` with discrete Laplace noise of scale b in every coordinate,
l1 the largest sum of magnitudes of a point. So ``b = 2 k l1 / epsilon`` is enough for all k centers, for any number of
rows that change and any neighbours. (A spherical density would ask for 2 k R / epsilon; its exact draw is not at hand,
and at this scale it makes no difference.)

No weight is measured, and no error is stated: a center stands for one drawn point, not for a mean of points.

At any epsilon below 2k this is noise on the scale of the whole space: about as good as centers drawn at random.

Passes: two a center, a draw of a bucket of rows, and of a row among those.

References:
    Nock, Canyasse, Boreli, Nielsen: k-variates++, more pluses in the k-means++. ICML 2016.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Keyed, NoiseSource, PointSource
from dplib.clustering.sums import rounded, squared_distances
from dplib.hashing import hash_rows
from dplib.privacy.noise import Law, Noise
from dplib.validate import positive

_BUCKETS = 1 << 12
_STEP_BITS = 12  # squared distances are rounded down to 2^12 square units, so that sums fit


@dataclass(frozen=True)
class BucketMass:
    """Summary by bucket: sum of squared distances to the nearest center, 1 a row more.

    Attributes:
        centers: integers, shape (j, d).
        seed: of the buckets.
    """

    centers: IntArray
    seed: int
    width = 1

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        bucket = hash_rows(points, self.seed) % _BUCKETS
        keys, place = np.unique(bucket, return_inverse=True)
        mass = np.zeros((len(keys), 1), dtype=np.int64)
        np.add.at(mass[:, 0], place, masses(points, self.centers))
        return keys, mass


@dataclass(frozen=True)
class BucketRows:
    """Summary by different row of one bucket: its mass, and its coordinates times its number.

    Attributes:
        centers: integers, shape (j, d).
        seed: of the buckets.
        bucket: which.
    """

    centers: IntArray
    seed: int
    bucket: int

    @property
    def width(self) -> int:
        """Mass, number, d coordinates."""
        return 2 + int(self.centers.shape[1])

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        hashes = hash_rows(points, self.seed)
        mine = points[hashes % _BUCKETS == self.bucket]
        keys, place = np.unique(hashes[hashes % _BUCKETS == self.bucket], return_inverse=True)
        values = np.zeros((len(keys), self.width), dtype=np.int64)
        rows = np.concatenate([masses(mine, self.centers)[:, np.newaxis], np.ones((len(mine), 1), int), mine], axis=1)
        np.add.at(values, place, rows)
        return keys, values


def masses(points: IntArray, centers: IntArray) -> IntArray:
    """What each point is drawn in proportion to; at least 1."""
    if not len(centers):
        return np.ones(len(points), dtype=np.int64)
    return np.asarray((squared_distances(points, centers).min(axis=1) >> _STEP_BITS) + 1)


def kvariates(source: PointSource, noise: NoiseSource, problem: Problem, epsilon: Fraction) -> Clustering:
    """Cluster by noisy k-means++ draws."""
    positive("epsilon", epsilon)
    k, space = problem.n_clusters, problem.space
    # Any change of rows moves a draw by no more than the diameter: `rows` does not enter.
    events = [
        Noise(Law.LAPLACE, 2 * k * space.l1 / epsilon, Fraction(2 * space.l1)).event(f"center {j}") for j in range(k)
    ]
    generator = np.random.default_rng([problem.seed, 2])
    centers = np.empty((0, space.dimension), dtype=np.int64)
    for j, event in enumerate(events):
        drawn = _draw(source, centers, problem, generator.random(2))
        noisy = noise.add(drawn, event.noise, "center", j)
        centers = np.concatenate([centers, rounded(space.clip(noisy[np.newaxis].astype(np.float64)))])
    return Clustering.unmeasured("kvariates", centers.astype(np.float64), tuple(events))


def _draw(source: PointSource, centers: IntArray, problem: Problem, uniform: FloatArray) -> IntArray:
    """A point by squared distance, the middle of the space if there is none. NOT PRIVATE."""
    buckets, mass = source.total(BucketMass(centers, problem.seed))
    if not len(buckets):
        return np.zeros(problem.space.dimension, dtype=np.int64)
    bucket = int(buckets[_pick(mass[:, 0], uniform[0])])
    _, rows = source.total(BucketRows(centers, problem.seed, bucket))
    row = rows[_pick(rows[:, 0], uniform[1])]
    return np.asarray(row[2:] // row[1])


def _pick(mass: IntArray, uniform: float) -> int:
    running = np.cumsum(mass.astype(np.float64))
    return int(min(np.searchsorted(running, uniform * running[-1], side="right"), len(mass) - 1))
