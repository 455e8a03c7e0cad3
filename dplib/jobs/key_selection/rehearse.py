"""A rehearsal: the job on generated units, and which sizes of keys it released."""

import csv
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.key_selection.design import Design
from dplib.jobs.key_selection.plan import sizes_of
from dplib.jobs.key_selection.tables import PUBLISHED, read_selected
from dplib.progress import Progress
from dplib.workflow.job import PreparedJob
from dplib.workflow.rehearsal import on_generated_rows
from dplib.workflow.run import run_job
from dplib.workflow.shown import Shown, TextTable

REHEARSED_UNITS = 2000


def rehearse(prepared: PreparedJob[Design], rows: int | None, seed: int, progress: Progress) -> Iterator[Shown]:
    """Run the job on generated units, whose keys are as uneven as words, and show which sizes were released."""
    design, random = prepared.design, np.random.default_rng(seed)
    n_units, n_keys = rows or REHEARSED_UNITS, design.max_keys
    drawn = np.minimum(random.zipf(1.5, (n_units, n_keys)), 10**6)
    width = len(design.key_columns)
    with TemporaryDirectory(prefix="dplib-rehearsal-") as name:
        with Path(name, "rows.csv").open("w", newline="", encoding="utf-8") as file:
            lines = ([unit, *[f"key-{key}"] * width] for unit, keys in enumerate(drawn) for key in keys)
            csv.writer(file, lineterminator="\n").writerows([["unit", *design.key_columns], *lines])
        columns: dict[str, object] = {"key": "key"} if width == 1 else {"keys": list(design.key_columns)}
        own = {} if design.config.privacy.unit == "event" else {"unit": "unit"}
        source = {"path": "rows.csv", "format": "csv", "options": {"header": "true"}, "columns": columns | own}
        changed = {"input": source, "columns": None}
        rehearsed = on_generated_rows(prepared, changed, Path(name))
        _, release = run_job(rehearsed, progress=progress)
        assert release is not None
        released = {parts[0] for parts in read_selected(rehearsed.design, release, PUBLISHED).keys}
    shared = {f"key-{key}": int(count) for key, count in zip(*_units_of(drawn), strict=True)}
    bounds, table = [1, *sorted({s for size in sizes_of(design) for s in (size.half, size.sure)})], []
    for low, high in zip(bounds, [*bounds[1:], n_units + 1], strict=True):
        inside = [key for key, count in shared.items() if low <= count < high]
        table.append([f"{low:,} to {high - 1:,}", f"{len(inside):,}", f"{len(released.intersection(inside)):,}"])
    columns_shown = ["units that share a key", "generated keys", "released"]
    yield TextTable("Rehearsal on generated rows", columns_shown, table, frozenset(columns_shown))


def _units_of(drawn: IntArray) -> tuple[IntArray, IntArray]:
    """The keys of units, shape (n_units, k), and how many units have each."""
    once = np.unique(np.stack([np.repeat(np.arange(len(drawn)), drawn.shape[1]), drawn.ravel()]), axis=1)[1]
    return np.unique(once, return_counts=True)
