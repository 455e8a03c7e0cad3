"""The job ``network-statistics``: from a list of edges to private statistics of the graph."""

from fractions import Fraction
from pathlib import Path

from dplib.config.network_releases import ReportInput
from dplib.jobs.network_statistics.check import check_tables
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.example import EXAMPLE
from dplib.jobs.network_statistics.measurements import LADDER, SMOOTH
from dplib.jobs.network_statistics.plan import Plan, PlannedStatistic, make_plan
from dplib.jobs.network_statistics.query import Answer, query_release
from dplib.jobs.network_statistics.rehearse import rehearse
from dplib.jobs.network_statistics.run import STAGES
from dplib.jobs.network_statistics.run import prepare as prepare
from dplib.jobs.pricing import price
from dplib.page.number_text import terminal_number
from dplib.release.manifest import Manifest, load_manifest
from dplib.release.verify import Check
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import inspect_edges, judge_edges, open_edges
from dplib.spark.graphs.reports import inspect_reports, judge_reports, open_reports
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
EDGES_PER_VERTEX = 4
"""Rows a vertex that a rehearsal generates."""
MOST_REHEARSED = 1_000_000
"""Rows that it generates at most, unless told."""


def example() -> str:
    """A commented configuration to start from."""
    return EXAMPLE


def run(
    prepared: Prepared[Design], stage_name: str = "all", release_id: str | None = None, again: bool = False
) -> None:
    """Run the job and print what was made; the last line of the output is the release (its id after ``measure``)."""
    run_and_show(prepared, STAGES, stage_name, release_id, again, show_release, price)


def show_release(release: Path) -> None:
    """Print the single numbers of a release."""
    manifest = load_manifest(release)
    _print_answers(f"{manifest.release_id}: single numbers", query_release(release, manifest, [], None, None))


def _print_answers(title: str, answers: list[Answer]) -> None:
    rows = [
        [
            each.statistic,
            each.range,
            "-" if each.estimate is None else _number(each, each.estimate),
            "-" if each.estimate is None else "not stated" if each.std_error is None else _number(each, each.std_error),
            "-"
            if each.low is None or each.high is None
            else f"{_number(each, each.low)} to {_number(each, each.high)}",
            f"{each.published:,}" if isinstance(each.published, int) else each.published or "-",
        ]
        for each in answers
    ]
    columns = ["statistic", "of", "estimate", "std error", "95 % interval", "published"]
    out.print(table(title, columns, rows, frozenset(columns[2:])))
    for note in dict.fromkeys(f"{each.range or each.statistic}: {each.note}." for each in answers if each.note):
        out.print(note, markup=False)


def _number(answer: Answer, value: float) -> str:
    # Shares and bits need their small digits.
    return f"{value:,.1f}" if isinstance(answer.published, int) and abs(value) >= 10 else terminal_number(value)


def plan(prepared: Prepared[Design], as_json: bool) -> None:
    """Print the plan: noise, expected errors, cost and the ledger's balance."""
    check_publication(prepared, STAGES, show_release)
    made = make_plan(prepared.design, prepared.key.settings_hash)
    show_plan(prepared, made, as_json, lambda: _print_plan(made))


def _print_plan(made: Plan) -> None:
    out.print(f"{made.n_vertices:,} declared vertices.\n", markup=False)
    rows = [
        [
            each.statistic,
            f"{each.numbers:,}",
            each.share,
            each.mechanism,
            f"{each.l1:,}",
            _parameter(each),
            "none"
            if not each.numbers
            else "depends on the graph"
            if each.std_error is None
            else terminal_number(each.std_error),
        ]
        for each in made.statistics
    ]
    columns = ["statistic", "numbers", "share", "mechanism", "L1", "noise parameter", "std error"]
    out.print(table("Measurements", columns, rows, frozenset({"numbers", "L1", "noise parameter", "std error"})))
    if made.triangles:
        rows = [
            [f"{each.width:,}", *(terminal_number(value) for value in (each.ladder, each.smooth, each.global_laplace))]
            for each in made.triangles
        ]
        columns = ["assumed degree", "ladder (mean)", "smooth (median)", "noise of the worst graph (mean)"]
        out.print(table("\nAbsolute error of triangles by what the graph is like", columns, rows, frozenset(columns)))
    if made.stars:
        rows = [
            [f"{each.width:,}", *(terminal_number(value) for value in (each.ladder, each.worst_graph))]
            for each in made.stars
        ]
        columns = ["assumed degree", "ladder (mean)", "noise of the worst graph (mean)"]
        out.print(table("\nAbsolute error of stars by what the graph is like", columns, rows, frozenset(columns)))
    _print_parts(made)


