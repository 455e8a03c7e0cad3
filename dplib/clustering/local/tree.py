"""`ldp_tree`: k-means in the local model, in one round, pure epsilon for every user.

Public: the space, a tree of cubes over it (level l has 2^(d l) cubes), a frequency oracle for each level.

Client. A user asks the keyed hash of their name for a level, finds the cube of their point at that level and sends a
randomized report of it: one report a user, epsilon-private by itself (`dplib.clustering.local.questions`). A user
without a usable point reports for the middle of the space, so that silence tells nothing.

Server. The estimates of all levels, scaled to all N users, are made consistent by generalized least squares (each
cube's own estimate and the sum of its children's, weighted by their variances; the root is N exactly). From the root
down, a cube is cut up while its weight is above two standard deviations of what its children's estimates add up to;
children's weights are the nearest non-negative ones that add up to their parent's. The leaves, weighted, are the
coreset: weighted k-means of their middles gives the centers. All of it is post-processing.

This is the shape of Chang et al.'s protocol, hierarchical nets and a greedily grown tree over noisy counts, with
cubes for nets. Their additional vector sums bring centers back from a projection to all dimensions; with at most
6 dimensions no projection is needed, and the middles of the cubes are known.

Cost: client 0.1 to 0.5 CPU seconds a million users; server O(number of cubes). The error of a leaf's weight is
sqrt(L N v), v the oracle's variance per report: the local model needs sqrt(N) times as many users as a central release.

References:
    Chang, Ghazi, Kumar, Manurangsi: Locally private k-means in one round. ICML 2021, algorithms 2 to 5.
    Hay, Rastogi, Miklau, Suciu: Boosting the accuracy of differentially private histograms through consistency. VLDB
    2010, theorem 3 (here with one variance a level).
    Har-Peled, Mendel: Fast construction of nets in low-dimensional metrics. SIAM J. Comput. 35(5), 2006 (net trees).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.quadtree import MAX_DIMENSION, CubeCodes
from dplib.clustering.local.coreset import Coreset, cluster_coreset
from dplib.clustering.local.questions import (
    Answers,
    Counts,
    Estimate,
    OracleChoice,
    Question,
    Questions,
    count_reports,
    require_points,
)
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.weights import nearest_weights
from dplib.randomness.user_streams import UserStreams
from dplib.validate import between, require

MAX_CODE_BITS = 20
_DEVIATIONS = 2.0
_MIN_SIGNAL = 0.4  # evenly spread users of a leaf, in standard deviations of its estimate, times 2^-d


@dataclass(frozen=True, eq=False)
class LevelTotals:
    """Estimates of one level of the tree, scaled to all users, and mixed with those of the levels below.

    Attributes:
        totals: of all cubes, shape (m,).
        variance: of a cube's total, one for all cubes: what weighs levels against each other.
    """

    totals: FloatArray
    variance: float

    @classmethod
    def measured(cls, estimate: Estimate, n_users: float) -> "LevelTotals":
        """The level's own estimates."""
        times = n_users / max(1, estimate.n_reports)
        # Of nobody's answers the variance is not 0 but unknown: then the level counts for hardly anything.
        raw = np.asarray(estimate.variance) if estimate.n_reports else 0 * estimate.counts + max(n_users, 1.0) ** 2
        return cls(estimate.counts * times, float(np.maximum(raw * times**2, 1e-9).mean()))

    def over(self, below: "LevelTotals", children: int) -> "LevelTotals":
        """Own estimates mixed with the sums of the totals below, by their variances."""
        sums, spread = below.totals.reshape(-1, children).sum(axis=1), children * below.variance
        own = spread / (spread + self.variance)
        return LevelTotals(own * self.totals + (1 - own) * sums, self.variance * own)


def best_depth(dimension: int, n_users: int, report_variance: float) -> int:
    """Levels of the tree for about ``n_users`` users, from public settings.

    The deepest tree in whose leaves evenly spread users would number at least 0.4 2^-d standard deviations of the
    estimate: clusters fill a part of the space, the less the more dimensions it has, and are denser there.

    Args:
        dimension: d.
        n_users: expected number of reports.
        report_variance: variance per report of the oracle of a large domain.
    """
    depth = 1
    while dimension * (depth + 1) <= MAX_CODE_BITS:
        noise = sqrt((depth + 1) * max(n_users, 1) * report_variance)
        if n_users / 2.0 ** (dimension * (depth + 1)) < _MIN_SIGNAL * noise / 2.0**dimension:
            break
        depth += 1
    return depth


