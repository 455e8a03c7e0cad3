"""`sample_aggregate`: k-means in many blocks of rows from one common start, averaged with noise.

Rows go to l blocks by a hash of their own content. Every block runs a fixed number of Lloyd iterations, without noise,
from the same start, so that center j of one block speaks of the same cluster as center j of another, and averaging
them has a meaning (blocks of centers without common order average to the middle of the data). The start is the k-means
of a private coreset (`grid` or `tree_coreset`) at a stated share of the budget. A cluster that is empty in a block
keeps the start's center there.

Privacy. One row changes one block, whose k centers stay in the space: the sum over blocks of all centers moves by at
most ``2 l1 k`` in L1 norm, or ``2 R sqrt(k)`` in L2 norm. The number of blocks, n~^0.4, comes from the noisy weights of
the start.

Passes: those of the start, and one an iteration, with cluster and block as the key.

References:
    Nissim, Raskhodnikova, Smith: Smooth sensitivity and sampling in private data analysis. STOC 2007.
    Mohan, Thakurta, Shi, Song, Culler: GUPT, privacy preserving data analysis made easy. SIGMOD 2012 (averages).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import IntArray
from dplib.clustering.central.lloyd import add_noise, deviation
from dplib.clustering.problem import Clustering, Method, Problem
from dplib.clustering.source import Keyed, NoiseSource, PointSource, dense
from dplib.clustering.sums import nearest, rounded, sums_by_label
from dplib.hashing import hash_rows
from dplib.privacy.noise import NoiseEvent
from dplib.validate import positive

_EXPONENT = 0.4
_MAX_BLOCKS = 1 << 12
_ITERATIONS = 3  # of Lloyd in every block


@dataclass(frozen=True)
class BlockSums:
    """Summary by block and cluster of its own centers: number and sum of the points.

    Attributes:
        centers: integers, shape (n_blocks, k, d).
        seed: of the blocks.
    """

    centers: IntArray
    seed: int

    @property
    def width(self) -> int:
        """One count and d sums."""
        return 1 + int(self.centers.shape[2])

    def __call__(self, points: IntArray) -> Keyed:
        """Summarise a block."""
        n_blocks, k = self.centers.shape[:2]
        block = hash_rows(points, self.seed) % n_blocks
        order = np.argsort(block, kind="stable")
        ends = np.searchsorted(block[order], np.arange(n_blocks + 1))
        totals = [np.empty((0, self.width), dtype=np.int64)]
        for number in range(n_blocks):
            mine = points[order[ends[number] : ends[number + 1]]]
            totals.append(sums_by_label(mine, nearest(mine, self.centers[number]), k))
        return np.arange(n_blocks * k), np.concatenate(totals)


def sample_aggregate(
    source: PointSource, noise: NoiseSource, problem: Problem, budget: Fraction, start: Method, gaussian: bool
) -> Clustering:
    """Cluster in blocks and average.

    ``budget`` is epsilon, or rho with ``gaussian`` noise; ``start`` is the private method that gives the common start,
    for half of it in the same currency.
    """
    positive("budget", budget)
    space, k = problem.space, problem.n_clusters
    first = start(source, noise, problem, budget / 2)
    n = max(1.0, float(first.weights.sum()))
    n_blocks = max(1, min(int(n**_EXPONENT), _MAX_BLOCKS))
    centers = np.repeat(rounded(space.clip(first.centers))[np.newaxis], n_blocks, axis=0)
    for _ in range(_ITERATIONS):
        totals = dense(source.total(BlockSums(centers, problem.seed)), n_blocks * k)
        counts, sums = totals[:, :1], totals[:, 1:]
        # Means of points of the space, cut towards zero, are in the space.
        means = np.sign(sums) * (np.abs(sums) // np.maximum(counts, 1))
        centers = np.where(counts > 0, means, centers.reshape(-1, space.dimension)).reshape(centers.shape)
    event = _event(problem, budget / 2, gaussian)
    noisy = add_noise(noise, centers.sum(axis=0), event, "centers of the blocks")
    spread = deviation(event) / n_blocks
    return Clustering(
        method="sample_aggregate",
        centers=space.clip(noisy / n_blocks),
        weights=first.weights,
        deviations=np.full((k, space.dimension), spread),
        events=(*first.events, event),
        choices={"start": first.method, "blocks": n_blocks, "iterations": _ITERATIONS},
        cells=first.cells,
        cell_weights=first.cell_weights,
    )


def _event(problem: Problem, budget: Fraction, gaussian: bool) -> NoiseEvent:
    space, k, name = problem.space, problem.n_clusters, "centers of the blocks"
    if gaussian:
        return problem.gaussian_event(name, 4 * k * space.norm_squared, budget)
    return problem.laplace_event(name, 2 * k * space.l1, budget)
