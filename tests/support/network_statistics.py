"""Designs of network-statistics for tests that need no input."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dplib.config.load import check
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design


def config_of(
    statistics: Iterable[str] | dict[str, Any],
    budget: dict[str, Any] | None = None,
    n: int = 60,
    privacy: dict[str, Any] | None = None,
    counting: dict[str, Any] | None = None,
    **graph: Any,
) -> NetworkStatisticsConfig:
    """Statistics of equal weights, unless weights are given; ``graph`` are further settings of that section."""
    weights = statistics if isinstance(statistics, dict) else dict.fromkeys(statistics, 1)
    settings = {
        "config_version": 1,
        "job": "network-statistics",
        "dataset": "golden",
        "input": {"path": "none", "columns": {"source": "s", "target": "t"}},
        "privacy": {"budget": budget or {"epsilon": 1}} | (privacy or {}),
        "graph": {"vertices": {"count": n}, "statistics": weights} | graph,
        "counting": counting or {},
    }
    return check(NetworkStatisticsConfig, settings)


def design_of(statistics: Iterable[str] | dict[str, Any], budget: dict[str, Any] | None = None, **given: Any) -> Design:
    return Design.resolve(config_of(statistics, budget, **given), Path())
