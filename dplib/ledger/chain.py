"""The ledger's entries and the hash chain that binds them.

Each entry carries the SHA-256 of the entry before it, so a changed, removed, inserted or reordered entry breaks every
later link; the tip (sequence and digest of the newest entry) is kept apart, so that entries cut off at the end are
missed too. Anyone who can rewrite the whole file can rewrite the whole chain: against that, keep a tip from an earlier
``export`` elsewhere and hand it to ``audit``.

Digests cover the private parts of an entry as well. They stay in the ledger and its exports.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dplib.errors import IntegrityError

GENESIS = "0" * 64
"""Stands for the digest of the entry before the first."""


@dataclass(frozen=True)
class Entry:
    """One line of the ledger; written once, never changed.

    Attributes:
        sequence: 1, 2, 3, ... over all accounts.
        previous: digest of the entry before, hex.
        kind: account | reserve | measure | day | end | publish | void | require | approve | revoke | close | moved.
        dataset: the account.
        run: sequence of the reservation that the entry belongs to; None for an account.
        body: what the kind needs, as canonical JSON.
        who: user@host.
        at: UTC time, ISO 8601.
        why: reason given.
        digest: SHA-256 of all of the above, hex.
    """

    sequence: int
    previous: str
    kind: str
    dataset: str
    run: int | None
    body: str
    who: str
    at: str
    why: str
    digest: str

    def expected_digest(self) -> str:
        """Digest that an unchanged entry has."""
        return entry_digest({name: getattr(self, name) for name in _HASHED})

    def content(self) -> dict[str, Any]:
        """Return the parsed body.

        Raises:
            IntegrityError: if the body is not a JSON object.
        """
        try:
            parsed = json.loads(self.body)
        except ValueError:
            parsed = None
        if not isinstance(parsed, dict):
            raise IntegrityError(f"ledger entry {self.sequence} must hold a JSON object, got something else")
        return parsed


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a ledger; ``sequence`` is None where it concerns no single entry."""

    sequence: int | None
    problem: str


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_HASHED = ("sequence", "previous", "kind", "dataset", "run", "body", "who", "at", "why")
_FIELDS = (*_HASHED, "digest")


def entry_digest(fields: Mapping[str, object]) -> str:
    """Return the digest, hex, of an entry's fields without the digest itself."""
    # Same text as canonical_json, without its walk: the fields are texts, integers and None already.
    return hashlib.sha256(b"dplib ledger entry 1\n" + _ENCODER.encode(dict(fields)).encode("utf-8")).hexdigest()


def seal(**fields: Any) -> Entry:
    """Return the entry of these fields with its digest."""
    return Entry(**fields, digest=entry_digest(fields))


def sound_entries(rows: Iterable[Sequence[Any]], tip: tuple[int, str], dataset: str) -> Iterator[Entry]:
    """The entries of one account, taken from the rows of all once these are seen to be one unchanged chain.

    Entries of other accounts are digested too: one that was renamed, or moved to another account, would otherwise give
    back what it spent. Cost: one SHA-256 an entry, about 5 microseconds.

    Args:
        rows: every entry in order, as a sequence of the fields of `Entry`.
        tip: sequence and digest of the newest entry, as kept apart.
        dataset: the account.

    Raises:
        IntegrityError: if an entry is missing, was exchanged or changed, or the tip is another one; at the end at the
            latest, so what decides anything takes all entries first.
    """
    last, previous = 0, GENESIS
    for row in rows:
        fields = dict(zip(_FIELDS, row, strict=True))
        digest = fields.pop("digest")
        if fields["sequence"] != last + 1 or fields["previous"] != previous:
            raise IntegrityError("ledger must be one whole chain, got one with entries missing or exchanged")
        if entry_digest(fields) != digest:
            raise IntegrityError(f"ledger entry {last + 1} must be as it was written, got a changed one")
        last, previous = last + 1, digest
        if fields["dataset"] == dataset:
            yield Entry(**fields, digest=digest)
    if tip != (last, previous):
        raise IntegrityError("ledger must end with the entry its tip names, got another (dplib ledger audit)")


def check_chain(entries: Iterable[Entry], tip: tuple[int, str], known: Iterable[tuple[int, str]] = ()) -> list[Finding]:
    """Return what is wrong with the chain of all entries in order, its tip and tips that were kept elsewhere."""
    findings: list[Finding] = []
    digests = {0: GENESIS}
    last, previous = 0, GENESIS
    for entry in entries:
        if entry.sequence != last + 1:
            findings.append(Finding(entry.sequence, f"follows entry {last}: entries are missing or repeated"))
        if entry.previous != previous:
            findings.append(Finding(entry.sequence, "does not carry the digest of the entry before it"))
        if entry.expected_digest() != entry.digest:
            findings.append(Finding(entry.sequence, "was changed after it was written"))
        last, previous = entry.sequence, entry.digest
        digests[last] = previous
    if tip != (last, previous):
        findings.append(Finding(None, f"the newest entry is {last}, but the ledger's tip is another one"))
    findings += [
        Finding(sequence, "differs from the copy of its digest that was kept elsewhere")
        for sequence, digest in known
        if digests.get(sequence) != digest
    ]
    return findings
