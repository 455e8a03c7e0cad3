"""The job ``range-histograms``: from rows to histograms that answer every range with its exact standard error."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from dplib.jobs.pricing import price
from dplib.jobs.range_histograms.check import check_tables
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.example import EXAMPLE
from dplib.jobs.range_histograms.plan import Plan, make_plan
from dplib.jobs.range_histograms.query import Answer, query_release, total_answers
from dplib.jobs.range_histograms.rehearse import rehearse
from dplib.jobs.range_histograms.run import STAGES
from dplib.jobs.range_histograms.run import prepare as prepare
from dplib.page.number_text import terminal_number
from dplib.release.manifest import Manifest, load_manifest
from dplib.release.verify import Check
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.bins import open_values
from dplib.spark.rows.inspect import inspect_values
from dplib.spark.rows.inspection import Inspection
from dplib.terminal.inspection import show_inspection
from dplib.terminal.output import (
    check_publication,
    out,
    run_and_show,
    show_answers,
    show_plan,
    stage,
    table,
)
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import REPORT

PAGE = REPORT
TOP_ROWS = 12
"""Rows of the table that a finished run prints."""
ROWS_PER_GROUP = 10_000
"""Mean number of rows a histogram that a rehearsal generates."""


def example() -> str:
    """A commented configuration to start from."""
    return EXAMPLE


def run(
    prepared: Prepared[Design], stage_name: str = "all", release_id: str | None = None, again: bool = False
) -> None:
    """Run the job and print what was made; the last line of the output is the release (its id after ``measure``)."""
    run_and_show(prepared, STAGES, stage_name, release_id, again, show_release, price)


def show_release(release: Path) -> None:
    """Print the largest totals of a release."""
    manifest = load_manifest(release)
    answers = total_answers(release, manifest)
    title = f"{manifest.release_id}: counts of {answers[0].range}" + (
        f" (the {TOP_ROWS} largest of {len(answers)})" if len(answers) > TOP_ROWS else ""
    )
    _print_answers(title, answers[:TOP_ROWS])


def _print_answers(title: str, answers: list[Answer]) -> None:
    rows = [
        [
            each.group,
            f"{each.estimate:,.1f}",
            "not stated" if each.std_error is None else f"{each.std_error:,.2f}",
            "-" if each.low is None or each.high is None else f"{each.low:,.1f} to {each.high:,.1f}",
            f"{each.published:,}",
        ]
        for each in answers
    ]
    columns = ["group", "estimate", "std error", "95 % interval", "published"]
    out.print(table(title, columns, rows, frozenset(columns[1:])))


def plan(prepared: Prepared[Design], as_json: bool) -> None:
    """Print the plan: noise, expected errors of every method, cost and the ledger's balance."""
    check_publication(prepared, STAGES, show_release)
    made = make_plan(prepared.design, prepared.key.settings_hash)
    show_plan(prepared, made, as_json, lambda: _print_plan(made))


def _print_plan(made: Plan) -> None:
    out.print(
        f"{made.n_groups:,} histograms of {made.n_bins:,} bins; a tree of {made.n_nodes:,} intervals on "
        f"{made.n_levels} "
        f"levels, by the method {made.method} for {made.queries}.\n",
        markup=False,
    )
    rows = [[f"{each['level']}", f"{each['n_nodes']:,}", _noise_text(each)] for each in made.levels]
    out.print(table("Measurements", ["level", "intervals", "noise parameter"], rows, frozenset({"intervals"})))
    rows = [
        [
            f"{each.method} *" if each.chosen else each.method,
            each.of,
            terminal_number(each.mean_variance),
            terminal_number(each.std_error),
        ]
        for each in made.methods
    ]
    columns = ["method", "answers", "mean variance", "std error"]
    out.print(table("\nExpected error of a query (* chosen)", columns, rows, frozenset(columns[2:])))
    rows = [
        [f"{each.length:,}", *(terminal_number(value) for value in (each.ours, each.flat, each.binary, each.privelet))]
        for each in made.lengths
    ]
    columns = ["length in bins", "this release", "bins only", "binary tree", "wavelets"]
    out.print(table("\nExpected standard error by length of the range", columns, rows, frozenset(columns)))


def _noise_text(level: dict[str, Any]) -> str:
    if level["least"] is None:
        return "not measured"
    least, most = (terminal_number(Fraction(level[end]), 6) for end in ("least", "most"))
    return least if level["least"] == level["most"] else f"{least} to {most}"


def inspect(prepared: Prepared[Design]) -> None:
    """Show the data's owner what each rule and cap does to the rows. Not private."""
    config, domain = prepared.design.config, prepared.design.bins.row_domain
    cap = config.privacy.rows_per_unit

    def look(spark: SparkSession) -> Inspection:
        rows = open_values(spark, config.input, domain, prepared.base)
        return inspect_values(rows, config.input, domain, cap)

    show_inspection(prepared, look)


def rehearsal(prepared: Prepared[Design], rows: int | None, seed: int) -> None:
    """Run the whole job on generated rows and compare predicted with measured errors."""
    found = rehearse(prepared, rows or ROWS_PER_GROUP, seed, stage)
    shown = [
        [
            f"{each.length:,}",
            f"{each.n_answers:,}",
            "not stated" if each.predicted is None else f"{each.predicted:.2f}",
            f"{each.measured:.2f}",
            f"{each.published:.2f}",
        ]
        for each in found
    ]
    columns = ["length in bins", "answers", "predicted error", "measured error", "of published integers"]
    out.print(table("Rehearsal on generated rows (no ledger, no private data)", columns, shown, frozenset(columns)))


def query(release: Path, groups: list[str], start: str | None, end: str | None, as_json: bool) -> None:
    """Print the answer for a range of bins with its standard error and 95 % interval."""
    answers = query_release(release, load_manifest(release), groups, start, end)
    show_answers(answers, as_json, lambda: _print_answers(f"Counts of {answers[0].range}", answers), release)


def verify(release: Path, manifest: Manifest) -> list[Check]:
    """Checks of the release's numbers."""
    return check_tables(release, manifest)
