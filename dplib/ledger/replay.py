"""From ledger entries to accounts, runs and balances: one function decides what an entry may do.

The entries are the only record; state is derived from them anew for every decision, by the same rules for
writing and for auditing. A writer applies its new entry to the replayed state before it inserts it, so an entry that
breaks a rule is never written, and an audit that replays the ledger finds any that got in another way.

Cost: O(entries of the account). Each is read for every decision; digested and applied is only what differs from the
entries that this process replayed before (`dplib.ledger.audit.replay_account`).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dplib.config.day_window import DayClock
from dplib.errors import BudgetError, ConfigError, IntegrityError
from dplib.ledger.approvals import Approval, check_plan, require_approved, require_not_revoked
from dplib.ledger.chain import Entry
from dplib.ledger.periods import Period, Renewal, check_unit
from dplib.ledger.repricing import window_of
from dplib.ledger.runs import (
    Account,
    Balance,
    MeasuredDay,
    Publication,
    Run,
    RunKey,
    RunState,
    StoredMeasurement,
    Terms,
)
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors


class LedgerState:
    """Accounts and runs after some entries."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.runs: dict[int, Run] = {}
        self.approvals: dict[str, dict[str, Approval]] = {}
        self.moved_to: str | None = None
        self.is_moved = False
        self._held: dict[tuple[str, str], dict[RunState, Fraction]] = {}

    def copy(self) -> "LedgerState":
        """The same state, which entries change apart from this one."""
        same = LedgerState()
        same.accounts, same.runs = dict(self.accounts), dict(self.runs)
        same.approvals = {name: dict(own) for name, own in self.approvals.items()}
        same.moved_to, same.is_moved = self.moved_to, self.is_moved
        same._held = {period: dict(own) for period, own in self._held.items()}
        return same

    def apply(self, entry: Entry) -> None:
        """Take one more entry into account.

        Raises:
            BudgetError: if a reservation costs more than is left, or its plan is not approved.
            IntegrityError: if the entry is malformed or not allowed in the present state. The state is unchanged.
        """
        rules: dict[str, Callable[[Entry, dict[str, Any]], None]] = {
            "account": self._create,
            "reserve": self._reserve,
            "measure": self._measure,
            "day": self._day,
            "end": self._end,
            "publish": self._publish,
            "void": self._void,
            "require": self._require,
            "approve": self._approve,
            "revoke": self._revoke,
            "close": self._close,
            "moved": self._moved,
        }
        rule = rules.get(entry.kind)
        if rule is None:
            raise IntegrityError(f"ledger entry {entry.sequence} must be of a known kind, got {entry.kind}")
        if self.is_moved or (self.moved_to is not None and entry.kind != "moved"):
            raise IntegrityError(f"ledger entry {entry.sequence} must not follow the one that closed the ledger")
        try:
            rule(entry, entry.content())
        except (ConfigError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise IntegrityError(f"ledger entry {entry.sequence} must hold all fields of a {entry.kind}") from error

    def balance(self, dataset: str, period: str = "") -> Balance:
        """Exact balance of an account that exists: of one of its periods where it renews."""
        held = self._held.get((dataset, period), {})
        spent, reserved = (held.get(state, Fraction(0)) for state in (RunState.MEASURED, RunState.RESERVED))
        return Balance(self.accounts[dataset].total, spent, reserved)

    def periods(self, dataset: str) -> list[str]:
        """The periods of an account that anything was ever reserved in; the empty one where it does not renew."""
        found = sorted(period for name, period in self._held if name == dataset)
        return found or ([""] if self.accounts[dataset].renewal is None else [])

    def newest(self, key: RunKey) -> Run | None:
        """The newest run of a key, from the input that it means, that is not voided."""
        same = (run for run in self._standing(key) if key.has_place_of(run.key))
        return max(same, key=lambda run: run.sequence, default=None)

    def _standing(self, key: RunKey) -> Iterator[Run]:
        """Runs with a key's settings, not voided, wherever their input is."""
        return (run for run in self.runs.values() if run.state is not RunState.VOIDED and key.has_settings_of(run.key))

    def check_place(self, key: RunKey) -> None:
        """Raise `ConfigError` if the key's words were used for another input, of which alone there are runs."""
        others = list(self._standing(key))
        if others and self.newest(key) is None:
            raise ConfigError(
                "input.path",
                f"name the input that {others[-1].release_id} was measured from",
                (
                    "the same words for another place (they count from another folder, or name a variable with "
                    "another value): run it from there, write the path in full, or measure this input too and pay "
                    "for it (--again)"
                ),
            )

    def _create(self, entry: Entry, body: dict[str, Any]) -> None:
        if entry.dataset in self.accounts:
            raise IntegrityError(f"ledger entry {entry.sequence} must not create the account {entry.dataset} again")
        delta, renews = body["delta"], body.get("renewal")
        terms = Terms(Currency(body["currency"]), body["unit"], Neighbors(body["neighbors"]))
        renewal = None if renews is None else Renewal(Period(renews["every"]), DayClock(**renews["clock"]))
        check_unit(terms.unit, terms.neighbors, renewal)
        self.accounts[entry.dataset] = Account(
            entry.dataset, terms, Fraction(body["budget"]), None if delta is None else Fraction(delta), renewal
        )
        self.approvals[entry.dataset] = {}

    def _reserve(self, entry: Entry, body: dict[str, Any]) -> None:
        account, cost = self._account(entry), Fraction(body["cost"])
        if cost <= 0:
            raise IntegrityError(f"ledger entry {entry.sequence} must reserve more than 0, got {cost}")
        place = body.get("input")
        place = None if place is None else tuple(str(path) for path in place)
        key = RunKey(entry.dataset, body["job"], body["logical_date"], body["settings_hash"], place=place)
        period, plan = account.period_of(window_of(body.get("days"))), body.get("plan")
        self.check_payable(account, cost, period, plan)
        run = Run(
            entry.sequence,
            key,
            cost,
            RunState.RESERVED,
            period=period,
            key_id=body.get("key_id"),
            at=entry.at,
            nonce=body.get("nonce"),
            horizon=_horizon(body.get("stream")),
        )
        if account.needs_approval:
            approval = self.approvals[entry.dataset][check_plan(plan or "")]
            used = replace(approval, left=approval.left - 1, used=approval.used + 1)
            self.approvals[entry.dataset][approval.plan] = used
            run = replace(run, plan=approval.plan)
        self.runs[entry.sequence] = run
        self._move(run, RunState.RESERVED, run.cost)

    def _measure(self, entry: Entry, body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.RESERVED)
        if run.horizon is not None:
            raise IntegrityError(
                f"ledger entry {entry.sequence} must measure a day, since {run.release_id} is a stream"
            )
        measurement = StoredMeasurement(**body)
        self._check_key(run, measurement)
        self._spend(replace(run, state=RunState.MEASURED, measurement=measurement))

    def _day(self, entry: Entry, body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.RESERVED, RunState.MEASURED, RunState.PUBLISHED)
        day = MeasuredDay(**(body | {"measurement": StoredMeasurement(**body["measurement"])}))
        if run.horizon is None or not run.horizon[0] <= day.date <= run.horizon[1]:
            raise IntegrityError(f"ledger entry {entry.sequence} must be of a day of a stream, got {day.date}")
        if run.is_closed or run.measured_on(day.date) is not None:
            raise IntegrityError(f"{run.release_id} must measure each day once and none after its end, got {day.date}")
        if not day.follows(run):
            raise IntegrityError(
                f"{run.release_id} must go on from its newest table of chosen rows on {day.date}, got another"
            )
        self._check_key(run, day.measurement)
        self._spend(replace(run, state=RunState.MEASURED, days=(*run.days, day)))

    def _end(self, entry: Entry, _body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.MEASURED, RunState.PUBLISHED)
        if run.horizon is None or run.is_closed:
            raise IntegrityError(f"ledger entry {entry.sequence} must end an open stream, got {run.release_id}")
        self.runs[run.sequence] = replace(run, is_closed=True)

    def _check_key(self, run: Run, measurement: StoredMeasurement) -> None:
        if run.key_id not in (None, measurement.key_id):
            raise IntegrityError(
                f"{run.release_id} must be measured with the key {run.key_id} that it was reserved under, got "
                f"{measurement.key_id}"
            )
        self.check_not_revoked(run)

    def _spend(self, run: Run) -> None:
        """Take a run with one measurement more; its cost counts as spent from the first on."""
        if self.runs[run.sequence].state is RunState.RESERVED:
            self._move(run, RunState.RESERVED, -run.cost)
            self._move(run, RunState.MEASURED, run.cost)
        self.runs[run.sequence] = run

    def _publish(self, entry: Entry, body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.MEASURED, RunState.PUBLISHED)
        self.runs[run.sequence] = replace(
            run, state=RunState.PUBLISHED, publications=(*run.publications, Publication(**body))
        )

    def _void(self, entry: Entry, _body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.RESERVED)
        self.runs[run.sequence] = replace(run, state=RunState.VOIDED)
        self._move(run, RunState.RESERVED, -run.cost)
        approval = self.approvals[entry.dataset].get(run.plan or "")
        if approval is not None:
            # What a revocation took away does not come back.
            back = 1 if run.sequence > approval.revoked_at else 0
            after = replace(approval, left=approval.left + back, used=approval.used - 1)
            self.approvals[entry.dataset][approval.plan] = after

    def _require(self, entry: Entry, body: dict[str, Any]) -> None:
        self.accounts[entry.dataset] = replace(self._account(entry), needs_approval=bool(body["approval"]))

    def _approve(self, entry: Entry, body: dict[str, Any]) -> None:
        self._account(entry)
        plan, runs = check_plan(body["plan"]), int(body["runs"])
        if runs < 1:
            raise IntegrityError(f"ledger entry {entry.sequence} must approve at least one run, got {runs}")
        before = self.approvals[entry.dataset].get(plan, Approval(plan))
        after = replace(before, by=str(body["by"]), left=before.left + runs, revoked=False)
        self.approvals[entry.dataset][plan] = after

    def _revoke(self, entry: Entry, body: dict[str, Any]) -> None:
        self._account(entry)
        before = self.approvals[entry.dataset].get(body["plan"])
        if before is None or before.revoked:
            raise IntegrityError(f"ledger entry {entry.sequence} must revoke an approval that stands, got none")
        after = replace(before, by=str(body["by"]), left=0, revoked=True, revoked_at=entry.sequence)
        self.approvals[entry.dataset][before.plan] = after

    def _close(self, entry: Entry, body: dict[str, Any]) -> None:
        if entry.dataset:
            raise IntegrityError(f"ledger entry {entry.sequence} must close the whole ledger, got {entry.dataset}")
        self.moved_to = str(body["to"])

    def _moved(self, entry: Entry, body: dict[str, Any]) -> None:
        if self.moved_to is None or body["to"] != self.moved_to:
            raise IntegrityError(f"ledger entry {entry.sequence} must name the place that the ledger was closed for")
        self.is_moved = True

    def check_not_revoked(self, run: Run) -> None:
        """Raise `BudgetError` if an open reservation may not be measured, since its approval was revoked."""
        if self.accounts[run.key.dataset].needs_approval:
            require_not_revoked(run.key.dataset, run.release_id, self.approvals[run.key.dataset].get(run.plan or ""))

    def check_payable(self, account: Account, cost: Fraction, period: str, plan: str | None) -> None:
        """Raise `BudgetError` if the account cannot pay a new reservation, or its plan is not approved."""
        if account.needs_approval:
            require_approved(account.dataset, plan, self.approvals[account.dataset].get(plan or ""))
        check_balance(account, cost, self.balance(account.dataset, period), period)

    def _move(self, run: Run, state: RunState, cost: Fraction) -> None:
        held = self._held.setdefault((run.key.dataset, run.period), {})
        held[state] = held.get(state, Fraction(0)) + cost

    def _account(self, entry: Entry) -> Account:
        if entry.dataset not in self.accounts:
            raise IntegrityError(f"ledger entry {entry.sequence} must name an account, got {entry.dataset}")
        return self.accounts[entry.dataset]

    def _run(self, entry: Entry, *allowed: RunState) -> Run:
        run = self.runs.get(entry.run) if entry.run is not None else None
        if run is None or run.key.dataset != entry.dataset:
            raise IntegrityError(f"ledger entry {entry.sequence} must belong to a run of its account, got {entry.run}")
        if run.state not in allowed:
            names = " or ".join(allowed)
            raise IntegrityError(f"{run.release_id} must be {names} before this {entry.kind}, got {run.state}")
        return run


def _horizon(given: Any) -> tuple[str, str] | None:
    if given is None:
        return None
    first, last = given
    return str(first), str(last)


def check_balance(account: Account, cost: Fraction, balance: Balance, period: str) -> None:
    """Raise `BudgetError` if the account has less left than a new reservation costs."""
    if cost > balance.left:
        unit = "rho" if account.terms.currency is Currency.ZCDP else "epsilon"
        when = f" in {period}" if period else ""
        raise BudgetError(
            f"dataset {account.dataset} must have {unit} {amount(cost)} left{when} for this release, got "
            f"{amount(balance.left)} of {amount(balance.total)} ({amount(balance.spent)} spent, "
            f"{amount(balance.reserved)} reserved)"
        )


def amount(value: Fraction) -> str:
    """Return a budget for people: a short decimal where that is exact, else the fraction."""
    decimal = f"{float(value):.12g}"
    return decimal if Fraction(decimal) == value else f"{value} (about {float(value):.6g})"
