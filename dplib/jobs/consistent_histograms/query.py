"""Answers from a release: a count over a range of days with its exact standard error; reads the release only."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dplib.arrays import FloatArray
from dplib.config.selection import Selection, select
from dplib.jobs.consistent_histograms.config import NAME
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED
from dplib.release.manifest import Manifest
from dplib.release.tables import Filter, read_table
from dplib.validate import require
from dplib.workflow.manifest import public_design


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
    """The design of a release.

    Raises:
        ConfigError: if the release is of another job.
    """
    return Design.from_public(public_design(manifest, NAME))


def query_release(
    directory: Path,
    manifest: Manifest,
    items: Sequence[str],
    first_day: dt.date | None,
    last_day: dt.date | None,
    where: Sequence[str] = (),
    add_up: bool = False,
) -> list[Answer]:
    """Answer one range for some items, totals or values of the items' table.

    Args:
        directory: the release.
        manifest: its manifest.
        items: items, totals, or what several are called together; all where neither these nor values are named.
        first_day: first day; the domain's where None.
        last_day: last day, inclusive; the domain's where None.
        where: texts ``column=value`` (`dplib.config.selection`).
        add_up: whether the sum of all is asked for, in place of each.

    Raises:
        ConfigError: if an item, a value or a day is outside the release's domain, or a sum would count an item twice.
    """
    design = design_of(manifest)
    domain = design.config.domain
    first, last = first_day or domain.first_day, last_day or domain.last_day
    within = f"be days from {domain.first_day} to {domain.last_day} in order"
    require(domain.first_day <= first <= last <= domain.last_day, "--from and --to", within, f"{first} and {last}")
    wanted = select(design.names, items, where, add_up)
    days = design.day(first), design.day(last) + 1
    estimates = sums_of(directory / ESTIMATES, "estimate", design, wanted, days)
    errors, halves = _errors(design, wanted, days)
    published: list[int | float | None] = [None] * len(wanted)
    if (directory / PUBLISHED).is_dir():
        published = sums_of(directory / PUBLISHED, "count", design, wanted, days)
    answers = []
    for each, value, error, half, whole in zip(
        wanted, estimates, errors.tolist(), halves.tolist(), published, strict=True
    ):
        assert value is not None
        if manifest.solver["converged"] and not math.isnan(error):
            answers.append(Answer(each.name, first, last, value, error, value - half, value + half, whole))
        else:
            answers.append(Answer(each.name, first, last, value, None, None, None, whole))
    return answers


def sums_of(
    table: Path, column: str, design: Design, wanted: Sequence[Selection], days: tuple[int, int]
) -> list[int | float | None]:
    """The sum of a table's numbers over days and series for each answer; None where it lacks a series."""
    nodes, series = design.tree.cover(*days), np.unique(np.concatenate([each.series for each in wanted]))
    # Naming nearly all would take longer than reading them.
    few = 2 * len(series) < len(design.series)
    named: list[Filter] = [("item", "in", [design.series[number] for number in series])] if few else []
    rows = read_table(table, ["item", column], [*named, ("node", "in", nodes.tolist())])
    items = rows.column("item").combine_chunks()
    values = rows.column(column).to_numpy()
    by_code = np.zeros(len(items.dictionary), values.dtype)  # integers stay integers
    np.add.at(by_code, items.indices.to_numpy(zero_copy_only=False), values)
    by_name = dict(zip(items.dictionary.to_pylist(), by_code.tolist(), strict=True))
    add_up = sum if np.issubdtype(values.dtype, np.integer) else math.fsum
    found: list[int | float | None] = []
    for each in wanted:
        names = [design.series[number] for number in each.series.tolist()]
        # An item without a day in the range has no row: its count is 0.
        whole = design.series_days is not None or all(name in by_name for name in names)
        found.append(add_up(by_name.get(name, 0) for name in names) if whole else None)
    return found


def _errors(design: Design, wanted: Sequence[Selection], days: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """Standard errors and half widths of the 95 % intervals, each of shape (n_answers,)."""
    errors = Errors(design)
    lo, hi = days
    std_errors, halves = np.empty(len(wanted)), np.empty(len(wanted))
    single = np.array([place for place, each in enumerate(wanted) if len(each.series) == 1], dtype=np.int64)
    if len(single):
        numbers = np.array([int(wanted[place].series[0]) for place in single])
        std_errors[single] = errors.std_errors(lo, hi, numbers)
        halves[single] = errors.half_widths(lo, hi, numbers)
    for place, each in enumerate(wanted):
        if len(each.series) > 1:
            std_errors[place] = errors.sum_std_error(lo, hi, each.series)
            halves[place] = errors.sum_half_width(lo, hi, each.series)
    return std_errors, halves


def total_answers(directory: Path, manifest: Manifest) -> list[Answer]:
    """Every item and total over the whole domain, the largest first."""
    answers = query_release(directory, manifest, (), None, None)
    return sorted(answers, key=lambda answer: (-answer.estimate, answer.item))
