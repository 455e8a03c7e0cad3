"""`ldp_hash_rounds`: k-means in the local model by hashing, heavy hitters and rounds; pure epsilon for every user.

Stemmer's protocol. Public: the space and, for each scale s = 1 ... S, a hash function that sends near points to one
bucket: a grid of side 2^-s of the space's, shifted at random. Users are split by a keyed hash of their names over the S
questions of the first round and the three further rounds; each answers once, with a frequency oracle's report.

1. *Buckets.* Which bucket of scale s holds your point? The server keeps the heavy ones; their middles are candidates.
2. *First assignment.* Which candidate is nearest? Candidates without much support are dropped.
3. *Second assignment.* Which remaining candidate is nearest? From the weights the server draws candidates one after the
   other with probability proportional to weight times squared distance to those drawn (as k-means++ does, on noisy
   weights: post-processing, not an exponential mechanism), many more than k.
4. *Weights.* Which drawn candidate is nearest? Weighted k-means of the drawn candidates gives the centers.

Chaturvedi et al. have the same shape, with fewer rounds. Where the dimension is at most 6, buckets can be enumerated
and their middles are known: heavy hitters are read off a frequency oracle for all buckets. In more dimensions both
papers need averages of buckets, whose noise grows with sqrt(d); such spaces are refused.

`ldp_tree` needs one round for about the same loss; this is the protocol of the literature with rounds.

Cost: client O(candidates) a user in the later rounds; one pass over the users a round.

References:
    Stemmer: Locally private k-means clustering. SODA 2020; JMLR 22, 2021, algorithms 1 and 2.
    Chaturvedi, Jones, Nguyen: Locally private k-means clustering with constant multiplicative approximation and
    near-optimal additive error. AAAI 2022.
    Bassily, Nissim, Stemmer, Thakurta: Practical locally private heavy hitters. NeurIPS 2017.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.quadtree import MAX_DIMENSION
from dplib.clustering.local.buckets import Buckets
from dplib.clustering.local.coreset import Coreset, cluster_coreset
from dplib.clustering.local.questions import (
    Answers,
    Counts,
    Estimate,
    OracleChoice,
    Question,
    Questions,
    choose_question,
    count_reports,
    require_points,
)
from dplib.clustering.local.tree import MAX_CODE_BITS
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.start import spread_centers
from dplib.clustering.weighted_kmeans import nearest_centers
from dplib.clustering.weights import nearest_weights
from dplib.randomness.user_streams import UserStreams
from dplib.validate import between, require

N_ROUNDS = 4
_HEAVY = 3.0  # standard deviations of a bucket's estimate that make it heavy
_SUPPORTED = 1.0  # and of a candidate's
_MAX_CANDIDATES = 512
_DRAWN_FOR_A_CENTER = 20


@dataclass(frozen=True)
class HashRounds:
    """What clients and server agree on before the first round (`dplib.clustering.local.questions.Rounds`).

    Attributes:
        problem: the settings; the space has at most 6 dimensions.
        n_scales: S, sides from 1/2 to 2^-S of the space's.
        oracle: the frequency oracle for a number of values.
    """

    problem: Problem
    n_scales: int
    oracle: OracleChoice
    n_rounds = N_ROUNDS

    def __post_init__(self) -> None:
        d = self.problem.space.dimension
        require(d <= MAX_DIMENSION, "dimension", f"be at most {MAX_DIMENSION} for ldp_hash_rounds", d)
        between("n_scales", self.n_scales, 0, MAX_CODE_BITS // d + 1)

    @cached_property
    def _buckets(self) -> tuple[Buckets, ...]:
        halves, seed = self.problem.space.half_widths, self.problem.seed
        return tuple(Buckets.at_scale(halves, scale, seed) for scale in range(1, self.n_scales + 1))

    @property
    def _shares(self) -> list[int]:
        # As many users for each later round as for all buckets together would leave the buckets too few.
        return [2] * self.n_scales + [self.n_scales] * (N_ROUNDS - 1)

    def question_names(self, number: int) -> list[str]:
        """The scales, or one question about the places."""
        return self._questions(number, 0).names

    def encode(self, streams: UserStreams, points: IntArray, number: int, places: FloatArray) -> Answers:
        """The clients' part of one round: reports of the users who are asked in it."""
        require_points(points, streams, self.problem.space.dimension)
        between("number of the round", number, -1, N_ROUNDS)
        asked = choose_question(streams, self._shares)
        first = 0 if number == 0 else self.n_scales + number - 1
        reports = []
        for place, question in enumerate(self._questions(number, len(places)).questions):
            rows = np.flatnonzero(asked == first + place)
            if number == 0:
                values = self._buckets[place].values(points[rows])
            else:
                values = np.zeros(len(rows), dtype=np.int64)
                nearest_centers(points[rows].astype(np.float64), np.ascontiguousarray(places), values)
            reports.append(question.oracle.randomize(streams.of(rows).under(question.name), values))
        return tuple(reports)

    def aggregate(self, answers: Answers, number: int, places: FloatArray) -> Counts:
        """Add the reports of one round up."""
        return self._questions(number, len(places)).aggregate(answers)

    def places_after(self, collected: Sequence[Counts]) -> FloatArray:
        """The places after the rounds so far, at most the first three; without any there are none."""
        between("number of rounds", len(collected), -1, N_ROUNDS)
        places = np.empty((0, self.problem.space.dimension))
        for number, counts in enumerate(collected):
            places = self._publish(counts, number, places)
        return places

    def _publish(self, counts: Counts, number: int, places: FloatArray) -> FloatArray:
        """The places after a round, m at least 1."""
        estimates = self._questions(number, len(places)).estimate(counts)
        if number == 0:
            space = self.problem.space
            found = [
                space.clip(buckets.middles(_heaviest(estimate, _HEAVY, _MAX_CANDIDATES // self.n_scales)))
                for buckets, estimate in zip(self._buckets, estimates, strict=True)
            ]
            candidates = np.unique(np.concatenate(found), axis=0)
            return candidates if len(candidates) else spread_centers(space, self.problem.n_clusters, self.problem.seed)
        if number == 1:
            # A single place has a second value beside it, which is nobody's.
            kept = _heaviest(estimates[0], _SUPPORTED, estimates[0].counts.size)
            kept = kept[kept < len(places)]
            return places[kept] if len(kept) else places
        return self._draw(places, _weights(estimates[0]))

    def cluster(self, collected: Sequence[Counts]) -> Clustering:
        """The server's part after the last round: centers, with weights that stand for all users."""
        places, last = self.places_after(collected[:-1]), N_ROUNDS - 1
        estimate, kept = self._questions(last, len(places)).estimate(collected[last])[0], len(places)
        n_users = sum(map(count_reports, collected))
        times = n_users / max(1, estimate.n_reports)
        coreset = Coreset(places, _weights(estimate)[:kept] * times)
        choices: dict[str, str | int | float] = {"rounds": N_ROUNDS, "scales": self.n_scales}
        return cluster_coreset("ldp_hash_rounds", coreset, self.problem, self._questions(last, kept), choices)

    def _questions(self, number: int, n_places: int) -> Questions:
        if number == 0:
            buckets = enumerate(self._buckets, start=1)
            return Questions(tuple(Question(f"scale {scale}", self.oracle(b.n_values)) for scale, b in buckets))
        # An oracle needs two values; with one place the second is nobody's.
        return Questions((Question(f"round {number}", self.oracle(max(2, n_places))),))

    def _draw(self, places: FloatArray, weights: FloatArray) -> FloatArray:
        """Draw places by weight times squared distance to those drawn, the first by weight alone."""
        generator = np.random.default_rng([self.problem.seed, len(places)])
        weights = weights[: len(places)]
        nearest = np.ones(len(places))
        drawn: list[int] = []
        for _ in range(min(_DRAWN_FOR_A_CENTER * self.problem.n_clusters, len(places))):
            mass = weights * nearest
            if mass.sum() <= 0:
                break
            drawn.append(int(generator.choice(len(places), p=mass / mass.sum())))
            distance = ((places - places[drawn[-1]]) ** 2).sum(axis=1)
            nearest = distance if len(drawn) == 1 else np.minimum(nearest, distance)
        return places[sorted(set(drawn))] if drawn else places


def _heaviest(estimate: Estimate, deviations: float, most: int) -> IntArray:
    """Values whose estimates exceed some standard deviations of a rare value's, the largest first; at most ``most``."""
    threshold = deviations * np.sqrt(estimate.variance)
    heavy = np.flatnonzero((estimate.counts > threshold) & (estimate.counts > 0))
    return heavy[np.argsort(-estimate.counts[heavy], kind="stable")][:most]


def _weights(estimate: Estimate) -> FloatArray:
    """The nearest non-negative weights that add up to the number of reports."""
    return np.asarray(nearest_weights(estimate.counts[np.newaxis], np.array([float(estimate.n_reports)]))[0])
