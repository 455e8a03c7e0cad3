"""Answers from a release: the count of a range of bins with its exact standard error; reads the release only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dplib.arrays import FloatArray, IntArray
from dplib.config.selection import Selection, select
from dplib.config.stream import StreamTree
from dplib.estimates.stream_errors import StreamErrors
from dplib.jobs.range_histograms.config import NAME, RangesRelease
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors
from dplib.jobs.range_histograms.strategy import noise_of
from dplib.jobs.range_histograms.stream_parts import state_of, stream_errors
from dplib.jobs.range_histograms.tables import ESTIMATES, PUBLISHED, Tables, read_strategy
from dplib.privacy.noise_quantile import half_widths
from dplib.release.manifest import Manifest, public_design
from dplib.release.question import Question
from dplib.release.tables import FEW_ROWS, Filter, read_table
from dplib.validate import did_you_mean, require

MAX_LAWS = 1000
"""Answers of different laws to one question whose intervals are worked out one by one."""


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        group: histogram, ``all`` where there is one; or which ones, or which values of their table, are summed.
        range: the bins in their public names.
        estimate: unbiased estimate, in counts; may be negative (method adaptive: biased).
        std_error: its exact standard error; None where it is not stated (method adaptive).
        low: lower end of the 95 % interval.
        high: upper end.
        published: sum of the published integers; None where a day has none (a stream's, that was never measured).
    """

    group: str
    range: str
    estimate: float
    std_error: float | None
    low: float | None
    high: float | None
    published: int | None


def design_of(directory: Path, manifest: Manifest) -> Design:
    """The design of a release; `ConfigError` if it is of another job."""
    public = dict(public_design(manifest, NAME))
    tree, release = public.pop("stream_tree", None), RangesRelease.model_validate(public)
    if tree is not None:
        return Design.of(release, stream=StreamTree.model_validate(tree))
    return Design.of(release, read_strategy(directory, noise_of(release)))


def ask(directory: Path, manifest: Manifest, asked: Question) -> list[Answer]:
    """Counts of a range of bins, or of each bin or period of it.

    Raises:
        ConfigError: as of `query_release`.
    """
    ranges = (asked.start, asked.end)
    return query_release(directory, manifest, asked.names, *ranges, asked.add_up, asked.by, asked.where)


def query_release(
    directory: Path,
    manifest: Manifest,
    groups: Sequence[str],
    start: str | None,
    end: str | None,
    add_up: bool = False,
    by: str | None = None,
    where: Sequence[str] = (),
) -> list[Answer]:
    """Answer one range, or each part of it, for some groups or totals.

    Args:
        directory: the release.
        manifest: its manifest.
        groups: groups or totals; all where neither these nor values are named.
        start: lower edge, first day or first category; where None the first bin's, or the first of a stream's newest
            days without a gap.
        end: upper edge, or last day or category; where None the last bin's, or the last of these.
        add_up: whether the sum is asked for, in place of each; of all groups where none is named.
        by: ``bin``, or a period of the calendar where bins are of days; the whole range where None.
        where: texts ``column=value`` of the groups' table (`dplib.config.selection`).

    Returns:
        The parts in order, of a group after the other.

    Raises:
        ConfigError: if a group, a value or an end is not of the release, a sum would count a group twice, or periods
            end inside bins.
    """
    design = design_of(directory, manifest)
    tables, wanted = Tables(directory, design), _wanted(design, groups, where, add_up)
    tree, state = design.strategy.tree, state_of(design, manifest)
    first, last = design.bins.range_of(start, end)
    if state is not None:
        newest = state.newest_days()
        first, last = (newest[0] if start is None else first), (newest[1] if end is None else last)
        require(first < last, "--from and --to", "be ends of a range that is not empty", f"{start} and {end}")
    edges = design.bins.part_edges(first, last, by)
    spans = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    named = [design.series[number] for number in np.unique(np.concatenate([each.series for each in wanted]))]
    covers = [tree.leaf_nodes[lo:hi] if design.adaptive else (state or tree).cover(lo, hi) for lo, hi in spans]
    estimates = _sums(tables, ESTIMATES, "node", "estimate", covers, named)
    taken = [] if state is None else [state.taken_away(lo, hi) for lo, hi in spans]
    if any(map(len, taken)):
        estimates = estimates - _sums(tables, ESTIMATES, "node", "estimate", taken, named)
    whole = [state is None or bool(state.days[lo:hi].all()) for lo, hi in spans]
    published = _sums(tables, PUBLISHED, "bin", "count", [np.arange(lo, hi) for lo, hi in spans], named)
    errors = Errors(design) if state is None else stream_errors(state)
    std_errors, halves = _errors(errors, [each.series for each in wanted], spans)
    found = []
    for row, each in enumerate(wanted):
        for place, span in enumerate(spans):
            value = float(estimates[place, each.series].sum())
            count = sum(published[place, each.series].tolist()) if whole[place] else None
            shown, error, half = design.bins.shown(*span), float(std_errors[row, place]), float(halves[row, place])
            if np.isnan(error):
                found.append(Answer(each.name, shown, value, None, None, None, count))
            else:
                found.append(Answer(each.name, shown, value, error, value - half, value + half, count))
    return found


def _wanted(design: Design, groups: Sequence[str], where: Sequence[str], add_up: bool) -> list[Selection]:
    """The groups, totals and sums that are asked for."""
    named = list(dict.fromkeys(groups))
    require(not add_up or len(named) == len(groups), "--group", "name each group of a sum once", "one twice")
    every = design.bins.groups if add_up and not (groups or where) else ()
    found = select(design.names, every or named, where, add_up)
    if not add_up or where:
        return found
    return [Selection(f"sum of {', '.join(groups)}" if groups else "sum of all groups", found[0].series)]


