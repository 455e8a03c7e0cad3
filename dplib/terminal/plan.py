"""What ``dplib plan`` prints."""

from collections.abc import Iterable
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from typing import Any

from dplib.page.account_state import AccountState
from dplib.page.number_text import number_text
from dplib.terminal.notices import tried
from dplib.terminal.output import json_text, out, show, table
from dplib.workflow.changed_settings import changed_settings
from dplib.workflow.design import AnyDesign, cost_of, natural_terms
from dplib.workflow.dry_publication import require_publishable
from dplib.workflow.job import PreparedJob
from dplib.workflow.offer import ledger_state, require_payable
from dplib.workflow.plan import JobPlan
from dplib.workflow.shown import Shown
from dplib.workflow.wanted_error import Prepare, Wanted, needed_budgets


def show_plan(prepared: PreparedJob[AnyDesign], as_json: bool) -> None:
    """Print the plan of a configuration with what the ledger says about it: reads no rows, spends nothing.

    Raises:
        ConfigError: before it, if such a release could never be published; after it, if the account has other terms.
        BudgetError: after it, if the account cannot pay for it.
    """
    terms = natural_terms(prepared.design)
    cost = cost_of(prepared.design, terms.currency)
    account = AccountState(terms.currency, cost, Fraction(0), cost)
    # The page, which takes a second to draw, is tried by the run, before it reserves.
    require_publishable(prepared, partial(tried, prepared.job), account, page=False)
    plan, shown = prepared.job.plan(prepared.design, prepared.key.settings_hash)
    ledger, changed = ledger_state(prepared), changed_settings(prepared)
    if as_json:
        beside = None if changed is None else asdict(changed)
        around = {"ledger": ledger, "changed": beside, "horizon": prepared.config.horizon}
        print(json_text(plan.to_dict() | around))
    else:
        _print_plan(plan, ledger, shown)
        if changed is not None:
            out.print(f"New: {changed.text}.", markup=False)
    # Said last, so that the plan is read all the same.
    require_payable(prepared)


def show_needed(prepare: Prepare, wanted: Wanted, as_json: bool) -> None:
    """Print the least budget for each answer whose error is wanted: reads no rows, spends nothing."""
    found = needed_budgets(prepare, wanted)
    if as_json:
        print(json_text({"most": wanted.most, "needed": [asdict(each) for each in found]}))
        return
    rows = [
        [
            each.answer,
            number_text(each.error_now, 3),
            each.budget or "none",
            "-" if each.error is None else number_text(each.error, 3),
        ]
        for each in found
    ]
    setting = found[0].setting
    columns = ["answer", "error now", "budget", "its error"]
    out.print(f"{setting} for a standard error of at most {number_text(wanted.most, 3)}, all else the same:")
    out.print(table("", columns, rows, frozenset(columns[1:])))


def _print_plan(plan: JobPlan, ledger: dict[str, Any], shown: Iterable[Shown]) -> None:
    frame = plan.frame
    out.print(
        f"[bold]Plan of {frame.job} for the account {frame.dataset}[/bold] (no row is read, nothing is spent)\n",
        markup=True,
    )
    out.print(f"Guarantee: {frame.budget}; {frame.neighbors}.", markup=False)
    out.print(f"Caps: {', '.join(f'{name} at most {value}' for name, value in frame.caps.items())}.", markup=False)
    show(shown)
    rows = [[each.accountant, f"{each.epsilon:.4g}", f"{each.delta:.1g}", each.note] for each in frame.totals]
    out.print(table("\nThe release by each accountant", ["accountant", "epsilon", "delta", "note"], rows))
    out.print("")
    for note in frame.notes:
        out.print(f"Note: {note}", markup=False)
    if ledger["account"] is None:
        out.print(f"Ledger: {ledger['problem']}.", markup=False)
    elif ledger["existing_run"]:
        out.print(
            f"Ledger: {ledger['existing_run']} is {ledger['existing_state']}; running again spends nothing.",
            markup=False,
        )
    else:
        when = f" in {ledger['period']}" if ledger["period"] else ""
        out.print(
            f"Ledger: costs {ledger['cost']} of {ledger['left']} left{when} ({ledger['currency']}).", markup=False
        )
        if ledger["approval"]["required"]:
            left = ledger["approval"]["runs_left"]
            shown = f"approved for {left} more runs" if left else "not approved (dplib ledger approve)"
            out.print(f"Plan: {ledger['plan_hash']}, {shown}.", markup=False)
