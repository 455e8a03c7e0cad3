"""Runs and inspections that look at their rows in this process: what they keep, spend and say needs no Spark.

How Spark counts rows is tested in `tests.spark`, and from rows to releases in the tests of each job.
"""

import csv
import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.config.edge_input import EdgeInput, VertexDomain
from dplib.config.event_input import Input
from dplib.config.sections import EventPrivacySettings
from dplib.graphs.edges import Graph, canonical
from dplib.graphs.simple_graph import SimpleGraph
from dplib.spark.rows.inspection import Inspection
from dplib.spark.rows.row_domain import RULES, RowDomain
from dplib.workflow.quality import assumed_input

Cell = tuple[int, int, int]
"""Day, row type and quantity of a row."""
_OPENERS = ("dplib.jobs.kmeans.assign", "dplib.spark.engine.doctor", "dplib.terminal.inspection")
"""Modules that take the function which is replaced by its name: loaded before, or they would keep what replaces it."""


def count_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on runs of the main job start no Spark; counters of their input's quality are far above their noise."""
    for name in _OPENERS:
        import_module(name)
    run = "dplib.jobs.consistent_histograms.run"
    monkeypatch.setattr(f"{run}.open_rows", _open_rows)
    monkeypatch.setattr(f"{run}.bounded_rows", _bounded_rows)
    monkeypatch.setattr(f"{run}.count_cells", _count_cells)
    monkeypatch.setattr(f"{run}.judged_events", lambda *_: None)
    monkeypatch.setattr("dplib.workflow.run.count_input", lambda _, plan, __: assumed_input(RULES, plan))
    monkeypatch.setattr("dplib.spark.engine.session.open_session", _no_session)
    monkeypatch.setattr("dplib.workflow.run.deploy_mode", lambda _: "client")


def edges_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on runs of both graph jobs start no Spark: files of good rows, which hold vertices by their numbers."""
    count_in_python(monkeypatch)
    jobs = {
        "network_statistics": ("judge_edges", "collect_edges"),
        "minimum_cuts": ("judge_weighted_edges", "collect_graph"),
    }
    for job, (judge, collect) in jobs.items():
        monkeypatch.setattr(f"dplib.jobs.{job}.run.open_edges", _open_edges)
        monkeypatch.setattr(f"dplib.jobs.{job}.run.{judge}", lambda rows, *_, **__: rows)
        monkeypatch.setattr(f"dplib.jobs.{job}.run.{collect}", _simple_graph if collect == "collect_edges" else _graph)


def inspect_in_python(
    monkeypatch: pytest.MonkeyPatch, job: str, inspecting: str, inspect: Callable[..., Inspection]
) -> None:
    """From now on inspections start no Spark; ``inspect`` stands for the function ``inspecting`` of a job's module."""
    monkeypatch.setattr("dplib.terminal.inspection.open_session", _no_session)
    monkeypatch.setattr("dplib.terminal.inspection.count_long_lines", lambda *_: 0)
    monkeypatch.setattr(f"{job}.{inspecting}", inspect)


@contextmanager
def _no_session(*_: object) -> Iterator[object]:
    yield "session"


def _open_rows(_: object, source: Input, base: Path) -> list[dict[str, str]]:
    with (base / source.path.removeprefix("file://")).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _open_edges(_: object, source: EdgeInput, base: Path, vertices: VertexDomain) -> IntArray:
    """Numbers of both ends from 0 and the weight, shape (3, n)."""
    columns = source.columns.model_dump()
    with (base / source.path).open(encoding="utf-8", newline="") as file:
        edges = [
            [row.get(columns.get(name), "1") for name in ("source", "target", "weight")] for row in csv.DictReader(file)
        ]
    return np.array(edges, dtype=np.int64).reshape(-1, 3).T - np.array([[vertices.first], [vertices.first], [0]])


def _simple_graph(edges: IntArray, n_vertices: int) -> SimpleGraph:
    return SimpleGraph.from_edges(n_vertices, *edges[:2])


def _graph(edges: IntArray, vertices: VertexDomain, *_: object) -> Graph:
    return canonical(vertices.count, *edges)


def _bounded_rows(
    rows: Iterable[dict[str, str]], source: Input, privacy: EventPrivacySettings, domain: RowDomain, _: bytes
) -> Iterator[Cell]:
    """Rows of listed names on their days, of which the first of a unit count."""
    columns, taken = source.columns, Counter[tuple[str, int]]()
    assert isinstance(columns.day, str)
    name = columns.item or columns.package
    assert isinstance(name, str)
    for number, row in enumerate(rows):
        day = (dt.date.fromisoformat(row[columns.day]) - domain.first_day).days
        windows = domain.daily.get(row[name], [])
        of_day = [row_type for first, end, row_type in windows if max(first, 0) <= day < min(end, domain.n_days)]
        unit = row[columns.unit] if columns.unit else str(number)
        if of_day and taken[unit, -1] < privacy.rows_per_unit and taken[unit, day] < privacy.rows_per_day:
            taken.update([(unit, -1), (unit, day)])
            yield day, of_day[0], min(int(row[columns.quantity] if columns.quantity else 1), privacy.max_quantity)


def _count_cells(cells: Iterable[Cell], n_days: int, n_row_types: int) -> IntArray:
    counts = np.zeros((n_days, n_row_types), dtype=np.int64)
    for day, row_type, quantity in cells:
        counts[day, row_type] += quantity
    return counts