def _errors(
    errors: Errors | StreamErrors[Design], wanted: Sequence[IntArray], spans: Sequence[tuple[int, int]]
) -> tuple[FloatArray, FloatArray]:
    """Standard errors and half widths of the 95 % intervals, each of shape (n_answers, n_spans)."""
    found = np.array([[errors.sum_std_error(*span, each) for span in spans] for each in wanted])

    def exact(at: int) -> float:
        row, place = divmod(at, len(spans))
        return errors.sum_half_width(*spans[place], wanted[row])

    return found, half_widths(found.reshape(-1), exact, MAX_LAWS).reshape(found.shape)


def _sums(
    tables: Tables, table: str, key: str, column: str, parts: Sequence[IntArray], groups: Sequence[str]
) -> npt.NDArray[Any]:
    """Sums of a column over each set of keys, by group: shape (n_parts, n_groups)."""
    keys = np.unique(np.concatenate(parts))
    cells = _cells(tables, table, key, column, keys, groups)
    return np.stack([cells[np.searchsorted(keys, part)].sum(axis=0) for part in parts])


def _cells(
    tables: Tables, table: str, key: str, column: str, keys: IntArray, groups: Sequence[str]
) -> npt.NDArray[Any]:
    """A column by key and group, shape (n_keys, n_groups); other groups may have 0."""
    where: list[Filter] = [("group", "in", groups), (key, "in", keys.tolist())]
    rows = read_table(tables.directory / table, ["group", key, column], where, few=FEW_ROWS)
    values, number = rows.column(column).to_numpy(), rows.column(key).to_numpy()
    own = np.flatnonzero(np.isin(number, keys))
    cells = np.zeros((len(keys), len(tables.design.series)), values.dtype)  # integers stay integers
    cells[np.searchsorted(keys, number[own]), tables.group_numbers(rows)[own]] = values[own]
    return cells


def bin_counts(
    directory: Path, design: Design, groups: Sequence[str]
) -> Iterator[tuple[str, FloatArray, npt.NDArray[np.int64]]]:
    """Name, estimates and published counts of the bins of some histograms, each of shape (n_bins,).

    Raises:
        ConfigError: if a group is not of the release.
    """
    tables, wanted = Tables(directory, design), known_groups(design, groups)
    nodes, at = design.strategy.tree.leaf_nodes, np.arange(design.bins.n_bins)
    order = np.argsort(nodes)
    estimates = np.empty((len(at), len(design.series)))
    estimates[order] = _cells(tables, ESTIMATES, "node", "estimate", nodes[order], wanted)
    counts = _cells(tables, PUBLISHED, "bin", "count", at, wanted)
    for name in wanted:
        number = design.series_number[name]
        yield name, estimates[:, number], counts[:, number]


def known_groups(design: Design, groups: Sequence[str]) -> list[str]:
    """The groups and totals that are named, all where none is.

    Raises:
        ConfigError: if one is not of the release.
    """
    for group in groups:
        hint = did_you_mean(group, design.series)
        require(group in design.series_number, "--group", f"be {design.names.word} of the release", group + hint)
    return list(groups) or list(design.series)


def tidy(directory: Path, manifest: Manifest) -> pa.Table:
    """Every interval of every histogram: group, level, lo, hi, estimate, std_error, (status,) low, high, published."""
    design = design_of(directory, manifest)
    tables, tree = Tables(directory, design), design.strategy.tree
    status = [] if design.stream is None else ["status"]
    rows = read_table(directory / ESTIMATES, ["group", "node", "level", "lo", "hi", "estimate", "std_error", *status])
    nodes, groups = rows.column("node").to_numpy(), tables.group_numbers(rows)
    counts = _cells(tables, PUBLISHED, "bin", "count", np.arange(design.bins.n_bins), list(design.series))
    before = np.vstack([np.zeros_like(counts[:1]), np.cumsum(counts, axis=0)])
    state = state_of(design, manifest)
    if state is None:
        kinds, place = np.unique(nodes, return_inverse=True)
        errors, alike = Errors(design), design.sums is None
        lo, hi = tree.lo[kinds], tree.hi[kinds]
        halves = np.array([errors.half_widths(lo, hi, number) for number in range(1 if alike else len(design.series))])
        half = halves[0 if alike else groups, place]
    else:
        known = stream_errors(state)

        def exact(at: int) -> float:
            return known.sum_half_width(int(tree.lo[nodes[at]]), int(tree.hi[nodes[at]]), groups[at : at + 1])

        half = half_widths(rows.column("std_error").to_numpy(), exact, MAX_LAWS)
    estimate = rows.column("estimate").to_numpy()
    columns = {"low": estimate - half, "high": estimate + half}
    for name, values in columns.items():
        rows = rows.append_column(name, pa.array(values, from_pandas=True))
    missing = np.append(0, np.cumsum(np.zeros(tree.n_leaves, bool) if state is None else ~state.days))
    published = before[tree.hi[nodes], groups] - before[tree.lo[nodes], groups]
    unknown = missing[tree.hi[nodes]] > missing[tree.lo[nodes]]
    rows = rows.append_column("published", pa.array(published, mask=unknown if unknown.any() else None))
    return rows.drop_columns(["node"])


def total_answers(directory: Path, manifest: Manifest) -> list[Answer]:
    """Every group over all bins, the largest first."""
    answers = query_release(directory, manifest, (), None, None)
    return sorted(answers, key=lambda answer: (-answer.estimate, answer.group))
