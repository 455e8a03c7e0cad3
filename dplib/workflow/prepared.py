"""A checked configuration, ready to run."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from dplib.config.day_window import DayWindow
from dplib.config.job_config import JobConfig
from dplib.config.load import check, read_settings
from dplib.config.paths import local_path
from dplib.errors import BudgetError, ConfigError
from dplib.ledger.approvals import plan_hash
from dplib.ledger.ledger import Ledger
from dplib.ledger.replay import amount
from dplib.ledger.runs import Account, Run, RunKey, Terms
from dplib.ledger.schema import resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.secret.places import withhold
from dplib.validate import require
from dplib.workflow.design import AnyDesign, JobDesign, cost_of, neighbors_of
from dplib.workflow.settings import counted_hash, former_hashes, input_place, plan_settings, publish_hash

AnyConfig = TypeVar("AnyConfig", bound=JobConfig)
Design_co = TypeVar("Design_co", bound=JobDesign, covariant=True)


@dataclass(frozen=True)
class Prepared(Generic[Design_co]):
    """A design with the place and the date of its configuration.

    Attributes:
        design: the design.
        base: folder that relative paths refer to.
        date: logical date, empty where there is none.
    """

    design: Design_co
    base: Path
    date: str

    @property
    def output(self) -> Path:
        """Folder of all releases."""
        path = self.design.config.publish.output.path
        why = ", since releases appear by one rename"
        return local_path("publish.output.path", path, self.base, why).resolve()

    @property
    def key(self) -> RunKey:
        """What makes two runs the same run."""
        config = self.design.config
        return RunKey(
            config.dataset,
            config.job,
            self.date,
            counted_hash(self.design),
            former_hashes(self.design),
            input_place(config.input, self.base),
        )

    @property
    def plan_settings(self) -> dict[str, Any]:
        """The measurement settings that an officer reads and the ledger keeps."""
        return plan_settings(self.design)

    def publish_hash(self, run: Run) -> str:
        """Hash of what shapes the release of a run's measurement."""
        return publish_hash(self.design, run.key.settings_hash)

    @property
    def window(self) -> DayWindow | None:
        """The days that the run reads; None where its rows may be of any day."""
        return self.design.config.day_window

    def plan_hash(self, account: Account) -> str:
        """Hash of the plan that a privacy officer approves: settings without their date, cost, unit, neighbours."""
        cost, terms = cost_of(self.design, account.terms.currency, account), account.terms
        return plan_hash(self.plan_settings, self.date, cost, terms.unit, terms.neighbors)

    def former_plan_hash(self, account: Account) -> str:
        """The same as versions before made it, of all settings: an open reservation may name it."""
        cost, terms = cost_of(self.design, account.terms.currency, account), account.terms
        return plan_hash(self.design.settings, self.date, cost, terms.unit, terms.neighbors)

    def open_ledger(self) -> Ledger:
        """The ledger of the configuration."""
        return Ledger.open(resolve_ledger_url(self.design.config.ledger, self.base))


def resolver(
    model: type[AnyConfig], resolve: Callable[[AnyConfig, Path], AnyDesign]
) -> Callable[[Mapping[str, object], Path], AnyDesign]:
    """From settings and the folder of their relative paths to a design, whatever the type of the configuration.

    Args:
        model: of the job's configuration.
        resolve: derives the job's design from a checked one.
    """

    def resolved(settings: Mapping[str, object], base: Path) -> AnyDesign:
        config = check(model, settings)
        # Whatever the command starts from here on does not inherit it, whether or not the secret is needed.
        withhold(config.secret)
        return resolve(config, base)

    return resolved


def prepare(
    resolve: Callable[[Mapping[str, object], Path], Design_co], path: Path, assignments: Sequence[str], date: str
) -> Prepared[Design_co]:
    """Load, check and resolve a configuration.

    Args:
        resolve: checks settings and derives the job's design from them and the folder of their relative paths.
        path: the configuration file.
        assignments: ``--set`` values.
        date: logical date, empty where there is none.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    require(not date or _is_moment(date), "--date", "be a day such as 2024-05-03, or a moment of ISO 8601", date)
    settings, base = read_settings(path, assignments, date), path.resolve().parent
    found = Prepared(resolve(settings, base), base, date)
    # Environment variables that paths name are missed here, not when something was spent.
    found.design.config.input.paths(base)
    _ = found.output
    return found


def _is_moment(text: str) -> bool:
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def ledger_state(run: Prepared[JobDesign]) -> dict[str, Any]:
    """What the ledger says about a run that is only planned, as JSON values."""
    try:
        ledger = run.open_ledger()
        account = ledger.account(run.design.config.dataset)
        period = account.period_of(run.window)
        cost, plan = cost_of(run.design, account.terms.currency, account), run.plan_hash(account)
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
        "existing_state": found.state.value if found else None,
    }


def require_payable(run: Prepared[JobDesign]) -> None:
    """Refuse a plan that its account would not pay for; one without a ledger or an account, or approval, may be made.

    Raises:
        ConfigError: if the account has other terms, or the same words were measured from another input.
        BudgetError: if it has too little left.
    """
    try:
        ledger = run.open_ledger()
        account = ledger.account(run.design.config.dataset)
    except ConfigError:
        return
    account.require_terms(Terms(account.terms.currency, run.design.config.privacy.unit, neighbors_of(run.design)))
    cost, period = cost_of(run.design, account.terms.currency, account), account.period_of(run.window)
    left = ledger.balance(account.dataset, period=period).left
    ledger.check_place(run.key)
    if ledger.find_run(run.key) is None and cost > left:
        unit = "rho" if account.terms.currency is Currency.ZCDP else "epsilon"
        when = f" in {period}" if period else ""
        raise BudgetError(
            f"dataset {account.dataset} must have {unit} {amount(cost)} left{when} for this release, "
            f"got {amount(left)} of {amount(account.total)}"
        )
