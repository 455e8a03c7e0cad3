"""The local model: every user randomizes one report about their own point, and nobody sees the points.

Guarantee. Any two values of one user give any report with probabilities that differ at most by e^epsilon; which
question a user is asked follows from the name alone. A user has one row (of several a keyed hash keeps one), and who
has no usable point reports for the middle of the space, so that silence tells nothing. That somebody reports is public.

Simulation and server. With rows that are points the job draws the reports itself: it holds the points, so the guarantee
is for readers of what is stored, not against whoever runs it. Every user draws from a stream of their own, named by the
measurement key and the user (`dplib.randomness.user_streams`), so that a partition that is computed again, anywhere and
in any order, sends the same reports. With rows that are reports (`input.columns.report`, `dplib.kmeans.report_text`)
users made them where nobody else saw their points, and the job only adds them up; what is charged is what the reports
have spent.

What is stored are the merged reports of every question: integers that are all the server's part needs. Passes: one a
round.

References: `dplib.clustering.local_tree`, `dplib.clustering.local_rounds`, `dplib.clustering.noisy_coordinates`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dplib.clustering.local_questions import Counts
from dplib.clustering.local_rounds import N_ROUNDS, HashRounds
from dplib.clustering.local_tree import LocalTree, best_depth
from dplib.clustering.noisy_coordinates import NoisyCoordinates
from dplib.clustering.problem import Clustering
from dplib.clustering.record import Record
from dplib.clustering.row_hash import hash_rows
from dplib.clustering.source import Keyed, PointSource, Summary, dense
from dplib.errors import IntegrityError
from dplib.kmeans.design import Design
from dplib.mechanisms.choose_oracle import choose_oracle, rare_variance
from dplib.mechanisms.noisy_vector import NoisyVector
from dplib.randomness.user_streams import UserStreams
from dplib.spark.points import named_points

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
COLLECTION = "kmeans"
_LARGE = 1 << 12
"""Size of the domain whose oracle's variance decides the number of levels."""


class Collector(Protocol):
    """Where merged reports come from."""

    def merged(self, names: Sequence[str], sizes: Sequence[int], summary: Summary) -> Counts:
        """The merged reports of some questions, one array of a given size each."""

    def vectors(self, name: str, summary: Summary) -> IntArray:
        """Different noisy vectors with how often each came, shape (m, 1 + d)."""


