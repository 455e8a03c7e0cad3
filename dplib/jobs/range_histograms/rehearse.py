"""A rehearsal: the whole job on generated rows of the declared bins, against the true counts it generated.

Nothing private is touched (`dplib.workflow.rehearsal`). The result says which errors to expect and that the pipeline
from rows to tables works with these settings.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.errors import ConfigError
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.estimate import Errors
from dplib.jobs.range_histograms.histogram_config import GroupTable
from dplib.jobs.range_histograms.plan import lengths_of
from dplib.jobs.range_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.metrics.error import range_sums
from dplib.progress import Progress
from dplib.release.tables import read_table
from dplib.workflow.job import PreparedJob
from dplib.workflow.prepared import resolver
from dplib.workflow.rehearsal import on_generated_rows
from dplib.workflow.run import run_job
from dplib.workflow.shown import Shown, TextTable

ROWS_PER_GROUP = 10_000
"""Mean number of rows a histogram that a rehearsal generates."""

MAX_STARTS = 512
"""Ranges of each length that are compared."""


@dataclass(frozen=True)
class RehearsedError:
    """Ranges of one length, of groups or a kind of totals: root mean square errors; None where none is predicted."""

    length: int
    n_answers: int
    predicted: float | None
    measured: float
    published: float
    of: str = ""


def rehearse(prepared: PreparedJob[Design], rows_per_group: int, seed: int, progress: Progress) -> list[RehearsedError]:
    """Generate rows, run the job on them and compare its answers with the truth.

    Args:
        prepared: a checked configuration; its input, ledger, secret and output are not touched.
        rows_per_group: mean number of rows a group.
        seed: of the generated rows.
        progress: told of the stages.
    """
    if prepared.design.stream is not None:
        raise ConfigError("stream", "be absent in a rehearsal, which runs a batch of all bins", "one")
    with TemporaryDirectory(prefix="dplib-rehearsal-") as name:
        folder = Path(name)
        true = prepared.design.with_totals(_write_rows(prepared.design, folder / "rows.csv", rows_per_group, seed))
        rehearsed = _prepare(prepared, folder)
        _, release = run_job(rehearsed, progress=progress)
        assert release is not None
        design = rehearsed.design
        estimates, published = _bin_values(Tables(release, design))
    errors, found, kinds = Errors(design), [], np.zeros(len(design.series), dtype=np.int64)
    names = [""] if design.sums is None else list(design.sums.names)
    if design.sums is not None:
        kinds = design.sums.constraints.series_grouping
    for kind, length in product(range(len(names)), lengths_of(design.bins.n_bins)):
        last, own = design.bins.n_bins - length, np.flatnonzero(kinds == kind)
        lo = np.unique(np.linspace(0, last, min(last + 1, MAX_STARTS)).astype(np.int64))
        right = range_sums(true[own].T.astype(np.float64), lo, lo + length)
        gaps = [range_sums(values[own].T, lo, lo + length) - right for values in (estimates, published)]
        predicted = errors.by_series(lo, lo + length, own)
        met, whole = (float(np.sqrt((gap**2).mean())) for gap in gaps)
        stated = None if np.isnan(predicted).any() else float(np.sqrt((predicted**2).mean()))
        found.append(RehearsedError(length, right.size, stated, met, whole, names[kind]))
    return found


def _bin_values(tables: Tables) -> tuple[FloatArray, FloatArray]:
    """Estimates and published counts of the bins, each of shape (n_groups, n_bins)."""
    design, release = tables.design, tables.directory
    shape = (len(design.series), design.bins.n_bins)
    place = np.full(design.strategy.tree.n_nodes, -1)
    place[design.strategy.tree.leaf_nodes] = np.arange(shape[1])
    table = read_table(release / ESTIMATES, ["group", "node", "estimate"])
    bins, estimates = place[table.column("node").to_numpy()], np.zeros(shape)
    kept = bins >= 0
    estimates[tables.group_numbers(table)[kept], bins[kept]] = table.column("estimate").to_numpy()[kept]
    table, published = read_table(release / PUBLISHED, ["group", "bin", "count"]), np.zeros(shape)
    published[tables.group_numbers(table), table.column("bin").to_numpy()] = table.column("count").to_numpy()
    return estimates, published


def _write_rows(design: Design, path: Path, rows_per_group: int, seed: int) -> IntArray:
    """Write generated rows, one a unit so that no cap cuts, and return their counts by group and bin."""
    bins, generator = design.bins, np.random.default_rng(seed)
    popularity = generator.dirichlet(np.full(bins.n_bins, 0.3), len(bins.groups))
    counts = generator.poisson(rows_per_group * popularity).astype(np.int64)
    lo, hi = bins.ends(np.arange(bins.n_bins), np.arange(1, bins.n_bins + 1))
    values = lo / 2 + hi / 2 if bins.kind == "edges" else lo
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["value", "group", "unit"])
        for unit, (group, place) in enumerate(np.repeat(np.argwhere(counts), counts[counts > 0], axis=0)):
            writer.writerow([values[place], bins.groups[group], unit])
    return counts


def _prepare(prepared: PreparedJob[Design], folder: Path) -> PreparedJob[Design]:
    """The same job on the generated rows."""
    config, bins = prepared.design.config, prepared.design.bins
    columns: dict[str, Any] = {"value": "value"}
    columns |= {"group": "group"} if bins.grouped else {}
    columns |= {"unit": "unit"} if config.privacy.unit != "event" else {}
    histogram = config.histogram.model_dump(mode="json")
    if not isinstance(config.histogram.groups, GroupTable):
        histogram["groups"] = list(bins.groups) if bins.grouped else None
    histogram["categories"] = list(bins.categories) if bins.kind == "categories" else None
    changed = {
        "input": {"path": "rows.csv", "format": "csv", "options": {"header": "true"}, "columns": columns},
        "histogram": histogram,
    }

    def resolve(config: RangeHistogramsConfig, base: Path) -> Design:
        sums = prepared.design.sums
        return Design.of(config.release(base), prepared.design.strategy, sums.columns.measure if sums else None)

    return on_generated_rows(prepared, changed, folder, resolver(RangeHistogramsConfig, resolve))


def shown_rehearsal(prepared: PreparedJob[Design], rows: int | None, seed: int, progress: Progress) -> Iterator[Shown]:
    """Run the whole job on generated rows and compare predicted with measured errors."""
    found = rehearse(prepared, rows or ROWS_PER_GROUP, seed, progress)
    shown = [
        [
            *([each.of] if each.of else []),
            f"{each.length:,}",
            f"{each.n_answers:,}",
            "not stated" if each.predicted is None else f"{each.predicted:.2f}",
            f"{each.measured:.2f}",
            f"{each.published:.2f}",
        ]
        for each in found
    ]
    columns = [
        *(["of"] if found[0].of else []),
        "length in bins",
        "answers",
        "predicted error",
        "measured error",
        "of published integers",
    ]
    yield TextTable("Rehearsal on generated rows (no ledger, no private data)", columns, shown, frozenset(columns))
