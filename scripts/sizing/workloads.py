"""Generated inputs and configurations whose size is known: rows, cells, tasks.

Rows are written in pieces, so that the input of 20 million rows needs no more memory than that of one million. Units
have two rows each in the mean, so that bounding pays its shuffle.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dplib.jobs.table import job_named
from dplib.ledger.ledger import Ledger
from dplib.ledger.schema import resolve_ledger_url
from dplib.privacy.budget import Currency
from dplib.secret.file import create_secret_file
from dplib.workflow.design import cost_of, natural_terms

PIECE = 500_000


@dataclass(frozen=True)
class Workload:
    """One run.

    Attributes:
        job: name of the job.
        rows: rows of the input.
        cells: cells of the measurement's largest level; for kmeans coordinates of all points.
        groups: days, groups, vertices or dimensions, whichever the job has.
        tasks: tasks of a shuffle.
        rounds: of alternating projections on Spark, the main job's layout in blocks; 0 leaves solver and layout to it.
    """

    job: str
    rows: int
    cells: int
    groups: int
    tasks: int = 8
    rounds: int = 0

    @property
    def name(self) -> str:
        """Short and unique."""
        sizes = f"{self.rows} rows {self.cells} cells {self.groups} groups {self.tasks} tasks"
        return f"{self.kind} {sizes}" + (f" {self.rounds} rounds" if self.rounds else "")

    @property
    def kind(self) -> str:
        """What has a cost of its own: the job, or its layout in blocks."""
        return f"{self.job}, blocks" if self.rounds else self.job

    @property
    def joined(self) -> int:
        """Series that constraints join: half of the items of the main job, and their total."""
        return max(2, self.cells // self.groups // 2) + 1 if self.job == "consistent-histograms" else 0


def write(workload: Workload, folder: Path) -> Path:
    """Write input, secret, ledger and configuration; returns the configuration."""
    middle, columns = _JOBS[workload.job](workload)
    _write_rows(workload.rows, columns, folder / "rows.parquet")
    log = folder / "events"
    log.mkdir()
    conf = {
        "spark.sql.shuffle.partitions": str(workload.tasks),
        # Shuffle bytes are read from here: the rows are generated, so nothing in the log is private.
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.driver.memory": "2g",
    }
    settings = {
        "config_version": 1,
        "job": workload.job,
        "dataset": "sizing",
        **middle,
        "secret": "file:sizing.key",
        "spark": {"master": "local[2]", "conf": conf},
    }
    config = folder / "sizing.yaml"
    config.write_text(json.dumps(settings), encoding="utf-8")
    create_secret_file(folder / "sizing.key")
    prepared = job_named(workload.job).prepare(config)
    terms = natural_terms(prepared.design)
    cost = cost_of(prepared.design, terms.currency)
    ledger = Ledger.open(resolve_ledger_url("sqlite:///ledger.db", folder), create=True)
    delta = Fraction(1, 10**6) if terms.currency is Currency.ZCDP else None
    ledger.create_account("sizing", terms, max(cost, Fraction(1)), delta, "sizing")
    return config


Columns = Callable[[np.random.Generator, int], dict[str, pa.Array]]


def _write_rows(n_rows: int, columns: Columns, path: Path) -> None:
    generator = np.random.default_rng(n_rows)
    with _writer(path, columns(generator, 1)) as writer:
        for size in _pieces(n_rows):
            writer.write_table(pa.table(columns(generator, size)))


def _writer(path: Path, example: dict[str, pa.Array]) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, pa.table(example).schema)


def _pieces(n_rows: int) -> Iterator[int]:
    for start in range(0, n_rows, PIECE):
        yield min(PIECE, n_rows - start)


def _input(columns: dict[str, Any]) -> dict[str, Any]:
    return {"path": "rows.parquet", "format": "parquet", "columns": columns}


def _units(generator: np.random.Generator, size: int, n_rows: int) -> pa.Array:
    return pa.array(generator.integers(0, max(1, n_rows // 2), size))


def _consistent(workload: Workload) -> tuple[dict[str, Any], Columns]:
    n_days, n_items = workload.groups, workload.cells // workload.groups
    first, last = np.datetime64("1000-01-01"), np.datetime64("1000-01-01") + (n_days - 1)

    def columns(generator: np.random.Generator, size: int) -> dict[str, pa.Array]:
        names = pa.array([f"item {i}" for i in range(n_items)])
        chosen = pa.array(generator.integers(0, n_items, size, dtype=np.int32))
        days = (first + generator.integers(0, n_days, size)).astype("datetime64[D]")
        return {
            "day": pa.array(days),
            "item": pa.DictionaryArray.from_arrays(chosen, names).cast(pa.string()),
            "unit": _units(generator, size, workload.rows),
        }

    half = {"totals": {"half": [f"item {i}" for i in range(workload.joined - 1)]}}
    # A total that is measured, and only from some day on, makes the projections differ: rounds do not end early.
    late = half | {"measured": True, "first": str(first + n_days // 3)}
    plain = {"method": "alternating", "acceleration": "none", "layout": "blocks", "accept_unconverged": True}
    solver = plain | {"max_rounds": workload.rounds, "tol": 1e-300}
    return {
        "input": _input({"day": "day", "item": "item", "unit": "unit"}),
        "privacy": {"unit": "order", "max_rows_per_unit": 2, "budget": {"epsilon": 1}},
        "domain": {
            "items": [f"item {i}" for i in range(n_items)],
            "first_day": str(first),
            "last_day": str(last),
        },
        "constraints": [late if workload.rounds else half],
        **({"publish": {"solver": solver}} if workload.rounds else {}),
    }, columns


def _ranges(workload: Workload) -> tuple[dict[str, Any], Columns]:
    n_groups, n_bins = workload.groups, workload.cells // workload.groups

    def columns(generator: np.random.Generator, size: int) -> dict[str, pa.Array]:
        names = pa.array([f"group {i}" for i in range(n_groups)])
        chosen = pa.array(generator.integers(0, n_groups, size, dtype=np.int32))
        return {
            "value": pa.array(generator.gamma(2.0, n_bins / 8, size)),
            "group": pa.DictionaryArray.from_arrays(chosen, names).cast(pa.string()),
            "unit": _units(generator, size, workload.rows),
        }

    return {
        "input": _input({"value": "value", "group": "group", "unit": "unit"}),
        "privacy": {"unit": "person", "max_rows_per_unit": 2, "budget": {"epsilon": 1}},
        "histogram": {
            "edges": {"start": 0, "stop": n_bins, "width": 1},
            "groups": [f"group {i}" for i in range(n_groups)],
        },
    }, columns


def _edges(workload: Workload) -> Columns:
    def columns(generator: np.random.Generator, size: int) -> dict[str, pa.Array]:
        ends = generator.integers(0, workload.groups, (2, size))
        return {"source": pa.array(ends[0]), "target": pa.array(ends[1])}

    return columns


def _network(workload: Workload) -> tuple[dict[str, Any], Columns]:
    return {
        "input": _input({"source": "source", "target": "target"}),
        "privacy": {"unit": "contact", "neighbors": "edge", "budget": {"epsilon": 1}},
        "graph": {
            "directed": False,
            "vertices": {"count": workload.groups},
            "statistics": {"edge_count": 1, "degree_histogram": 1, "triangles": 1},
            "last_bin": 100,
        },
    }, _edges(workload)


def _cuts(workload: Workload) -> tuple[dict[str, Any], Columns]:
    return {
        "input": _input({"source": "source", "target": "target"}),
        "privacy": {"unit": "contact", "neighbors": "edge", "weight_cap": 1, "budget": {"epsilon": 1}},
        "graph": {
            "directed": False,
            "vertices": {"count": workload.groups},
            "weights": {"largest": 100, "outside": "clamp", "repeats": "sum"},
        },
        "cuts": {"releases": {"minimum_cut_value": {"share": 1}}},
    }, _edges(workload)


def _kmeans(workload: Workload) -> tuple[dict[str, Any], Columns]:
    dimension = workload.groups

    def columns(generator: np.random.Generator, size: int) -> dict[str, pa.Array]:
        middles = np.random.default_rng(0).uniform(-0.6, 0.6, (8, dimension))
        points = middles[generator.integers(0, 8, size)] + generator.normal(0, 0.05, (size, dimension))
        named = {f"x{i}": pa.array(points[:, i]) for i in range(dimension)}
        return {**named, "unit": _units(generator, size, workload.rows)}

    return {
        "input": _input({"coordinates": [f"x{i}" for i in range(dimension)], "unit": "unit"}),
        "privacy": {"unit": "person", "max_rows_per_unit": 2, "budget": {"epsilon": 1, "delta": 1e-6}},
        "clustering": {"bounds": [[-1, 1]] * dimension, "n_clusters": 8},
    }, columns


_JOBS: dict[str, Callable[[Workload], tuple[dict[str, Any], Columns]]] = {
    "consistent-histograms": _consistent,
    "range-histograms": _ranges,
    "network-statistics": _network,
    "minimum-cuts": _cuts,
    "kmeans": _kmeans,
}
