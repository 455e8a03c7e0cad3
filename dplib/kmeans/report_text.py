"""Reports of `ldp_tree` as texts: what a user's device sends, and what the server reads.

A text is ``LEVEL:HEX``: the number of the question from 1, and the randomized report's bytes (little-endian integers of
64 bits, or packed bits of unary encoding) in hexadecimal. Both sides derive the questions from the same public
settings: bounds, epsilon, oracle and expected users.

    from dplib.kmeans.report_text import report_of
    text = report_of(design, key, [0.3, 0.7])       # key: 32 random bytes that never leave the device

Guarantee: `dplib.clustering.local_questions`. The same key, settings and point give the same report: whoever is asked
again repeats it and spends nothing more. Another point, or other settings, give a report that is drawn anew and spends
again: with the same random bits under two budgets, what one report lies about the other could tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dplib.clustering.local_questions import Oracle
from dplib.clustering.local_tree import LocalTree
from dplib.clustering.source import Keyed
from dplib.kmeans.design import Design
from dplib.kmeans.local import COLLECTION, local_tree
from dplib.mechanisms.generalized_response import GeneralizedResponse
from dplib.mechanisms.hadamard_response import HadamardResponse
from dplib.mechanisms.local_hashing import LocalHashing
from dplib.randomness.keyed import Key, derive_key
from dplib.randomness.user_streams import UserStreams, name_users
from dplib.release.canonical import canonical_json

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def report_of(design: Design, key: Key, point: Sequence[float]) -> str:
    """The client's part: one user's report.

    Args:
        design: of the local model, method ``ldp_tree``.
        key: the user's own, at least 32 random bytes.
        point: the coordinates; NaN for what is missing.
    """
    points = design.frame.to_units(np.array([point], dtype=np.float64))
    own = derive_key(key, "report", canonical_json(design.public()), points.astype("<i8").tobytes())
    streams = UserStreams(own, name_users(own, [b"me"]), COLLECTION)
    return report_texts(local_tree(design), streams, points)[0]


def report_texts(tree: LocalTree, streams: UserStreams, points: IntArray) -> list[str]:
    """Reports of several users as texts, in their order.

    Args:
        tree: the public questions.
        streams: the users' randomness.
        points: one a user, in units, shape (n, d).
    """
    asked, texts = tree.questions.asked(streams), [""] * len(streams)
    for place, reports in enumerate(tree.encode(streams, points)):
        for user, report in zip(np.flatnonzero(asked == place), reports, strict=True):
            texts[int(user)] = f"{place + 1}:{np.ascontiguousarray(report).tobytes().hex()}"
    return texts


@dataclass(frozen=True)
class ReportReader:
    """The server's part: which texts are reports, and their merged integers.

    Attributes:
        tree: the public questions.
    """

    tree: LocalTree

    def read(self, texts: Sequence[str | None]) -> tuple[IntArray, list[bytes]]:
        """The question of each text from 0, -1 where it is no report, and the reports' bytes; shape (n,)."""
        oracles = [question.oracle for question in self.tree.questions.questions]
        asked, payloads = np.full(len(texts), -1, dtype=np.int64), [b""] * len(texts)
        for row, text in enumerate(texts):
            level, _, digits = (text or "").strip().partition(":")
            if not (level.isascii() and level.isdecimal() and len(level) < 4 and 1 <= int(level) <= len(oracles)):
                continue
            try:
                payloads[row] = bytes.fromhex(digits)
            except ValueError:
                continue
            if len(payloads[row]) == _n_bytes(oracles[int(level) - 1]):
                asked[row] = int(level) - 1
        for place, oracle in enumerate(oracles):
            rows = np.flatnonzero(asked == place)
            reports = _decoded(oracle, [payloads[int(row)] for row in rows])
            asked[rows[~_possible(oracle, reports)]] = -1
        return asked, payloads

    def merge(self, asked: IntArray, payloads: Sequence[bytes]) -> Keyed:
        """Merged integers of all questions, one after the other, of reports that `read` found."""
        merged = []
        for place, question in enumerate(self.tree.questions.questions):
            rows = np.flatnonzero(asked == place)
            merged.append(question.oracle.aggregate(_decoded(question.oracle, [payloads[int(row)] for row in rows])))
        joined = np.concatenate(merged)
        return np.arange(len(joined)), joined[:, np.newaxis]


def _n_integers(oracle: Oracle) -> int | None:
    """Integers of 64 bits in a report; None for packed bits."""
    if isinstance(oracle, GeneralizedResponse | HadamardResponse):
        return 1
    return _hashing_width(oracle) if isinstance(oracle, LocalHashing) else None


def _hashing_width(oracle: LocalHashing) -> int:
    nobody = oracle.randomize(UserStreams(bytes(32), np.empty((0, 3), dtype="<u4")), np.empty(0, dtype=np.int64))
    return int(nobody.shape[1])


def _n_bytes(oracle: Oracle) -> int:
    integers = _n_integers(oracle)
    return 8 * -(-oracle.n_values // 64) if integers is None else 8 * integers


def _decoded(oracle: Oracle, payloads: Sequence[bytes]) -> npt.NDArray[np.integer]:
    joined, integers = b"".join(payloads), _n_integers(oracle)
    if integers is None:
        return np.frombuffer(joined, dtype=np.uint8).reshape(len(payloads), -1 if payloads else _n_bytes(oracle))
    numbers = np.frombuffer(joined, dtype="<i8").astype(np.int64)
    return numbers.reshape(len(payloads), integers) if isinstance(oracle, LocalHashing) else numbers


def _possible(oracle: Oracle, reports: npt.NDArray[np.integer]) -> BoolArray:
    """Which reports the oracle can give, shape (n,)."""
    if isinstance(oracle, LocalHashing):
        ends = np.array([*[oracle.order] * (reports.shape[1] - 1), oracle.n_buckets])
        return np.asarray(((reports >= 0) & (reports < ends)).all(axis=1))
    if isinstance(oracle, GeneralizedResponse | HadamardResponse):
        end = oracle.n_values if isinstance(oracle, GeneralizedResponse) else 2 * oracle.order
        return np.asarray((reports >= 0) & (reports < end))
    return np.ones(len(reports), dtype=np.bool_)
