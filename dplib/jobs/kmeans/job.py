"""The job ``kmeans``: from rows of numbers to centers of clusters with weights and errors."""

from pathlib import Path

from dplib.jobs.kmeans.assign import assign_to_centers
from dplib.jobs.kmeans.check import check_tables
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.example import EXAMPLE
from dplib.jobs.kmeans.plan import Plan, make_plan
from dplib.jobs.kmeans.query import Answer, query_release
from dplib.jobs.kmeans.rehearse import rehearse
from dplib.jobs.kmeans.report_text import ReportReader
from dplib.jobs.kmeans.run import STAGES
from dplib.jobs.kmeans.run import prepare as prepare
from dplib.jobs.pricing import price
from dplib.page.number_text import terminal_number, terminal_with_error
from dplib.release.manifest import Manifest, load_manifest
from dplib.release.verify import Check
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.points.point_reports import inspect_point_reports, open_point_reports
from dplib.spark.points.point_rows import inspect_points, open_points
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
from dplib.validate import require
from dplib.workflow.prepared import Prepared
from dplib.workflow.publication import REPORT

PAGE = REPORT
TOP_CENTERS, TOP_COORDINATES = 12, 6
"""Rows and coordinates of the table that a finished run prints."""
REHEARSED_POINTS = 100_000
"""Points that a rehearsal generates."""


def example() -> str:
    """A commented configuration to start from."""
    return EXAMPLE


def run(
    prepared: Prepared[Design], stage_name: str = "all", release_id: str | None = None, again: bool = False
) -> None:
    """Run the job and print what was made; the last line of the output is the release (its id after ``measure``)."""
    run_and_show(prepared, STAGES, stage_name, release_id, again, show_release, price)


def show_release(release: Path) -> None:
    """Print the heaviest centers of a release."""
    manifest = load_manifest(release)
    answers = query_release(release, manifest, (), None)
    more = f" (the {TOP_CENTERS} heaviest of {len(answers)})" if len(answers) > TOP_CENTERS else ""
    _print_answers(f"{manifest.release_id}: centers{more}", answers[:TOP_CENTERS])


def _print_answers(title: str, answers: list[Answer]) -> None:
    names = list(answers[0].coordinates)[:TOP_COORDINATES]
    rows = []
    for each in answers:
        weight = "-" if each.weight_error is None else terminal_number(each.weight_error)
        places = [_with_error(each.coordinates[name], each.std_errors[name]) for name in names]
        away = [] if each.distance is None else [f"{each.distance:.4g}"]
        mark = " (noise?)" if each.may_be_noise else ""
        shown = "-" if each.weight is None else f"{each.weight:,.1f}"
        rows.append([f"{each.center}{mark}", shown, weight, *places, *away])
    columns = ["center", "weight", "std error", *(f"{name} (std error)" for name in names)]
    columns += ["distance"] if answers[0].distance is not None else []
    hidden = len(answers[0].coordinates) - len(names)
    title += f"; {hidden} more coordinates with --json" if hidden else ""
    out.print(table(title, columns, rows, frozenset(columns)))
    if any(each.may_be_noise for each in answers):
        out.print("(noise?): the weight is no larger than twice its standard error.", markup=False)


def _with_error(value: float, error: float | None) -> str:
    return terminal_with_error(value, error)


def plan(prepared: Prepared[Design], as_json: bool) -> None:
    """Print the plan: method and why, expected noise, cost and the ledger's balance."""
    check_publication(prepared, STAGES, show_release)
    made = make_plan(prepared.design, prepared.key.settings_hash)
    show_plan(prepared, made, as_json, lambda: _print_plan(made))


def _print_plan(made: Plan) -> None:
    out.print(f"{made.n_clusters:,} centers in {made.space}.", markup=False)
    out.print(f"Method {made.method}: {made.what}. {made.why} It spends {made.spent_as}.\n", markup=False)
    rows = [
        [f"{each.n_points:,}", each.method, each.detail or "-", f"{each.blur:.2g}", "yes" if each.enough else "no"]
        for each in made.outlook
    ]
    columns = ["points", "method", "sizes", "noise", "enough points"]
    title = f"By the number of points: {made.blur}"
    out.print(table(title, columns, rows, frozenset({"points", "noise"})))


def inspect(prepared: Prepared[Design]) -> None:
    """Show the data's owner what each rule keeps, drops and clips. Not private; writes nothing."""
    config, frame = prepared.design.config, prepared.design.frame

    def look(spark: SparkSession) -> Inspection:
        if prepared.design.from_reports:
            reports = open_point_reports(spark, config.input, prepared.base)
            return inspect_point_reports(reports, ReportReader(prepared.design.collection))
        rows = open_points(spark, config.input, prepared.base, for_owner=True)
        return inspect_points(rows, frame, config.privacy.rows_per_unit)

    show_inspection(prepared, look)


def rehearsal(prepared: Prepared[Design], rows: int | None, seed: int) -> None:
    """Run the whole job on generated clusters and compare its loss with that of k-means without privacy."""
    found = rehearse(prepared, rows or REHEARSED_POINTS, seed, stage)
    shown = [[each.centers, terminal_number(each.loss), f"{each.ratio:.3f}"] for each in found]
    columns = ["centers", "mean squared distance (square radii)", "ratio"]
    title = f"Rehearsal on {rows or REHEARSED_POINTS:,} generated points (no ledger, no private data)"
    out.print(table(title, columns, shown, frozenset(columns[1:])))


def assign(prepared: Prepared[Design], release: Path, to: Path) -> None:
    """Write input rows with their nearest released center. Not private; opt-in, for the data's owner."""
    assign_to_centers(prepared, release, to, stage)
    out.print("NOT PRIVATE, for the data's owner only: input rows with their nearest center.")
    print(to)


def query(release: Path, numbers: list[str], start: str | None, end: str | None, as_json: bool) -> None:
    """Print centers by number, or the one nearest to the point ``--from``."""
    require(end is None, "--to", "be absent for a release of k-means", end)
    answers = query_release(release, load_manifest(release), numbers, start)
    title = "Centers" if start is None else f"Nearest center of {start}"
    show_answers(answers, as_json, lambda: _print_answers(title, answers), release)


def verify(release: Path, manifest: Manifest) -> list[Check]:
    """Checks of the release's numbers."""
    return check_tables(release, manifest)