def _parameter(each: PlannedStatistic) -> str:
    if each.parameter is not None:
        return terminal_number(Fraction(each.parameter), 6)
    return "withheld" if each.mechanism in (LADDER, SMOOTH) else "see below"


def _print_parts(made: Plan) -> None:
    if made.graphs:
        columns = [
            "edges, assumed",
            "threshold",
            "an edge is missing",
            "another appears",
            "edges there",
            "false",
            "error",
        ]
        rows = [
            [
                f"{each.edges:,}",
                f"{each.threshold}",
                terminal_number(each.missing, 3),
                terminal_number(each.false, 3),
                terminal_number(each.expected_edges),
                terminal_number(each.expected_false),
                terminal_number(each.std_error),
            ]
            for each in made.graphs
        ]
        title = "\nNoisy graph by the edges of the graph (error: of the number of edges that it tells)"
        out.print(table(title, columns, rows, frozenset(columns)))
    if made.choices:
        rows = [
            [each.statistic, f"{each.candidates:,}", each.rate, terminal_number(each.within)] for each in made.choices
        ]
        columns = ["choice", "candidates", "rate", "95 %: below the best by at most"]
        out.print(table("\nChoices by the exponential mechanism", columns, rows, frozenset(columns[1:])))
    if made.models:
        rows = [
            [each.number, terminal_number(each.central), terminal_number(each.local), each.how] for each in made.models
        ]
        columns = ["number", "central", "local", "how"]
        title = "\nStandard error (triangles: mean absolute) in both models, each at the whole budget"
        out.print(table(title, columns, rows, frozenset(columns[1:3])))


def inspect(prepared: Prepared[Design]) -> None:
    """Show the data's owner what each rule and cap does to the rows. Not private."""

    def look(spark: SparkSession) -> Inspection:
        design = prepared.design
        source, vertices = design.config.input, design.vertices
        if isinstance(source, ReportInput):
            return inspect_reports(judge_reports(open_reports(spark, source, prepared.base), vertices))
        rows = open_edges(spark, source, prepared.base, vertices)
        bound = design.largest_degree if design.projected else None
        return inspect_edges(judge_edges(rows, vertices, for_owner=True), vertices, bound)

    show_inspection(prepared, look)


def rehearsal(prepared: Prepared[Design], rows: int | None, seed: int) -> None:
    """Run the whole job on a generated graph and compare predicted with measured errors."""
    n_edges = rows or min(EDGES_PER_VERTEX * prepared.design.n_vertices, MOST_REHEARSED)
    found = rehearse(prepared, n_edges, seed, stage)
    shown = [
        [
            each.statistic,
            f"{each.numbers:,}",
            "-" if each.true is None else f"{each.true:,}",
            "not stated" if each.predicted is None else f"{each.predicted:.2f}",
            f"{each.measured:.2f}",
            f"{each.published:.2f}",
        ]
        for each in found
    ]
    columns = ["statistic", "numbers", "true", "predicted error", "measured error", "of published integers"]
    title = "Rehearsal on a generated graph (no ledger, no private data)"
    out.print(table(title, columns, shown, frozenset(columns[1:])))


def query(release: Path, names: list[str], start: str | None, end: str | None, as_json: bool) -> None:
    """Print statistics with their standard errors and 95 % intervals."""
    answers = query_release(release, load_manifest(release), names, start, end)
    show_answers(answers, as_json, lambda: _print_answers("Statistics", answers), release)


def verify(release: Path, manifest: Manifest) -> list[Check]:
    """Checks of the release's numbers."""
    return check_tables(release, manifest)
