"""The privacy ledger: who may still spend what, what was spent, and the one measurement of each run.

Append-only entries in a hash chain (``chain``), from which all state is replayed (``replay``); one code for SQLite and
PostgreSQL (``ledger_schema``). Every change is one transaction that first takes the single writers' lock, then replays
the account, then checks, then appends: changes happen one after another, and a refusal writes nothing.

*Guarantee: one reservation leads to at most one measurement that anyone sees.* Two jobs of the same key, or a retry
beside a job that was thought dead, may both count and draw noise. Why that is harmless:

1. ``reserve`` of a key whose newest run is open, measured or published returns that run, so the second job never
   spends; while the first one's lease lives it is told so and ends (exit code 1, worth a retry).
2. A lease is no proof: its owner may be paused, its host unreachable. So two processes can hold a measurement of one
   reservation, each in a staging directory of its own that only its owner's account can open, neither a release. On
   the same counts both hold the same noise, since noise is keyed by the counts. On different counts (rows arrived in
   between) they differ, and showing both would cost twice.
3. Hence the commit point is ``record_measurement``: one transaction in which the first to record wins. The loser gets
   the winner's run back, discards its own measurement unseen and publishes from the winner's. Only what the ledger
   names is moved out of staging and published, checked against the hash recorded with it.
4. A crash before the record leaves an open reservation: nothing was seen, nothing more is reserved, the retry uses it.
   A crash after the record leaves the staging directory that the ledger names: the retry moves it into place and
   publishes.

The digest of the counts stands in the ledger; of the measurement key only its SHA-256 does, so that the ledger alone
removes no noise. Both are private to the ledger's owner, as are host and user names.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Engine, select

from dplib.errors import ConfigError, DplibError
from dplib.privacy.budget import Currency
from dplib.release import leases
from dplib.release.chain import Entry, Finding, check_chain
from dplib.release.ledger_errors import database_errors
from dplib.release.ledger_schema import connect, entries, head, public_address, transaction
from dplib.release.ledger_writer import Clock, Writer, replayed, utc_now
from dplib.release.replay import LedgerState, check_payable
from dplib.release.runs import (
    Account,
    Balance,
    Publication,
    Run,
    RunKey,
    RunState,
    StoredMeasurement,
    Terms,
    safe_name,
)
from dplib.validate import between, positive, require


class Ledger:
    """An open ledger. Safe to use from many processes and threads at once."""

    def __init__(self, engine: Engine, clock: Clock = utc_now) -> None:
        self._engine = engine
        self._clock = clock
        self._owner = leases.Owner.new()

    @classmethod
    def open(cls, url: str, create: bool = False, clock: Clock = utc_now) -> "Ledger":
        """Open the ledger at a resolved address (``ledger_schema.resolve_ledger_url``).

        Args:
            url: address; a SQLite path is absolute.
            create: make the file and the tables where they are missing.
            clock: gives the time that entries carry; nothing is decided by it.

        Raises:
            ConfigError: if there is no ledger, or none of this version, at the address.
            DplibError: if the server cannot be reached.
        """
        return cls(connect(url, create), clock)

    @property
    def address(self) -> str:
        """Where the ledger is, without password and parameters."""
        return public_address(self._engine.url.render_as_string(hide_password=False))

    # ---- accounts ----------------------------------------------------------------------------------------------------

    def create_account(
        self, dataset: str, terms: Terms, budget: Fraction, delta: Fraction | None = None, reason: str = ""
    ) -> Account:
        """Create the account of a dataset, whose terms and budget are fixed for ever.

        Args:
            dataset: name of the account.
            terms: currency (pure, zcdp or approx), privacy unit, neighbour relation.
            budget: total epsilon (pure, approx) or rho (zcdp).
            delta: where rho is converted to epsilon (zcdp), or the total delta (approx); not of pure accounts.
            reason: why, for the record.

        Raises:
            ConfigError: if the account exists or a setting is wrong.
        """
        safe_name("dataset", dataset)
        positive("budget", budget)
        if terms.currency is Currency.PURE:
            require(delta is None, "delta", "not be set for a pure account", delta)
        else:
            require(delta is not None, "delta", f"be set for a {terms.currency.value} account", delta)
            between("delta", delta or Fraction(0), Fraction(0), Fraction(1))
        body = {**asdict(terms), "budget": budget, "delta": delta}
        with self._write(dataset) as writer:
            require(dataset not in writer.state.accounts, "dataset", "be new to the ledger", dataset)
            writer.append("account", None, body, reason)
            return writer.state.accounts[dataset]

    def account(self, dataset: str) -> Account:
        """The account of a dataset; ConfigError if there is none."""
        return _known(self._read(dataset), dataset)

    def accounts(self) -> list[Account]:
        """All accounts by name."""
        return sorted(self._read().accounts.values(), key=lambda account: account.dataset)

    def balance(self, dataset: str, at: int | None = None) -> Balance:
        """Exact balance of an account, now or just after the ledger entry ``at``."""
        state = self._read(dataset, at)
        _known(state, dataset)
        return state.balance(dataset)

    # ---- runs --------------------------------------------------------------------------------------------------------

    def find_run(self, key: RunKey) -> Run | None:
        """The newest run of these settings and date that is not voided."""
        state = self._read(key.dataset)
        _known(state, key.dataset)
        return state.newest(key)

    def runs(self, dataset: str) -> list[Run]:
        """All runs of an account in order."""
        state = self._read(dataset)
        _known(state, dataset)
        return list(state.runs.values())

    def run(self, release_id: str) -> Run:
        """The run of a release id; ConfigError if there is none."""
        number = release_id.rpartition("-")[2]
        if number.isdecimal() and len(number) < 10:
            with self._transaction(write=False) as connection:
                query = select(entries.c.dataset).where(entries.c.sequence == int(number))
                dataset = connection.execute(query).scalar_one_or_none()
            if dataset is not None:
                run = self._read(dataset).runs.get(int(number))
                if run is not None and run.release_id == release_id:
                    return run
        raise ConfigError(f"release must name a run of the ledger, got {release_id}")

    def reserve(
        self,
        key: RunKey,
        terms: Terms,
        cost: Fraction,
        reason: str,
        again: bool = False,
        key_id: str | None = None,
    ) -> Run:
        """Reserve a run's cost, or return the run that was paid for already; never both.

        The newest run of the key is returned if there is one: published or measured, to be used as it is; reserved,
        with its lease, to be measured. ``again`` overrides that for a run that has its measurement, not for an open
        reservation, which is what a first attempt at the same left behind.

        Args:
            key: dataset, job, date and measurement settings.
            terms: what the cost is measured in; must be the account's.
            cost: exact cost in the account's currency.
            reason: why, for the record.
            again: measure anew and spend.
            key_id: public name of the secret that a new reservation is measured with; an open one keeps its own.

        Returns:
            The run; this ledger object holds its lease if it is reserved.

        Raises:
            ConfigError: if the dataset has no account or one with other terms.
            BudgetError: if the account cannot pay; nothing was written.
            DplibError: if another process is measuring the run.
        """
        positive("cost", cost)
        with self._write(key.dataset) as writer:
            _known(writer.state, key.dataset).require_terms(terms)
            run = writer.state.newest(key)
            if run is None or (again and run.state is not RunState.RESERVED):
                body = {name: getattr(key, name) for name in ("job", "logical_date", "settings_hash")}
                body |= {"cost": cost} | ({"key_id": key_id} if key_id else {})
                sequence = writer.append("reserve", None, body, reason)
                run = writer.state.runs[sequence]
            if run.state is RunState.RESERVED:
                leases.take(writer.connection, run.sequence, run.release_id, self._owner)
            return run

    def check_payable(self, key: RunKey, cost: Fraction, again: bool = False) -> None:
        """Refuse early what `reserve` would refuse, before anything is opened or written for it.

        Raises:
            BudgetError: if a reservation is needed and the account cannot pay it.
        """
        state = self._read(key.dataset)
        account, run = _known(state, key.dataset), state.newest(key)
        if run is None or (again and run.state is not RunState.RESERVED):
            check_payable(account, cost, state.balance(key.dataset))

    @contextmanager
    def holding(self, run: Run) -> Iterator[None]:
        """Keep a reserved run's lease alive while the block runs, and let go of it at the end, however it ends."""

        def beat() -> None:
            with self._transaction(write=True) as connection:
                leases.extend(connection, run.sequence, self._owner)

        try:
            with leases.heartbeat(beat, leases.LEASE_SECONDS / 4):
                yield
        finally:
            # What went wrong in the block matters more than a lease that could not be dropped and will end by itself.
            with suppress(DplibError), self._transaction(write=True) as connection:
                leases.drop(connection, run.sequence, self._owner)

    def record_measurement(self, run: Run, measurement: StoredMeasurement) -> Run:
        """Commit a run to its one measurement: the first to record wins.

        Returns:
            The run as it stands. Its ``measurement`` is the caller's if the caller won; if not, the caller discards its
            own and uses that one.

        Raises:
            IntegrityError: if the run was voided meanwhile; the caller discards its measurement.
        """
        with self._write(run.key.dataset) as writer:
            present = writer.state.runs.get(run.sequence)
            if present is None or present.measurement is None:
                writer.append("measure", run.sequence, asdict(measurement))
                leases.drop(writer.connection, run.sequence)
            return writer.state.runs[run.sequence]

    def record_published(self, run: Run, publication: Publication) -> Run:
        """Record the release made of a run's measurement; spends nothing and writes nothing twice in a row.

        Raises:
            IntegrityError: if the run has no measurement.
        """
        with self._write(run.key.dataset) as writer:
            present = writer.state.runs.get(run.sequence)
            if present is None or present.publication != publication:
                writer.append("publish", run.sequence, asdict(publication))
            return writer.state.runs[run.sequence]

    def void(self, run: Run, reason: str) -> Run:
        """Give back a reservation that has no measurement, and never will.

        Raises:
            ConfigError: if the run is not an open reservation.
        """
        with self._write(run.key.dataset) as writer:
            present = writer.state.runs.get(run.sequence, run)
            rule = "be a reservation without a measurement to be voided"
            require(present.state is RunState.RESERVED, run.release_id, rule, present.state)
            writer.append("void", run.sequence, {}, reason)
            leases.drop(writer.connection, run.sequence)
            return writer.state.runs[run.sequence]

    # ---- the whole book ----------------------------------------------------------------------------------------------

    def export(self) -> list[dict[str, Any]]:
        """All entries in order, private parts included: an export is as private as the ledger."""
        return [{**asdict(entry), "body": entry.content()} for entry in self._entries()[0]]

    def audit(self, known: Iterable[tuple[int, str]] = ()) -> list[Finding]:
        """Check the hash chain and replay every entry by the rules; an empty list means all is well.

        Args:
            known: pairs (sequence, digest) from earlier exports kept elsewhere; they catch a chain rewritten whole.
        """
        book, tip = self._entries()
        findings = check_chain(book, tip, known)
        state = LedgerState()
        for entry in book:
            try:
                state.apply(entry)
            except DplibError as error:
                findings.append(Finding(entry.sequence, f"breaks a rule: {error}"))
        return findings

    # ---- reading and writing -----------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, write: bool) -> Iterator[Connection]:
        with database_errors(self.address), transaction(self._engine, write) as connection:
            if write:
                connection.execute(select(head.c.id).with_for_update())
            yield connection

    @contextmanager
    def _write(self, dataset: str) -> Iterator[Writer]:
        with self._transaction(write=True) as connection:
            yield Writer(connection, dataset, self._clock)

    def _read(self, dataset: str | None = None, at: int | None = None) -> LedgerState:
        with self._transaction(write=False) as connection:
            return replayed(connection, dataset, at)

    def _entries(self) -> tuple[list[Entry], tuple[int, str]]:
        with self._transaction(write=False) as connection:
            tip = connection.execute(select(head)).one()
            rows = connection.execute(select(entries).order_by(entries.c.sequence))
            return [Entry(**row) for row in rows.mappings()], (tip.sequence, tip.digest)


def _known(state: LedgerState, dataset: str) -> Account:
    require(dataset in state.accounts, "dataset", "be an account of the ledger (dplib init creates one)", dataset)
    return state.accounts[dataset]
