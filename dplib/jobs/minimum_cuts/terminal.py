"""What ``dplib`` shows of minimum cuts: a release, its plan, answers and a rehearsal."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

from dplib.jobs.minimum_cuts.plan import Plan
from dplib.jobs.minimum_cuts.query import Answer, query_release
from dplib.page.number_text import terminal_number
from dplib.release.manifest import Manifest
from dplib.workflow.shown import Shown, TextTable


def show_release(release: Path, manifest: Manifest) -> Iterator[Shown]:
    """The numbers of a release."""
    return shown_answers(f"{manifest.release_id}: numbers", query_release(release, manifest, []))


def shown_answers(title: str, answers: Sequence[Answer]) -> Iterator[Shown]:
    """A table of answers."""
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
    yield TextTable(title, columns, rows, frozenset({"cut", "side", "estimate", "std error", "95 % interval"}))


def shown_plan(made: Plan) -> Iterator[Shown]:
    """The part of the plan that no other job has."""
    yield f"{made.n_vertices:,} declared vertices.\n"
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
    yield TextTable("Noisy numbers", columns, rows, frozenset({"numbers", "parameter", "std error"}))
    rows = [
        [each.release, each.share, f"{each.draws:,}", each.choice, _fraction(each.draw_epsilon)]
        for each in made.releases
        if each.draws
    ]
    if rows:
        columns = ["release", "share", "draws", "mechanism", "epsilon a draw"]
        yield TextTable("\nChosen cuts", columns, rows, frozenset({"draws", "epsilon a draw"}))
    if made.sampler is not None:
        terms = made.sampler
        yield (
            f"\nsampled_cuts: minimum cut value from {terms.lowest:,} on (T_low), gate {terms.gate:,}, padding to "
            f"{terms.target:,}; epsilon {terms.epsilon:.6g}, delta {terms.delta:.3g}, of which the truncated list is "
            f"{terms.failure:.3g} in total variation."
        )
    if made.synthetic:
        rows = [[f"{each.side_size:,}", _number(each.std_error), _number(each.all_cuts)] for each in made.synthetic]
        columns = ["smaller side", "one cut (sd)", "all cuts at once (95 %)"]
        yield TextTable("\nErrors of cuts of the synthetic graph", columns, rows, frozenset(columns))
    if made.expected_accuracy:
        rows = [
            [
                each.release,
                f"{each.value:,}",
                *(_number(value) for value in (each.accepted, each.excess, each.first, each.every)),
            ]
            for each in made.expected_accuracy
        ]
        columns = ["release", "assumed", "accepted", "excess (95 %)", "first minimum", "all minimum"]
        title = "\nDrawn cuts by the minimum cut value that the graph may have (the last two: of a ring)"
        yield TextTable(title, columns, rows, frozenset(columns[1:]))


def _fraction(text: str | None) -> str:
    return "-" if text is None else terminal_number(Fraction(text), 6)


def _number(value: float | None) -> str:
    return "-" if value is None else terminal_number(value)
