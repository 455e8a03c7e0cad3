"""The command ``dplib init``: the secret, the ledger and an account."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dplib.config.day_window import DayWindow
from dplib.errors import ConfigError
from dplib.jobs.table import prepare_file
from dplib.ledger.ledger import Ledger
from dplib.ledger.periods import Renewal, period_named
from dplib.ledger.runs import Account, Terms
from dplib.ledger.schema import resolve_ledger_url
from dplib.ledger.summary import describe
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.privacy.rounding import as_fraction
from dplib.secret.file import create_secret_file
from dplib.secret.secret import load_secret
from dplib.terminal.output import answer_of, exit_codes, out, someone_there
from dplib.validate import one_of, require
from dplib.workflow.design import JobDesign, cost_of, natural_terms
from dplib.workflow.prepared import Prepared

_DELTAS = {Currency.ZCDP: "1e-6", Currency.APPROX: "1e-5"}
"""Delta of new accounts by default: where rho becomes epsilon, or in total for ten releases of one millionth."""


def init(
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Take the settings from this file.")] = None,
    date: Annotated[str, typer.Option(help="With --config: logical date that fills {date}.")] = "",
    dataset: Annotated[str | None, typer.Option(help="Account to create.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Total budget, for ever: epsilon of a pure or approx, rho of a zcdp account."),
    ] = None,
    currency: Annotated[str | None, typer.Option(help="pure, zcdp or approx.")] = None,
    delta: Annotated[
        str | None,
        typer.Option(help="Of a zcdp account: where rho becomes epsilon; of an approx account: in total."),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Privacy unit: event, order, customer, ...")] = None,
    neighbors: Annotated[str | None, typer.Option(help="add_remove, replace_one, edge, ...")] = None,
    ledger: Annotated[str | None, typer.Option(help="Address of the ledger.")] = None,
    secret: Annotated[str | None, typer.Option(help="Where the secret is: file:PATH is created if missing.")] = None,
    renew: Annotated[
        str | None,
        typer.Option(
            help="The budget is new each period, which joins the unit: daily, weekly, monthly, quarterly or "
            "yearly; with --config, whose day column tells periods apart."
        ),
    ] = None,
    require_approval: Annotated[
        bool, typer.Option("--require-approval", help="Runs need an approved plan (dplib ledger approve).")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Take defaults instead of asking; no budget has one.")] = False,
) -> None:
    """Create what is missing: the secret, the ledger and an account (asks, or takes flags)."""
    with exit_codes():
        require(config is not None or not date, "--date", "be given only with --config", date)
        prepared = None if config is None else prepare_file(config, date)
        given = {
            "dataset": dataset,
            "currency": currency,
            "unit": unit,
            "neighbors": neighbors,
            "budget": budget,
            "delta": delta,
            "ledger": ledger,
            "secret": secret,
        }
        known = {} if prepared is None else _known_settings(prepared)
        asked = Answers(given, known, ask=someone_there() and not yes)
        renewal = None if renew is None else _renewal(renew, None if prepared is None else prepared.window)
        _create(asked, prepared, renewal, require_approval)


@dataclass(frozen=True)
class Answers:
    """Settings of an account: what an option says, what the configuration says, or what a person answers.

    Attributes:
        given: by the options, None where one is absent.
        known: from the configuration.
        ask: whether a person is there to be asked.
    """

    given: Mapping[str, str | None]
    known: Mapping[str, str]
    ask: bool

    def value(self, name: str, default: str) -> str:
        """The setting; empty where nobody says it and there is no default."""
        value = self.given[name] or self.known.get(name) or default
        # The address of a server may hold a password, which no prompt shall show.
        if not self.ask or self.given[name] is not None or "@" in value:
            return value
        return answer_of(name, value)


def _create(
    asked: Answers, prepared: Prepared[JobDesign] | None, renewal: Renewal | None, require_approval: bool
) -> None:
    base = Path.cwd() if prepared is None else prepared.base
    secret, address = asked.value("secret", "file:dplib.key"), asked.value("ledger", "sqlite:///ledger.db")
    url, name = resolve_ledger_url(address, base), asked.value("dataset", "")
    require(bool(name), "--dataset", "name the account to create", "nothing")
    existing = _existing(url, name)
    if existing is not None:
        _require_same(existing, asked, prepared, renewal)
        made = None
    else:
        made = _new_terms(asked, renewal)
    _ensure_secret(secret, base)
    opened = Ledger.open(url, create=True)
    if made is None:
        out.print(f"The account {name} exists; its terms are fixed.")
    else:
        who, terms, total, at = made
        out.print(describe(opened.create_account(name, terms, total, at, "dplib init", renewal)))
        if terms.unit != who:
            out.print(f"Configurations that draw on it say privacy.unit: {terms.unit}")
    if require_approval:
        opened.require_approval(name, True, "dplib init")
        out.print("Its runs need an approved plan (dplib ledger approve).")


def _existing(url: str, name: str) -> Account | None:
    """The account, where the ledger exists and has it."""
    try:
        accounts = Ledger.open(url).accounts()
    except ConfigError:  # no ledger yet; what is wrong with its address is said where it is made
        return None
    return next((account for account in accounts if account.dataset == name), None)


def _new_terms(asked: Answers, renewal: Renewal | None) -> tuple[str, Terms, Fraction, Fraction | None]:
    """Unit as given, terms, total and delta of a new account."""
    kind = Currency(one_of("currency", asked.value("currency", "pure"), [each.value for each in Currency]))
    unit, relation = asked.value("unit", "event"), asked.value("neighbors", "add_remove")
    one_of("neighbors", relation, [each.value for each in Neighbors])
    budget = asked.value("budget", "")
    # Nobody's default: an account's total stands for ever.
    require(bool(budget), "--budget", "be given for a new account, since its total is fixed for ever", "nothing")
    delta = as_fraction("delta", asked.value("delta", _DELTAS[kind])) if kind in _DELTAS else None
    joined = unit if renewal is None else renewal.unit_of(unit)
    return unit, Terms(kind, joined, Neighbors(relation)), as_fraction("budget", budget), delta


def _require_same(
    account: Account, asked: Answers, prepared: Prepared[JobDesign] | None, renewal: Renewal | None
) -> None:
    """Refuse other terms than those of an account that exists.

    Raises:
        ConfigError: naming all that differ, or what the account cannot pay.
    """
    given, terms = asked.given, account.terms
    unit, relation = (given[name] or asked.known.get(name) for name in ("unit", "neighbors"))
    if unit is not None and renewal is not None:
        unit = renewal.unit_of(unit)
    pairs: list[tuple[str, object, object]] = [
        ("currency", given["currency"], terms.currency.value),
        ("unit", unit, terms.unit),
        ("neighbors", relation, terms.neighbors.value),
        ("renewal", None if renewal is None else renewal.every.value, account.renewal and account.renewal.every.value),
    ]
    for name, own in (("budget", account.total), ("delta", account.delta)):
        wanted = given[name]
        pairs.append((name, None if wanted is None else as_fraction(name, wanted), own))
    other = [(name, wanted, own) for name, wanted, own in pairs if wanted is not None and wanted != own]
    if other:
        raise ConfigError(
            " and ".join(name for name, _, _ in other),
            (
                f"be as the account {account.dataset} has it for ever, "
                f"{', '.join('none' if own is None else str(own) for _, _, own in other)}"
            ),
            ", ".join(str(wanted) for _, wanted, _ in other),
        )
    if prepared is not None:
        cost_of(prepared.design, terms.currency, account)


def _renewal(adverb: str, window: DayWindow | None) -> Renewal:
    every, rule = (
        period_named(adverb),
        "be given only with --config of a job whose rows have a day column and declared days",
    )
    require(window is not None, "--renew", rule, adverb)
    assert window is not None
    return Renewal(every, window.clock)


def _known_settings(prepared: Prepared[JobDesign]) -> dict[str, str]:
    """Defaults that a configuration holds."""
    config, terms = prepared.config, natural_terms(prepared.design)
    return {
        "dataset": config.dataset,
        "currency": terms.currency.value,
        "unit": terms.unit,
        "neighbors": terms.neighbors.value,
        "ledger": config.ledger,
        "secret": config.secret,
    }


def _ensure_secret(spec: str, base: Path) -> None:
    kind, _, place = spec.partition(":")
    if kind == "file" and not (base / place).exists():
        create_secret_file(base / place)
        out.print(f"Secret written to {place}: keep it private and backed up.")
    key_id = load_secret(spec, base).current.key_id
    out.print(f"Secret {key_id} is in place.")
