"""The command ``dplib init``: the secret, the ledger and an account."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dplib.cli import exit_codes, out
from dplib.config.day_window import DayWindow
from dplib.privacy.budget import Currency
from dplib.privacy.neighbors import Neighbors
from dplib.privacy.rounding import as_fraction
from dplib.randomness.secret import load_secret
from dplib.randomness.secret_file import create_secret_file
from dplib.release.ledger import Ledger
from dplib.release.ledger_schema import resolve_ledger_url
from dplib.release.ledger_summary import describe
from dplib.release.periods import Renewal, period_named
from dplib.release.runs import Terms
from dplib.validate import one_of, require
from dplib.workflow.design import natural_terms
from dplib.workflow.prepared import Prepared

_DELTAS = {Currency.ZCDP: "1e-6", Currency.APPROX: "1e-5"}
"""Delta of new accounts by default: where rho becomes epsilon, or in total for ten releases of one millionth."""


def init_command(prepare: Callable[[Path], Prepared[Any]]) -> Callable[..., None]:
    """The command; ``prepare`` checks a configuration file of any job."""

    def init(
        config: Annotated[Path | None, typer.Option("--config", "-c", help="Take the settings from this file.")] = None,
        dataset: Annotated[str | None, typer.Option(help="Account to create.")] = None,
        budget: Annotated[
            str | None, typer.Option(help="Total budget: epsilon of a pure or approx, rho of a zcdp account.")
        ] = None,
        currency: Annotated[str | None, typer.Option(help="pure, zcdp or approx.")] = None,
        delta: Annotated[
            str | None,
            typer.Option(help="Of a zcdp account: where rho becomes epsilon; of an approx account: in total."),
        ] = None,
        unit: Annotated[str | None, typer.Option(help="Privacy unit: event, order, customer, ...")] = None,
        neighbors: Annotated[str | None, typer.Option(help="add_remove, replace_one, edge, ...")] = None,
        ledger: Annotated[str | None, typer.Option(help="Address of the ledger.")] = None,
        secret: Annotated[
            str | None, typer.Option(help="Where the secret is: file:PATH is created if missing.")
        ] = None,
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
        yes: Annotated[bool, typer.Option("--yes", help="Take defaults instead of asking.")] = False,
    ) -> None:
        """Create what is missing: the secret, the ledger and an account (asks, or takes flags)."""
        with exit_codes():
            prepared = None if config is None else prepare(config)
            renewal = None if renew is None else _renewal(renew, None if prepared is None else prepared.window)
            known = {} if prepared is None else _known_settings(prepared)
            ask = sys.stdin.isatty() and not yes

            def setting(name: str, given: str | None, default: str) -> str:
                value = given or known.get(name) or default
                # The address of a server may hold a password, which no prompt shall show.
                asks = ask and given is None and "@" not in value
                return str(typer.prompt(name, default=value)) if asks else value

            base = Path.cwd() if prepared is None else prepared.base
            _ensure_secret(setting("secret", secret, "file:dplib.key"), base)
            url = resolve_ledger_url(setting("ledger", ledger, "sqlite:///ledger.db"), base)
            opened = Ledger.open(url, create=True)
            name = setting("dataset", dataset, "")
            require(bool(name), "--dataset", "name the account to create", "nothing")
            if any(account.dataset == name for account in opened.accounts()):
                out.print(f"The account {name} exists; its terms are fixed.", markup=False)
            else:
                kind = Currency(one_of("currency", setting("currency", currency, "pure"), [c.value for c in Currency]))
                who = setting("unit", unit, "event")
                relation = setting("neighbors", neighbors, "add_remove")
                one_of("neighbors", relation, [each.value for each in Neighbors])
                terms = Terms(kind, who if renewal is None else renewal.unit_of(who), Neighbors(relation))
                total = as_fraction("budget", setting("budget", budget, "1" if kind is Currency.ZCDP else "10"))
                at = as_fraction("delta", setting("delta", delta, _DELTAS[kind])) if kind in _DELTAS else None
                account = opened.create_account(name, terms, total, at, "dplib init", renewal)
                out.print(describe(account), markup=False)
                if terms.unit != who:
                    out.print(f"Configurations that draw on it say privacy.unit: {terms.unit}", markup=False)
            if require_approval:
                opened.require_approval(name, True, "dplib init")
                out.print("Its runs need an approved plan (dplib ledger approve).")

    return init


def _renewal(adverb: str, window: DayWindow | None) -> Renewal:
    every, rule = period_named(adverb), "stand with --config of a job whose rows have a day column and declared days"
    require(window is not None, "--renew", rule, adverb)
    assert window is not None
    return Renewal(every, window.clock)


def _known_settings(prepared: Prepared[Any]) -> dict[str, str]:
    """Defaults that a configuration holds."""
    config, terms = prepared.design.config, natural_terms(prepared.design)
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
        out.print(f"Secret written to {place}: keep it private and backed up.", markup=False)
    key_id = load_secret(spec, base).current.key_id
    out.print(f"Secret {key_id} is in place.", markup=False)
