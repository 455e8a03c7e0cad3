"""The commands ``dplib ledger``: create, show, export, check, correct, approve and move the privacy ledger."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.help_texts import SUMMARIES, example_of
from dplib.errors import DplibError
from dplib.jobs.pricing import price
from dplib.ledger.audit import audit_entries, export_lines, known_tips, not_recomputed, read_export
from dplib.ledger.chain import Entry
from dplib.ledger.ledger import Ledger
from dplib.ledger.migration import migrate
from dplib.ledger.schema import resolve_ledger_url
from dplib.ledger.summary import Summary, describe, summarise
from dplib.release.verify import output_folders, unknown_releases
from dplib.terminal.output import day_option, err, exit_codes, out

ledger = typer.Typer(help=SUMMARIES["ledger"], epilog=example_of("ledger"), no_args_is_help=True, add_completion=False)

LedgerUrl = Annotated[str, typer.Option("--ledger", help="Address of the ledger, as in a configuration.")]
Dataset = Annotated[str, typer.Argument(help="Name of the account.", metavar="DATASET")]
PlanHash = Annotated[str, typer.Argument(help="Hash that dplib plan shows.", metavar="HASH")]
By = Annotated[str, typer.Option("--by", help="Who decides.")]
Why = Annotated[str, typer.Option("--why", help="Why, for the record.")]
DEFAULT = "sqlite:///ledger.db"


def _open(url: str, even_closed: bool = False) -> Ledger:
    return Ledger.open(resolve_ledger_url(url, Path.cwd()), even_closed=even_closed)


@ledger.command("create")
def ledger_create(ledger: LedgerUrl = DEFAULT) -> None:
    """Create the tables, for roles that may not do so themselves; safe to repeat."""
    with exit_codes():
        opened = Ledger.open(resolve_ledger_url(ledger, Path.cwd()), create=True)
        out.print(f"The ledger is in place: {opened.address}", markup=False)


@ledger.command("show")
def ledger_show(
    ledger: LedgerUrl = DEFAULT,
    dataset: Annotated[str | None, typer.Option(help="This account only.")] = None,
    since: Annotated[str | None, typer.Option(help="Runs reserved on or after this day (UTC).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Accounts with their balances, approvals and runs; the last line is the chain's tip, to be kept elsewhere."""
    with exit_codes():
        found = summarise(_open(ledger, even_closed=True), dataset, day_option("--since", since))
        if as_json:
            print(json.dumps(found.to_dict(), indent=2))
        else:
            _show(found)


def _show(found: Summary) -> None:
    if found.moved_to:
        out.print(f"MOVED to {found.moved_to}: nothing is written here any more.\n", markup=False)
    for each in found.accounts:
        out.print(describe(each.account), markup=False)
        for period, balance in each.balances.items():
            shown = {"total": balance.total, "spent": balance.spent, "reserved": balance.reserved, "left": balance.left}
            figures = "  ".join(f"{name} {_short(value)}" for name, value in shown.items())
            out.print(f"  {period + ': ' if period else ''}{figures}", markup=False)
        if each.account.needs_approval:
            out.print("  Runs need an approved plan.")
        for approval in each.approvals:
            state = "revoked" if approval.revoked else f"{approval.left} runs left"
            out.print(f"  plan {approval.plan[:16]}...  {state}, {approval.used} used, by {approval.by}", markup=False)
        for run in each.runs:
            out.print(f"  {run.at[:10]}  {run.state:9}  {_short(run.cost):>7}  {run.release_id}", markup=False)
        out.print("")
    out.print(f"Tip: {found.tip[0]}:{found.tip[1]}", markup=False)


def _short(value: Fraction) -> str:
    return f"{float(value):.5g}"


@ledger.command("export")
def ledger_export(ledger: LedgerUrl = DEFAULT) -> None:
    """Print the whole book as JSON lines, for audits elsewhere; as private as the ledger."""
    with exit_codes():
        for line in export_lines(*_open(ledger, even_closed=True).entries()):
            print(line)


