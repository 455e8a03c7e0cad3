"""Where a graph is counted follows from public settings alone."""

from pathlib import Path
from typing import Any

import pytest

from dplib.config.load import check
from dplib.errors import ConfigError
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.distributed import MAX_BLOCKS, MIN_BLOCKS, TASK_EDGES, block_count, layout_of
from dplib.jobs.network_statistics.measure import DIGEST_BLOCKS


def make_design(n: int, **counting: Any) -> Design:
    settings = {
        "config_version": 1,
        "job": "network-statistics",
        "dataset": "test",
        "input": {"path": "none", "columns": {"source": "one", "target": "other"}},
        "privacy": {"unit": "friendship", "budget": {"epsilon": 1}},
        "graph": {"vertices": {"count": n}, "statistics": {"edge_count": 1}},
        "counting": counting,
    }
    return Design.resolve(check(NetworkStatisticsConfig, settings), Path())


@pytest.mark.parametrize(
    ("n", "counting", "layout"),
    [
        (1_000, {}, "driver"),
        (1_000, {"layout": "spark"}, "spark"),
        (1_000_000, {}, "driver"),
        (2_000_000, {}, "spark"),
        (2_000_000, {"layout": "driver"}, "driver"),
        (2_000_000, {"expected_edges": 1_000_000}, "driver"),
        (100_000, {"expected_edges": 50_000_000}, "spark"),
        (5_000, {"expected_edges": 50_000_000}, "driver"),
    ],
)
def test_layout(n: int, counting: dict[str, Any], layout: str) -> None:
    assert layout_of(make_design(n, **counting)) == layout


@pytest.mark.parametrize("edges", [1, 10**6, 10**7, 10**8, 10**10])
def test_blocks_grow_until_tasks_are_small(edges: int) -> None:
    n_blocks = block_count(make_design(1 << 20, expected_edges=edges))
    assert DIGEST_BLOCKS % n_blocks == 0
    assert MIN_BLOCKS <= n_blocks <= MAX_BLOCKS
    assert n_blocks == MAX_BLOCKS or 6 * edges <= TASK_EDGES * n_blocks**2
    assert n_blocks == MIN_BLOCKS or 6 * edges > TASK_EDGES * (n_blocks // 2) ** 2


def test_counting_spends_nothing() -> None:
    one, other = make_design(50), make_design(50, layout="spark", expected_edges=9)
    assert one.config.measured() == other.config.measured()
    assert one.publish_settings == other.publish_settings


@pytest.mark.parametrize(("name", "value"), [("layout", "cloud"), ("expected_edges", 0), ("expected_edges", 1.5)])
def test_wrong_settings_are_named(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"counting\.{name} must"):
        make_design(50, **{name: value})
