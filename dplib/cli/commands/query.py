"""The command ``dplib query``."""

from dataclasses import asdict
from typing import Annotated

import typer

from dplib.cli.options import AsJson, ReleaseDir
from dplib.jobs.table import job_named
from dplib.page.notices import caps_caveat
from dplib.release.files import require_release
from dplib.release.manifest import load_manifest
from dplib.release.question import Question
from dplib.terminal.notices import show_quality, warn_of
from dplib.terminal.output import exit_codes, json_text, out, show


def query(
    release: ReleaseDir,
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
    as_json: AsJson = False,
) -> None:
    """Print the answers of a release, as JSON or as its job does; what to know of them on standard error."""
    with exit_codes():
        manifest = load_manifest(require_release(release))
        job = job_named(manifest.job)
        answers, shown = job.query(release, manifest, Question(name or (), start, end, where or (), add_up, by))
        if as_json:
            print(json_text([asdict(answer) for answer in answers]))
        else:
            show(shown)
            caveat = caps_caveat(manifest.details["design"])  # type: ignore[arg-type]  # written as a mapping
            if caveat:
                out.print(caveat, markup=False)
            show_quality(release)
        warn_of(release)
