"""Fills the page of a stream's version: what is measured, what is final, and the days as they are known."""

import datetime as dt
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.jobs.consistent_histograms.content import CHARTS, constraint_sentences, noise_rows, of_items
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import chosen_solvers, publication_sentences
from dplib.jobs.consistent_histograms.page_content import (
    Estimation,
    ExpectedErrors,
    PageContent,
    Points,
    SeriesChart,
    SeriesTotals,
)
from dplib.jobs.consistent_histograms.plan import plan_notes, query_errors
from dplib.jobs.consistent_histograms.stream_errors import StreamErrors
from dplib.jobs.consistent_histograms.stream_parts import StreamState
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.page.number_text import counted
from dplib.privacy.noise_quantile import half_widths
from dplib.release.stream_version import StreamVersion
from dplib.release.tables import read_table


def stream_content(state: StreamState, version: StreamVersion, directory: Path) -> PageContent:
    """Everything that the page of a version shows within its frame.

    Args:
        state: what is measured.
        version: its days.
        directory: the version, its tables written.
    """
    design = state.design
    days = np.flatnonzero(state.days)
    leaves = design.tree.leaf_nodes[days]
    estimates = _read(state, directory / ESTIMATES, "estimate")[leaves]
    errors = _read(state, directory / ESTIMATES, "std_error")[leaves]
    counts = _read(state, directory / PUBLISHED, "count")[leaves] if (directory / PUBLISHED).is_dir() else None
    found = query_errors(design, Errors(design))
    return PageContent(
        first_day=design.config.domain.first_day,
        last_day=dt.date.fromisoformat(version.dates[-1]),
        n_items=design.constraints.n_items,
        noise=noise_rows(design),
        errors=ExpectedErrors(
            of=f"{of_items(found)}, each as it is known on its last day",
            queries=tuple(each.query for each in found),
            ours=np.array([each.items for each in found]),
            baselines={"days only, same budget": np.array([each.days_only for each in found])},
        ),
        charts=_charts(state, days, estimates, errors, counts),
        totals=_totals(state, days, estimates, counts),
        estimation=Estimation(
            solver=", ".join(name for name, _ in chosen_solvers(design, design.config.publish.solver)),
            reason=" ".join(reason for _, reason in chosen_solvers(design, design.config.publish.solver)),
            layout="one process on the driver",
            rounds=(),
            converged=not np.isnan(errors).any(),
            constraints=tuple(constraint_sentences(design)),
            notes=(*state_sentences(state, version), *plan_notes(design)),
            unpublished="" if counts is not None else " ".join(publication_sentences(design)),
        ),
    )


def state_sentences(state: StreamState, version: StreamVersion) -> list[str]:
    """What is measured, missing, final and preliminary."""
    design, tops = state.design, state.tops.tolist()
    final = [top for top in tops if state.is_final(top)]
    n_days, last = int(state.days.sum()), version.dates[-1]
    found = [f"A stream: {counted(n_days, 'day')} of {len(state.days):,} are measured, the newest {last}."]
    missing = np.flatnonzero(~state.days[: design.day(dt.date.fromisoformat(last))])
    if len(missing):
        dates = [design.date(int(day)).isoformat() for day in missing[:5]]
        more = ", ..." if len(missing) > len(dates) else ""
        found.append(f"Not measured before it: {', '.join(dates)}{more}; each can still be run.")
    if state.is_closed:
        found.append("The stream is closed: all of its numbers are final.")
    elif final:
        ends = design.tree.hi[final]
        found.append(
            f"Final: the days of {counted(len(final), 'closed period')}, to {design.date(int(ends.max()) - 1)}."
        )
    if not state.is_closed and len(final) < len(tops):
        found.append(
            "The others are preliminary: when a period of the tree ends, its days are estimated anew from its own "
            "measurement."
        )
    return found


def _read(state: StreamState, table: Path, column: str) -> FloatArray:
    """A column of a version's table, shape (n_nodes, n_series); NaN for nodes without rows."""
    rows = read_table(table, ["item", "node", column])
    tables = Tables(table.parent, state.design)
    found = np.full((state.design.tree.n_nodes, len(state.design.series)), np.nan)
    nodes = np.unique(rows.column("node").to_numpy())
    found[nodes] = tables.scatter(rows, column)[nodes]
    return found


def _charts(
    state: StreamState, days: IntArray, estimates: FloatArray, errors: FloatArray, counts: FloatArray | None
) -> tuple[SeriesChart, ...]:
    design = state.design
    known = StreamErrors(state)
    dates = tuple(design.date(int(day)) for day in days)
    found = []
    for series in np.argsort(-estimates.sum(axis=0), kind="stable")[:CHARTS].tolist():

        def half(at: int, series: int = series) -> float:
            return known.sum_half_width(int(days[at]), int(days[at]) + 1, np.array([series]))

        margin = half_widths(errors[:, series], half)
        own = None if counts is None else counts[:, series]
        found.append(SeriesChart(design.series[series], (Points("day", dates, estimates[:, series], margin, own),)))
    return tuple(found)


def _totals(state: StreamState, days: IntArray, estimates: FloatArray, counts: FloatArray | None) -> SeriesTotals:
    """Every series over all measured days."""
    design, known = state.design, StreamErrors(state)
    order = np.argsort(-estimates.sum(axis=0), kind="stable")
    runs = np.split(days, np.flatnonzero(np.diff(days) > 1) + 1)
    stretches = [(int(run[0]), int(run[-1]) + 1) for run in runs]
    # A node lies in one stretch: the days that it has are all measured.
    errors = np.sqrt(np.sum([known.std_errors(lo, hi, order) ** 2 for lo, hi in stretches], axis=0))
    return SeriesTotals(
        names=tuple(design.series[series] for series in order),
        estimate=estimates.sum(axis=0)[order],
        half_width=half_widths(errors, lambda at: known.half_width_of(stretches, order[at : at + 1])),
        published=None if counts is None else counts.sum(axis=0)[order],
    )
