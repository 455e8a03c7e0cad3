"""How the local methods of one round ask, and how their reports look as bytes (`dplib.jobs.kmeans.report_text`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.clustering.local.noisy_coordinates import STEPS, NoisyCoordinates
from dplib.clustering.local.questions import Answers, Oracle, Reports, keyed_counts
from dplib.clustering.local.tree import LocalTree
from dplib.clustering.source import Keyed
from dplib.errors import ConfigError
from dplib.jobs.kmeans.collection import Collection
from dplib.mechanisms.local.generalized_response import GeneralizedResponse
from dplib.mechanisms.local.hadamard_response import HadamardResponse
from dplib.mechanisms.local.local_hashing import LocalHashing
from dplib.randomness.user_streams import UserStreams

_FARTHEST = STEPS << 30
"""Noisy coordinates beyond it are no reports: the noise of a usable budget never gets there, and sums of those below
fit 64 bits."""


@dataclass(frozen=True)
class Form:
    """How a question's reports look as bytes.

    Attributes:
        ends: of each integer, from `start` to below the end; None for packed bits.
        start: least value of every integer.
        n_bits: number of packed bits.
        flat: whether a report is one integer, not a row of integers.
    """

    ends: tuple[int, ...] | None
    start: int = 0
    n_bits: int = 0
    flat: bool = False

    @classmethod
    def of(cls, oracle: Oracle) -> "Form":
        """The form of an oracle's reports."""
        if isinstance(oracle, GeneralizedResponse):
            return cls((oracle.n_values,), flat=True)
        if isinstance(oracle, HadamardResponse):
            return cls((2 * oracle.order,), flat=True)
        if isinstance(oracle, LocalHashing):
            n_masks = oracle.n_buckets.bit_length() - 1
            return cls((*[oracle.order] * n_masks, oracle.n_buckets))
        return cls(None, n_bits=oracle.n_values)

    @property
    def n_bytes(self) -> int:
        """Length of a report."""
        return 8 * (-(-self.n_bits // 64) if self.ends is None else len(self.ends))

    def decoded(self, payloads: Sequence[bytes]) -> Reports:
        """Reports of the right length as the oracle's own array."""
        joined = b"".join(payloads)
        if self.ends is None:
            return np.frombuffer(joined, dtype=np.uint8).reshape(len(payloads), self.n_bytes)
        numbers = np.frombuffer(joined, dtype="<i8").astype(np.int64)
        return numbers if self.flat else numbers.reshape(len(payloads), len(self.ends))

    def possible(self, reports: Reports) -> BoolArray:
        """Which reports the oracle can give, shape (n,)."""
        if self.ends is None:
            bits = np.unpackbits(reports, axis=1, bitorder="little")
            return np.asarray(~bits[:, self.n_bits :].any(axis=1))
        numbers = np.asarray(reports).reshape(len(reports), len(self.ends))
        return np.asarray(((numbers >= self.start) & (numbers < np.array(self.ends))).all(axis=1))


@dataclass(frozen=True)
class TextProtocol:
    """A method of one round, as far as texts need it.

    Attributes:
        forms: one a question.
        width: integers under each key of what is merged.
        asked: the position of each user's question, shape (n,).
        encode: reports of users with their points, by question.
        merge: totals that add.
    """

    forms: tuple[Form, ...]
    width: int
    asked: Callable[[UserStreams], IntArray]
    encode: Callable[[UserStreams, IntArray], Answers]
    merge: Callable[[Answers], Keyed]


def text_protocol(collection: Collection) -> TextProtocol:
    """How a method asks.

    Raises:
        ConfigError: if it has rounds: a text that is made once cannot answer what is asked later.
    """
    if collection.method == "noisy_coordinates":
        return _one_noisy_vector(collection.noisy_points)
    rounds = collection.rounds
    if isinstance(rounds, LocalTree):
        return _one_level(rounds)
    raise ConfigError(
        "method",
        "ask in one round for reports of devices",
        f"{collection.method} in {collection.dimension} dimensions, which has {rounds.n_rounds} rounds",
    )


def _one_level(tree: LocalTree) -> TextProtocol:
    """`ldp_tree` in at most 6 dimensions: a question a level, whose merged integers stand one after the other."""
    return TextProtocol(
        forms=tuple(Form.of(question.oracle) for question in tree.questions.questions),
        width=1,
        asked=tree.questions.asked,
        encode=tree.encode,
        merge=lambda answers: keyed_counts(tree.aggregate(answers)),
    )


def _one_noisy_vector(points: NoisyCoordinates) -> TextProtocol:
    """`noisy_coordinates`: one question; different vectors, how often each came and their sums."""
    d = points.space.dimension
    return TextProtocol(
        forms=(Form((_FARTHEST + 1,) * d, start=-_FARTHEST),),
        width=1 + d,
        asked=lambda streams: np.zeros(len(streams), dtype=np.int64),
        encode=lambda streams, given: (points.encode(streams, given),),
        merge=lambda answers: points.merge(answers[0]),
    )
