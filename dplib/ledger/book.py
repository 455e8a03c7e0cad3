"""An open ledger as a book of entries: opened, read and written in transactions, audited.

What accounts and runs are stands above it (`dplib.ledger.accounts`, `dplib.ledger.ledger`).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Self

from sqlalchemy import Connection, Engine, select

from dplib.errors import IntegrityError
from dplib.ledger import leases
from dplib.ledger.audit import audit_entries, replay_account
from dplib.ledger.chain import Entry, Finding
from dplib.ledger.errors import database_errors
from dplib.ledger.replay import LedgerState
from dplib.ledger.repricing import Pricing, forged
from dplib.ledger.runs import RunState
from dplib.ledger.schema import connect, head, public_address, transaction
from dplib.ledger.writer import (
    Clock,
    Writer,
    entries_of,
    read_entries,
    read_tip,
    replayed,
    require_in_use,
    utc_now,
)

_LOCK = select(head.c.id).with_for_update()


class Book:
    """An open ledger. Safe to use from many processes and threads at once."""

    def __init__(self, engine: Engine, clock: Clock = utc_now) -> None:
        self._engine = engine
        self._clock = clock
        self._owner = leases.Owner.new()

    @classmethod
    def open(cls, url: str, create: bool = False, clock: Clock = utc_now, even_closed: bool = False) -> Self:
        """Open the ledger at a resolved address (``ledger_schema.resolve_ledger_url``).

        Args:
            url: address; a SQLite path is absolute.
            create: make the file and the tables where they are missing.
            clock: gives the time that entries carry; nothing is decided by it.
            even_closed: also open one that was moved elsewhere, to be read.

        Raises:
            ConfigError: if there is no ledger, or none of this version, at the address, or it was moved.
            DplibError: if the server cannot be reached.
        """
        return cls(connect(url, create, None if even_closed else require_in_use), clock)

    @cached_property
    def address(self) -> str:
        """Where the ledger is, without password and parameters."""
        return public_address(self._engine.url.render_as_string(hide_password=False))

    @property
    def tip(self) -> tuple[int, str]:
        """Sequence and digest of the newest entry: kept elsewhere, they show whether this book was rewritten."""
        with self.transaction(write=False) as connection:
            return read_tip(connection)

    def entries(self) -> tuple[list[Entry], tuple[int, str]]:
        """All entries in order and the chain's tip, as of one moment; private parts included."""
        with self.transaction(write=False) as connection:
            return read_entries(connection), read_tip(connection)

    def audit(self, known: Iterable[tuple[int, str]] = (), pricing: Pricing | None = None) -> list[Finding]:
        """Check the hash chain and replay every entry by the rules (`audit_entries`); empty means all is well."""
        book, tip = self.entries()
        return audit_entries(book, tip, known, pricing)

    def require_priced(self, dataset: str, period: str, pricing: Pricing, own: int | None = None) -> None:
        """Refuse an account whose reservations state less than their settings cost, or another plan or period.

        Args:
            dataset: the account.
            period: of an account that renews: reservations of other periods decide nothing in it.
            pricing: works cost and plan out from settings.
            own: the caller's own reservation, which it has compared with its settings itself.

        Raises:
            IntegrityError: if a reservation that holds budget is forged.
        """
        with self.transaction(write=False) as connection:
            book = entries_of(connection, dataset)
        state = replay_account(dataset, book)
        decides = {
            run.sequence for run in state.runs.values() if run.period == period and run.state is not RunState.VOIDED
        }
        relied_on = [entry for entry in book if entry.kind == "account" or entry.sequence in decides - {own}]
        for finding in forged(relied_on, state.accounts, pricing):
            raise IntegrityError(
                f"ledger entry {finding.sequence} must say what its settings cost, got one that "
                f"{finding.problem} (dplib ledger audit)"
            )

    @contextmanager
    def transaction(self, write: bool) -> Iterator[Connection]:
        """One transaction; a writer's holds the writers' lock."""
        with database_errors(self.address), transaction(self._engine, write) as connection:
            if write:
                connection.execute(_LOCK)
            yield connection

    @contextmanager
    def writing(self, dataset: str, closing: bool = False) -> Iterator[Writer]:
        """A writer on one account; what it appended is committed at the end of the block, or nothing is."""
        with self.transaction(write=True) as connection:
            yield Writer(connection, dataset, self._clock, closing)

    def state(self, dataset: str | None = None, at: int | None = None) -> LedgerState:
        """Accounts and runs, of one account or of all, now or just after the entry ``at``."""
        with self.transaction(write=False) as connection:
            return replayed(connection, dataset, at)
