"""The job ``consistent-histograms``: from event rows to consistent counts by item and day."""

from pathlib import Path

from dplib.consistency.problem import Round
from dplib.jobs.consistent_histograms.check import check_tables
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.example import EXAMPLE
from dplib.jobs.consistent_histograms.plan import Plan, make_plan
from dplib.jobs.consistent_histograms.query import Answer, query_release, total_answers
from dplib.jobs.consistent_histograms.rehearse import rehearse
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.run import prepare as prepare
from dplib.jobs.consistent_histograms.run import stages
from dplib.jobs.pricing import price
from dplib.page.number_text import span_text, terminal_number
from dplib.release.manifest import Manifest, load_manifest
from dplib.release.verify import Check
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.inspect import inspect_rows
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.read import open_rows
from dplib.terminal.inspection import show_inspection
from dplib.terminal.output import (
    check_publication,
    day_option,
    out,
    run_and_show,
    show_answers,
    show_plan,
    show_rounds,
    stage,
    table,
)
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import REPORT

PAGE = REPORT
TOP_ROWS = 12
"""Rows of the table that a finished run prints."""
ROWS_PER_DAY = 100
"""Mean number of rows a day that a rehearsal generates."""


def example() -> str:
    """A commented configuration to start from."""
    return EXAMPLE


def run(
    prepared: Prepared[Design], stage_name: str = "all", release_id: str | None = None, again: bool = False
) -> None:
    """Run the job and print what was made; the last line of the output is the release (its id after ``measure``)."""
    rounds = show_rounds()

    def on_round(each: Round) -> None:
        rounds(each.number, each.change, each.deviation)

    run_and_show(prepared, stages(on_round), stage_name, release_id, again, show_release, price)


def show_release(release: Path) -> None:
    """Print the largest totals of a release."""
    manifest = load_manifest(release)
    answers = total_answers(release, manifest)
    rows = [
        [
            answer.item,
            f"{answer.estimate:,.1f}",
            "not stated" if answer.std_error is None else f"{answer.std_error:,.1f}",
            "-" if answer.published is None else f"{answer.published:,}",
        ]
        for answer in answers[:TOP_ROWS]
    ]
    days = f"{answers[0].first_day} to {answers[0].last_day}"
    title = f"{manifest.release_id}: counts of {days}" + (
        f" (the {TOP_ROWS} largest of {len(answers)})" if len(answers) > TOP_ROWS else ""
    )
    columns = ["item", "estimate", "std error", "published"]
    out.print(table(title, columns, rows, frozenset(columns[1:])))


def plan(prepared: Prepared[Design], as_json: bool) -> None:
    """Print the plan: noise, expected errors, cost and the ledger's balance."""
    check_publication(prepared, stages(), show_release)
    made = make_plan(prepared.design, prepared.key.settings_hash)
    show_plan(prepared, made, as_json, lambda: _print_plan(made))


def _print_plan(made: Plan) -> None:
    out.print(
        f"One row touches counts of at most {made.row_l1} a level (L1), {made.row_l2_squared} squared (L2).\n",
        markup=False,
    )
    rows = [
        [
            each.name,
            f"{each.n_nodes:,}",
            f"{each.widest_days:,}",
            each.share,
            each.mechanism or "not measured",
            each.noise or "",
            "" if each.std_dev is None else f"{each.std_dev:.1f}",
        ]
        for each in made.levels
    ]
    columns = ["level", "nodes", "days", "share", "noise", "parameter", "std dev"]
    out.print(table("Measurements", columns, rows, frozenset({"nodes", "days", "parameter", "std dev"})))
    rows = [
        [
            each.query,
            f"{each.days:,}",
            span_text(*each.items_span),
            "" if each.totals_span is None else span_text(*each.totals_span),
            terminal_number(each.days_only, 3),
        ]
        for each in made.errors
    ]
    columns = ["query", "days", "an item", "a total", "days only, same budget"]
    out.print(table("\nExpected standard error of an answer", columns, rows, frozenset(columns[1:])))
    out.print("")
    for name, reason in made.solvers:
        out.print(f"Solver {name}: {reason}", markup=False)


def inspect(prepared: Prepared[Design]) -> None:
    """Show the data's owner what each rule and cap does to the rows. Not private."""
    config = prepared.design.config

    def look(spark: SparkSession) -> Inspection:
        rows = open_rows(spark, config.input, prepared.base)
        return inspect_rows(rows, config.input, config.privacy, row_domain(prepared.design))

    show_inspection(prepared, look)


def rehearsal(prepared: Prepared[Design], rows: int | None, seed: int) -> None:
    """Run the whole job on generated rows and compare predicted with measured errors."""
    found = rehearse(prepared, rows or ROWS_PER_DAY, seed, stage)
    shown = [[each.query, f"{each.n_answers:,}", f"{each.predicted:.2f}", f"{each.measured:.2f}"] for each in found]
    columns = ["query", "answers", "predicted error", "measured error"]
    out.print(table("Rehearsal on generated rows (no ledger, no private data)", columns, shown, frozenset(columns[1:])))


def query(release: Path, items: list[str], start: str | None, end: str | None, as_json: bool) -> None:
    """Print the answer for a range of days with its standard error and 95 % interval."""
    first_day, last_day = day_option("--from", start), day_option("--to", end)
    answers = query_release(release, load_manifest(release), items, first_day, last_day)
    show_answers(answers, as_json, lambda: _print_answers(answers), release)


def _print_answers(answers: list[Answer]) -> None:
    rows = [
        [
            each.item,
            f"{each.estimate:,.2f}",
            "not stated" if each.std_error is None else f"{each.std_error:,.2f}",
            "-" if each.low is None or each.high is None else f"{each.low:,.1f} to {each.high:,.1f}",
            "-" if each.published is None else f"{each.published:,}",
        ]
        for each in answers
    ]
    columns = ["item", "estimate", "std error", "95 % interval", "published"]
    title = f"Counts from {answers[0].first_day} to {answers[0].last_day}"
    out.print(table(title, columns, rows, frozenset(columns[1:])))


def verify(release: Path, manifest: Manifest) -> list[Check]:
    """Checks of the release's numbers."""
    return check_tables(release, manifest)
