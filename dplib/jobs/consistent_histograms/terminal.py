"""What ``dplib`` shows of counts by item and day: a release, its plan, answers and a rehearsal."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from dplib.jobs.consistent_histograms.plan import Plan
from dplib.jobs.consistent_histograms.query import Answer, total_answers
from dplib.page.number_text import span_text, terminal_number
from dplib.privacy.rounding import share_text
from dplib.release.manifest import Manifest
from dplib.workflow.shown import Shown, TextTable

TOP_ROWS = 12
"""Rows of the table that a finished run prints."""
MAX_FRACTION = 9
"""Characters up to which shares and parameters are shown as the fractions that they are."""


def show_release(release: Path, manifest: Manifest) -> Iterator[Shown]:
    """The largest totals of a release."""
    answers = total_answers(release, manifest)
    rows = [
        [
            answer.item,
            f"{answer.estimate:,.1f}",
            "not stated" if answer.std_error is None else f"{answer.std_error:,.1f}",
            "-" if answer.published is None else _published(answer.published),
        ]
        for answer in answers[:TOP_ROWS]
    ]
    days = f"{answers[0].first_day} to {answers[0].last_day}"
    title = f"{manifest.release_id}: counts of {days}" + (
        f" (the {TOP_ROWS} largest of {len(answers)})" if len(answers) > TOP_ROWS else ""
    )
    columns = ["item", "estimate", "std error", "published"]
    yield TextTable(title, columns, rows, frozenset(columns[1:]))


def _published(count: int | float) -> str:
    return f"{count:,}" if isinstance(count, int) else f"{count:,.2f}"


def _parameter(exact: str | None) -> str:
    if exact is None:
        return ""
    return exact if len(exact) <= MAX_FRACTION else f"{float(Fraction(exact)):.6g}"


def shown_plan(made: Plan) -> Iterator[Shown]:
    """The part of the plan that no other job has."""
    yield f"One row touches counts of at most {made.row_l1} a level (L1), {made.row_l2_squared} squared (L2).\n"
    rows = [
        [
            each.name,
            f"{each.n_nodes:,}",
            f"{each.widest_days:,}",
            each.share if len(each.share) <= MAX_FRACTION else share_text(Fraction(each.share)),
            each.mechanism or "not measured",
            _parameter(each.noise),
            "" if each.std_dev is None else f"{each.std_dev:.1f}",
        ]
        for each in made.levels
    ]
    columns = ["level", "nodes", "days", "share", "noise", "parameter", "std dev"]
    yield TextTable("Measurements", columns, rows, frozenset({"nodes", "days", "parameter", "std dev"}))
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
    yield TextTable("\nExpected standard error of an answer", columns, rows, frozenset(columns[1:]))
    rows = [
        [each.query, each.of, *(terminal_number(x, 3) for x in (each.chosen, each.best, each.equal, each.items_only))]
        for each in made.kinds
    ]
    columns = ["query", "of", "this plan", "best shares", "equal shares", "items only"]
    title = "\nStandard error by kind of answer and division of the budget (geometric means)"
    if rows:
        yield TextTable(title, columns, rows, frozenset(columns[2:]))
    yield ""
    for name, reason in made.solvers:
        yield f"Solver {name}: {reason}"


def shown_answers(answers: Sequence[Answer]) -> Iterator[Shown]:
    """A table of answers."""
    first, last = min(each.first_day for each in answers), max(each.last_day for each in answers)
    parts = any((each.first_day, each.last_day) != (first, last) for each in answers)
    rows = [
        [
            each.item,
            *([str(each.first_day), str(each.last_day)] if parts else []),
            f"{each.estimate:,.2f}",
            "not stated" if each.std_error is None else f"{each.std_error:,.2f}",
            "-" if each.low is None or each.high is None else f"{each.low:,.1f} to {each.high:,.1f}",
            "-" if each.published is None else _published(each.published),
        ]
        for each in answers
    ]
    numbers = ["estimate", "std error", "95 % interval", "published"]
    columns = ["item", *(["from", "to"] if parts else []), *numbers]
    yield TextTable(f"Counts from {first} to {last}", columns, rows, frozenset(numbers))
    if any(each.std_error is None for each in answers):
        yield "The solver's rounds ended before their threshold: their distance from the optimum is unknown."
