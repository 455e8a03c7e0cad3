"""`ldp_tree` above 6 dimensions: the tree works in a public projection, a second round brings centers back.

Public: a random projection to 3 dimensions (rows orthonormal), and the ball around the projected middle of twice the
root mean square length that the projection leaves of the longest vector; what lies beyond is clipped.

Round 1. Half of the users, by a keyed hash, answer `ldp_tree` about their projected point. The server publishes k
centers in the projection. Round 2. Each user of the other half is asked for one coordinate j, by a keyed hash too: they
round x_j to a sign at random, 1 with probability (1 + x_j / h_j) / 2 exactly, and report the sign of their nearest
projected center by a signed Hadamard response. Each user reports once, epsilon-private by itself.

Server. With c = (e^epsilon + 1) / (e^epsilon - 1) and N users the sum of coordinate j over a cluster is unbiased, of
variance at most 2 d N (c h_j)^2. Divided by the cluster's weight from round 1 it gives the center. Where noise
outweighs a center's distance from the mean of all, the center is drawn to that mean (positive-part James-Stein). All
of it is post-processing.

How good: a center's squared error is about 2 d^2 N c^2 R^2 / n_c^2; with a million users, 8 clusters and d = 20 that is
(0.5 R)^2 at epsilon 1 and (0.24 R)^2 at epsilon 4, whatever the width of the clusters.

References:
    Chang, Ghazi, Kumar, Manurangsi: Locally private k-means in one round. ICML 2021 (projection, tree, bucketized
    vector sums; there sums are asked in the same round for every node, here in a second one for the k clusters alone).
    Duchi, Jordan, Wainwright: Minimax optimal procedures for locally private estimation. JASA 113, 2018 (one random
    coordinate as a sign).
    James, Stein: Estimation with quadratic loss. Fourth Berkeley Symposium, 1961 (here its positive part).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import sqrt
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dplib.clustering.local_questions import (
    Answers,
    Counts,
    Oracle,
    OracleChoice,
    Question,
    Questions,
    Reports,
    choose_question,
)
from dplib.clustering.local_tree import LocalTree
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.space import UNITS, Space
from dplib.clustering.weighted_kmeans import nearest_centers
from dplib.randomness.user_streams import UserStreams
from dplib.validate import require

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

PROJECTED_DIMENSION = 3
_REACH = 2.0


class SignedOracle(Oracle, Protocol):
    """An oracle that also sums signs: `dplib.mechanisms.hadamard_response.HadamardResponse`."""

    @property
    def contrast(self) -> float:
        """Size of one unbiased contribution."""

    def randomize(self, streams: UserStreams, values: IntArray, negative: BoolArray | None = None, /) -> Reports:
        """One report a user."""

    def estimate_sums(self, counts: IntArray, /) -> FloatArray:
        """Sums of signs at each value."""


@dataclass(frozen=True)
class LiftedTree:
    """What clients and server agree on.

    Attributes:
        problem: the settings; the space has at least 4 dimensions.
        depth: levels of the tree in the projection.
        oracle: the frequency oracle for a number of cubes.
        signed: the oracle of signs for a number of clusters; the same epsilon.
    """

    problem: Problem
    depth: int
    oracle: OracleChoice
    signed: Callable[[int], SignedOracle]

    def __post_init__(self) -> None:
        d = self.problem.space.dimension
        require(d > PROJECTED_DIMENSION, "dimension", f"be above {PROJECTED_DIMENSION} for a projected tree", d)
        same = self.tree.questions.epsilon == self._sums.epsilon
        require(same, "epsilon", "be the same in both rounds", "two of them")

    @property
    def tree(self) -> LocalTree:
        """The protocol of round 1, for projected points."""
        return LocalTree(Space.ball([0.0] * PROJECTED_DIMENSION, 1.0), self.depth, self.oracle)

    @property
    def _sums(self) -> Questions:
        # A Hadamard matrix has at least two columns; with one cluster the second is nobody's.
        k, d = max(2, self.problem.n_clusters), self.problem.space.dimension
        return Questions(tuple(Question(f"coordinate {j}", self.signed(k)) for j in range(d)))

    def project(self, points: IntArray) -> IntArray:
        """Points in units of the projected ball, shape (n, 3)."""
        space, d = self.problem.space, self.problem.space.dimension
        drawn = np.random.default_rng([self.problem.seed, d]).normal(size=(d, PROJECTED_DIMENSION))
        reach = sqrt(space.norm_squared) * min(1.0, _REACH * sqrt(PROJECTED_DIMENSION / d))
        # Integer steps: each sum is exact, so that a user's point does not depend on the block it is in.
        steps = np.rint(np.linalg.qr(drawn)[0] * UNITS)
        return self.tree.space.to_units((points.astype(np.float64) @ steps) / (UNITS * reach))

    def encode(self, streams: UserStreams, points: IntArray) -> Answers:
        """Round 1, the clients' part: reports of the users who are asked in it.

        Args:
            streams: the randomness of some users, the same in both rounds.
            points: one a user, in units (`dplib.clustering.local_tree.local_points`), shape (n, d).
        """
        rows = self._asked(streams, points, 0)
        return self.tree.encode(streams.of(rows).under("tree"), self.project(points[rows]))

    def aggregate(self, answers: Answers) -> Counts:
        """Round 1: add reports up."""
        return self.tree.aggregate(answers)

    def publish(self, counts: Counts) -> Clustering:
        """Round 1, the server's part: a clustering of the projected points of half of the users."""
        return self.tree.cluster(counts, replace(self.problem, space=self.tree.space))

    def encode_sums(self, streams: UserStreams, points: IntArray, projected_centers: FloatArray) -> Answers:
        """Round 2, the clients' part; arguments as in round 1 and the published centers, shape (k, 3)."""
        rows = self._asked(streams, points, 1)
        nearest = np.zeros(len(rows), dtype=np.int64)
        nearest_centers(self.project(points[rows]).astype(np.float64), np.ascontiguousarray(projected_centers), nearest)
        asked_streams = streams.of(rows).under("sums")
        asked = self._sums.asked(asked_streams)
        reports = []
        for j, half in enumerate(self.problem.space.half_widths):
            mine = np.flatnonzero(asked == j)
            own = asked_streams.of(mine).under(f"coordinate {j}")
            # Of 2 h equally likely numbers h + x are below h + x: the sign is 1 with probability (1 + x / h) / 2.
            negative = own.under("sign").uniform_below(2 * half) >= half + points[rows[mine], j]
            reports.append(self.signed(max(2, len(projected_centers))).randomize(own, nearest[mine], negative))
        return tuple(reports)

    def aggregate_sums(self, answers: Answers) -> Counts:
        """Round 2: add reports up."""
        return self._sums.aggregate(answers)

    def cluster(self, published: Clustering, counts: Counts) -> Clustering:
        """Round 2, the server's part: centers in all dimensions.

        Args:
            published: of round 1.
            counts: merged, of round 2.
        """
        k, d = self.problem.n_clusters, self.problem.space.dimension
        n_users = float(sum(int(coordinate[0]) for coordinate in counts))
        weights = published.weights * n_users / max(published.weights.sum(), 1.0)
        sums, variances = np.empty((k, d)), np.empty(d)
        for j, (half, coordinate) in enumerate(zip(self.problem.space.half_widths, counts, strict=True)):
            oracle, n_reports = self.signed(max(2, k)), int(coordinate[0])
            scale = half * n_users / max(1, n_reports)
            sums[:, j] = oracle.estimate_sums(coordinate)[:k] * scale
            variances[j] = n_reports * (oracle.contrast * scale) ** 2
        spread = variances.sum() / np.maximum(weights, 1.0) ** 2
        mean = sums.sum(axis=0) / max(n_users, 1.0)
        away = sums / np.maximum(weights, 1.0)[:, np.newaxis] - mean
        # One square unit is far below any noise; the bound only keeps the quotient finite.
        kept = np.maximum(0.0, 1 - spread / np.maximum((away**2).sum(axis=1), 1.0))
        centers = self.problem.space.clip(mean + kept[:, np.newaxis] * away)
        return replace(
            published,
            centers=centers,
            deviations=np.where(weights >= 1, np.sqrt(spread / d), np.inf),
            loss=float("nan"),
            choices={**published.choices, "rounds": 2, "projected dimension": PROJECTED_DIMENSION},
            cells=None,
            cell_weights=None,
        )

    def _asked(self, streams: UserStreams, points: IntArray, number: int) -> IntArray:
        d = self.problem.space.dimension
        require(points.shape == (len(streams), d), "points", f"be one of {d} coordinates a user", points.shape)
        return np.flatnonzero(choose_question(streams.under("round"), [1, 1]) == number)
