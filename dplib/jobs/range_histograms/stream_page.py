"""The sections of a page that a stream's version has of its own: days as they are known, and errors of recent days."""

from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.stream_errors import StreamErrors
from dplib.estimates.stream_state import StreamState
from dplib.jobs.range_histograms.charts import CHARTS, MAX_LAWS, MAX_POINTS, MAX_ROWS, alt_text, shown_name
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.kinds import recent_errors
from dplib.jobs.range_histograms.stream_parts import stream_errors
from dplib.jobs.range_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.page.blocks import Callout, DataTable, Figure, Paragraphs, Section, heads, set_back
from dplib.page.chooser import ChoiceLevel, chooser, series_that_fit
from dplib.page.figures import Series, series_with_band
from dplib.page.frame import SWALLOWED
from dplib.page.number_text import count_of, count_text, number_text, with_margin
from dplib.page.stream_state import revision_sentences, state_sentences
from dplib.privacy.noise_quantile import half_widths

_SCROLLING = 25


def days_section(state: StreamState[Design], directory: Path, previous: Path | None) -> Section:
    """What is measured, totals over all measured days, and every histogram at every level.

    Args:
        state: what is measured.
        directory: the version, its tables written.
        previous: the version before; None where there is none.
    """
    design, tables, days = state.design, Tables(directory, state.design), np.flatnonzero(state.days)
    estimates, errors = (tables.values(ESTIMATES, "node", name) for name in ("estimate", "std_error"))
    counts = tables.values(PUBLISHED, "bin", "count").astype(np.int64)
    leaves = design.strategy.tree.leaf_nodes[days]
    totals = estimates[:, state.outermost].sum(axis=1)
    order, known = np.argsort(-totals, kind="stable"), stream_errors(state)
    figures = [
        _figure(state, known, int(group), estimates[group, leaves], errors[group, leaves], counts[group, days])
        for group in order[:CHARTS]
    ]
    levels = _levels(state, known, order, estimates, errors, counts)
    said = state_sentences(state)
    if previous is not None:
        older = Tables(previous, design)
        known_before = older.values(ESTIMATES, "node", "std_error") > 0
        before = np.where(known_before, older.values(ESTIMATES, "node", "estimate"), np.nan)
        said += revision_sentences(state, *(each.T[design.strategy.tree.leaf_nodes] for each in (estimates, before)))
    text = Paragraphs(("In blue the estimates with their 95 % intervals, in orange the published whole numbers.",))
    return Section(
        "Counts and charts",
        (
            Callout("Preliminary and final numbers", " ".join(said)),
            _totals(state, known, order, totals, counts.sum(axis=1)),
            text,
            chooser("histogram", [shown_name(design, group) for group in order.tolist()], levels),
            *figures,
        ),
    )


def recent_section(design: Design) -> Section:
    """Errors of the answers that a stream is asked for."""
    rows = tuple(
        (each.query, each.of, count_text(each.days), number_text(each.error, 3), number_text(each.days_only, 3))
        for each in recent_errors(design)[0]
    )
    columns = heads("Query", "Of", numbers=("Days", "This stream", "Days only"))
    words = "Each answer as it is known on its last day; the alternative spends the same budget on days alone."
    table = DataTable("Mean standard errors, in counts", columns, rows)
    return Section("Expected error of recent days", (Paragraphs((words,)), table))


