"""What a run asks of its account, for who plans it and for who reserves it."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from dplib.errors import ConfigError, IntegrityError
from dplib.ledger.approvals import plan_hash
from dplib.ledger.replay import check_balance
from dplib.ledger.runs import Account, Run, Terms
from dplib.workflow.design import JobDesign, cost_of, neighbors_of
from dplib.workflow.prepared import Prepared


@dataclass(frozen=True)
class Offer:
    """What a run asks of its account.

    Attributes:
        prepared: the run's configuration and design.
        account: the account.
    """

    prepared: Prepared[JobDesign]
    account: Account

    @property
    def terms(self) -> Terms:
        """The account's currency, and the unit and neighbours that the cost is meant in."""
        design = self.prepared.design
        return Terms(self.account.terms.currency, design.config.privacy.unit, neighbors_of(design))

    @cached_property
    def cost(self) -> Fraction:
        """Exact, in the account's currency."""
        return cost_of(self.prepared.design, self.account.terms.currency, self.account)

    @property
    def period(self) -> str:
        """The period whose budget pays, empty where none renews."""
        return self.account.period_of(self.prepared.window)

    @cached_property
    def plan(self) -> str:
        """Hash of the plan that a privacy officer approves: settings without their date, cost, unit, neighbours."""
        return self._plan_of(self.prepared.plan_settings)

    @property
    def plans(self) -> frozenset[str | None]:
        """Hashes under which an open reservation of the same may stand: versions before hashed all settings."""
        return frozenset({None, self.plan, self._plan_of(self.prepared.settings)})

    def _plan_of(self, settings: dict[str, Any]) -> str:
        terms = self.account.terms
        return plan_hash(settings, self.prepared.logical_date, self.cost, terms.unit, terms.neighbors)

    def require_own_price(self, run: Run) -> None:
        """Refuse an open reservation that was made for less than its settings cost, or under another plan's approval.

        Raises:
            IntegrityError: saying which.
        """
        forged = "forged (dplib ledger audit; dplib ledger void gives it back)"
        if run.cost < self.cost:
            raise IntegrityError(
                f"{run.release_id} must be reserved at what its settings cost, {self.cost}, got {run.cost}: {forged}"
            )
        if run.plan not in self.plans:
            raise IntegrityError(
                f"{run.release_id} must be reserved under the plan of its own settings, got another one's: {forged}"
            )


def ledger_state(run: Prepared[JobDesign]) -> dict[str, Any]:
    """What the ledger says about a run that is only planned, as JSON values."""
    try:
        ledger = run.open_ledger()
        offer = Offer(run, ledger.account(run.design.config.dataset))
        account, period, cost, plan = offer.account, offer.period, offer.cost, offer.plan
    except ConfigError as error:
        return {"account": None, "problem": str(error)}
    balance, found = ledger.balance(account.dataset, period=period), ledger.find_run(run.key)
    approved = {each.plan: each.left for each in ledger.approvals(account.dataset)}
    return {
        "account": account.dataset,
        "currency": account.terms.currency.value,
        "total": str(balance.total),
        "left": str(balance.left),
        "cost": str(cost),
        "period": period or None,
        "plan_hash": plan,
        "approval": {"required": account.needs_approval, "runs_left": approved.get(plan, 0)},
        "existing_run": found.release_id if found else None,
        "existing_state": found.state_on(run.date).value if found else None,
        "existing_release": found.publication.location if found and found.publication else None,
    }


def require_payable(run: Prepared[JobDesign]) -> None:
    """Refuse a plan that its account would not pay for; one without a ledger or an account, or approval, may be made.

    Raises:
        ConfigError: if the account has other terms, the same words were measured from another input, or the day is one
            of a stream that was closed without it.
        BudgetError: if it has too little left.
    """
    try:
        ledger = run.open_ledger()
        offer = Offer(run, ledger.account(run.design.config.dataset))
    except ConfigError:
        return
    account = offer.account
    account.require_terms(offer.terms)
    ledger.check_place(run.key)
    found = ledger.find_run(run.key)
    require_open(found, run.date)
    if found is None:
        check_balance(account, offer.cost, ledger.balance(account.dataset, period=offer.period), offer.period)


def require_open(found: Run | None, date: str) -> None:
    """Refuse a day that a stream did not measure before it was closed.

    Raises:
        ConfigError: naming the stream.
    """
    if found is not None and found.is_closed and date and not found.is_measured(date):
        raise ConfigError("--date", f"name a day of an open stream, and {found.release_id} is closed", date)