@dataclass(frozen=True)
class LocalTree:
    """What clients and server agree on (`dplib.clustering.local.questions.Rounds`).

    Attributes:
        problem: the settings; the space has at most 6 dimensions.
        depth: levels below the root.
        oracle: the frequency oracle for a number of cubes.
    """

    problem: Problem
    depth: int
    oracle: OracleChoice
    n_rounds = 1

    def __post_init__(self) -> None:
        require(self._d <= MAX_DIMENSION, "dimension", "be at most 6 for ldp_tree", self._d)
        between("depth", self.depth, 0, MAX_CODE_BITS // self._d + 1)

    @property
    def _d(self) -> int:
        return self.problem.space.dimension

    @cached_property
    def questions(self) -> Questions:
        """One question a level: in which cube is your point?"""
        sizes = {level: 1 << self._d * level for level in range(1, self.depth + 1)}
        return Questions(tuple(Question(f"level {level}", self.oracle(size)) for level, size in sizes.items()))

    @cached_property
    def _cubes(self) -> CubeCodes:
        return CubeCodes(self.problem.space.half_widths, self.depth)

    def question_names(self, number: int = 0) -> list[str]:
        """The levels."""
        del number
        return self.questions.names

    def encode(
        self, streams: UserStreams, points: IntArray, number: int = 0, places: FloatArray | None = None
    ) -> Answers:
        """The clients' part: one report a user, by level."""
        del number, places
        require_points(points, streams, self._d)
        codes = self._cubes.codes(points)

        def answer(place: int, rows: IntArray) -> IntArray:
            return np.asarray(codes[rows] >> self._d * (self.depth - 1 - place))

        return self.questions.encode(streams, answer)

    def aggregate(self, answers: Answers, number: int = 0, places: FloatArray | None = None) -> Counts:
        """Add reports up."""
        del number, places
        return self.questions.aggregate(answers)

    def places_after(self, collected: Sequence[Counts]) -> FloatArray:
        """None: nothing is published before the only round."""
        return np.empty((0, self._d))

    def cluster(self, collected: Sequence[Counts]) -> Clustering:
        """The server's part: centers from the merged counts of all users' reports."""
        coreset = self.coreset(collected[0])
        return cluster_coreset("ldp_tree", coreset, self.problem, self.questions, {"levels": self.depth})

    def coreset(self, counts: Counts) -> Coreset:
        """The leaves of the pruned tree."""
        n_users = float(count_reports(counts))
        levels = self._consistent(counts, n_users)
        children, cubes = 1 << self._d, self._cubes
        nodes, mass = np.zeros(1, dtype=np.int64), np.array([n_users])
        found: list[tuple[FloatArray, FloatArray]] = []
        for number, level in enumerate(levels):
            nodes = np.asarray((nodes[:, np.newaxis] * children + np.arange(children)).ravel())
            mass = np.asarray(nearest_weights(level.totals[nodes].reshape(-1, children), mass).ravel())
            cut = np.zeros(len(nodes), dtype=np.bool_)
            if number + 1 < self.depth:
                cut = mass > _DEVIATIONS * np.sqrt(children * levels[number + 1].variance)
            leaf, below = (mass > 0) & ~cut, self.depth - 1 - number
            places = cubes.places(nodes[leaf] << self._d * below, np.full(int(leaf.sum()), number + 1))
            found.append((self.problem.space.clip(places), mass[leaf]))
            nodes, mass = nodes[cut], mass[cut]
        return Coreset(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _consistent(self, counts: Counts, n_users: float) -> list[LevelTotals]:
        """Least-squares totals of all cubes by level."""
        children = 1 << self._d
        found: list[LevelTotals] = []
        for estimate in reversed(self.questions.estimate(counts)):
            level = LevelTotals.measured(estimate, n_users)
            found.insert(0, level.over(found[0], children) if found else level)
        parents = np.array([n_users])
        for level in found:
            family = level.totals.reshape(-1, children)
            parents = (family + ((parents - family.sum(axis=1)) / children)[:, np.newaxis]).ravel()
            level.totals[:] = parents
        return found
