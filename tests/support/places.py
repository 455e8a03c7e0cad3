"""A tiny job `kmeans` for tests: two groups of people's places, its configuration and account."""

from pathlib import Path
from typing import Any

from dplib.release.tables import read_table
from tests.support.every_job import POINTS, Points
from tests.support.jobs import new_place

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
