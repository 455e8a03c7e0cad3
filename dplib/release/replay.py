"""From ledger entries to accounts, runs and balances: one function decides what an entry may do.

The entries are the only record; state is derived from them anew for every decision, by the same rules for
writing and for auditing. A writer applies its new entry to the replayed state before it inserts it, so an entry that
breaks a rule is never written, and an audit that replays the ledger finds any that got in another way.

Cost: O(entries of the account), each read and digested once.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from dplib.errors import BudgetError, ConfigError, IntegrityError
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.release.chain import Entry
from dplib.release.runs import Account, Balance, Publication, Run, RunKey, RunState, StoredMeasurement, Terms


class LedgerState:
    """Accounts and runs after some entries."""

    def __init__(self) -> None:
        self.accounts: dict[str, Account] = {}
        self.runs: dict[int, Run] = {}
        self._held: dict[str, dict[RunState, Fraction]] = {}

    def apply(self, entry: Entry) -> None:
        """Take one more entry into account.

        Raises:
            BudgetError: if a reservation costs more than is left.
            IntegrityError: if the entry is malformed or not allowed in the present state. The state is unchanged.
        """
        rules: dict[str, Callable[[Entry, dict[str, Any]], None]] = {
            "account": self._create,
            "reserve": self._reserve,
            "measure": self._measure,
            "publish": self._publish,
            "void": self._void,
        }
        rule = rules.get(entry.kind)
        if rule is None:
            raise IntegrityError(f"ledger entry {entry.sequence} must be of a known kind, got {entry.kind}")
        try:
            rule(entry, entry.content())
        except (ConfigError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise IntegrityError(f"ledger entry {entry.sequence} must hold all fields of a {entry.kind}") from error

    def balance(self, dataset: str) -> Balance:
        """Exact balance of an account that exists."""
        held = self._held[dataset]
        return Balance(self.accounts[dataset].total, held[RunState.MEASURED], held[RunState.RESERVED])

    def newest(self, key: RunKey) -> Run | None:
        """The newest run of a key that is not voided."""
        same = (run for run in self.runs.values() if run.key == key and run.state is not RunState.VOIDED)
        return max(same, key=lambda run: run.sequence, default=None)

    def _create(self, entry: Entry, body: dict[str, Any]) -> None:
        if entry.dataset in self.accounts:
            raise IntegrityError(f"ledger entry {entry.sequence} must not create the account {entry.dataset} again")
        delta = body["delta"]
        self.accounts[entry.dataset] = Account(
            entry.dataset,
            Terms(Currency(body["currency"]), body["unit"], Neighbors(body["neighbors"])),
            Fraction(body["budget"]),
            None if delta is None else Fraction(delta),
        )
        self._held[entry.dataset] = {RunState.MEASURED: Fraction(0), RunState.RESERVED: Fraction(0)}

    def _reserve(self, entry: Entry, body: dict[str, Any]) -> None:
        if entry.dataset not in self.accounts:
            raise IntegrityError(f"ledger entry {entry.sequence} must name an account, got {entry.dataset}")
        cost = Fraction(body["cost"])
        if cost <= 0:
            raise IntegrityError(f"ledger entry {entry.sequence} must reserve more than 0, got {cost}")
        key = RunKey(entry.dataset, body["job"], body["logical_date"], body["settings_hash"])
        check_payable(self.accounts[entry.dataset], cost, self.balance(entry.dataset))
        self.runs[entry.sequence] = Run(entry.sequence, key, cost, RunState.RESERVED, key_id=body.get("key_id"))
        self._held[entry.dataset][RunState.RESERVED] += cost

    def _measure(self, entry: Entry, body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.RESERVED)
        measurement = StoredMeasurement(**body)
        if run.key_id not in (None, measurement.key_id):
            raise IntegrityError(
                f"{run.release_id} must be measured with the key {run.key_id} that it was reserved under, got "
                f"{measurement.key_id}"
            )
        self.runs[run.sequence] = replace(run, state=RunState.MEASURED, measurement=measurement)
        self._held[entry.dataset][RunState.RESERVED] -= run.cost
        self._held[entry.dataset][RunState.MEASURED] += run.cost

    def _publish(self, entry: Entry, body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.MEASURED, RunState.PUBLISHED)
        self.runs[run.sequence] = replace(run, state=RunState.PUBLISHED, publication=Publication(**body))

    def _void(self, entry: Entry, _body: dict[str, Any]) -> None:
        run = self._run(entry, RunState.RESERVED)
        self.runs[run.sequence] = replace(run, state=RunState.VOIDED)
        self._held[entry.dataset][RunState.RESERVED] -= run.cost

    def _run(self, entry: Entry, *allowed: RunState) -> Run:
        run = self.runs.get(entry.run) if entry.run is not None else None
        if run is None or run.key.dataset != entry.dataset:
            raise IntegrityError(f"ledger entry {entry.sequence} must belong to a run of its account, got {entry.run}")
        if run.state not in allowed:
            names = " or ".join(allowed)
            raise IntegrityError(f"{run.release_id} must be {names} before this {entry.kind}, got {run.state}")
        return run


def check_payable(account: Account, cost: Fraction, balance: Balance) -> None:
    """Raise `BudgetError` if an account with this balance cannot pay."""
    if cost > balance.left:
        unit = "rho" if account.terms.currency is Currency.ZCDP else "epsilon"
        raise BudgetError(
            f"dataset {account.dataset} must have {unit} {amount(cost)} left for this release, got "
            f"{amount(balance.left)} of {amount(balance.total)} ({amount(balance.spent)} spent, "
            f"{amount(balance.reserved)} reserved)"
        )


def amount(value: Fraction) -> str:
    """Return a budget for people: a short decimal where that is exact, else the fraction."""
    decimal = f"{float(value):.12g}"
    return decimal if Fraction(decimal) == value else f"{value} (about {float(value):.6g})"
