"""A small place of every job, ready to run, for what all jobs must do alike."""

from pathlib import Path
from typing import Any

from tests.support.jobs import SETTINGS as HISTOGRAMS
from tests.support.jobs import Shop, new_place, new_shop

_READER = {"path": "orders.csv", "format": "csv", "options": {"header": "true"}}
_PLACES = {"publish": {"output": {"path": "releases"}}, "ledger": "sqlite:///ledger.db", "secret": "file:shop.key"}


class Ranges(Shop):
    """Ages by site."""

    job, header = "range-histograms", ("age", "site", "patient")


class Points(Shop):
    """Places of people."""

    job, header = "kmeans", ("east", "north", "person")


class Graph(Shop):
    """Edges between eight people."""

    job, header = "network-statistics", ("one", "other")


class Weights(Shop):
    """Weighted edges between eight people."""

    job, header = "minimum-cuts", ("one", "other", "times")


class Words(Shop):
    """Products of people."""

    job, header = "key-selection", ("product", "person")


def _settings(job: str, columns: dict[str, Any], privacy: dict[str, Any], **middle: Any) -> dict[str, Any]:
    input_ = _READER | {"columns": columns}
    frame = {"config_version": 1, "job": job, "dataset": "people", "input": input_, "privacy": privacy}
    return frame | middle | _PLACES


RANGES = _settings(
    "range-histograms",
    {"value": "age", "group": "site", "unit": "patient"},
    {"unit": "order", "max_rows_per_unit": 2, "budget": {"epsilon": 1}},
    histogram={"edges": {"start": 0, "stop": 20, "width": 1}, "groups": ["north", "south"]},
)
POINTS = _settings(
    "kmeans",
    {"coordinates": ["east", "north"], "unit": "person"},
    {"unit": "person", "max_rows_per_unit": 1, "budget": {"epsilon": 1}},
    clustering={"bounds": [[0, 100], [0, 100]], "n_clusters": 2, "method": "grid"},
)
GRAPH = _settings(
    "network-statistics",
    {"source": "one", "target": "other"},
    {"unit": "friendship", "neighbors": "edge", "budget": {"epsilon": 1}},
    graph={"vertices": {"count": 8}, "statistics": {"edge_count": 1, "degree_histogram": 2, "triangles": 3}},
)
WEIGHTS = _settings(
    "minimum-cuts",
    {"source": "one", "target": "other", "weight": "times"},
    {"unit": "contact", "neighbors": "edge", "weight_cap": 1, "budget": {"epsilon": 1}},
    graph={"vertices": {"count": 8}, "weights": {"largest": 9}},
    cuts={"releases": {"minimum_cut_value": {"share": 1}, "synthetic_graph": {"share": 1}}},
)
WORDS = _settings(
    "key-selection",
    {"key": "product", "unit": "person"},
    {"unit": "person", "max_keys_per_unit": 2, "budget": {"epsilon": 1, "delta": "1e-8"}},
)
_RING = [(vertex, (vertex + 1) % 8) for vertex in range(8)] + [(0, 4), (2, 6)]
_KINDS: dict[str, tuple[type[Shop], dict[str, Any], list[tuple[Any, ...]]]] = {
    "range-histograms": (Ranges, RANGES, [("3", "north", "a"), ("3.5", "north", "b"), ("19", "south", "c")]),
    "kmeans": (Points, POINTS, [(20 + i % 5, 30 + i % 3, f"a{i}") for i in range(40)]),
    "network-statistics": (Graph, GRAPH, [*_RING]),
    "minimum-cuts": (Weights, WEIGHTS, [(one, other, 1 + one % 4) for one, other in _RING]),
    "key-selection": (Words, WORDS, [("bread" if i % 2 else "tea", f"a{i}") for i in range(200)] + [("milk", "a0")]),
}
JOBS = (HISTOGRAMS["job"], *_KINDS)
COUNTING = tuple(job for job in JOBS if job != "key-selection")
"""Jobs that release totals, and may tell how many of the rows were counted."""
MEASURED: dict[str, tuple[str, str]] = {
    "consistent-histograms": ("dplib.jobs.consistent_histograms.run", "measure_on_driver"),
    "range-histograms": ("dplib.jobs.range_histograms.run", "measure_on_driver"),
    "kmeans": ("dplib.jobs.kmeans.run", "measure_points"),
    "network-statistics": ("dplib.jobs.network_statistics.run", "measure_edges"),
    "minimum-cuts": ("dplib.jobs.minimum_cuts.run", "measure_graph"),
    "key-selection": ("dplib.jobs.key_selection.run", "write_measurement"),
}
"""The function of each job that gets the exact statistics, draws the noise and writes the measurement."""
OWN_SPARK: dict[str, Any] = {
    "master": "local[1]",
    "conf": {
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    },
}
"""Of a process that makes one small run: the second compiler costs more than it saves."""
ONE_RUN = ["reserve", "measure", "publish"]
"""Entries of one run that was paid once."""


def entries_of(place: Shop) -> list[str]:
    """Kinds of the ledger's entries that belong to runs, in order."""
    return [kind for kind in place.entries() if kind != "account"]


def new_place_of(job: str, folder: Path, **changes: object) -> Shop:
    """A place of a job with rows, key, ledger and an account that can pay for many runs."""
    if job == HISTOGRAMS["job"]:
        return new_shop(folder, budget="100000").set(**changes)
    kind, settings, rows = _KINDS[job]
    return new_place(kind, folder, settings, "100000", **changes).rows(rows)
