"""The page of one release of consistent histograms: one self-contained HTML file.

Post-processing: everything comes from `PageContent`, that is from the stored noisy measurement, what was computed from
it, and public settings. Sections, in this order: what was released; counts and charts; expected errors; how the
estimates were made; the guarantee; the budget; how to query and cite.
"""

import datetime as dt
import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from dplib.jobs.consistent_histograms.page_content import PageContent, Points, SeriesChart
from dplib.page.blocks import (
    Block,
    Bullets,
    Callout,
    Chooser,
    DataTable,
    Figure,
    KeyValues,
    Paragraphs,
    Section,
    Text,
    heads,
    set_back,
)
from dplib.page.chooser import ChoiceLevel, chooser
from dplib.page.figures import Series, convergence, error_by_query, series_with_band
from dplib.page.frame import INTERVALS, SWALLOWED, PageFrame, Released, notes_from_plan, tables_of_release
from dplib.page.guarantee import NoiseTable
from dplib.page.number_text import count_of, count_text, counted, days_text, number_text, with_margin

MAX_POINTS = 1500
"""Intervals drawn of one series at one level: the latest ones."""
MAX_ROWS = 500
"""Series in the table of totals: the largest ones."""
_SCROLLING = 25
_REFERENCES = (
    "Cai, Liu, Xiong, Ying, Wu, Approximation method of multiple consistency constraint under differential privacy, "
    "Journal on Communications 42(6), 2021.",
    "Hay, Rastogi, Miklau, Suciu, Boosting the accuracy of differentially private histograms through consistency, "
    "PVLDB 3(1), 2010.",
    "Dwork, McSherry, Nissim, Smith, Calibrating noise to sensitivity in private data analysis, TCC 2006.",
)


def build_page(content: PageContent, frame: PageFrame) -> str:
    """Return the page as HTML text; the same content gives the same bytes.

    Args:
        content: what it shows.
        frame: which release it is, its guarantee, account and notices.
    """
    return frame.page(
        "Daily counts",
        "Consistent histograms",
        _released(content, frame),
        NoiseTable("The noise on each level of the tree over days", "Level", "Intervals", content.noise),
        (_charts(content), _expected_errors(content), _how_made(content)),
        _use(content, frame),
    )


def _released(content: PageContent, frame: PageFrame) -> Released:
    serves = (
        "It serves questions about many at once (a day, a month, a trend) and gives no ground for conclusions about a "
        f"single {frame.guarantee.unit}. The guarantee does not hide what many have in common, and it does not make "
        "the data right: the errors given here are those of the noise alone, and rows beyond the public caps were not "
        "counted."
    )
    return frame.released(
        f"the counts of {counted(content.n_items, 'item')} on each of {counted(content.n_days, 'day')}, "
        f"{content.first_day} to {content.last_day}",
        serves,
        ("Days", days_text(content.first_day, content.last_day, content.n_days)),
        _files(content),
    )


def _files(content: PageContent) -> DataTable:
    return tables_of_release(
        "Unbiased, with a standard error each; may be negative and fractional. For analysis: sums, comparisons, "
        "models, confidence intervals. Do not clip them first.",
        content.estimation.unpublished
        or (
            f"Non-negative {_kind(content)} that add up exactly. For tables, maps and software that expects counts. "
            "They have no standard errors, and being non-negative biases small counts: for sums and averages use the "
            "estimates."
        ),
        "The noisy counts as they were drawn, with their variances; they do not add up. For making other estimates "
        "from the same measurement at no further cost.",
    )


def _kind(content: PageContent) -> str:
    published = content.totals.published
    # Of a stream whole numbers are held as floats, since days have none that are not measured.
    reals = published is not None and bool((np.nan_to_num(published) % 1 != 0).any())
    return "real numbers, the table nearest to the estimates," if reals else "whole numbers"


