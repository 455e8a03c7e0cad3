"""Answers from a release: the count of a range of bins with its exact standard error; reads the release only."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.jobs.range_histograms.config import NAME, RangesRelease
from dplib.jobs.range_histograms.design import Design, noise_of
from dplib.jobs.range_histograms.estimate import Errors
from dplib.jobs.range_histograms.tables import ESTIMATES, PUBLISHED, Tables, read_strategy
from dplib.release.manifest import Manifest
from dplib.release.tables import read_table
from dplib.validate import require
from dplib.workflow.manifest import public_design


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        group: histogram, ``all`` where there is one; or which ones are summed.
        range: the bins in their public names.
        estimate: unbiased estimate, in counts; may be negative (method adaptive: biased).
        std_error: its exact standard error; None where it is not stated (method adaptive).
        low: lower end of the 95 % interval.
        high: upper end.
        published: sum of the published integers.
    """

    group: str
    range: str
    estimate: float
    std_error: float | None
    low: float | None
    high: float | None
    published: int


def design_of(directory: Path, manifest: Manifest) -> Design:
    """The design of a release.

    Raises:
        ConfigError: if the release is of another job.
    """
    release = RangesRelease.model_validate(public_design(manifest, NAME))
    return Design.of(release, read_strategy(directory, noise_of(release)))


def query_release(
    directory: Path,
    manifest: Manifest,
    groups: Sequence[str],
    start: str | None,
    end: str | None,
    add_up: bool = False,
) -> list[Answer]:
    """Answer one range for some groups.

    Args:
        directory: the release.
        manifest: its manifest.
        groups: all where empty.
        start: lower edge, first day or first category; the first bin's where None.
        end: upper edge, or last day or category; the last bin's where None.
        add_up: whether the sum of the groups is asked for, in place of each.

    Raises:
        ConfigError: if a group or an end is not of the release, or a sum would count a group twice.
    """
    design = design_of(directory, manifest)
    tables = Tables(directory, design)
    for group in groups:
        if group not in design.groups:
            raise ConfigError("--group", "be a group of the release", group)
    lo, hi = design.bins.range_of(start, end)
    wanted = list(groups) or list(design.groups)
    tree = design.strategy.tree
    nodes = tree.leaf_nodes[lo:hi] if design.adaptive else tree.cover(lo, hi)
    where = [("group", "in", wanted), ("node", "in", nodes.tolist())]
    estimates = _sums(tables, read_table(directory / ESTIMATES, ["group", "node", "estimate"], where), "estimate")
    bins = [("group", "in", wanted), ("bin", ">=", lo), ("bin", "<", hi)]
    published = _sums(tables, read_table(directory / PUBLISHED, ["group", "bin", "count"], bins), "count")
    sets = {name: [design.groups.index(name)] for name in wanted}
    if add_up:
        require(len(sets) == len(wanted), "--group", "name each group of a sum once", "one twice")
        name = f"sum of {', '.join(groups)}" if groups else "sum of all groups"
        sets = {name: [number for numbers in sets.values() for number in numbers]}
    n_groups = len(wanted) if add_up else 1
    errors = Errors(design)
    error, margin = errors.sum_error(lo, hi, n_groups), errors.sum_half_width(lo, hi, n_groups)
    shown = design.bins.shown(lo, hi)
    found = []
    for name, numbers in sets.items():
        value, count = float(estimates[numbers].sum()), int(published[numbers].sum())
        if np.isnan(error):
            found.append(Answer(name, shown, value, None, None, None, count))
        else:
            found.append(Answer(name, shown, value, error, value - margin, value + margin, count))
    return found


def _sums(tables: Tables, table: pa.Table, column: str) -> FloatArray:
    """Sum of a column by group."""
    values = table.column(column).to_numpy()
    sums = np.bincount(tables.group_numbers(table), values, minlength=len(tables.design.groups))
    return np.asarray(sums, dtype=np.float64)


def total_answers(directory: Path, manifest: Manifest) -> list[Answer]:
    """Every group over all bins, the largest first."""
    answers = query_release(directory, manifest, (), None, None)
    return sorted(answers, key=lambda answer: (-answer.estimate, answer.group))
