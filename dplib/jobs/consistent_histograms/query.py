"""Answers from a release: a count over a range of days with its exact standard error; reads the release only."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.config import NAME
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import Errors
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.release.manifest import Manifest
from dplib.release.tables import read_table
from dplib.validate import require
from dplib.workflow.manifest import public_design


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        item: item or total.
        first_day: first day of the range.
        last_day: last day, inclusive.
        estimate: unbiased estimate, in counts; may be negative.
        std_error: its exact standard error; None where rounds stopped before their threshold.
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
    directory: Path, manifest: Manifest, items: Sequence[str], first_day: dt.date | None, last_day: dt.date | None
) -> list[Answer]:
    """Answer one range for some items or totals.

    Args:
        directory: the release.
        manifest: its manifest.
        items: items or totals; all where empty.
        first_day: first day; the domain's where None.
        last_day: last day, inclusive; the domain's where None.

    Raises:
        ConfigError: if an item or a day is outside the release's domain.
    """
    design = design_of(manifest)
    domain = design.config.domain
    first, last = first_day or domain.first_day, last_day or domain.last_day
    within = f"be days from {domain.first_day} to {domain.last_day} in order"
    require(domain.first_day <= first <= last <= domain.last_day, "--from and --to", within, f"{first} and {last}")
    for item in items:
        if item not in design.series:
            raise ConfigError("--item", "be an item or total of the release", item)
    wanted = list(items) or list(design.series)
    lo, hi = design.day(first), design.day(last) + 1
    nodes = design.tree.cover(lo, hi)
    where = [("item", "in", wanted), ("node", "in", nodes.tolist())]
    tables = Tables(directory, design)
    estimates = tables.scatter(read_table(directory / ESTIMATES, ["item", "node", "estimate"], where), "estimate")
    errors = Errors(design)
    numbers = np.array([design.series.index(name) for name in wanted])
    std_errors, halves = errors.range_std_error(lo, hi)[numbers], errors.half_widths(lo, hi, numbers)
    published: dict[str, int | float] = {}
    if (directory / PUBLISHED).is_dir():
        table = read_table(directory / PUBLISHED, ["item", "node", "count"], where)
        totals = tables.scatter(table, "count")[nodes].sum(axis=0)
        number = int if pa.types.is_integer(table.schema.field("count").type) else float
        published = {name: number(totals[design.series.index(name)]) for name in set(table.column("item").to_pylist())}
    answers = []
    for name, number, error, half in zip(wanted, numbers, std_errors.tolist(), halves.tolist(), strict=True):
        value = float(estimates[nodes, number].sum())
        whole = published.get(name)
        if manifest.solver["converged"]:
            answers.append(Answer(name, first, last, value, error, value - half, value + half, whole))
        else:
            answers.append(Answer(name, first, last, value, None, None, None, whole))
    return answers


def total_answers(directory: Path, manifest: Manifest) -> list[Answer]:
    """Every item and total over the whole domain, the largest first."""
    answers = query_release(directory, manifest, (), None, None)
    return sorted(answers, key=lambda answer: (-answer.estimate, answer.item))
