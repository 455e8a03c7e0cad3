"""`ldp_tree` above 6 dimensions: the tree works in a public projection, a second round brings centers back.

Public: a random projection to 3 dimensions (orthonormal), and the ball around the projected middle of the root mean
square length that the projection leaves of the longest vector; what lies beyond is clipped.

Round 1. Half of the users, by a keyed hash, answer `ldp_tree` about their projected point. The server publishes k
centers in the projection. Round 2. Each user of the other half reports one randomized bit about their whole point and
which of those centers is nearest (`dplib.mechanisms.local.vector_sums`). Each user reports once, epsilon-private by
itself.

Server. The sum of the points of each cluster comes without bias, its noise of variance at most pi N (c R)^2 a
coordinate, with c = (e^epsilon + 1) / (e^epsilon - 1) and N users, half of whom are asked. Divided by the cluster's
weight from round 1 it gives the center. Where noise outweighs a center's distance from the mean of all, the center is
drawn to that mean (positive-part James-Stein). All of it is post-processing.

How good: the squared error of a center of n_c users is about pi d N (c R)^2 / n_c^2, whatever the cluster's width, and
clusters that fall together in the projection, or in one cube of the tree, are not told apart. Measured as the loss
over that of k-means without privacy, a million users, 8 clusters, 4 or 5 mixtures, median: epsilon 1: 3.0, 4.0 and 5.3
to 5.7 for d = 7, 12 and 20; epsilon 2: 1.6, 3.3, 1.6; epsilon 4: 1.4 for d = 20. One center for all: 26 to 39.

References:
    Chang, Ghazi, Kumar, Manurangsi: Locally private k-means in one round. ICML 2021 (projection, tree, bucketized
    vector sums; there sums are asked in the same round for every node, here in a second one for the k clusters alone).
    Duchi, Jordan, Wainwright: Minimax optimal procedures for locally private estimation. JASA 113, 2018 (sums).
    James, Stein: Estimation with quadratic loss. Fourth Berkeley Symposium, 1961 (here its positive part).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Protocol

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.local.questions import (
    Answers,
    Counts,
    OracleChoice,
    Reports,
    choose_question,
    count_reports,
    require_points,
)
from dplib.clustering.local.tree import MAX_CODE_BITS, LocalTree, best_depth
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.space import UNITS, Space
from dplib.clustering.weighted_kmeans import nearest_centers
from dplib.randomness.user_streams import UserStreams
from dplib.validate import between, require

PROJECTED_DIMENSION = 3
N_ROUNDS = 2
SUMS = "sums"
_REACH = 1.0
_BALL = Space.ball([0.0] * PROJECTED_DIMENSION, 1.0)


class SumOracle(Protocol):
    """Sums of vectors by group, as `dplib.mechanisms.local.vector_sums.VectorSums`."""

    @property
    def epsilon(self) -> Fraction:
        """Privacy of one report."""

    @property
    def deviation(self) -> float:
        """Largest standard deviation of one report in one coordinate."""

    def randomize(self, streams: UserStreams, groups: IntArray, vectors: IntArray, /) -> Reports:
        """One report a user."""

    def aggregate(self, reports: Reports, /) -> IntArray:
        """Integers that merge by addition; the first is the number of reports."""

    def estimate(self, counts: IntArray, /) -> FloatArray:
        """Sums of each group, shape (k, d)."""


@dataclass(frozen=True)
class ProjectedTree:
    """What clients and server agree on (`dplib.clustering.local.questions.Rounds`).

    Attributes:
        problem: the settings; the space has at least 4 dimensions.
        depth: levels of the tree in the projection.
        oracle: the frequency oracle for a number of cubes.
        sums: the oracle of sums for numbers of groups and coordinates and the largest squared length; the same epsilon.
    """

    problem: Problem
    depth: int
    oracle: OracleChoice
    sums: Callable[[int, int, int], SumOracle]
    n_rounds = N_ROUNDS

    def __post_init__(self) -> None:
        d = self.problem.space.dimension
        require(d > PROJECTED_DIMENSION, "dimension", f"be above {PROJECTED_DIMENSION} for a projected tree", d)
        same = self.tree.questions.epsilon == self._sums.epsilon
        require(same, "epsilon", "be the same in both rounds", "two of them")

    @staticmethod
    def best_depth(n_users: int, report_variance: float) -> int:
        """Levels of the tree for about ``n_users`` users: one more than for as many points that fill the ball."""
        deepest = MAX_CODE_BITS // PROJECTED_DIMENSION
        return min(deepest, 1 + best_depth(PROJECTED_DIMENSION, n_users // 2, report_variance))

    @cached_property
    def tree(self) -> LocalTree:
        """The protocol of round 1, for projected points."""
        return LocalTree(replace(self.problem, space=_BALL), self.depth, self.oracle)

    @property
    def _sums(self) -> SumOracle:
        space = self.problem.space
        return self.sums(self.problem.n_clusters, space.dimension, space.norm_squared)

    def question_names(self, number: int) -> list[str]:
        """The levels, or the one question about sums."""
        return [SUMS] if number else self.tree.question_names()

    def project(self, points: IntArray) -> IntArray:
        """Points in units of the projected ball, shape (n, 3)."""
        space, d = self.problem.space, self.problem.space.dimension
        reach = sqrt(space.norm_squared) * min(1.0, _REACH * sqrt(PROJECTED_DIMENSION / d))
        return _BALL.to_units((points.astype(np.float64) @ self._steps) / (UNITS * reach))

    @cached_property
    def _steps(self) -> FloatArray:
        """Orthogonal directions, shape (d, 3); whole steps make each sum exact, whatever block a point is in."""
        d = self.problem.space.dimension
        drawn = np.random.default_rng([self.problem.seed, d]).normal(size=(d, PROJECTED_DIMENSION))
        return np.asarray(np.rint(np.linalg.qr(drawn)[0] * UNITS))

    def encode(self, streams: UserStreams, points: IntArray, number: int, places: FloatArray) -> Answers:
        """The clients' part of one round; places in round 1: the published centers in the projection, shape (k, 3)."""
        require_points(points, streams, self.problem.space.dimension)
        between("number of the round", number, -1, N_ROUNDS)
        rows = np.flatnonzero(choose_question(streams.under("round"), [1, 1]) == number)
        asked, own = streams.of(rows), points[rows]
        if number == 0:
            return self.tree.encode(asked.under("tree"), self.project(own))
        nearest = np.zeros(len(rows), dtype=np.int64)
        nearest_centers(self.project(own).astype(np.float64), np.ascontiguousarray(places), nearest)
        return (self._sums.randomize(asked.under(SUMS), nearest, own),)

    def aggregate(self, answers: Answers, number: int, places: FloatArray) -> Counts:
        """Add the reports of one round up."""
        del places
        return (self._sums.aggregate(answers[0]),) if number else self.tree.aggregate(answers)

    def places_after(self, collected: Sequence[Counts]) -> FloatArray:
        """The server's part after round 1: k centers in the projection; before it none."""
        return self.tree.cluster(collected).centers if collected else np.empty((0, PROJECTED_DIMENSION))

    def cluster(self, collected: Sequence[Counts]) -> Clustering:
        """The server's part after round 2: centers in all dimensions."""
        in_tree, in_sums = map(count_reports, collected)
        published, n_users = self.tree.cluster(collected), in_tree + in_sums
        times = n_users / max(1, in_tree), n_users / max(1, in_sums)
        weights, noise = published.weights * times[0], self._sums.deviation * sqrt(in_sums) * times[1]
        divisors = np.maximum(weights, 1.0)[:, np.newaxis]
        sums = self._sums.estimate(collected[1][0]) * times[1]
        mean, spreads = sums.sum(axis=0) / max(n_users, 1), noise / divisors[:, 0]
        away = sums / divisors - mean
        # One square unit is far below any noise; the bound only keeps the quotient finite.
        lengths = np.maximum((away**2).sum(axis=1), 1.0)
        kept = np.maximum(0.0, 1 - self.problem.space.dimension * spreads**2 / lengths)
        return replace(
            published,
            centers=self.problem.space.clip(mean + kept[:, np.newaxis] * away),
            weights=weights,
            deviations=np.full((len(weights), self.problem.space.dimension), np.nan),
            choices={**published.choices, "rounds": N_ROUNDS, "projected dimension": PROJECTED_DIMENSION},
            cells=None,
            cell_weights=None,
        )
