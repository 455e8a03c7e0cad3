"""A tiny job `kmeans` for tests: two groups of people's places, its configuration and account."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dplib.arrays import FloatArray
from dplib.config.point_input import PointInput
from dplib.release.tables import read_table
from tests.support.every_job import POINTS, Points
from tests.support.jobs import new_place
from tests.support.kmeans import RowBlocks
from tests.support.rows_in_python import count_in_python

SETTINGS: dict[str, Any] = POINTS | {"dataset": "places"}
LOCAL: dict[str, Any] = {"privacy__neighbors": "local", "clustering__method": "auto"}
EXACT = {"epsilon": 30}
"""Noise of scale 1 / 28 a cell: weights can be compared, rounded."""
GROUPS = [(f"{20 + i % 5}", f"{30 - i % 3}", f"a{i}") for i in range(60)]
GROUPS += [(f"{80 - i % 4}", f"{75 + i % 5}", f"b{i}") for i in range(40)]


class Places(Points):
    """Rows are places of people."""

    def weight(self, *words: str) -> int:
        """All weights of a release together, rounded: the number of points where noise is hardly there."""
        weights = read_table(self.run(*words).release / "estimates", ["weight"], blocks=("weights",))["weight"]
        return round(float(weights.to_numpy().sum()))


def new_places(folder: Path, budget: str = "1000", **changes: object) -> Places:
    return new_place(Places, folder, SETTINGS, budget, **changes).rows(GROUPS)


class Rows(RowBlocks):
    """Rows in this process, as a run takes those on Spark."""

    def release(self) -> None:
        """Nothing is held."""


def read_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on runs read their points, all of which are good and of different units, in this process."""
    count_in_python(monkeypatch)
    monkeypatch.setattr("dplib.jobs.kmeans.run.open_points", _open_points)
    monkeypatch.setattr("dplib.jobs.kmeans.run.SparkRows", lambda rows, *_: Rows((rows,)))


def _open_points(_: object, source: PointInput, base: Path) -> FloatArray:
    place = base / str(source.path)
    rows = pd.read_parquet(place) if source.format == "parquet" else pd.read_csv(place)
    return rows.iloc[:, :2].to_numpy(dtype=np.float64)
