"""`noisy_coordinates`: the baseline of the local model that every text warns of. Users add noise to their coordinates.

Client. A user rounds their point to a grid of `STEPS` steps to the radius and reports it with discrete Laplace noise on
each coordinate (`dplib.mechanisms.local.noisy_vector`), one report a user, pure epsilon. Server. Clips the noisy points
to the space and runs k-means on them.

Why it is no use: the noise on a point is wider than the whole space. k-means then parts the noise; more users give a
more exact partition of the same noise. Measured at epsilon 1 with 8 clusters in the plane: 16 times the best loss, and
without clipping 26 to 39 times, where one center for all users costs 21 to 25 times. It is here to show that, and as
the bottom line of comparisons; `ldp_tree` is the method to use.

References:
    Stemmer: Locally private k-means clustering. SODA 2020, section 1 (why noisy points do not do).
    Duchi, Jordan, Wainwright: Minimax optimal procedures for locally private estimation. JASA 113, 2018.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Protocol

import numpy as np

from dplib.arrays import IntArray
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Keyed
from dplib.clustering.space import UNITS, Space
from dplib.clustering.start import spread_centers
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.hashing import hash_rows
from dplib.privacy.events import PureEvent
from dplib.randomness.user_streams import UserStreams
from dplib.validate import require

STEPS = 1 << 10
_UNITS_A_STEP = UNITS // STEPS


class VectorRandomizer(Protocol):
    """Noise for whole vectors, as `dplib.mechanisms.local.noisy_vector.NoisyVector`."""

    @property
    def epsilon(self) -> Fraction:
        """Privacy of one report."""

    @property
    def scale(self) -> Fraction:
        """Scale of the noise on a coordinate."""

    def randomize(self, streams: UserStreams, vectors: IntArray, /) -> IntArray:
        """One noisy vector a user."""


@dataclass(frozen=True)
class NoisyCoordinates:
    """What clients and server agree on.

    Attributes:
        space: the public ball or box.
        randomizer: noise for vectors that are at most a given L1 distance apart.
    """

    space: Space
    randomizer: Callable[[int], VectorRandomizer]

    @property
    def l1_diameter(self) -> int:
        """Largest L1 distance of two users' vectors, in steps."""
        d = self.space.dimension
        if self.space.round:
            # Points of a ball differ by at most 2 UNITS in length, so by 2 UNITS sqrt(d) in the L1 norm.
            return isqrt(d * (2 * UNITS) ** 2) // _UNITS_A_STEP + 1 + d
        return sum(2 * half // _UNITS_A_STEP + 1 for half in self.space.half_widths)

    def encode(self, streams: UserStreams, points: IntArray) -> IntArray:
        """The clients' part (`dplib.clustering.local.questions.Rounds`): a noisy vector in steps a user, (n, d)."""
        return self.randomizer(self.l1_diameter).randomize(streams.under("vector"), points // _UNITS_A_STEP)

    def merge(self, reports: IntArray) -> Keyed:
        """Different reports under a hash of theirs: how often each came, and its sum; they add."""
        keys, place = np.unique(hash_rows(reports, 0), return_inverse=True)
        totals = np.zeros((len(keys), 1 + self.space.dimension), dtype=np.int64)
        np.add.at(totals, place, np.concatenate([np.ones((len(reports), 1), dtype=np.int64), reports], axis=1))
        return keys, totals

    def unmerge(self, totals: IntArray) -> IntArray:
        """The reports again, from the totals of `merge`, shape (n, d)."""
        times = totals[:, 0]
        return np.repeat(totals[:, 1:] // np.maximum(times, 1)[:, np.newaxis], times, axis=0)

    def cluster(self, reports: IntArray, problem: Problem) -> Clustering:
        """The server's part: k-means of the noisy points of all users, shape (n, d); the problem's space must be this.

        A weight is the number of noisy points near a center. How many true ones they stand for depends on where these
        are, so no error is stated.
        """
        require(problem.space == self.space, "space", "be the one that users reported for", "another")
        k, randomizer = problem.n_clusters, self.randomizer(self.l1_diameter)
        noisy = self.space.clip(np.asarray((reports + 0.5) * _UNITS_A_STEP, dtype=np.float64))
        start = spread_centers(self.space, k, problem.seed)
        fit = weighted_kmeans(noisy, np.ones(len(noisy)), start, problem.seed)
        return Clustering(
            method="noisy_coordinates",
            centers=fit.centers,
            weights=fit.weights,
            deviations=np.full((k, self.space.dimension), np.nan),
            events=(PureEvent("one report of each user", randomizer.epsilon, "local randomizer"),),
            choices={"scale in units": float(randomizer.scale) * _UNITS_A_STEP},
        )
