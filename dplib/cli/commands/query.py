"""The command ``dplib query``: what `dplib.reading` answers, on a terminal."""

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dplib.cli.options import AsJson
from dplib.jobs.table import job_named
from dplib.page.notices import caps_caveat
from dplib.reading.combined import combine
from dplib.reading.release import Release, open_release, shape_answers
from dplib.release.answers import row_of
from dplib.release.question import Question
from dplib.release.tables import shielded_text
from dplib.terminal.notices import show_quality, warn_of
from dplib.terminal.output import exit_codes, json_text, out, show, table
from dplib.validate import require


def query(
    releases: Annotated[
        list[Path], typer.Argument(help="Directory of a release; of several, combined.", metavar="RELEASE...")
    ],
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            "--group",
            help="Item, total, group, statistic, vertex or center of the release; repeatable; all if absent.",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="First day (or category), lower edge, or a point x,y,...")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", help="Last day (or category), inclusive, or upper edge.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="column=value of the items' table (consistent-histograms); repeatable."),
    ] = None,
    add_up: Annotated[bool, typer.Option("--sum", help="The sum of all that is named, with its exact error.")] = False,
    by: Annotated[
        str | None, typer.Option(help="Each day, week, month, quarter or year of the range; or each bin.")
    ] = None,
    quantile: Annotated[
        list[float] | None, typer.Option(help="Quantile of range-histograms, 0.5 the median; repeatable.")
    ] = None,
    mean: Annotated[bool, typer.Option("--mean", help="Mean of range-histograms.")] = False,
    share: Annotated[bool, typer.Option("--share", help="The part of all that lies in the range.")] = False,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Of a stream: the version that knew no day after this one.")
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
) -> None:
    """Print the answers of a release, as JSON, CSV or as its job does; what to know of them on standard error."""
    with exit_codes():
        opened = [open_release(path, as_of) for path in releases]
        first, asked = opened[0], Question(name or (), start, end, where or (), add_up, by)
        require(not (as_json and as_csv), "--csv", "be left out beside --json", "both")
        if len(opened) > 1 or quantile or mean or share:
            rows = _rows(opened, asked, quantile or (), mean, share)
            _print(rows, as_json, as_csv)
        elif as_csv:
            _print([row_of(answer) for answer in first.answers(asked)], as_json, as_csv)
        else:
            answers, shown = job_named(first.job).query(first.path, first.manifest, asked)
            if as_json:
                print(json_text([asdict(answer) for answer in answers]))
            else:
                show(shown)
        if not (as_json or as_csv):
            caveat = caps_caveat(first.settings)
            if caveat:
                out.print(caveat, markup=False)
        for each in opened:
            if not (as_json or as_csv):
                show_quality(each.manifest)
            warn_of(each.manifest)


def _rows(
    opened: Sequence[Release], asked: Question, quantile: Sequence[float], mean: bool, share: bool
) -> list[dict[str, object]]:
    """Answers that are no counts of one release."""
    if not (quantile or mean or share):
        return combine(opened).answers(asked)
    require(len(opened) == 1, "RELEASE", "be one for --quantile, --mean and --share", len(opened))
    asked.require_only(f"{opened[0].job} with --quantile, --mean or --share", "names", *["start", "end"] * share)
    found = []
    for wanted, statistic, more in (
        (bool(quantile), "quantile", {"q": quantile}),
        (mean, "mean", {}),
        (share, "share", {"start": asked.start, "end": asked.end}),
    ):
        found += shape_answers(opened[0], statistic, asked.names, **more) if wanted else []
    return [row_of(answer) for answer in found]


def _print(rows: list[dict[str, object]], as_json: bool, as_csv: bool) -> None:
    """Rows of one kind in one of three forms."""
    columns = list(rows[0]) if rows else []
    if as_json:
        print(json_text(rows))
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        cells: list[list[object]] = [[_cell(row[name]) for name in columns] for row in rows]
        writer.writerows(cells)
    else:
        texts = {name for name in columns if any(isinstance(row[name], str) for row in rows)}
        shown = [["-" if row[name] is None else _shown(row[name]) for name in columns] for row in rows]
        out.print(table("", [name.replace("_", " ") for name in columns], shown, frozenset(columns) - texts))


def _cell(value: object) -> object:
    return shielded_text(value) if isinstance(value, str) else value


def _shown(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
