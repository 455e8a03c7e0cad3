"""What ``dplib`` shows of network statistics: a release, its plan, answers and a rehearsal."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from dplib.jobs.network_statistics.measurements import LADDER, SMOOTH
from dplib.jobs.network_statistics.plan import Plan, PlannedStatistic
from dplib.jobs.network_statistics.query import Answer, query_release
from dplib.page.number_text import terminal_number
from dplib.release.manifest import Manifest
from dplib.workflow.shown import Shown, TextTable


def show_release(release: Path, manifest: Manifest) -> Iterator[Shown]:
    """The single numbers of a release."""
    return shown_answers(f"{manifest.release_id}: single numbers", query_release(release, manifest, [], None, None))


def shown_answers(title: str, answers: Sequence[Answer]) -> Iterator[Shown]:
    """A table of answers."""
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
    yield TextTable(title, columns, rows, frozenset(columns[2:]))
    yield from dict.fromkeys(f"{each.range or each.statistic}: {each.note}." for each in answers if each.note)


def _number(answer: Answer, value: float) -> str:
    # Shares and bits need their small digits.
    return f"{value:,.1f}" if isinstance(answer.published, int) and abs(value) >= 10 else terminal_number(value)


def shown_plan(made: Plan) -> Iterator[Shown]:
    """The part of the plan that no other job has."""
    yield f"{made.n_vertices:,} declared vertices.\n"
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
    yield TextTable("Measurements", columns, rows, frozenset({"numbers", "L1", "noise parameter", "std error"}))
    if made.triangles:
        rows = [
            [f"{each.width:,}", *(terminal_number(value) for value in (each.ladder, each.smooth, each.global_laplace))]
            for each in made.triangles
        ]
        columns = ["assumed degree", "ladder (mean)", "smooth (median)", "noise of the worst graph (mean)"]
        yield TextTable("\nAbsolute error of triangles by what the graph is like", columns, rows, frozenset(columns))
    if made.stars:
        rows = [
            [f"{each.width:,}", *(terminal_number(value) for value in (each.ladder, each.worst_graph))]
            for each in made.stars
        ]
        columns = ["assumed degree", "ladder (mean)", "noise of the worst graph (mean)"]
        yield TextTable("\nAbsolute error of stars by what the graph is like", columns, rows, frozenset(columns))
    yield from _shown_parts(made)


def _parameter(each: PlannedStatistic) -> str:
    if each.parameter is not None:
        return terminal_number(Fraction(each.parameter), 6)
    return "withheld" if each.mechanism in (LADDER, SMOOTH) else "see below"


def _shown_parts(made: Plan) -> Iterator[Shown]:
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
        yield TextTable(title, columns, rows, frozenset(columns))
    if made.choices:
        rows = [
            [each.statistic, f"{each.candidates:,}", each.rate, terminal_number(each.within)] for each in made.choices
        ]
        columns = ["choice", "candidates", "rate", "95 %: below the best by at most"]
        yield TextTable("\nChoices by the exponential mechanism", columns, rows, frozenset(columns[1:]))
    if made.models:
        rows = [
            [each.number, terminal_number(each.central), terminal_number(each.local), each.how] for each in made.models
        ]
        columns = ["number", "central", "local", "how"]
        title = "\nStandard error (triangles: mean absolute) in both models, each at the whole budget"
        yield TextTable(title, columns, rows, frozenset(columns[1:3]))
