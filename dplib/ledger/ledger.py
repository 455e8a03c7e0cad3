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

import json
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from sqlalchemy import select

from dplib.config.day_window import DayWindow
from dplib.errors import ConfigError, DplibError, IntegrityError
from dplib.ledger import leases
from dplib.ledger.accounts import Accounts, known_account
from dplib.ledger.replay import LedgerState
from dplib.ledger.repricing import settings_body, stored_settings
from dplib.ledger.runs import (
    MeasuredDay,
    Publication,
    Run,
    RunKey,
    RunState,
    StoredMeasurement,
    Terms,
    sequence_of,
)
from dplib.ledger.schema import entries
from dplib.ledger.writer import replayed
from dplib.validate import positive, require


class Ledger(Accounts):
    """An open ledger with its accounts and runs. Safe to use from many processes and threads at once."""

    def find_run(self, key: RunKey) -> Run | None:
        """The newest run of these settings and date that is not voided."""
        state = self.state(key.dataset)
        known_account(state, key.dataset)
        return state.newest(key)

    def runs(self, dataset: str) -> list[Run]:
        """All runs of an account in order."""
        state = self.state(dataset)
        known_account(state, dataset)
        return list(state.runs.values())

    def settings_of(self, run: Run) -> dict[str, Any] | None:
        """The plan's settings that a run's reservation carries; None in entries of earlier versions."""
        with self.transaction(write=False) as connection:
            query = select(entries.c.body).where(entries.c.sequence == run.sequence)
            return stored_settings(json.loads(connection.execute(query).scalar_one()))

    def run(self, release_id: str) -> Run:
        """The run of a release id; ConfigError if there is none."""
        number = sequence_of(release_id)
        if number is not None:
            with self.transaction(write=False) as connection:
                query = select(entries.c.dataset).where(entries.c.sequence == number)
                dataset = connection.execute(query).scalar_one_or_none()
                run = None if dataset is None else replayed(connection, dataset).runs.get(number)
            if run is not None and run.release_id == release_id:
                return run
        raise ConfigError("release", "name a run of the ledger", release_id)

    def reserve(
        self,
        key: RunKey,
        terms: Terms,
        cost: Fraction,
        reason: str,
        again: bool = False,
        key_id: str | None = None,
        plan: str | None = None,
        window: DayWindow | None = None,
        settings: Mapping[str, Any] | None = None,
        horizon: tuple[str, str] | None = None,
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
            plan: hash of the run's plan, for an account that requires approval.
            window: the days that the run reads, for an account that renews.
            settings: what the plan is of, without anything secret: from them cost and plan can be worked out again.
            horizon: first and last day of a stream, which is measured day by day under this one reservation.

        Returns:
            The run; this ledger object holds its lease if it is reserved, or a stream.

        Raises:
            ConfigError: if the dataset has no account or one with other terms, the run's days are not of one period, or
                the same words were measured from another input (``again`` measures this one besides).
            BudgetError: if the account cannot pay, or the plan is not approved; nothing was written.
            DplibError: if another process is measuring the run.
        """
        positive("cost", cost)
        with self.writing(key.dataset) as writer:
            account = known_account(writer.state, key.dataset)
            account.require_terms(terms)
            account.period_of(window)
            run = _to_use(writer.state, key, again)
            if run is None:
                body: dict[str, Any] = {name: getattr(key, name) for name in ("job", "logical_date", "settings_hash")}
                body |= {"cost": cost, "nonce": secrets.token_hex(16)} | ({"key_id": key_id} if key_id else {})
                body |= {} if key.place is None else {"input": list(key.place)}
                body |= {} if horizon is None else {"stream": list(horizon)}
                body |= settings_body(settings)
                body |= {"plan": plan} if account.needs_approval else {}
                body |= {"days": asdict(window)} if account.renewal is not None and window is not None else {}
                run = writer.state.runs[writer.append("reserve", None, body, reason)]
            elif run.is_to_measure:
                writer.state.check_not_revoked(run)
            if run.is_to_measure:
                leases.take(writer.connection, run.sequence, run.release_id, self._owner)
            return run

    def check_place(self, key: RunKey) -> None:
        """Raise `ConfigError` if a key's words were used for another input, of which alone there are runs."""
        self.state(key.dataset).check_place(key)

    def check_payable(
        self,
        key: RunKey,
        cost: Fraction,
        again: bool = False,
        plan: str | None = None,
        window: DayWindow | None = None,
    ) -> None:
        """Refuse early what `reserve` would refuse, before anything is opened or written for it.

        Raises:
            ConfigError: if the account renews and the run's days are not of one of its periods, or the same words were
                measured from another input.
            BudgetError: if a reservation is needed and the account cannot pay it, or the plan is not approved.
        """
        state = self.state(key.dataset)
        account, run = known_account(state, key.dataset), _to_use(state, key, again)
        period = account.period_of(window)
        if run is None:
            state.check_payable(account, cost, period, plan)
        elif run.is_to_measure:
            state.check_not_revoked(run)

    @contextmanager
    def holding(self, run: Run) -> Iterator[None]:
        """Keep a reserved run's lease alive while the block runs, and let go of it at the end, however it ends."""

        def beat() -> None:
            with self.transaction(write=True) as connection:
                leases.extend(connection, run.sequence, self._owner)

        try:
            with leases.heartbeat(beat, leases.LEASE_SECONDS / 4):
                yield
        finally:
            # What went wrong in the block matters more than a lease that could not be dropped and will end by itself.
            with suppress(DplibError), self.transaction(write=True) as connection:
                leases.drop(connection, run.sequence, self._owner)

    def record_measurement(self, run: Run, measurement: StoredMeasurement) -> Run:
        """Commit a run to its one measurement: the first to record wins.

        Returns:
            The run as it stands. Its ``measurement`` is the caller's if the caller won; if not, the caller discards its
            own and uses that one.

        Raises:
            IntegrityError: if the run was voided meanwhile, or the ledger holds another reservation in its place; the
                caller discards its measurement.
        """
        with self.writing(run.key.dataset) as writer:
            if _reservation(writer.state, run).measurement is None:
                writer.append("measure", run.sequence, asdict(measurement))
                leases.drop(writer.connection, run.sequence)
            return writer.state.runs[run.sequence]

    def record_day(self, run: Run, day: MeasuredDay) -> Run:
        """Commit a stream to its one measurement of a day: the first to record wins.

        Where units span days, it counts only after the newest table of chosen rows: who started from an older one loses
        as well. So does who began a stream that another run began meanwhile, perhaps on another tree.

        Returns:
            The run as it stands. What it measured on the day is the caller's if the caller won; if not, the caller
            discards its own, and uses that one or, where there is none, counts again.

        Raises:
            IntegrityError: if the stream was closed meanwhile, or the ledger holds another reservation in its place;
                the caller discards its measurement.
        """
        with self.writing(run.key.dataset) as writer:
            present = _reservation(writer.state, run)
            begun = bool(present.days) and not run.days  # by another run, perhaps on another tree
            if present.measured_on(day.date) is None and day.follows(present) and not begun:
                body = {name: value for name, value in asdict(day).items() if value is not None}
                writer.append("day", run.sequence, body)
            return writer.state.runs[run.sequence]

    def end_stream(self, run: Run, reason: str) -> Run:
        """Close a stream: it takes no more days, and what it published is final.

        Raises:
            ConfigError: if the run is not an open stream with a measured day.
        """
        with self.writing(run.key.dataset) as writer:
            present = _reservation(writer.state, run)
            is_open = present.horizon is not None and bool(present.days) and not present.is_closed
            require(is_open, run.release_id, "be an open stream with a measured day", "another run")
            writer.append("end", run.sequence, {}, reason)
            leases.drop(writer.connection, run.sequence)
            return writer.state.runs[run.sequence]

    def record_published(self, run: Run, publication: Publication) -> Run:
        """Record the release made of a run's measurement; spends nothing and writes nothing twice in a row.

        Raises:
            IntegrityError: if the run has no measurement, or the ledger holds another reservation in its place.
        """
        with self.writing(run.key.dataset) as writer:
            if _reservation(writer.state, run).publication != publication:
                writer.append("publish", run.sequence, asdict(publication))
            return writer.state.runs[run.sequence]

    def void(self, run: Run, reason: str) -> Run:
        """Give back a reservation that has no measurement, and never will.

        Raises:
            ConfigError: if the run is not an open reservation.
        """
        with self.writing(run.key.dataset) as writer:
            present = _reservation(writer.state, run)
            rule = "be a reservation without a measurement to be voided"
            require(present.state is RunState.RESERVED, run.release_id, rule, present.state)
            writer.append("void", run.sequence, {}, reason)
            leases.drop(writer.connection, run.sequence)
            return writer.state.runs[run.sequence]


def _reservation(state: LedgerState, run: Run) -> Run:
    """The run as the ledger has it.

    Raises:
        IntegrityError: if the ledger does not know it: another one has its number, after an older state was put back.
    """
    present = state.runs.get(run.sequence)
    if present is None or not present.is_same_reservation(run):
        raise IntegrityError(
            f"{run.release_id} must belong to a run of its account in this ledger, got another reservation in its "
            "place, or none (an older state that was put back?)"
        )
    return present


def _to_use(state: LedgerState, key: RunKey, again: bool) -> Run | None:
    """The run of a key that is used as it is, or measured where it is reserved; None where one is to be reserved.

    Raises:
        ConfigError: if the same words were measured from another input, and not ``again``.
    """
    run = state.newest(key)
    if run is None and not again:
        state.check_place(key)
    return None if run is not None and again and run.state is not RunState.RESERVED else run
