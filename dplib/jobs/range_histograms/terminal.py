"""What ``dplib`` shows of histograms: a release, its plan, answers and a rehearsal."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dplib.jobs.range_histograms.plan import Plan
from dplib.jobs.range_histograms.query import Answer, total_answers
from dplib.page.number_text import terminal_number
from dplib.privacy.rounding import share_text
from dplib.release.manifest import Manifest
from dplib.workflow.shown import Shown, TextTable

TOP_ROWS = 12
"""Rows of the table that a finished run prints."""


def show_release(release: Path, manifest: Manifest) -> Iterator[Shown]:
    """The largest totals of a release."""
    answers = total_answers(release, manifest)
    title = f"{manifest.release_id}: counts of {answers[0].range}" + (
        f" (the {TOP_ROWS} largest of {len(answers)})" if len(answers) > TOP_ROWS else ""
    )
    return shown_answers(title, answers[:TOP_ROWS])


def shown_answers(title: str, answers: Sequence[Answer]) -> Iterator[Shown]:
    """A table of answers."""
    parts = len({each.range for each in answers}) > 1
    rows = [
        [
            each.group,
            *([each.range] if parts else []),
            f"{each.estimate:,.1f}",
            "not stated" if each.std_error is None else f"{each.std_error:,.2f}",
            "-" if each.low is None or each.high is None else f"{each.low:,.1f} to {each.high:,.1f}",
            "-" if each.published is None else f"{each.published:,}",
        ]
        for each in answers
    ]
    numbers = ["estimate", "std error", "95 % interval", "published"]
    yield TextTable(title, ["group", *(["range"] if parts else []), *numbers], rows, frozenset(numbers))


def shown_plan(made: Plan) -> Iterator[Shown]:
    """The part of the plan that no other job has."""
    yield (
        f"{made.n_groups:,} histograms of {made.n_bins:,} bins; a tree of {made.n_nodes:,} intervals on "
        f"{made.n_levels} "
        f"levels, by the method {made.method} for {made.queries}.\n"
    )
    rows = [[f"{each['level']}", f"{each['n_nodes']:,}", _noise_text(each)] for each in made.levels]
    yield TextTable("Measurements", ["level", "intervals", "noise parameter"], rows, frozenset({"intervals"}))
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
    yield TextTable("\nExpected error of a query (* chosen)", columns, rows, frozenset(columns[2:]))
    if made.recent:
        rows = [
            [each.query, each.of, f"{each.days:,}", terminal_number(each.error, 3), terminal_number(each.days_only, 3)]
            for each in made.recent
        ]
        columns = ["query", "of", "days", "this stream", "days only"]
        title = "\nStandard error of an answer as it is known on its last day"
        yield TextTable(title, columns, rows, frozenset(columns[2:]))
    if made.columns:
        rows = [[each["name"], f"{each['n_histograms']:,}", _share(each), _norm(each)] for each in made.columns]
        columns = ["of", "histograms", "share of the budget", "sensitivity"]
        yield TextTable("\nThe groups and their totals", columns, rows, frozenset(columns[1:]))
    if made.kinds:
        rows = [
            [
                each.query,
                each.of,
                *(terminal_number(x, 3) for x in (each.chosen, each.best, each.equal, each.items_only)),
            ]
            for each in made.kinds
        ]
        columns = ["query", "of", "this plan", "best shares", "equal shares", "groups only"]
        title = "\nStandard error by kind of answer and division of the budget"
        yield TextTable(title, columns, rows, frozenset(columns[2:]))
    rows = [
        [f"{each.length:,}", *(terminal_number(value) for value in (each.ours, each.flat, each.binary, each.privelet))]
        for each in made.lengths
    ]
    columns = ["length in bins", "this release", "bins only", "binary tree", "wavelets"]
    yield TextTable("\nExpected standard error by length of the range", columns, rows, frozenset(columns))


def _noise_text(level: dict[str, Any]) -> str:
    if level["least"] is None:
        return "not measured"
    least, most = (terminal_number(Fraction(level[end]), 6) for end in ("least", "most"))
    return least if level["least"] == level["most"] else f"{least} to {most}"


def _share(column: dict[str, Any]) -> str:
    if column["share"] is None:
        return "not measured"
    return "together" if column["together"] else share_text(Fraction(column["share"]))


def _norm(column: dict[str, Any]) -> str:
    value = column.get("l1", column.get("l2_squared"))
    return "" if value is None else f"{value}"