@ledger.command("audit")
def ledger_audit(
    ledger: LedgerUrl = DEFAULT,
    source: Annotated[Path | None, typer.Option("--from", help="Check this export instead of a database.")] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(help="A tip kept elsewhere, SEQUENCE:DIGEST, or an earlier export's file; repeatable."),
    ] = None,
    releases: Annotated[
        Path | None,
        typer.Option(help="Look in this folder for releases that the book does not know; absent: where it stored any."),
    ] = None,
) -> None:
    """Check the hash chain and every rule; exits 1 if something is wrong."""
    with exit_codes():
        book, tip = read_export(source) if source else _open(ledger, even_closed=True).entries()
        findings = audit_entries(book, tip, known_tips(known or []), price)
        shown = [
            f"{'ledger' if finding.sequence is None else f'entry {finding.sequence}'}: {finding.problem}"
            for finding in findings
        ]
        if releases is not None or (source is None and not shown):
            lying = _unknown(book, releases)
            if lying and source is None:
                # What jobs made meanwhile was in the book before it lay in a folder: a later book knows it.
                lying = _unknown(_open(ledger, even_closed=True).entries()[0], releases)
            shown += lying
        for line in shown:
            err.print(line, markup=False)
        if shown:
            raise DplibError(f"ledger must be sound, got {len(shown)} findings")
        older = not_recomputed(book)
        if older:
            out.print(
                f"Not recomputed: {older} reservations of earlier versions carry no settings; their costs and plans "
                "are taken as stated."
            )
        out.print(f"The hash chain is whole and every entry keeps the rules. Tip: {tip[0]}:{tip[1]}", markup=False)


def _unknown(book: list[Entry], releases: Path | None) -> list[str]:
    """Releases that a book does not know: in a folder, or where the book says that it stored any."""
    if releases is not None:
        return unknown_releases(releases, book)
    folders = output_folders(book)
    return [line for folder in folders for line in unknown_releases(folder, book, own_accounts=True)]


@ledger.command("void")
def ledger_void(
    release: Annotated[str, typer.Argument(help="Release id of a reservation without a measurement.")],
    reason: Annotated[str, typer.Option("--reason", "--why", help="Why, for the record.")],
    ledger: LedgerUrl = DEFAULT,
) -> None:
    """Give back a reservation that has no measurement."""
    with exit_codes():
        opened = _open(ledger)
        run = opened.void(opened.run(release), reason)
        out.print(f"{run.release_id} is {run.state.value}.", markup=False)


@ledger.command("require-approval")
def ledger_require_approval(
    dataset: Dataset,
    why: Why,
    off: Annotated[bool, typer.Option("--off", help="Runs need no approval any more.")] = False,
    ledger: LedgerUrl = DEFAULT,
) -> None:
    """From now on runs of an account need an approved plan."""
    with exit_codes():
        account = _open(ledger).require_approval(dataset, not off, why)
        out.print(f"Runs of {dataset} {'need' if account.needs_approval else 'need no'} approved plan.", markup=False)


@ledger.command("approve")
def ledgerrove(
    dataset: Dataset,
    plan: PlanHash,
    by: By,
    why: Why,
    runs: Annotated[int, typer.Option(help="How many runs, for example one a day of a schedule.")] = 1,
    ledger: LedgerUrl = DEFAULT,
) -> None:
    """Sign off a plan: as many runs of these settings as --runs says, whatever their logical dates."""
    with exit_codes():
        approval = _open(ledger).approve(dataset, plan, by, why, runs)
        out.print(f"The plan is approved for {approval.left} more runs of {dataset}.", markup=False)


@ledger.command("revoke")
def ledger_revoke(dataset: Dataset, plan: PlanHash, by: By, why: Why, ledger: LedgerUrl = DEFAULT) -> None:
    """Take an approval back: nothing of the plan is reserved or measured any more."""
    with exit_codes():
        approval = _open(ledger).revoke(dataset, plan, by, why)
        out.print(f"The approval is revoked; {approval.used} runs of {dataset} have used it.", markup=False)


@ledger.command("migrate")
def ledger_migrate(
    source: Annotated[str, typer.Option("--from", help="Address of the ledger to move; it is closed for writing.")],
    target: Annotated[str, typer.Option("--to", help="Address of the new ledger, which must be empty.")],
) -> None:
    """Move a ledger to another database, entry by entry as it is; safe to repeat after a crash."""
    with exit_codes():
        addresses = (resolve_ledger_url(url, Path.cwd()) for url in (source, target))
        moved = migrate(*addresses)
        out.print(f"{moved.n_entries} entries moved to {moved.address}; name that in `ledger` now.", markup=False)
