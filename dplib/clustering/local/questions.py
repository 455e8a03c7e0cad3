"""The local model's frame: every user answers one question, once, with a randomized report.

Client. A keyed hash of the user's name, independent of any data, gives the user one of the questions; the user's answer
is a value of that question's public domain, and the question's frequency oracle randomizes it. Guarantee: the question
tells nothing about the user, and the report is epsilon-private by its oracle; so the pair is epsilon-private, whatever
the number of questions. Splitting users over L questions costs a factor L in variance, splitting epsilon a factor L^2.

Several rounds are questions too: a user answers in the round of their own question and does not respond in the others.
Whether and when a user speaks depends on the name alone.

Server. Reports of one question add up to integers (`aggregate`), which merge by addition; nothing else is kept.

The oracles come as arguments (`dplib.mechanisms`); this package draws no noise of its own.

References:
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith: What can we learn privately? SIAM J. Comput. 40(3), 2011 (the
    local model; interaction).
    Wang, Blocki, Li, Jha: Locally differentially private protocols for frequency estimation. USENIX Security 2017.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Keyed
from dplib.randomness.user_streams import UserStreams
from dplib.validate import require

Reports = Any
"""Reports of some users to one question: an array, its first axis the users; only its oracle knows its shape."""
Answers = tuple[Reports, ...]
"""Reports of some users, one entry a question."""
Counts = tuple[IntArray, ...]
"""Merged integers, one entry a question; the first integer of each is the number of reports."""


class Estimate(Protocol):
    """What a frequency oracle's server learns: `dplib.mechanisms.local.frequency_oracle.FrequencyEstimate`."""

    @property
    def n_reports(self) -> int:
        """Number of reports."""

    @property
    def counts(self) -> FloatArray:
        """Unbiased estimates of the number of reporting users with each value."""

    @property
    def variance(self) -> FloatArray:
        """Their variances."""


class Oracle(Protocol):
    """A frequency oracle, as `dplib.mechanisms.local.choose_oracle` gives them."""

    @property
    def n_values(self) -> int:
        """Size of the domain."""

    @property
    def epsilon(self) -> Fraction:
        """Privacy of one report."""

    def randomize(self, streams: UserStreams, values: IntArray, /) -> Reports:
        """One report a user."""

    def aggregate(self, reports: Reports, /) -> IntArray:
        """Integers that merge by addition."""

    def estimate(self, counts: IntArray, /) -> Estimate:
        """Counts of values from merged integers."""


class Rounds(Protocol):
    """A whole protocol: rounds of questions, between which the server publishes places.

    All that the server ever knows are the merged reports of the rounds so far, in their order.
    """

    @property
    def problem(self) -> Problem:
        """The settings."""

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""

    def question_names(self, number: int, /) -> list[str]:
        """Names of the questions of a round, in order."""

    def encode(self, streams: UserStreams, points: IntArray, number: int, places: FloatArray, /) -> Answers:
        """The clients' part of one round: reports of those who are asked in it.

        Args:
            streams: the randomness of some users, the same in all rounds, under a label of this collection.
            points: one a user, in units, shape (n, d).
            number: of the round, from 0.
            places: what the server published before it (`places_after`).

        Raises:
            ConfigError: if the points have another shape or the number is no round's.
        """

    def aggregate(self, answers: Answers, number: int, places: FloatArray, /) -> Counts:
        """Add the reports of one round up."""

    def places_after(self, collected: Sequence[Counts], /) -> FloatArray:
        """The server's part between rounds: the next one's places, shape (m, d), from the reports of those before."""

    def cluster(self, collected: Sequence[Counts], /) -> Clustering:
        """The server's part at the end, from the merged reports of all rounds."""


OracleChoice = Callable[[int], Oracle]
"""The oracle for a domain of a given size; epsilon is fixed in it."""


@dataclass(frozen=True)
class Question:
    """What some of the users are asked.

    Attributes:
        name: part of the streams' names; different within a protocol.
        oracle: how the answer is randomized.
    """

    name: str
    oracle: Oracle


@dataclass(frozen=True)
class Questions:
    """All questions of a protocol, of all rounds.

    Attributes:
        questions: at least one.
    """

    questions: tuple[Question, ...]

    def __post_init__(self) -> None:
        require(len(self.questions) > 0, "questions", "be at least one", 0)
        require(len(set(self.names)) == len(self.questions), "names of questions", "differ", "equal ones")
        epsilons = {question.oracle.epsilon for question in self.questions}
        require(len(epsilons) == 1, "epsilon", "be the same for every question", len(epsilons))

    @property
    def epsilon(self) -> Fraction:
        """Privacy of a user, all rounds together."""
        return self.questions[0].oracle.epsilon

    @property
    def names(self) -> list[str]:
        """Of the questions, in order."""
        return [question.name for question in self.questions]

    def asked(self, streams: UserStreams) -> IntArray:
        """The position of each user's question, shape (n,)."""
        return choose_question(streams, [1] * len(self.questions))

    def encode(self, streams: UserStreams, answer: Callable[[int, IntArray], IntArray]) -> Answers:
        """The reports of some users, every user's to their own question.

        Args:
            streams: the users' randomness, under a label of this collection.
            answer: the true answers to the question at a position, of the users at some rows.
        """
        asked = self.asked(streams)
        answers = []
        for place, question in enumerate(self.questions):
            rows = np.flatnonzero(asked == place)
            answers.append(question.oracle.randomize(streams.of(rows).under(question.name), answer(place, rows)))
        return tuple(answers)

    def aggregate(self, answers: Answers) -> Counts:
        """Add reports up."""
        require(len(answers) == len(self.questions), "answers", f"be {len(self.questions)}", len(answers))
        return tuple(q.oracle.aggregate(reports) for q, reports in zip(self.questions, answers, strict=True))

    def estimate(self, counts: Counts) -> list[Estimate]:
        """What the merged reports of each question say."""
        return [q.oracle.estimate(merged) for q, merged in zip(self.questions, counts, strict=True)]


def require_points(points: IntArray, streams: UserStreams, dimension: int) -> None:
    """Refuse points that are not one of as many coordinates for every user."""
    rule = f"be one of {dimension} coordinates a user ({len(streams)})"
    require(points.shape == (len(streams), dimension), "points", rule, points.shape)


def choose_question(streams: UserStreams, shares: Sequence[int]) -> IntArray:
    """The position of each user's question by a keyed hash of the name, in proportion to the shares; shape (n,)."""
    ends = np.cumsum(shares)
    drawn = streams.by_name().under("question").uniform_below(int(ends[-1]))
    return np.searchsorted(ends, drawn, side="right").astype(np.int64)


def keyed_counts(counts: Counts) -> Keyed:
    """Merged reports of all questions, one integer after the other, under keys from 0: they add as totals do."""
    joined = np.concatenate(counts)
    return np.arange(len(joined)), joined[:, np.newaxis]


def count_reports(counts: Counts) -> int:
    """How many reports were merged."""
    return sum(int(question[0]) for question in counts)
