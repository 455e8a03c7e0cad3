"""Shops whose days are published one by one as range histograms, run without Spark on counts that a test holds."""

import datetime as dt
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from dplib.jobs.range_histograms.stream_measure import closing, measure_closing
from dplib.release.stream_version import StreamVersion
from dplib.workflow.job import PreparedJob
from dplib.workflow.run_keys import MeasurementKeys, RunKeys
from tests.support.jobs import new_place
from tests.support.stream_shop import STREAM, StreamShop

GROUPS = ["pier", "mill", "town"]
RANGES: dict[str, Any] = {
    name: deepcopy(STREAM[name]) for name in ("config_version", "dataset", "input", "stream", "ledger", "secret")
} | {
    "job": "range-histograms",
    "privacy": {"unit": "event", "budget": {"rho": 1}},
    "histogram": {"groups": GROUPS},
    "publish": {"output": {"path": "releases"}},
}
RANGES["input"]["columns"] = {"value": "date", "group": "product"}


@dataclass
class RangeShop(StreamShop):
    """The shops; ``counts`` are those of their rows by group and day, shape (n_groups, n_days)."""

    job: ClassVar[str] = "range-histograms"

    def draw(
        self, prepared: PreparedJob[Any], version: StreamVersion, keys: RunKeys, directory: Path
    ) -> MeasurementKeys:
        """Draw the noise of the prepared day's nodes."""
        design = prepared.design
        day = (dt.date.fromisoformat(prepared.date) - design.bins.first_day).days
        _, first = closing(design, day)
        return measure_closing(design, day, self.counts[:, first : day + 1], keys, directory)


def new_range_stream(folder: Path, **changes: object) -> RangeShop:
    """A stream that is ready but for its counts, which are random small ones of three weeks from a Monday on."""
    shop = new_place(RangeShop, folder, RANGES, "10", **changes)
    first, last = map(dt.date.fromisoformat, shop.settings["stream"]["horizon"])
    size = len(shop.settings["histogram"]["groups"]), (last - first).days + 1
    shop.counts = np.random.default_rng(7).poisson(20, size).astype(np.int64)
    return shop
