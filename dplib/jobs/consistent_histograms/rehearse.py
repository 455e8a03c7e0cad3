"""A rehearsal: the whole job on generated rows of the declared domain, against the true counts it generated.

The result says which errors to expect and that the pipeline from rows to tables works with these settings.
"""

import csv
import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.config.event_input import Input
from dplib.config.item_table import KEY_SEPARATOR
from dplib.jobs.consistent_histograms.day_tree import query_ranges
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.rows import SeriesCounts, item_rows, row_domain, row_kinds
from dplib.jobs.consistent_histograms.stream_rehearse import Compared, as_batch, compared_on_days
from dplib.jobs.consistent_histograms.tables import ESTIMATES, PUBLISHED, Tables
from dplib.metrics.error import range_sums
from dplib.progress import Progress
from dplib.release.tables import read_table
from dplib.workflow.job import PreparedJob
from dplib.workflow.rehearsal import on_generated_rows
from dplib.workflow.run import run_job
from dplib.workflow.shown import Shown, TextTable

ROWS_PER_DAY = 100
"""Mean number of rows a day that a rehearsal generates."""


@dataclass(frozen=True)
class RehearsedError:
    """One query: the error that the settings predict and those that the rehearsal met (root mean squares).

    Attributes:
        query: day, month, ..., total.
        n_answers: answers that were compared with the truth.
        predicted: of the estimates.
        measured: of the estimates.
        published: of the published table; None where there is none of some series.
    """

    query: str
    n_answers: int
    predicted: float
    measured: float
    published: float | None


def rehearse(prepared: PreparedJob[Design], rows_per_day: int, seed: int, progress: Progress) -> list[RehearsedError]:
    """Generate rows, run the job on them and compare its answers with the truth.

    Args:
        prepared: a checked configuration; its input, ledger, secret and output are not touched.
        rows_per_day: mean number of rows a day.
        seed: of the generated rows.
        progress: told of the stages.
    """
    with TemporaryDirectory(prefix="dplib-rehearsal-") as name:
        folder = Path(name)
        counts = _write_rows(prepared.design, folder / "rows.csv", rows_per_day, seed)
        rehearsed = _prepare(prepared, folder)
        _, release = run_job(rehearsed, progress=progress)
        assert release is not None
        design = rehearsed.design
        true = SeriesCounts(design).of(counts).astype(np.float64)
        if prepared.config.horizon is not None:
            return [_met(*each) for each in compared_on_days(prepared.design, release, true).items()]
        measured = design.constraints.measured
        leaves = _days(design, release, ESTIMATES, "estimate")
        assert leaves is not None
        published = _days(design, release, PUBLISHED, "count") if (release / PUBLISHED).is_dir() else None
    errors, found = Errors(design), []
    for query in (each.range for each in design.config.questions):
        asked = query_ranges(design.config, query)
        ranges = np.array(asked)
        gap = _gaps(leaves, true, ranges)
        met = None if published is None else _root_mean_square(_gaps(published, true, ranges))
        predicted = np.array(errors.range_std_errors(asked))[:, measured]
        found.append(RehearsedError(query, gap.size, _root_mean_square(predicted), _root_mean_square(gap), met))
    return found


def _met(query: str, compared: list[Compared]) -> RehearsedError:
    """What a stream's answers to a question met."""
    predicted, estimates = (np.concatenate([each[place] for each in compared]) for place in (0, 1))
    counts = [each[2] for each in compared if each[2] is not None]
    published = _root_mean_square(np.concatenate(counts)) if len(counts) == len(compared) else None
    return RehearsedError(query, estimates.size, _root_mean_square(predicted), _root_mean_square(estimates), published)


def _days(design: Design, release: Path, table: str, column: str) -> FloatArray | None:
    """Counts of the measured series by day; None where the table lacks one of them."""
    rows, measured = read_table(release / table, ["item", "node", column]), design.constraints.measured
    there = set(rows.column("item").unique().to_pylist())
    if not there.issuperset(np.array(design.series)[measured]):
        return None
    return Tables(release, design).scatter(rows, column)[design.tree.leaf_nodes][:, measured]


def _gaps(days: FloatArray, true: FloatArray, ranges: IntArray) -> FloatArray:
    return range_sums(days, ranges[:, 0], ranges[:, 1]) - range_sums(true, ranges[:, 0], ranges[:, 1])


def _root_mean_square(values: FloatArray) -> float:
    return float(np.sqrt((values**2).mean()))


def _write_rows(design: Design, path: Path, rows_per_day: int, seed: int) -> IntArray:
    """Write generated rows and return their counts by day and row kind; one row a unit, so that no cap cuts."""
    kinds = row_kinds(design)
    generator = np.random.default_rng(seed)
    popularity = generator.dirichlet(np.ones(len(kinds)))
    counts = generator.poisson(rows_per_day * popularity, (design.tree.n_leaves, len(kinds))).astype(np.int64)
    for kind, (_, first, end) in enumerate(kinds.tolist()):
        counts[:first, kind] = 0
        counts[end:, kind] = 0
    days = [(design.config.domain.first_day + dt.timedelta(days=day)).isoformat() for day in range(len(counts))]
    keys = row_domain(design).keys
    assert keys is not None
    columns = _name_columns(design)
    unit = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["day", *([columns] if isinstance(columns, str) else columns), "unit"])
        for day, kind in zip(*np.nonzero(counts), strict=True):
            for _ in range(int(counts[day, kind])):
                writer.writerow([days[day], *keys[kind].split(KEY_SEPARATOR), unit])
                unit += 1
    return counts


def _name_columns(design: Design) -> str | list[str]:
    """Columns of the generated rows that name what was counted."""
    table = item_rows(design)
    n_keys = 1 if table is None else table.n_keys
    return "name" if n_keys == 1 else [f"name{number}" for number in range(n_keys)]


def _prepare(prepared: PreparedJob[Design], folder: Path) -> PreparedJob[Design]:
    """The same job on the generated rows."""
    config = prepared.design.config
    role = "package" if prepared.design.rows_are_packages else "item"
    columns: dict[str, Any] = {"day": "day", role: _name_columns(prepared.design)}
    if config.privacy.unit != "event":
        columns["unit"] = "unit"
    if prepared.source(Input).columns.quantity is not None:
        columns["quantity"] = "quantity"
        _add_quantity(folder / "rows.csv")
    changed = {
        "input": {"path": "rows.csv", "format": "csv", "options": {"header": "true"}, "columns": columns},
        "domain": config.domain.model_dump(mode="json"),
    }
    if prepared.config.horizon is not None:
        changed |= as_batch(prepared.design)
    return on_generated_rows(prepared, changed, folder)


def _add_quantity(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[0] += ",quantity"
    lines[1:] = [f"{line},1" for line in lines[1:]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shown_rehearsal(prepared: PreparedJob[Design], rows: int | None, seed: int, progress: Progress) -> Iterator[Shown]:
    """Run the whole job on generated rows and compare predicted with measured errors."""
    found = rehearse(prepared, rows or ROWS_PER_DAY, seed, progress)
    shown = [
        [
            each.query,
            f"{each.n_answers:,}",
            f"{each.predicted:.2f}",
            f"{each.measured:.2f}",
            "-" if each.published is None else f"{each.published:.2f}",
        ]
        for each in found
    ]
    columns = ["query", "answers", "predicted error", "estimates' error", "published error"]
    yield TextTable("Rehearsal on generated rows (no ledger, no private data)", columns, shown, frozenset(columns[1:]))
