"""What ``dplib`` shows of clusters: a release, its plan, answers and a rehearsal."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from dplib.jobs.kmeans.plan import Plan
from dplib.jobs.kmeans.query import Answer, query_release
from dplib.page.number_text import terminal_number, terminal_with_error
from dplib.release.manifest import Manifest
from dplib.workflow.shown import Shown, TextTable

TOP_CENTERS, TOP_COORDINATES = 12, 6
"""Rows and coordinates of the table that a finished run prints."""


def show_release(release: Path, manifest: Manifest) -> Iterator[Shown]:
    """The heaviest centers of a release."""
    answers = query_release(release, manifest, (), None)
    more = f" (the {TOP_CENTERS} heaviest of {len(answers)})" if len(answers) > TOP_CENTERS else ""
    return shown_answers(f"{manifest.release_id}: centers{more}", answers[:TOP_CENTERS])


def shown_answers(title: str, answers: Sequence[Answer]) -> Iterator[Shown]:
    """A table of centers."""
    names = list(answers[0].coordinates)[:TOP_COORDINATES]
    rows = []
    for each in answers:
        weight = "-" if each.weight_error is None else terminal_number(each.weight_error)
        places = [terminal_with_error(each.coordinates[name], each.std_errors[name]) for name in names]
        away = [] if each.distance is None else [f"{each.distance:.4g}"]
        mark = " (noise?)" if each.may_be_noise else ""
        shown = "-" if each.weight is None else f"{each.weight:,.1f}"
        rows.append([f"{each.center}{mark}", shown, weight, *places, *away])
    columns = ["center", "weight", "std error", *(f"{name} (std error)" for name in names)]
    columns += ["distance"] if answers[0].distance is not None else []
    hidden = len(answers[0].coordinates) - len(names)
    title += f"; {hidden} more coordinates with --json" if hidden else ""
    yield TextTable(title, columns, rows, frozenset(columns))
    if any(each.may_be_noise for each in answers):
        yield "(noise?): the weight is no larger than twice its standard error."


def shown_plan(made: Plan) -> Iterator[Shown]:
    """The part of the plan that no other job has."""
    yield f"{made.n_clusters:,} centers in {made.space}."
    yield f"Method {made.method}: {made.what}. {made.why} It spends {made.spent_as}.\n"
    rows = [
        [
            f"{each.n_points:,}",
            each.method,
            each.detail or "-",
            f"{each.relative_noise:.2g}",
            "yes" if each.enough else "no",
        ]
        for each in made.expected_accuracy
    ]
    columns = ["points", "method", "sizes", "noise", "enough points"]
    title = f"By the number of points: {made.relative_noise}"
    yield TextTable(title, columns, rows, frozenset({"points", "noise"}))
