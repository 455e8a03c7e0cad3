"""Designs of minimum-cuts for tests that need no input."""

from pathlib import Path
from typing import Any

from dplib.config.load import check
from dplib.jobs.minimum_cuts.config import MinimumCutsConfig
from dplib.jobs.minimum_cuts.design import Design


def config_of(
    releases: dict[str, Any], budget: dict[str, Any] | None = None, n: int = 12, **changes: Any
) -> MinimumCutsConfig:
    settings = {
        "config_version": 1,
        "job": "minimum-cuts",
        "dataset": "people",
        "input": {"path": "none", "columns": {"source": "s", "target": "t"} | changes.pop("columns", {})},
        "privacy": {"budget": budget or {"epsilon": 1}, "weight_cap": changes.pop("weight_cap", 1)},
        "graph": {"vertices": {"count": n}, "weights": changes.pop("weights", {})},
        "cuts": {"releases": releases} | changes,
    }
    return check(MinimumCutsConfig, settings)


def design_of(releases: dict[str, Any], budget: dict[str, Any] | None = None, n: int = 12, **changes: Any) -> Design:
    return Design.resolve(config_of(releases, budget, n, **changes), Path())
