"""Answers from a release: a count over a range of days with its exact standard error; reads the release only."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dplib.arrays import FloatArray, IntArray
from dplib.config.selection import Selection, select
from dplib.errors import ConfigError
from dplib.estimates.stream_errors import StreamErrors
from dplib.estimates.stream_state import StreamState
from dplib.jobs.consistent_histograms.config import NAME
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import MAX_KINDS, Errors
from dplib.jobs.consistent_histograms.stream_parts import stream_errors, stream_state
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED
from dplib.privacy.noise_quantile import half_widths
from dplib.release.manifest import STREAM, Manifest, public_design
from dplib.release.question import Question
from dplib.release.tables import FEW_ROWS, Filter, read_table
from dplib.trees.calendar import period_edges
from dplib.validate import require


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        item: item or total, values of the items' table, or a sum of them.
        first_day: first day of the range.
        last_day: last day, inclusive.
        estimate: unbiased estimate, in counts; may be negative.
        std_error: its exact standard error; None where rounds stopped before their threshold, and where it takes a
            solution of its own and many are asked for.
        low: lower end of the 95 % interval; None in the same case.
        high: upper end.
        published: the count of the published table, an integer or a real; None where the release has none.
    """

    item: str
    first_day: dt.date
    last_day: dt.date
    estimate: float
    std_error: float | None
    low: float | None
    high: float | None
    published: int | float | None


def design_of(manifest: Manifest) -> Design:
    """The design of a release; `ConfigError` if it is of another job."""
    return Design.from_public(public_design(manifest, NAME))


def ask(directory: Path, manifest: Manifest, asked: Question) -> list[Answer]:
    """Answers to a question, whose days are texts.

    Raises:
        ConfigError: as of `query_release`, or if a day is none.
    """
    first_day, last_day = _day("--from", asked.start), _day("--to", asked.end)
    return query_release(directory, manifest, asked.names, first_day, last_day, asked.where, asked.add_up, asked.by)


def _day(name: str, text: str | None) -> dt.date | None:
    try:
        return None if text is None else dt.date.fromisoformat(text)
    except ValueError:
        raise ConfigError(name, "be a day YYYY-MM-DD", text) from None


def query_release(
    directory: Path,
    manifest: Manifest,
    items: Sequence[str] = (),
    first_day: dt.date | None = None,
    last_day: dt.date | None = None,
    where: Sequence[str] = (),
    add_up: bool = False,
    by: str | None = None,
) -> list[Answer]:
    """Answer one range, or each period of it, for some items, totals or values of the items' table.

    Args:
        directory: the release.
        manifest: its manifest.
        items: items, totals, or what several are called together; all where neither these nor values are named.
        first_day: first day; where None the domain's, or that of a stream's newest days without a gap.
        last_day: last day, inclusive; where None the last of these.
        where: texts ``column=value`` (`dplib.config.selection`).
        add_up: whether the sum of all is asked for, in place of each.
        by: periods of the calendar, of which the first and the last end with the range; the whole range where None.

    Returns:
        The periods in order, of an item after the other.

    Raises:
        ConfigError: if an item, a value or a day is outside the release's domain, or a sum would count an item twice.
    """
    design = design_of(manifest)
    domain = design.config.domain
    state = state_of(design, manifest)
    newest = (0, domain.n_days) if state is None else state.newest_days()
    first, last = first_day or design.date(newest[0]), last_day or design.date(newest[1] - 1)
    within = f"be days from {domain.first_day} to {domain.last_day} in order"
    require(domain.first_day <= first <= last <= domain.last_day, "--from and --to", within, f"{first} and {last}")
    wanted = select(design.names, items, where, add_up)
    edges = design.day(first) + period_edges(first, last, by)
    spans = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    estimates, published = _sums(directory, design, state, wanted, spans)
    errors, halves = _errors(Errors(design) if state is None else stream_errors(state), wanted, spans)
    errors = errors if manifest.solver["converged"] else np.full(errors.shape, np.nan)
    answers = []
    for place, each in enumerate(wanted):
        for span, values, counts, error, half in zip(
            spans, estimates, published, errors[:, place].tolist(), halves[:, place].tolist(), strict=True
        ):
            value, days = values[place], (design.date(span[0]), design.date(span[1] - 1))
            assert value is not None
            if math.isnan(error):
                answers.append(Answer(each.name, *days, value, None, None, None, counts[place]))
            else:
                answers.append(Answer(each.name, *days, value, error, value - half, value + half, counts[place]))
    return answers


def _sums(
    directory: Path,
    design: Design,
    state: StreamState[Design] | None,
    wanted: Sequence[Selection],
    spans: Sequence[tuple[int, int]],
) -> tuple[list[list[int | float | None]], list[list[int | float | None]]]:
    """Estimates and published counts of ranges of days, a row a range."""
    covers = [(design.tree if state is None else state).cover(*days) for days in spans]
    estimates = sums_of(directory / ESTIMATES, "estimate", design, wanted, covers)
    published: list[list[int | float | None]] = [[None] * len(wanted)] * len(spans)
    if (directory / PUBLISHED).is_dir():
        published = sums_of(directory / PUBLISHED, "count", design, wanted, covers)
    taken = [] if state is None else [state.taken_away(*days) for days in spans]
    if any(map(len, taken)):
        less = sums_of(directory / ESTIMATES, "estimate", design, wanted, taken)
        estimates = [
            [(a or 0) - (b or 0) for a, b in zip(*own, strict=True)] for own in zip(estimates, less, strict=True)
        ]
        # What is published of missing days is nothing: whole numbers of a node and of its days are made apart.
        published = [[None] * len(wanted) if len(own) else row for own, row in zip(taken, published, strict=True)]
    return estimates, published


