"""Reports of the local model as texts: what a user's device sends, and what the server reads.

    from dplib.jobs.kmeans.collection import Collection
    from dplib.jobs.kmeans.report_text import report_of
    text = report_of(Collection.from_json(document), key, [0.3, 0.7])    # key: 32 random bytes that stay on the device

*Format, version 1.* ``1:COLLECTION:QUESTION:HEX``: the version; the fingerprint of the public settings
(`dplib.jobs.kmeans.collection`), so that a report for other settings is none; the number of the question from 1; and
the randomized report in lower-case hexadecimal, its integers of 64 bits little-endian and signed:

    ldp_tree, question l: the cube of level l        by the level's oracle:
        generalized response     1 integer, the reported cube
        Hadamard response        1 integer, 2 (row) + bit
        local hashing            r masks, then the bucket
        unary encoding           one bit a cube, packed from the lowest bit of each byte, whole 64-bit words
    noisy_coordinates, question 1                    d integers, in 1,024ths of the space's radius (or half its widest
                                                     side), from the middle

Methods in rounds (`ldp_hash_rounds`, and `ldp_tree` above 6 dimensions) have no texts: what is asked in a later round
depends on what the server published of the one before, so a report that is made once and kept cannot answer it.

Guarantee: `dplib.clustering.local.questions`. A report is a function of the device's own key, the settings and the
point; no key of the operator is in it. The same three give the same report: anyone who is asked again repeats it and
spends nothing more. Another point, or other settings, give a report that is drawn anew and spends again: with the same
random bits under two budgets, what one report lies about the other could tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dplib.arrays import IntArray
from dplib.clustering.source import Keyed
from dplib.errors import ConfigError
from dplib.jobs.kmeans.collection import Collection
from dplib.jobs.kmeans.report_forms import TextProtocol, text_protocol
from dplib.randomness.keyed import Key, derive_key
from dplib.randomness.user_streams import UserStreams, name_users

VERSION = 1
STREAMS = "kmeans"
"""Label of the users' streams."""


def report_of(collection: Collection, key: Key, point: Sequence[float]) -> str:
    """The client's part: one user's report.

    Args:
        collection: the public settings, of a method with one round.
        key: the user's own, at least 32 random bytes.
        point: the coordinates in the units of the data; NaN for what is missing.

    Raises:
        ConfigError: if the key is too short, the point has another number of coordinates or the method has rounds.
    """
    if len(point) != collection.dimension:
        raise ConfigError("point", f"have {collection.dimension} coordinates", len(point))
    points = collection.frame.to_units(np.array([point], dtype=np.float64))
    own = derive_key(key, "report", collection.to_json(), points.astype("<i8").tobytes())
    return report_texts(collection, UserStreams(own, name_users(own, [b"me"]), STREAMS), points)[0]


def report_texts(collection: Collection, streams: UserStreams, points: IntArray) -> list[str]:
    """Reports of several users, with one point each in units, shape (n, d), as texts in their order; one round only."""
    protocol, head = text_protocol(collection), f"{VERSION}:{collection.fingerprint}"
    asked, texts = protocol.asked(streams), [""] * len(streams)
    for place, reports in enumerate(protocol.encode(streams, points)):
        for user, report in zip(np.flatnonzero(asked == place), reports, strict=True):
            texts[int(user)] = f"{head}:{place + 1}:{np.ascontiguousarray(report).tobytes().hex()}"
    return texts


@dataclass(frozen=True)
class ReportReader:
    """The server's part: which texts are reports, and their merged integers.

    Attributes:
        collection: the public settings.
    """

    collection: Collection

    @cached_property
    def _protocol(self) -> TextProtocol:
        return text_protocol(self.collection)

    @property
    def width(self) -> int:
        """Integers under each key of what is merged."""
        return self._protocol.width

    def read(self, texts: Sequence[str | None]) -> tuple[IntArray, list[bytes]]:
        """The question of each text from 0, -1 where it is no report, and the reports' bytes; shape (n,)."""
        forms, head = self._protocol.forms, f"{VERSION}:{self.collection.fingerprint}:"
        asked, payloads = np.full(len(texts), -1, dtype=np.int64), [b""] * len(texts)
        for row, text in enumerate(texts):
            given = (text or "").strip()
            number, _, digits = given.removeprefix(head).partition(":")
            known = given.startswith(head) and number.isascii() and number.isdecimal() and len(number) < 4
            if not (known and 1 <= int(number) <= len(forms)):
                continue
            try:
                payloads[row] = bytes.fromhex(digits)
            except ValueError:
                continue
            if len(payloads[row]) == forms[int(number) - 1].n_bytes:
                asked[row] = int(number) - 1
        for place, form in enumerate(forms):
            rows = np.flatnonzero(asked == place)
            reports = form.decoded([payloads[int(row)] for row in rows])
            asked[rows[~form.possible(reports)]] = -1
        return asked, payloads

    def merge(self, asked: IntArray, payloads: Sequence[bytes]) -> Keyed:
        """What the reports that `read` found add up to, as in a simulation."""
        answers = [
            form.decoded([payloads[int(row)] for row in np.flatnonzero(asked == place)])
            for place, form in enumerate(self._protocol.forms)
        ]
        return self._protocol.merge(tuple(answers))