def _expected_errors(content: PageContent) -> Section:
    errors = content.errors
    text = (
        f"These are standard errors of one answer, in counts ({errors.of}). They follow from the settings alone and "
        f"were known before a row was read. {INTERVALS} "
    )
    text += "The alternatives spend the same budget." if errors.baselines else ""
    columns = heads("Query", numbers=("This release", *errors.baselines))
    every = np.vstack([errors.ours, *errors.baselines.values()])
    rows = tuple(
        (query, *(number_text(float(value), 3) for value in every[:, row])) for row, query in enumerate(errors.queries)
    )
    names = ("this release", *errors.baselines)
    spoken = "; ".join(
        f"{row[0]}: {', '.join(f'{name} {value}' for name, value in zip(names, row[1:], strict=True))}" for row in rows
    )
    figure = Figure(
        error_by_query(errors.queries, errors.ours, errors.baselines),
        "Expected standard error by query",
        "Further left is better. A grey bar joins the ways to answer one query.",
        f"Dot chart of expected standard errors. {spoken}.",
    )
    return Section(
        "Expected error by query", (Paragraphs((text,)), figure, DataTable("The same in numbers", columns, rows))
    )


def _charts(content: PageContent) -> Section:
    intro = (
        "In blue the unbiased estimates with their 95 % intervals",
        "" if content.estimation.unpublished else ", in orange the published counts",
        ". Intervals cover the noise: each by itself holds the bounded true count in 95 of 100 cases.",
    )
    state = (Callout("Preliminary and final numbers", " ".join(content.state)),) if content.state else ()
    # The largest series, for eyes without a script; a drawing takes longer than all else on a page.
    figures = [_figure(chart, points) for chart in content.charts[:1] for points in chart.levels]
    choice = (_choice(content.charts),) if content.charts else ()
    return Section("Counts and charts", (*state, _totals(content), Paragraphs((intro,)), *choice, *figures))


def _choice(charts: Sequence[SeriesChart]) -> Chooser:
    """Every series at every level."""
    levels = []
    for name in [points.level for points in charts[0].levels]:
        found = [points for chart in charts for points in chart.levels if points.level == name]
        counts = [points.published for points in found if points.published is not None]
        first = found[0]
        levels.append(
            ChoiceLevel(
                name,
                count_of(name),
                [day.isoformat() for day in first.dates],
                np.array([points.estimate for points in found]),
                np.array([points.half_width for points in found]),
                np.array(counts) if len(counts) == len(found) else None,
                np.zeros(len(first.dates), dtype=bool) if first.marked is None else first.marked,
                first.mark,
            )
        )
    return chooser("series", [chart.name for chart in charts], levels)


def _figure(chart: SeriesChart, points: Points) -> Figure:
    n_all, dates = len(points.dates), points.dates[-MAX_POINTS:]
    shown = slice(n_all - len(dates), n_all)
    estimate, margin = points.estimate[shown], points.half_width[shown]
    published = None if points.published is None else points.published[shown]
    marked = None if points.marked is None or not points.marked[shown].any() else points.marked[shown]
    lowest, widest = float(estimate.min()), float(margin.max())
    stated = not np.isnan(widest)
    last = "" if points.level == "day" else f" (first day of the last {points.level})"
    caption = f"{dates[0]} to {dates[-1]}{last}."
    caption += f" 95 % intervals: up to ±\N{NO-BREAK SPACE}{number_text(widest, 3)}." if stated else ""
    if len(dates) < n_all:
        caption += f" The latest {count_text(len(dates))} of {count_text(n_all)} intervals are drawn."
    alt = (
        f"Chart of {chart.name} by {points.level} from {dates[0]} to {dates[-1]}: estimates between "
        f"{number_text(lowest, 3)} and {number_text(float(estimate.max()), 3)}"
        + (f", 95 % intervals up to plus or minus {number_text(widest, 3)}." if stated else ".")
    )
    if published is not None:
        alt += f" Published counts between {_published(published.min())} and {_published(published.max())}."
    series = Series(dates, estimate, margin if stated else None, published, count_of(points.level), marked, points.mark)
    return Figure(series_with_band(series), f"{chart.name}, by {points.level}", caption, alt)


def _published(count: np.integer[Any] | np.floating[Any]) -> str:
    return count_text(int(count)) if isinstance(count, np.integer) else number_text(float(count))