def cluster_users(design: Design, collector: Collector, key: bytes) -> Clustering:
    """Ask the users and cluster.

    Args:
        design: of the local model.
        collector: simulates the users, adds up what they sent, or returns what is stored.
        key: of the users' streams; unused where nothing is simulated.
    """
    match design.method:
        case "ldp_tree":
            tree = local_tree(design)
            found = collector.merged(question_names(tree), question_sizes(tree), TreeReports(tree, key))
            return tree.cluster(found, design.problem)
        case "ldp_hash_rounds":
            return _rounds(design, collector, key)
        case _:
            protocol = NoisyCoordinates(design.frame.space, partial(NoisyVector, epsilon=design.budget))
            found_vectors = collector.vectors("noisy points", NoisyPoints(protocol, key))
            times, sums = found_vectors[:, 0], found_vectors[:, 1:]
            reports = np.repeat(sums // np.maximum(times, 1)[:, np.newaxis], times, axis=0)
            return protocol.cluster(reports, design.problem)


def local_tree(design: Design) -> LocalTree:
    """The tree of a design; it follows from settings alone."""
    local, space = design.config.clustering.local, design.frame.space
    oracle = partial(choose_oracle, epsilon=design.budget, name=local.oracle)
    # The variance of a large domain's report stands for all levels.
    variance = float(rare_variance(choose_oracle(_LARGE, design.budget)))
    return LocalTree(space, best_depth(space.dimension, local.expected_users, variance), oracle)


def question_names(tree: LocalTree) -> list[str]:
    """Names of a tree's questions, in order."""
    return [question.name for question in tree.questions.questions]


def question_sizes(tree: LocalTree) -> list[int]:
    """Number of merged integers of each question."""
    return [len(counts) for counts in tree.aggregate(tree.encode(*_nobody(tree.dimension)))]


def _nobody(dimension: int) -> tuple[UserStreams, IntArray]:
    names = np.empty((0, 3), dtype="<u4")
    return UserStreams(bytes(32), names), np.empty((0, dimension), dtype=np.int64)


def _rounds(design: Design, collector: Collector, key: bytes) -> Clustering:
    local, problem = design.config.clustering.local, design.problem
    oracle = partial(choose_oracle, epsilon=design.budget, name=local.oracle)
    variance = float(rare_variance(choose_oracle(_LARGE, design.budget)))
    protocol = HashRounds(problem, best_depth(problem.space.dimension, local.expected_users, variance), oracle)
    places = np.empty((0, problem.space.dimension))
    for number in range(N_ROUNDS):
        empty = protocol.encode(*_nobody(problem.space.dimension), number, places)
        sizes = [len(counts) for counts in protocol.aggregate(empty, number, places)]
        names = [f"round {number + 1}, question {place + 1}" for place in range(len(sizes))]
        counts = collector.merged(names, sizes, RoundReports(protocol, key, number, places))
        if number < N_ROUNDS - 1:
            places = protocol.publish(counts, number, places)
    return protocol.cluster(counts, places)


@dataclass(frozen=True)
class TreeReports:
    """Summary of users: the merged reports of all questions, one after the other."""

    tree: LocalTree
    key: bytes = field(repr=False)

    @property
    def width(self) -> int:
        """One integer under each key."""
        return 1

    def __call__(self, rows: IntArray) -> Keyed:
        """Summarise a block."""
        names, points = named_points(rows)
        streams = UserStreams(self.key, names, COLLECTION)
        return _joined(self.tree.aggregate(self.tree.encode(streams, points)))


@dataclass(frozen=True)
class RoundReports:
    """Summary of users: the merged reports of one round."""

    protocol: HashRounds
    key: bytes = field(repr=False)
    number: int
    places: FloatArray

    @property
    def width(self) -> int:
        """One integer under each key."""
        return 1

    def __call__(self, rows: IntArray) -> Keyed:
        """Summarise a block."""
        names, points = named_points(rows)
        answers = self.protocol.encode(UserStreams(self.key, names, COLLECTION), points, self.number, self.places)
        return _joined(self.protocol.aggregate(answers, self.number, self.places))


@dataclass(frozen=True)
class NoisyPoints:
    """Summary of users by a hash of the report: how many sent it, and its sum."""

    protocol: NoisyCoordinates
    key: bytes = field(repr=False)

    @property
    def width(self) -> int:
        """A number and d coordinates."""
        return 1 + self.protocol.space.dimension

    def __call__(self, rows: IntArray) -> Keyed:
        """Summarise a block."""
        names, points = named_points(rows)
        noisy = self.protocol.encode(UserStreams(self.key, names, COLLECTION), points)
        keys, place = np.unique(hash_rows(noisy, 0), return_inverse=True)
        totals = np.zeros((len(keys), self.width), dtype=np.int64)
        np.add.at(totals, place, np.concatenate([np.ones((len(noisy), 1), dtype=np.int64), noisy], axis=1))
        return keys, totals


def _joined(counts: Counts) -> Keyed:
    joined = np.concatenate(counts)
    return np.arange(len(joined)), joined[:, np.newaxis]


class Simulated:
    """Users who are simulated; keeps what they sent, merged, in ``records``."""

    def __init__(self, source: PointSource) -> None:
        self._source = source
        self.records: list[Record] = []

    def merged(self, names: Sequence[str], sizes: Sequence[int], summary: Summary) -> Counts:
        """One pass over the users."""
        joined = dense(self._source.total(summary), sum(sizes), 1)[:, 0]
        parts = tuple(np.split(joined, np.cumsum(sizes)[:-1]))
        self.records += list(zip(names, parts, strict=True))
        return parts

    def vectors(self, name: str, summary: Summary) -> IntArray:
        """One pass over the users."""
        # With nobody there is a table without rows: a measurement without any file could not be published.
        found = self._source.total(summary)[1]
        self.records.append((name, found))
        return found


class Stored:
    """What was stored of a collection."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = iter(records)

    def merged(self, names: Sequence[str], sizes: Sequence[int], summary: Summary) -> Counts:
        """The next stored arrays."""
        del summary
        return tuple(self._next(name, (size,)) for name, size in zip(names, sizes, strict=True))

    def vectors(self, name: str, summary: Summary) -> IntArray:
        """The next stored array; none where nobody reported."""
        found = next(self._records, (name, np.empty((0, summary.width), dtype=np.int64)))
        return self._checked(found, name, (len(found[1]), summary.width))

    def _next(self, name: str, shape: tuple[int, ...]) -> IntArray:
        return self._checked(next(self._records, ("nothing", np.empty(0, dtype=np.int64))), name, shape)

    def _checked(self, record: Record, name: str, shape: tuple[int, ...]) -> IntArray:
        if record[0] != name or record[1].shape != shape:
            raise IntegrityError(f"stored measurement must hold {name} of shape {shape} next, got {record[0]}")
        return record[1]
