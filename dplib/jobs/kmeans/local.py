"""The local model: every user randomizes one report about their own point, and nobody sees the points.

Guarantee. Any two values of one user give any report with probabilities that differ at most by e^epsilon; which
question a user is asked follows from the name alone. A user has one row (of several a keyed hash keeps one), and who
has no usable point reports for the middle of the space, so that silence tells nothing. That someone reports is public.

Simulation and server. With rows that are points the job draws the reports itself: it holds the points, so the guarantee
is for readers of what is stored, not against anyone who runs it. Every user draws from a stream of their own, named by
the measurement key and the user (`dplib.randomness.user_streams`), so that a partition that is computed again, anywhere
and in any order, sends the same reports. The measurement key depends on a digest of all users and their points
(`digest_of_users`): an attempt that was broken off and a retry on data with one row changed have no noise in common,
and so no difference of theirs is a difference of rows. With rows that are reports (`input.columns.report`,
`dplib.jobs.kmeans.report_text`) users made them where nobody else saw their points, and the job only adds them up; what
is charged is what the reports have spent.

What is stored are the merged reports of every question: integers that are all the server's part needs. Passes: one a
round.

References: `dplib.clustering.local.tree`, `dplib.clustering.local.projected_tree`,
`dplib.clustering.local.hash_rounds`,
`dplib.clustering.local.noisy_coordinates`.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Protocol

import numpy as np

from dplib.arrays import FloatArray, IntArray, Word32Array
from dplib.clustering.local.noisy_coordinates import NoisyCoordinates
from dplib.clustering.local.questions import Counts, Rounds, keyed_counts
from dplib.clustering.problem import Clustering
from dplib.clustering.record import Record
from dplib.clustering.source import Keyed, PointSource, Summary, dense
from dplib.errors import IntegrityError
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.report_text import STREAMS
from dplib.randomness.user_streams import UserStreams
from dplib.spark.points.points import named_points

_USERS = b"kmeans users"
_DIGEST_WORDS = 8


class Collector(Protocol):
    """Where merged reports come from."""

    def merged(self, names: Sequence[str], sizes: Sequence[int], summary: Summary) -> Counts:
        """The merged reports of some questions, one array of a given size each."""

    def vectors(self, name: str, summary: Summary) -> IntArray:
        """Different noisy vectors with how often each came, shape (m, 1 + d)."""


@dataclass(frozen=True)
class UserKeys:
    """Keys of the users' streams; unused where nothing is simulated.

    Attributes:
        reports: of the randomness in the reports; depends on all users and points.
        questions: of who is asked which question; depends on neither.
    """

    reports: bytes = field(default=bytes(32), repr=False)
    questions: bytes = field(default=bytes(32), repr=False)

    def streams(self, names: Word32Array) -> UserStreams:
        """The streams of some users."""
        return UserStreams(self.reports, names, STREAMS, asking=self.questions)


def cluster_users(collection: Collection, collector: Collector, keys: UserKeys) -> Clustering:
    """Ask the users and cluster; the collector simulates them, adds up what they sent, or returns what is stored."""
    if collection.method == "noisy_coordinates":
        protocol = collection.noisy_points
        found = collector.vectors("noisy points", NoisyPoints(protocol, keys))
        return protocol.cluster(protocol.unmerge(found), collection.problem)
    rounds, collected = collection.rounds, list[Counts]()
    for number in range(rounds.n_rounds):
        places = rounds.places_after(collected)
        names = rounds.question_names(number)
        if rounds.n_rounds > 1:
            names = [f"round {number + 1}, {name}" for name in names]
        sizes = question_sizes(rounds, number, places)
        collected.append(collector.merged(names, sizes, RoundReports(rounds, keys, number, places)))
    return rounds.cluster(collected)


def question_sizes(rounds: Rounds, number: int, places: FloatArray) -> list[int]:
    """Number of merged integers of each question of a round."""
    nobody, nowhere = (
        UserStreams(bytes(32), np.empty((0, 3), dtype="<u4")),
        np.empty((0, rounds.problem.space.dimension), dtype=np.int64),
    )
    empty = rounds.encode(nobody, nowhere, number, places)
    return [len(counts) for counts in rounds.aggregate(empty, number, places)]


def digest_of_users(source: PointSource, key: bytes) -> bytes:
    """A keyed digest of who the users are and what their points are, the same in every order and layout. NOT PUBLIC.

    The source is of `dplib.spark.points.points.block_users`.
    """
    own = hmac.digest(key, _USERS, "sha256")
    totals = dense(source.total(UserDigest(own)), 1)
    return hmac.digest(own, np.ascontiguousarray(totals, dtype="<i8").tobytes(), "sha256")


@dataclass(frozen=True)
class UserDigest:
    """Summary under key 0: number of users, and the sums of the words of a keyed hash of each user and their point.

    Two lists of users with equal sums would be a coincidence among 2^256, or a forgery without the key: the hashes are
    pseudorandom, and sums of eight words of 32 bits are exact integers up to 2^31 users.

    Attributes:
        key: 16 to 64 bytes.

    References:
        Bellare, Micciancio: A new paradigm for collision-free hashing: incrementality at reduced cost. EUROCRYPT 1997
        (hashes of sets as sums).
    """

    key: bytes = field(repr=False)

    @property
    def width(self) -> int:
        """A number and eight sums."""
        return 1 + _DIGEST_WORDS

    def __call__(self, rows: IntArray) -> Keyed:
        """Summarise a block."""
        users = np.ascontiguousarray(rows, dtype="<i8")
        hashes = b"".join(blake2b(user, key=self.key, digest_size=4 * _DIGEST_WORDS).digest() for user in users)
        words = np.frombuffer(hashes, dtype="<u4").reshape(-1, _DIGEST_WORDS).astype(np.int64)
        return np.zeros(1, dtype=np.int64), np.append([len(rows)], words.sum(axis=0))[np.newaxis].astype(np.int64)


@dataclass(frozen=True)
class RoundReports:
    """Summary of users: the merged reports of one round, its questions one after the other."""

    rounds: Rounds
    keys: UserKeys
    number: int
    places: FloatArray

    @property
    def width(self) -> int:
        """One integer under each key."""
        return 1

    def __call__(self, rows: IntArray) -> Keyed:
        """Summarise a block."""
        names, points = named_points(rows)
        answers = self.rounds.encode(self.keys.streams(names), points, self.number, self.places)
        return keyed_counts(self.rounds.aggregate(answers, self.number, self.places))


@dataclass(frozen=True)
class NoisyPoints:
    """Summary of users by a hash of the report: how many sent it, and its sum."""

    protocol: NoisyCoordinates
    keys: UserKeys

    @property
    def width(self) -> int:
        """A number and d coordinates."""
        return 1 + self.protocol.space.dimension

    def __call__(self, rows: IntArray) -> Keyed:
        """Summarise a block."""
        names, points = named_points(rows)
        return self.protocol.merge(self.protocol.encode(self.keys.streams(names), points))


@dataclass(frozen=True, eq=False)
class SubmittedReports:
    """Reports that units made themselves, merged, in place of a source of points.

    Attributes:
        merged: of all questions (`dplib.spark.points.point_reports.merge_reports`).
    """

    merged: Keyed

    def total(self, summary: Summary) -> Keyed:
        """What was sent, whatever the question."""
        del summary
        return self.merged


class ReportRecorder:
    """Users who are simulated, or whose reports were sent; keeps them, merged, in ``records``."""

    def __init__(self, source: PointSource) -> None:
        self._source = source
        self.records: list[Record] = []

    def merged(self, names: Sequence[str], sizes: Sequence[int], summary: Summary) -> Counts:
        """One pass over the users."""
        joined = dense(self._source.total(summary), sum(sizes))[:, 0]
        parts = tuple(np.split(joined, np.cumsum(sizes)[:-1]))
        self.records += list(zip(names, parts, strict=True))
        return parts

    def vectors(self, name: str, summary: Summary) -> IntArray:
        """One pass over the users."""
        # With nobody there is a table without rows: a measurement without any file could not be published.
        found = self._source.total(summary)[1]
        self.records.append((name, found))
        return found


class ReplayedReports:
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