def _levels(
    state: StreamState[Design],
    known: StreamErrors[Design],
    order: IntArray,
    estimates: FloatArray,
    errors: FloatArray,
    counts: IntArray,
) -> list[ChoiceLevel]:
    """The nodes that have both numbers, level by level from the days up; those that may change are marked."""
    tree = state.tree
    assert state.design.stream is not None
    names = ["all days", *state.design.stream.levels]
    known_days = np.append(0, np.cumsum(state.days))
    whole = known_days[tree.hi] - known_days[tree.lo] == tree.hi - tree.lo
    before = np.concatenate([np.zeros_like(counts[:, :1]), np.cumsum(counts, axis=1)], axis=1)
    nodes_of = [np.arange(tree.n_nodes)[tree.level_slice(level)] for level in range(tree.n_levels - 1, -1, -1)]
    nodes_of = [nodes[whole[nodes] & (errors[:, nodes] > 0).all(axis=0)] for nodes in nodes_of]
    nodes_of = [nodes for place, nodes in enumerate(nodes_of) if len(nodes) > 1 or not place]
    found = []
    for nodes, m in zip(nodes_of, series_that_fit(len(order), [len(nodes) for nodes in nodes_of]), strict=True):
        own, lo, hi = order[:m], tree.lo[nodes], tree.hi[nodes]
        if not m:
            continue

        def exact(at: int, own: IntArray = own, lo: IntArray = lo, hi: IntArray = hi) -> float:
            row, column = divmod(at, len(lo))
            return known.sum_half_width(int(lo[column]), int(hi[column]), own[row : row + 1])

        std = errors[np.ix_(own, nodes)]
        half = half_widths(std.reshape(-1), exact, MAX_LAWS // len(nodes_of)).reshape(std.shape)
        labels = [state.design.bins.shown(*ends) for ends in zip(lo.tolist(), hi.tolist(), strict=True)]
        name = names[tree.level[nodes[0]]]
        published = before[np.ix_(own, hi)] - before[np.ix_(own, lo)]
        values = estimates[np.ix_(own, nodes)], half, published
        found.append(ChoiceLevel(name, count_of(name), labels, *values, ~state.final_days[lo], "preliminary"))
    return found


def _figure(
    state: StreamState[Design],
    known: StreamErrors[Design],
    group: int,
    estimates: FloatArray,
    errors: FloatArray,
    counts: IntArray,
) -> Figure:
    """The newest `MAX_POINTS` measured days of one histogram, as they are known."""
    days, one = np.flatnonzero(state.days)[-MAX_POINTS:], np.array([group])
    newest, whole = estimates[-MAX_POINTS:], counts[-MAX_POINTS:]
    margin = half_widths(errors[-MAX_POINTS:], lambda at: known.sum_half_width(int(days[at]), int(days[at]) + 1, one))
    caption = (
        f"{state.date(int(days[0]))} to {state.date(int(days[-1]))}, one point a measured day. 95 % intervals: up to "
        f"±\N{NO-BREAK SPACE}{number_text(float(margin.max()), 3)}."
    )
    name = state.design.series[group] if state.design.bins.grouped else "All days"
    drawing = series_with_band(Series([state.date(day) for day in days.tolist()], newest, margin, whole, "count a day"))
    return Figure(drawing, name, caption, alt_text(name, newest, whole))


def _totals(
    state: StreamState[Design], known: StreamErrors[Design], order: IntArray, totals: FloatArray, published: IntArray
) -> DataTable:
    """Every histogram over all that is known; days without a number of their own have no published one."""
    rows, shown, tree = [], order[:MAX_ROWS], state.tree
    whole = all(state.days[tree.lo[root] : tree.hi[root]].all() for root in state.outermost.tolist())
    for group, half in zip(shown.tolist(), known.totals(shown)[1].tolist(), strict=True):
        counts = (count_text(published[group]),) if whole else ()
        row = (shown_name(state.design, group), *with_margin(float(totals[group]), half), *counts)
        rows.append(set_back(row, bool(abs(totals[group]) <= half)))
    days = "all measured days" if whole else "all days whose sum is known, days without a number of their own included"
    caption = f"Every group over {days}, the largest first; {SWALLOWED}"
    if len(shown) < len(order):
        caption += f"; the first {count_text(len(shown))} of {count_text(len(order))}"
    columns = heads("Group", numbers=("Estimate", "± 95 %", *(["Published"] if whole else [])))
    return DataTable(caption, columns, tuple(rows), tall=len(rows) > _SCROLLING)
