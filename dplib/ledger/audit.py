"""Audits of a ledger's entries, from the database or from an export.

An export is JSON lines: first the format and the chain's tip, then every entry with its fields as they are stored
(``body`` is the stored text, since digests are of texts). It is audited without the database, by the same function, and
holds all that the ledger does, private parts included.

What no audit of one book can see is a book that was put back to an older state, or rewritten whole: both are sound. A
tip kept elsewhere shows it (``known``), and so do releases that the book does not know
(`dplib.release.verify.unknown_releases`).
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dplib.errors import ConfigError, DplibError, IntegrityError
from dplib.ledger.chain import Entry, Finding, check_chain
from dplib.ledger.replay import LedgerState
from dplib.ledger.repricing import COST_FORMAT, Pricing, forged, format_of

FORMAT = "dplib ledger export 1"
_KEPT = 8
_replayed: dict[str, tuple[list[Entry], LedgerState]] = {}
"""By account, of the last `_KEPT`: the entries that were replayed last, and the state after them."""


def audit_entries(
    book: list[Entry],
    tip: tuple[int, str],
    known: Iterable[tuple[int, str]] = (),
    pricing: Pricing | None = None,
) -> list[Finding]:
    """Check the hash chain and replay every entry by the rules; an empty list means all is well.

    Args:
        book: every entry in order.
        tip: sequence and digest of the newest one, as kept apart.
        known: such pairs kept elsewhere.
        pricing: works costs and plans of reservations out again; they are taken as stated where None.
    """
    findings = check_chain(book, tip, known)
    state, sound = LedgerState(), []
    for entry in book:
        try:
            state.apply(entry)
            sound.append(entry)
        except DplibError as error:
            findings.append(Finding(entry.sequence, f"breaks a rule: {error}"))
    return findings if pricing is None else findings + forged(sound, state.accounts, pricing)


def not_recomputed(book: Iterable[Entry]) -> int:
    """How many reservations carry no settings, so that their costs and plans are taken as they are stated."""
    return sum(entry.kind == "reserve" and format_of(entry.content()) < COST_FORMAT for entry in book)


def replay_account(dataset: str, book: list[Entry]) -> LedgerState:
    """State after all entries of an account, as `replay_sound` finds it.

    A run looks at its account some ten times. Entries that are equal in every field to the ones that this process
    replayed last, from the first on, give the state that they gave then; where one differs, all are replayed.
    """
    known, before = _replayed.get(dataset, ([], None))
    if before is None or book[: len(known)] != known:
        known, before = [], None
    state = replay_sound(book[len(known) :], before)
    if dataset not in _replayed and len(_replayed) >= _KEPT:
        _replayed.clear()
    _replayed[dataset] = book, state.copy()
    return state


def replay_sound(book: Iterable[Entry], before: LedgerState | None = None) -> LedgerState:
    """State after all entries: those that led to the state ``before``, which stays as it is, and these.

    Raises:
        IntegrityError: if an entry was changed, or breaks a rule.
    """
    state = LedgerState() if before is None else before.copy()
    for entry in book:
        # A changed entry decides nothing, not even before the next audit.
        if entry.expected_digest() != entry.digest:
            raise IntegrityError(f"ledger entry {entry.sequence} must be as it was written, got a changed one")
        state.apply(entry)
    return state


def export_lines(book: Iterable[Entry], tip: tuple[int, str]) -> Iterator[str]:
    """The lines of an export."""
    yield json.dumps({"format": FORMAT, "sequence": tip[0], "digest": tip[1]}, sort_keys=True)
    for entry in book:
        yield json.dumps(asdict(entry), sort_keys=True)


def read_export(path: Path) -> tuple[list[Entry], tuple[int, str]]:
    """The entries and the tip of an export.

    Raises:
        ConfigError: if the file is none.
    """
    try:
        first, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if first["format"] != FORMAT:
            raise ValueError("another format")
        return [_entry(line) for line in lines], (int(first["sequence"]), str(first["digest"]))
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError("an export", "be a file that dplib ledger export wrote", path) from None


def _entry(fields: dict[str, Any]) -> Entry:
    entry = Entry(**fields)
    texts = [value for name, value in fields.items() if name not in ("sequence", "run")]
    numbers = [entry.sequence] if entry.run is None else [entry.sequence, entry.run]
    if any(type(number) is not int for number in numbers) or any(type(text) is not str for text in texts):
        raise ValueError("a field of another type")
    return entry


def known_tips(texts: Iterable[str]) -> list[tuple[int, str]]:
    """Tips kept elsewhere: ``SEQUENCE:DIGEST``, or the file of an earlier export, each entry of which counts.

    Raises:
        ConfigError: if a text is neither.
    """
    found: list[tuple[int, str]] = []
    for text in texts:
        number, separator, digest = text.partition(":")
        if separator and number.isdecimal():
            found.append((int(number), digest))
        else:
            book, tip = read_export(Path(text))
            found += [(entry.sequence, entry.digest) for entry in book] + [tip]
    return found
