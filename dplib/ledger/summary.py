"""What ``dplib ledger show`` says: accounts with balances, approvals and runs; no private part of any entry."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from dplib.ledger.approvals import Approval
from dplib.ledger.audit import replay_sound
from dplib.ledger.ledger import Ledger
from dplib.ledger.replay import LedgerState, amount
from dplib.ledger.runs import Account, Balance, Run
from dplib.validate import require


@dataclass(frozen=True)
class AccountSummary:
    """One account; ``balances`` by period, the empty one where it does not renew."""

    account: Account
    balances: dict[str, Balance]
    approvals: list[Approval]
    runs: list[Run]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; budgets are exact texts."""
        account, renewal = self.account, self.account.renewal
        return {
            "account": account.dataset,
            "currency": account.terms.currency.value,
            "unit": account.terms.unit,
            "neighbors": account.terms.neighbors.value,
            "delta": None if account.delta is None else str(account.delta),
            "renews_by": None if renewal is None else renewal.every.value,
            "needs_approval": account.needs_approval,
            "balances": {
                period: {name: str(getattr(balance, name)) for name in ("total", "spent", "reserved", "left")}
                for period, balance in self.balances.items()
            },
            "approvals": [
                {"plan": each.plan, "by": each.by, "left": each.left, "used": each.used, "revoked": each.revoked}
                for each in self.approvals
            ],
            "runs": [_run(run) for run in self.runs],
        }


@dataclass(frozen=True)
class Summary:
    """Accounts and the chain's tip; ``moved_to`` names the new place of a ledger that was moved."""

    accounts: list[AccountSummary]
    tip: tuple[int, str]
    moved_to: str | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "tip": {"sequence": self.tip[0], "digest": self.tip[1]},
            "moved_to": self.moved_to,
            "accounts": [each.to_dict() for each in self.accounts],
        }


def summarise(ledger: Ledger, dataset: str | None = None, since: dt.date | None = None) -> Summary:
    """Look at a ledger, or at one account; runs that were reserved on or after a day (UTC), or all.

    Raises:
        ConfigError: if there is no such account.
    """
    book, tip = ledger.entries()
    state = replay_sound(book)
    require(dataset is None or dataset in state.accounts, "--dataset", "be an account of the ledger", dataset)
    names = sorted(state.accounts) if dataset is None else [dataset]
    return Summary([_account(state, name, since) for name in names], tip, state.moved_to)


def _account(state: LedgerState, name: str, since: dt.date | None) -> AccountSummary:
    runs = [run for run in state.runs.values() if run.key.dataset == name]
    return AccountSummary(
        state.accounts[name],
        {period: state.balance(name, period) for period in state.periods(name)},
        list(state.approvals[name].values()),
        [run for run in runs if since is None or run.at[:10] >= since.isoformat()],
    )


def _run(run: Run) -> dict[str, Any]:
    return {
        "release": run.release_id,
        "state": run.state.value,
        "cost": str(run.cost),
        "reserved_at": run.at,
        "period": run.period or None,
        "plan": run.plan,
        "location": None if run.publication is None else run.publication.location,
    }


def describe(account: Account) -> str:
    """One sentence about an account."""
    each = f" each {account.renewal.every}" if account.renewal else ""
    terms = account.terms
    return (
        f"Account {account.dataset}: {amount(account.total)} ({terms.currency.value}){each}, unit {terms.unit}, "
        f"neighbours {terms.neighbors}."
    )
