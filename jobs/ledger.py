"""The commands ``dplib ledger``: show, export, check and correct the privacy ledger."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli import err, exit_codes, out, table
from dplib.errors import DplibError
from dplib.release.ledger import Ledger
from dplib.release.ledger_schema import resolve_ledger_url
from dplib.release.replay import amount

ledger_app = typer.Typer(help="Show, export, check and correct the privacy ledger.", no_args_is_help=True)

LedgerUrl = Annotated[str, typer.Option("--ledger", help="Address of the ledger, as in a configuration.")]


@ledger_app.command("show")
def ledger_show(ledger: LedgerUrl = "sqlite:///ledger.db") -> None:
    """Accounts with their balances, and their runs."""
    with exit_codes():
        opened = Ledger.open(resolve_ledger_url(ledger, Path.cwd()))
        accounts, runs = [], []
        for account in opened.accounts():
            balance = opened.balance(account.dataset)
            figures = [amount(value) for value in (balance.total, balance.spent, balance.reserved, balance.left)]
            accounts.append([account.dataset, account.terms.currency.value, account.terms.unit, *figures])
            runs += [[run.release_id, run.state.value, amount(run.cost)] for run in opened.runs(account.dataset)]
        columns = ["account", "currency", "unit", "total", "spent", "reserved", "left"]
        out.print(table("Accounts", columns, accounts, frozenset(columns[3:])))
        out.print(table("\nRuns", ["release", "state", "cost"], runs, frozenset({"cost"})))


@ledger_app.command("export")
def ledger_export(ledger: LedgerUrl = "sqlite:///ledger.db") -> None:
    """Print every entry as one JSON line; as private as the ledger."""
    with exit_codes():
        for entry in Ledger.open(resolve_ledger_url(ledger, Path.cwd())).export():
            print(json.dumps(entry, default=str, sort_keys=True))


@ledger_app.command("audit")
def ledger_audit(ledger: LedgerUrl = "sqlite:///ledger.db") -> None:
    """Check the hash chain and every rule; exits 1 if something is wrong."""
    with exit_codes():
        findings = Ledger.open(resolve_ledger_url(ledger, Path.cwd())).audit()
        for finding in findings:
            err.print(f"entry {finding.sequence}: {finding.problem}", markup=False)
        if findings:
            raise DplibError(f"ledger must be sound, got {len(findings)} findings")
        out.print("The hash chain is whole and every entry keeps the rules.")


@ledger_app.command("void")
def ledger_void(
    release: Annotated[str, typer.Argument(help="Release id of a reservation without a measurement.")],
    reason: Annotated[str, typer.Option(help="Why, for the record.")],
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Give back a reservation that has no measurement."""
    with exit_codes():
        opened = Ledger.open(resolve_ledger_url(ledger, Path.cwd()))
        run = opened.void(opened.run(release), reason)
        out.print(f"{run.release_id} is {run.state.value}.", markup=False)
