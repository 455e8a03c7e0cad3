"""Fills the page of a stream's version: what is measured, what is final, and the days as they are known."""

from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.content import CHARTS, constraint_sentences, noise_rows, of_items
from dplib.jobs.consistent_histograms.design import Design
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
from dplib.jobs.consistent_histograms.stream_parts import stream_errors
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.page.stream_state import state_sentences
from dplib.privacy.noise_quantile import half_widths
from dplib.release.tables import read_table


def stream_content(state: StreamState[Design], directory: Path) -> PageContent:
    """Everything that the page of a version shows within its frame.

    Args:
        state: what is measured.
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
        last_day=state.dates[-1],
        n_items=design.constraints.n_items,
        noise=noise_rows(design),
        errors=ExpectedErrors(
            of=f"{of_items(found)}, each as it is known on its last day",
            queries=tuple(each.query for each in found),
            ours=np.array([each.items for each in found]),
            baselines={"days only, same budget": np.array([each.days_only for each in found])},
        ),
        charts=_charts(state, days, estimates, errors, counts),
        totals=_totals(state, estimates, counts),
        estimation=Estimation(
            solver=", ".join(name for name, _ in chosen_solvers(design, design.config.publish.solver)),
            reason=" ".join(reason for _, reason in chosen_solvers(design, design.config.publish.solver)),
            layout="one process on the driver",
            rounds=(),
            converged=not np.isnan(errors).any(),
            constraints=tuple(constraint_sentences(design)),
            notes=(*state_sentences(state), *plan_notes(design)),
            unpublished="" if counts is not None else " ".join(publication_sentences(design)),
        ),
    )


def _read(state: StreamState[Design], table: Path, column: str) -> FloatArray:
    """A column of a version's table, shape (n_nodes, n_series); NaN for nodes without rows."""
    rows = read_table(table, ["item", "node", column])
    tables = Tables(table.parent, state.design)
    found = np.full((state.design.tree.n_nodes, len(state.design.series)), np.nan)
    nodes = np.unique(rows.column("node").to_numpy())
    found[nodes] = tables.scatter(rows, column)[nodes]
    return found


def _charts(
    state: StreamState[Design], days: IntArray, estimates: FloatArray, errors: FloatArray, counts: FloatArray | None
) -> tuple[SeriesChart, ...]:
    design = state.design
    known = stream_errors(state)
    dates = tuple(design.date(int(day)) for day in days)
    found = []
    for series in np.argsort(-estimates.sum(axis=0), kind="stable")[:CHARTS].tolist():

        def half(at: int, series: int = series) -> float:
            return known.sum_half_width(int(days[at]), int(days[at]) + 1, np.array([series]))

        margin = half_widths(errors[:, series], half)
        own = None if counts is None else counts[:, series]
        found.append(SeriesChart(design.series[series], (Points("day", dates, estimates[:, series], margin, own),)))
    return tuple(found)


def _totals(state: StreamState[Design], estimates: FloatArray, counts: FloatArray | None) -> SeriesTotals:
    """Every series over all measured days."""
    design, order = state.design, np.argsort(-estimates.sum(axis=0), kind="stable")
    return SeriesTotals(
        names=tuple(design.series[series] for series in order),
        estimate=estimates.sum(axis=0)[order],
        half_width=stream_errors(state).totals(order)[1],
        published=None if counts is None else counts.sum(axis=0)[order],
    )