def _totals(content: PageContent) -> DataTable:
    totals = content.totals
    order = np.argsort(-totals.estimate, kind="stable")[:MAX_ROWS]
    rows = tuple(_total_row(content, int(series)) for series in order)
    numbers = ("Estimate", "± 95 %") if totals.published is None else ("Estimate", "± 95 %", "Published")
    days = "all days whose sum is known" if content.state else "the whole range"
    caption = f"Every series over {days}, {content.first_day} to {content.last_day}, the largest first"
    caption += f"; {SWALLOWED}"
    if len(order) < len(totals.names):
        caption += f"; the first {count_text(len(order))} of {count_text(len(totals.names))}"
    return DataTable(caption, heads("Series", numbers=numbers), rows, tall=len(rows) > _SCROLLING)


def _total_row(content: PageContent, series: int) -> tuple[Text, ...]:
    totals = content.totals
    value, half = float(totals.estimate[series]), float(totals.half_width[series])
    estimate, margin = (number_text(value), "–") if np.isnan(half) else with_margin(value, half)
    published = () if totals.published is None else (_published(totals.published[series]),)
    row = (totals.names[series], estimate, margin, *published)
    return set_back(row, abs(value) <= half)


def _how_made(content: PageContent) -> Section:
    made = content.estimation
    blocks: list[Block] = [
        Paragraphs(
            (
                "Noise breaks what must hold of true counts: that the days of a month add up to the month, and the "
                "constraints below. The estimates are the values closest to the noisy ones, each weighted by its "
                "variance, for which all of it holds again. This uses only the noisy counts, and costs no budget.",
            )
        ),
        KeyValues(
            (("Solver", made.solver), ("Why this one", made.reason), ("Where it ran", made.layout), *_rounds(content))
        ),
    ]
    if not made.converged:
        text = (
            "The solver reached its limit of rounds: the estimates are near the optimum but not at it, by an unknown "
            "distance, so no errors are stated. Publishing again with more rounds, or with an exact solver, costs no "
            "budget."
        )
        blocks.append(Callout("Stopped before the threshold", text, tone="warning"))
    if made.rounds:
        blocks.append(_convergence(content))
    if made.constraints:
        blocks += [Paragraphs(("What holds of the estimates on each day:",)), Bullets(made.constraints)]
    else:
        blocks.append(Paragraphs(("No constraint ties the series of a day together.",)))
    blocks += notes_from_plan(made.notes)
    if made.unpublished:
        blocks.append(Callout("Estimates only", made.unpublished, tone="warning"))
    return Section("How the estimates were made", tuple(blocks))


def _rounds(content: PageContent) -> tuple[tuple[str, Text], ...]:
    rounds = content.estimation.rounds
    if not rounds:
        return (("Rounds", "none: the solver is exact"),)
    last = rounds[-1]
    text = f"{count_text(last.number)}; the last one changed the values by {number_text(last.change, 3)} on average"
    return (("Rounds", text),)


def _convergence(content: PageContent) -> Figure:
    first, last = content.estimation.rounds[0], content.estimation.rounds[-1]
    alt = (
        f"Line chart of rounds {count_text(first.number)} to {count_text(last.number)}: the mean absolute change goes "
        f"from {number_text(first.change, 3)} to {number_text(last.change, 3)}, the consistency deviation from "
        f"{number_text(first.deviation, 3)} to {number_text(last.deviation, 3)}."
    )
    caption = (
        "Mean absolute change of all values in a round, and how far they are from the constraints after it "
        "(consistency deviation). Both axes are logarithmic."
    )
    return Figure(convergence(content.estimation.rounds), "Convergence of the rounds", caption, alt)


def _use(content: PageContent, frame: PageFrame) -> Section:
    name = content.charts[0].name if content.charts else content.totals.names[0]
    # Of a stream a day that is measured, whichever are not.
    first = content.last_day if content.state else content.first_day
    last = first + min(content.last_day - first, dt.timedelta(days=30))
    return frame.use(
        f"consistent histograms, {content.first_day} to {content.last_day}",
        (
            f"--item {shlex.quote(name)} --from {first} --to {last}",
            "An answer for any range of days, with its exact standard error and 95 % interval",
        ),
        _REFERENCES,
    )
