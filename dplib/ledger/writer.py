"""Replaying an account inside a transaction, and appending entries to it."""

import getpass
import os
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, insert, select, update

from dplib.canonical import canonical_json
from dplib.errors import ConfigError
from dplib.ledger.audit import replay_account, replay_sound
from dplib.ledger.chain import Entry, seal, sound_entries
from dplib.ledger.replay import LedgerState
from dplib.ledger.schema import entries, head

Clock = Callable[[], datetime]
_COLUMNS = [entries.c[field.name] for field in fields(Entry)]
# Statements are built once: that costs more than to execute them.
_IN_ORDER = select(*_COLUMNS).order_by(entries.c.sequence)
_OF_ACCOUNT = _IN_ORDER.where(entries.c.dataset == bindparam("dataset"))
_NUMBERED = _IN_ORDER.where(entries.c.sequence == bindparam("number"))
_TIP = select(head.c.sequence, head.c.digest)
_INSERT, _MOVE_TIP = insert(entries), update(head)
CLOSING = ("close", "moved")
"""Kinds of entries that end a ledger which was moved."""


def utc_now() -> datetime:
    """Present time."""
    return datetime.now(UTC)


def read_entries(connection: Connection, *conditions: ColumnElement[bool]) -> list[Entry]:
    """The entries that meet all conditions, in order."""
    return [Entry(*row) for row in connection.execute(_IN_ORDER.where(*conditions) if conditions else _IN_ORDER)]


def entries_of(connection: Connection, dataset: str) -> list[Entry]:
    """The entries of an account, in order."""
    return [Entry(*row) for row in connection.execute(_OF_ACCOUNT, {"dataset": dataset})]


def read_tip(connection: Connection) -> tuple[int, str]:
    """Sequence and digest of the newest entry, as kept apart."""
    sequence, digest = connection.execute(_TIP).one()
    return sequence, digest


def require_in_use(connection: Connection, sequence: int | None = None) -> None:
    """Refuse a ledger whose newest entry, of this number where it is known, says that it was moved.

    Raises:
        ConfigError: naming the place.
    """
    number = read_tip(connection)[0] if sequence is None else sequence
    for newest in (Entry(*row) for row in connection.execute(_NUMBERED, {"number": number})):
        if newest.kind in CLOSING:
            place = newest.content().get("to", "another place")
            raise ConfigError("ledger", "be the one in use", f"one that was moved to {place} (name that in `ledger`)")


def replayed(connection: Connection, dataset: str | None = None, at: int | None = None) -> LedgerState:
    """State of one account, or of all, now or just after the entry ``at``.

    Raises:
        IntegrityError: if an entry was changed, or breaks a rule.
    """
    if dataset is None:
        return replay_sound(read_entries(connection, *([] if at is None else [entries.c.sequence <= at])))
    # Entries about the whole ledger decide for no account.
    book = entries_of(connection, dataset)
    if at is None:
        return replay_account(dataset, book)
    return replay_sound(entry for entry in book if entry.sequence <= at)


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
        self.sequence, self.digest = read_tip(self.connection)
        if not self.closing:
            require_in_use(self.connection, self.sequence)
        if self.closing:  # the migration audits every entry itself
            self.state = replayed(self.connection, self.dataset)
            return
        rows = self.connection.execute(_IN_ORDER)
        own = list(sound_entries(rows, (self.sequence, self.digest), self.dataset))
        self.state = replay_account(self.dataset, own)

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
        self.connection.execute(_INSERT, asdict(entry))
        self.connection.execute(_MOVE_TIP, {"sequence": number, "digest": entry.digest})
        self.sequence, self.digest = number, entry.digest
        return number


def _who() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # A container's account may have no name.
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