def state_of(design: Design, manifest: Manifest) -> StreamState[Design] | None:
    """What of a stream its version knows; None of other releases."""
    stream: Any = manifest.details.get(STREAM)
    return None if stream is None else stream_state(design, stream["days"], stream["closed"])


def sums_of(
    table: Path, column: str, design: Design, wanted: Sequence[Selection], covers: Sequence[IntArray]
) -> list[list[int | float | None]]:
    """The sums of a table's numbers over the nodes of each range, of each answer's series; None where it lacks one."""
    series = np.unique(np.concatenate([each.series for each in wanted]))
    nodes = np.unique(np.concatenate(covers))
    # Naming nearly all would take longer than reading them.
    few = 2 * len(series) < len(design.series)
    named: list[Filter] = [("item", "in", [design.series[number] for number in series])] if few else []
    rows = read_table(table, ["item", "node", column], [*named, ("node", "in", nodes.tolist())], few=FEW_ROWS)
    items, values, node = rows.column("item").combine_chunks(), *(rows.column(n).to_numpy() for n in (column, "node"))
    own = np.flatnonzero(np.isin(node, nodes))
    at = items.indices.to_numpy(zero_copy_only=False)[own], np.searchsorted(nodes, node[own])
    cells = np.zeros((len(items.dictionary), len(nodes)), values.dtype)  # integers stay integers
    cells[at] = values[own]
    code = {name: number for number, name in enumerate(items.dictionary.to_pylist())}
    add_up = sum if np.issubdtype(values.dtype, np.integer) else math.fsum
    parts = [[code.get(design.series[number]) for number in each.series.tolist()] for each in wanted]
    found: list[list[int | float | None]] = []
    for cover in covers:
        of_days = cells[:, np.searchsorted(nodes, cover)].sum(axis=1).tolist()
        # An item without a day in the range has no row: its count is 0.
        whole = [design.series_days is not None or None not in codes for codes in parts]
        sums = (add_up(0 if number is None else of_days[number] for number in codes) for codes in parts)
        found.append([each if known else None for each, known in zip(sums, whole, strict=True)])
    return found


def _errors(
    errors: Errors | StreamErrors[Design], wanted: Sequence[Selection], spans: Sequence[tuple[int, int]]
) -> tuple[FloatArray, FloatArray]:
    """Standard errors and half widths of the 95 % intervals, each of shape (n_spans, n_answers)."""
    std_errors, halves = np.empty((2, len(spans), len(wanted)))
    single = np.array([place for place, each in enumerate(wanted) if len(each.series) == 1], dtype=np.int64)
    numbers = np.array([int(wanted[place].series[0]) for place in single], dtype=np.int64)
    for row, (lo, hi) in enumerate(spans):
        if len(single):
            std_errors[row, single] = errors.std_errors(lo, hi, numbers)
            halves[row, single] = errors.half_widths(lo, hi, numbers)
        for place, each in enumerate(wanted):
            if len(each.series) > 1:
                std_errors[row, place] = errors.sum_std_error(lo, hi, each.series)
                halves[row, place] = errors.sum_half_width(lo, hi, each.series)
    return std_errors, halves


def tidy(directory: Path, manifest: Manifest) -> pa.Table:
    """Every node and series: keys, level, first_day, last_day, estimate, std_error, low, high, published."""
    design = design_of(manifest)
    rows = read_table(directory / ESTIMATES)
    nodes, tree, state = rows.column("node").to_numpy(), design.tree, state_of(design, manifest)
    errors = Errors(design) if state is None else stream_errors(state)
    items, names = rows.column("item").combine_chunks(), design.series_number
    lookup = np.array([names[name] for name in items.dictionary.to_pylist()], dtype=np.int64)
    series = lookup[items.indices.to_numpy(zero_copy_only=False)]
    stated = rows.column("std_error").to_numpy() if manifest.solver["converged"] else np.full(len(nodes), np.nan)

    def exact(at: int) -> float:
        return errors.sum_half_width(int(tree.lo[nodes[at]]), int(tree.hi[nodes[at]]), series[at : at + 1])

    half, estimate = half_widths(stated, exact, MAX_KINDS), rows.column("estimate").to_numpy()
    level = pa.DictionaryArray.from_arrays(rows.column("level").combine_chunks(), pa.array(design.days.names))
    rows = rows.set_column(rows.column_names.index("level"), "level", level)
    rows = rows.append_column("low", pa.array(estimate - half, from_pandas=True))
    rows = rows.append_column("high", pa.array(estimate + half, from_pandas=True))
    if (directory / PUBLISHED).is_dir():
        found = read_table(directory / PUBLISHED, ["item", "node", "count"])
        counts = found.column("count").to_numpy()
        own = found.column("item").combine_chunks()
        number = np.array([names[name] for name in own.dictionary.to_pylist()], dtype=np.int64)
        key = found.column("node").to_numpy() * len(names) + number[own.indices.to_numpy(zero_copy_only=False)]
        order, asked = np.argsort(key), nodes * len(names) + series
        at = np.minimum(np.searchsorted(key[order], asked), len(key) - 1)
        there = key[order][at] == asked
        rows = rows.append_column("published", pa.array(counts[order][at], mask=~there))
    return rows.drop_columns(["node"])


def total_answers(directory: Path, manifest: Manifest) -> list[Answer]:
    """Every item and total over the whole domain, the largest first."""
    answers = query_release(directory, manifest)
    return sorted(answers, key=lambda answer: (-answer.estimate, answer.item))
