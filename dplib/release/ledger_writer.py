"""Replaying an account inside a transaction, and appending entries to it."""

import getpass
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from dplib.errors import IntegrityError
from dplib.release.canonical import canonical_json
from dplib.release.chain import Entry, seal
from dplib.release.ledger_schema import entries, head
from dplib.release.replay import LedgerState

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Present time."""
    return datetime.now(UTC)


def replayed(connection: Connection, dataset: str | None = None, at: int | None = None) -> LedgerState:
    """State of one account, or of all, now or just after the entry ``at``.

    Raises:
        IntegrityError: if an entry was changed, or breaks a rule.
    """
    query = select(entries).order_by(entries.c.sequence)
    if dataset is not None:
        query = query.where(entries.c.dataset == dataset)
    if at is not None:
        query = query.where(entries.c.sequence <= at)
    state = LedgerState()
    for row in connection.execute(query).mappings():
        entry = Entry(**row)
        # A changed entry decides nothing, not even before the next audit.
        if entry.expected_digest() != entry.digest:
            raise IntegrityError(f"ledger entry {entry.sequence} must be as it was written, got a changed one")
        state.apply(entry)
    return state


@dataclass
class Writer:
    """A writer's open transaction on one account; the writers' lock is held."""

    connection: Connection
    dataset: str
    clock: Clock

    def __post_init__(self) -> None:
        """Read the chain's tip and replay the account."""
        tip = self.connection.execute(select(head)).one()
        newest = self.connection.execute(select(entries.c.digest).where(entries.c.sequence == tip.sequence)).scalar()
        if tip.sequence and newest != tip.digest:
            raise IntegrityError("ledger must end with the entry its tip names, got another (dplib ledger audit)")
        self.sequence: int = tip.sequence
        self.digest: str = tip.digest
        self.state = replayed(self.connection, self.dataset)

    def append(self, kind: str, run: int | None, body: dict[str, Any], why: str = "") -> int:
        """Apply one entry by the rules, then insert it; returns its sequence.

        A reservation is the first entry of its own run, so ``run`` is ignored for it.
        """
        number = self.sequence + 1
        entry = seal(
            sequence=number,
            previous=self.digest,
            kind=kind,
            dataset=self.dataset,
            run=number if kind == "reserve" else run,
            body=canonical_json(body).decode("utf-8"),
            who=_who(),
            at=self.clock().astimezone(UTC).isoformat(timespec="microseconds"),
            why=why,
        )
        self.state.apply(entry)
        self.connection.execute(insert(entries).values(**asdict(entry)))
        self.connection.execute(update(head).values(sequence=number, digest=entry.digest))
        self.sequence, self.digest = number, entry.digest
        return number


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # A container's account may have no name.
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
