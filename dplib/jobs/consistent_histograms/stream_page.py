"""Fills the page of a stream's version: what is measured, what is final, and the days as they are known."""

from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.charts import LevelCounts, series_charts
from dplib.jobs.consistent_histograms.content import constraint_sentences, noise_rows, of_items
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
from dplib.jobs.consistent_histograms.plan import plan_notes, query_errors
from dplib.jobs.consistent_histograms.stream_parts import stream_errors
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.page.stream_state import revision_sentences, state_sentences
from dplib.release.tables import read_table


def stream_content(state: StreamState[Design], directory: Path, previous: Path | None = None) -> PageContent:
    """Everything that the page of a version shows within its frame.

    Args:
        state: what is measured.
        directory: the version, its tables written.
        previous: the version before; None where there is none.
    """
    design = state.design
    days = np.flatnonzero(state.days)
    leaves = design.tree.leaf_nodes[days]
    estimates = _read(state, directory / ESTIMATES, "estimate")
    errors = _read(state, directory / ESTIMATES, "std_error")
    counts = _read(state, directory / PUBLISHED, "count") if (directory / PUBLISHED).is_dir() else None
    charts = _charts(state, estimates, errors, counts)
    revised: list[str] = []
    if previous is not None:
        before = _read(state, previous / ESTIMATES, "estimate")
        revised = revision_sentences(state, *(each[design.tree.leaf_nodes] for each in (estimates, before)))
    totals = _totals(state, estimates[state.outermost], None if counts is None else counts[state.outermost])
    errors = errors[leaves]
    found = query_errors(design, Errors(design))
    return PageContent(
        first_day=design.config.domain.first_day,
        last_day=state.dates[-1],
        n_days=len(days),
        n_items=design.constraints.n_items,
        noise=noise_rows(design),
        errors=ExpectedErrors(
            of=f"{of_items(found)}, each as it is known on its last day",
            queries=tuple(each.query for each in found),
            ours=np.array([each.items for each in found]),
            baselines={"days only, same budget": np.array([each.days_only for each in found])},
        ),
        charts=charts,
        totals=totals,
        estimation=Estimation(
            solver=", ".join(name for name, _ in chosen_solvers(design, design.config.publish.solver)),
            reason=" ".join(reason for _, reason in chosen_solvers(design, design.config.publish.solver)),
            layout="one process on the driver",
            rounds=(),
            converged=not np.isnan(errors).any(),
            constraints=tuple(constraint_sentences(design)),
            notes=plan_notes(design),
            unpublished="" if counts is not None else " ".join(publication_sentences(design)),
        ),
        state=(*state_sentences(state), *revised),
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
    state: StreamState[Design], estimates: FloatArray, errors: FloatArray, counts: FloatArray | None
) -> tuple[SeriesChart, ...]:
    """Every level of what is measured; numbers that may change are marked."""
    design, tree, known = state.design, state.design.tree, stream_errors(state)
    levels = []
    for number in range(tree.n_levels - 1, -1, -1):
        nodes = np.arange(tree.n_nodes)[tree.level_slice(number)]
        nodes = nodes[~np.isnan(estimates[nodes]).any(axis=1)]
        name = "day" if number == tree.n_levels - 1 else design.days.names[number]
        if len(nodes) < 2 and name != "day":
            continue
        values = estimates[nodes], errors[nodes], None if counts is None else counts[nodes]
        open_ = ~state.final_days[tree.lo[nodes]]
        levels.append(LevelCounts(name, tree.lo[nodes], tree.hi[nodes], *values, open_, "preliminary"))
    order = np.argsort(-np.nansum(estimates[tree.leaf_nodes], axis=0), kind="stable")
    return series_charts(design, levels, order, lambda lo, hi, series: known.sum_half_width(lo, hi, np.array([series])))


def _totals(state: StreamState[Design], estimates: FloatArray, counts: FloatArray | None) -> SeriesTotals:
    """Every series over all that is known, from the nodes that hold it."""
    design, order = state.design, np.argsort(-estimates.sum(axis=0), kind="stable")
    return SeriesTotals(
        names=tuple(design.series[series] for series in order),
        estimate=estimates.sum(axis=0)[order],
        half_width=stream_errors(state).totals(order)[1],
        published=None if counts is None else counts.sum(axis=0)[order],
    )
