"""The job ``minimum-cuts``: from a list of edges to private facts about the minimum cuts of the graph."""

from fractions import Fraction
from pathlib import Path

from dplib.jobs.minimum_cuts.check import check_tables
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.example import EXAMPLE
from dplib.jobs.minimum_cuts.plan import Plan, make_plan
from dplib.jobs.minimum_cuts.query import Answer, query_release
from dplib.jobs.minimum_cuts.rehearse import rehearse
from dplib.jobs.minimum_cuts.run import STAGES
from dplib.jobs.minimum_cuts.run import prepare as prepare
from dplib.jobs.pricing import price
from dplib.page.number_text import terminal_number
from dplib.release.manifest import Manifest, load_manifest
from dplib.release.verify import Check
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.graphs.edges import open_edges
from dplib.spark.graphs.weighted_edges import inspect_weighted_edges, judge_weighted_edges
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
ROWS_PER_VERTEX = 40
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
    """Print the numbers of a release."""
    manifest = load_manifest(release)
    _print_answers(f"{manifest.release_id}: numbers", query_release(release, manifest, [], None, None))


def _print_answers(title: str, answers: list[Answer]) -> None:
    rows = [
        [
            each.statistic,
            "" if each.cut is None else f"{each.cut}",
            "" if each.side_size is None else f"{each.side_size:,}",
            each.where,
            "not measured" if each.estimate is None else terminal_number(each.estimate, 6),
            "not stated" if each.std_error is None else f"{each.std_error:,.2f}" if each.std_error else "-",
            "-" if each.low is None or each.high is None else f"{each.low:,.1f} to {each.high:,.1f}",
        ]
        for each in answers
    ]
    columns = ["statistic", "cut", "side", "asked", "estimate", "std error", "95 % interval"]
    out.print(table(title, columns, rows, frozenset({"cut", "side", "estimate", "std error", "95 % interval"})))


def plan(prepared: Prepared[Design], as_json: bool) -> None:
    """Print the plan: noise, expected errors, cost and the ledger's balance."""
    check_publication(prepared, STAGES, show_release)
    made = make_plan(prepared.design, prepared.key.settings_hash)
    show_plan(prepared, made, as_json, lambda: _print_plan(made))


def _print_plan(made: Plan) -> None:
    out.print(f"{made.n_vertices:,} declared vertices.\n", markup=False)
    rows = [
        [
            each.release,
            each.share,
            f"{each.numbers:,}",
            each.mechanism,
            _fraction(each.parameter),
            _number(each.std_error),
        ]
        for each in made.releases
        if each.numbers
    ]
    columns = ["release", "share", "numbers", "noise", "parameter", "std error"]
    out.print(table("Noisy numbers", columns, rows, frozenset({"numbers", "parameter", "std error"})))
    rows = [
        [each.release, each.share, f"{each.draws:,}", each.choice, _fraction(each.draw_epsilon)]
        for each in made.releases
        if each.draws
    ]
    if rows:
        columns = ["release", "share", "draws", "mechanism", "epsilon a draw"]
        out.print(table("\nChosen cuts", columns, rows, frozenset({"draws", "epsilon a draw"})))
    if made.sampler is not None:
        terms = made.sampler
        out.print(
            f"\nsampled_cuts: minimum cut value from {terms.lowest:,} on (T_low), gate {terms.gate:,}, padding to "
            f"{terms.target:,}; epsilon {terms.epsilon:.6g}, delta {terms.delta:.3g}, of which the truncated list is "
            f"{terms.failure:.3g} in total variation.",
            markup=False,
        )
    if made.synthetic:
        rows = [[f"{each.side_size:,}", _number(each.std_error), _number(each.all_cuts)] for each in made.synthetic]
        columns = ["smaller side", "one cut (sd)", "all cuts at once (95 %)"]
        out.print(table("\nErrors of cuts of the synthetic graph", columns, rows, frozenset(columns)))
    if made.outlook:
        rows = [
            [
                each.release,
                f"{each.value:,}",
                *(_number(value) for value in (each.accepted, each.excess, each.first, each.every)),
            ]
            for each in made.outlook
        ]
        columns = ["release", "assumed", "accepted", "excess (95 %)", "first minimum", "all minimum"]
        title = "\nDrawn cuts by the minimum cut value that the graph may have (the last two: of a ring)"
        out.print(table(title, columns, rows, frozenset(columns[1:])))


def _fraction(text: str | None) -> str:
    return "-" if text is None else terminal_number(Fraction(text), 6)


def _number(value: float | None) -> str:
    return "-" if value is None else terminal_number(value)


def inspect(prepared: Prepared[Design]) -> None:
    """Show the data's owner what each rule and cap does to the rows. Not private."""
    config, vertices = prepared.design.config, prepared.design.vertices

    def look(spark: SparkSession) -> Inspection:
        rows = open_edges(spark, config.input, prepared.base, vertices)
        judged = judge_weighted_edges(rows, vertices, config.graph.weights, config.row_cap, for_owner=True)
        return inspect_weighted_edges(judged, vertices, config.graph.weights, config.pair_cap)

    show_inspection(prepared, look)


def rehearsal(prepared: Prepared[Design], rows: int | None, seed: int) -> None:
    """Run the whole job on a generated graph and compare its release with the truth."""
    n_rows = rows or min(ROWS_PER_VERTEX * prepared.design.n_vertices, MOST_REHEARSED)
    found = rehearse(prepared, n_rows, seed, stage)
    shown = [
        [
            each.release,
            terminal_number(each.true, 6),
            terminal_number(each.found, 6),
            "not stated" if each.predicted is None else f"{each.predicted:,.2f}",
            "not measured" if each.error is None else f"{each.error:,.2f}",
            f"{each.n_cuts:,}" if each.n_cuts else "-",
            f"{each.n_minimum:,}" if each.n_cuts else "-",
        ]
        for each in found
    ]
    columns = ["release", "true", "found", "predicted", "error", "cuts", "minimum"]
    title = "Rehearsal on a generated graph (no ledger, no private data)"
    out.print(table(title, columns, shown, frozenset(columns[1:])))
    out.print("Of cuts: the minimum cut value, the mean of their true values, and how many are minimum.", markup=False)


def query(release: Path, names: list[str], start: str | None, end: str | None, as_json: bool) -> None:
    """Print numbers, cuts, or what is around vertices, with standard errors and 95 % intervals."""
    answers = query_release(release, load_manifest(release), names, start, end)
    show_answers(answers, as_json, lambda: _print_answers("Answers", answers), release)


def verify(release: Path, manifest: Manifest) -> list[Check]:
    """Checks of the release's tables."""
    return check_tables(release, manifest)
