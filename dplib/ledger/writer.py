"""Replaying an account inside a transaction, and appending entries to it."""

import getpass
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, insert, select, update

from dplib.canonical import canonical_json
from dplib.errors import ConfigError
from dplib.ledger.audit import replay_sound
from dplib.ledger.chain import Entry, seal, sound_entries
from dplib.ledger.replay import LedgerState
from dplib.ledger.schema import entries, head

Clock = Callable[[], datetime]
_COLUMNS = [entries.c[field.name] for field in fields(Entry)]
CLOSING = ("close", "moved")
"""Kinds of entries that end a ledger which was moved."""


def utc_now() -> datetime:
    """Present time."""
    return datetime.now(UTC)


def read_entries(connection: Connection, *conditions: ColumnElement[bool]) -> list[Entry]:
    """The entries that meet all conditions, in order."""
    query = select(entries).where(*conditions).order_by(entries.c.sequence)
    return [Entry(**row) for row in connection.execute(query).mappings()]


def require_in_use(connection: Connection, sequence: int) -> None:
    """Refuse a ledger whose newest entry, of this number, says that it was moved.

    Raises:
        ConfigError: naming the place.
    """
    for newest in read_entries(connection, entries.c.sequence == sequence):
        if newest.kind in CLOSING:
            place = newest.content().get("to", "another place")
            raise ConfigError("ledger", "be the one in use", f"one that was moved to {place} (name that in `ledger`)")


def replayed(connection: Connection, dataset: str | None = None, at: int | None = None) -> LedgerState:
    """State of one account, or of all, now or just after the entry ``at``.

    Raises:
        IntegrityError: if an entry was changed, or breaks a rule.
    """
    # Entries about the whole ledger decide for no account.
    of_account = [] if dataset is None else [entries.c.dataset == dataset]
    return replay_sound(read_entries(connection, *of_account, *([] if at is None else [entries.c.sequence <= at])))


@dataclass
class Writer:
    """A writer's open transaction on one account; the writers' lock is held.

    Only the migration writes to a ledger that is closed (``closing``).
    """

    connection: Connection
    dataset: str
    clock: Clock
    closing: bool = False

    def __post_init__(self) -> None:
        """Read the chain's tip, check the whole chain and replay the account.

        Raises:
            ConfigError: if the ledger was moved to another place.
            IntegrityError: if any entry of the ledger was changed, or one of the account breaks a rule.
        """
        tip = self.connection.execute(select(head)).one()
        if not self.closing:
            require_in_use(self.connection, tip.sequence)
        self.sequence: int = tip.sequence
        self.digest: str = tip.digest
        if self.closing:  # the migration audits every entry itself
            self.state = replayed(self.connection, self.dataset)
            return
        rows = self.connection.execute(select(*_COLUMNS).order_by(entries.c.sequence))
        self.state = LedgerState()
        for entry in list(sound_entries(rows, (tip.sequence, tip.digest), self.dataset)):
            self.state.apply(entry)

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
