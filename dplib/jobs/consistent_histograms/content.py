"""Fills the page of a release from its design and its results."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.consistent_histograms.charts import LevelCounts, cut_intervals, series_charts
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import chosen_solvers, publication_sentences
from dplib.jobs.consistent_histograms.page_content import (
    Estimation,
    ExpectedErrors,
    PageContent,
    SeriesChart,
    SeriesTotals,
)
from dplib.jobs.consistent_histograms.plan import QueryError, plan_notes, query_errors
from dplib.jobs.consistent_histograms.publish import Results
from dplib.page.guarantee import NoiseRow
from dplib.page.number_text import number_text
from dplib.privacy.noise_quantile import half_widths
from dplib.trees.calendar import calendar_levels

LAYOUTS = {
    "driver": "one process on the driver",
    "blocks": "blocks of consecutive days on Spark",
    "reference": "per item, then per day, on Spark",
}


def page_content(design: Design, results: Results) -> PageContent:
    """Everything that the page shows within its frame.

    Args:
        design: the design.
        results: what post-processing made.
    """
    domain, errors = design.config.domain, Errors(design)
    return PageContent(
        first_day=domain.first_day,
        last_day=domain.last_day,
        n_days=domain.n_days,
        n_items=design.constraints.n_items,
        noise=noise_rows(design),
        errors=_errors(design, errors),
        charts=_charts(design, results, errors),
        totals=_totals(design, results, errors),
        estimation=_estimation(design, results),
    )


def noise_rows(design: Design) -> tuple[NoiseRow, ...]:
    """The noise on each level, and within it of each column."""
    found = []
    columns = design.columns
    for place, measurement in enumerate(design.measurements):
        level, column = divmod(place, columns.n_columns)
        nodes = design.tree.level_slice(level)
        label = ", ".join([design.days.names[level], *columns.names[column : column + 1]])
        share = Fraction(design.days.shares[level] * columns.shares[column])
        noise = measurement.noise if measurement else None
        found.append(NoiseRow.of(label, nodes.stop - nodes.start, noise, share))
    return tuple(found)


def _errors(design: Design, errors: Errors) -> ExpectedErrors:
    found = query_errors(design, errors)
    return ExpectedErrors(
        of=of_items(found),
        queries=tuple(each.query for each in found),
        ours=np.array([each.items for each in found]),
        baselines={"days only, same budget": np.array([each.days_only for each in found])},
    )


def of_items(found: Sequence[QueryError]) -> str:
    """Which series the errors are for; their span where they differ."""
    wide = [each for each in found if each.items_span[1] > 1.05 * each.items_span[0]]
    if not wide:
        return "the mean over the items"
    spans = "; ".join(f"{each.query}: {' to '.join(number_text(end, 3) for end in each.items_span)}" for each in wide)
    return f"the mean over the items, whose own errors differ: {spans}"


def _charts(design: Design, results: Results, errors: Errors) -> tuple[SeriesChart, ...]:
    levels = [_level(design, results, number) for number in range(design.tree.n_levels - 1, -1, -1)]
    # A level of one interval is in the table of totals.
    levels = [level for level in levels if len(level.lo) > 1 or level.name == "day"]
    months = calendar_levels(design.config.domain.first_day, design.config.domain.last_day, ["month", "day"])
    if "month" not in design.days.names and len(edges := months.edges[months.level_of["month"]]) > 2:
        levels.append(_months(design, results, errors, edges))
    if not results.solution.converged:
        levels = [replace(level, error=np.full(level.error.shape, np.nan)) for level in levels]
    order = np.argsort(-results.solution.values[0], kind="stable")
    return series_charts(design, levels, order, errors.half_width, results.tables.published)


def _level(design: Design, results: Results, number: int) -> LevelCounts:
    """A level of the tree."""
    tree, own = design.tree, design.tree.level_slice(number)
    lo, hi, name = tree.lo[own], tree.hi[own], design.days.names[number]
    name = "day" if number == tree.n_levels - 1 else name
    values = results.solution.values[own], results.std_error[own], results.tables.counts[own]
    return LevelCounts(name, lo, hi, *values, cut_intervals(design, name, lo, hi))


def _months(design: Design, results: Results, errors: Errors, edges: IntArray) -> LevelCounts:
    """The calendar's months as sums of days."""
    lo, hi, leaves = edges[:-1], edges[1:], design.tree.leaf_nodes
    estimate, counts = (
        np.add.reduceat(values[leaves], lo, axis=0) for values in (results.solution.values, results.tables.counts)
    )
    error = np.array(errors.range_std_errors([*pairwise(edges.tolist())]))
    return LevelCounts("month", lo, hi, estimate, error, counts, cut_intervals(design, "month", lo, hi))


def _totals(design: Design, results: Results, errors: Errors) -> SeriesTotals:
    order = np.argsort(-results.solution.values[0], kind="stable")
    published = results.tables.counts[0, order] if results.tables.published.all() else None
    return SeriesTotals(
        names=tuple(design.series[series] for series in order),
        estimate=results.solution.values[0, order],
        half_width=half_widths(
            results.stated_error[0, order], lambda at: errors.half_width(0, design.tree.n_leaves, int(order[at]))
        ),
        published=published,
    )


def _estimation(design: Design, results: Results) -> Estimation:
    chosen = chosen_solvers(design, design.config.publish.solver)
    return Estimation(
        solver=results.solution.solver,
        reason=" ".join(reason for _, reason in chosen),
        layout=LAYOUTS[results.layout],
        rounds=results.solution.rounds,
        converged=results.solution.converged,
        constraints=tuple(constraint_sentences(design)),
        notes=plan_notes(design),
        unpublished="" if results.tables.published.any() else " ".join(publication_sentences(design)),
    )


def constraint_sentences(design: Design) -> list[str]:
    """The configured constraints in words."""
    found = []
    for constraint in design.config.constraints:
        days = f" (from {constraint.first or 'the first day'} to {constraint.last or 'the last day'})"
        when = days if constraint.first or constraint.last else ""
        for name, contents in (constraint.packages or {}).items():
            parts = " + ".join(f"{count} {item}" for item, count in contents.items() if count)
            found.append(f"Package {name} = {parts}{when}.")
        for name, members in (constraint.totals or {}).items():
            kind = "measured" if design.constraints.measured[design.series_number[name]] else "a free sum"
            group = f"{constraint.name}: " if constraint.name else ""
            found.append(f"{group}{name} = {' + '.join(members)}, {kind}{when}.")
        for name, equation in (constraint.equations or {}).items():
            parts = " + ".join(f"{value} x {item}" for item, value in equation.coefficients.items())
            found.append(f"Equation {name}: {parts} = {equation.value}, public{when}.")
    return found
