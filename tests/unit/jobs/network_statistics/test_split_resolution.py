"""The resolution of a split is a factor of 64-bit scores: bounded by the vertices, before anything is reserved."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplib.config.load import check
from dplib.errors import ConfigError
from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.candidate_scores import split_scores
from dplib.jobs.network_statistics.config import NetworkStatisticsConfig
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.parts import MAX_SCORE

N = 60


def design_of(resolution: str) -> Design:
    halves = {"one": list(range(30)), "other": list(range(30, N))}
    settings = {
        "config_version": 1,
        "job": "network-statistics",
        "dataset": "test",
        "input": {"path": "none", "columns": {"source": "one", "target": "other"}},
        "privacy": {"unit": "friendship", "budget": {"epsilon": 1}},
        "graph": {
            "vertices": {"count": N},
            "statistics": {"split": 1},
            "split": {"candidates": {"halves": halves, "all": {"all": list(range(N))}}, "resolution": resolution},
        },
    }
    return Design.resolve(check(NetworkStatisticsConfig, settings), Path())


MOST = MAX_SCORE // (N * (N - 1) // 2)


@pytest.mark.parametrize("resolution", [f"1/{MOST}", str(MOST), f"{MOST - 1}/{MOST}", "0"])
def test_scores_of_any_graph_fit_up_to_the_bound(resolution: str) -> None:
    assert design_of(resolution).measurements
    source, target = np.triu_indices(N, 1)
    groups = [np.zeros(N, dtype=np.int64), np.arange(N) // 30]
    for edges in (slice(0, 0), slice(None)):
        scores = split_scores(SimpleGraph(N, source[edges], target[edges]), groups, Fraction(resolution))
        exact = [
            Fraction(resolution).denominator * int((each[source[edges]] == each[target[edges]]).sum())
            - Fraction(resolution).numerator * int(sum(size * (size - 1) // 2 for size in np.bincount(each).tolist()))
            for each in groups
        ]
        assert scores.tolist() == exact


@pytest.mark.parametrize(
    ("resolution", "message"),
    [
        ("-1/2", "graph.split.resolution must be at least 0, got -1/2"),
        (
            f"1/{MOST + 1}",
            f"graph.split.resolution must be a fraction of whole numbers up to {MOST}, .*got 1/{MOST + 1}",
        ),
        ("1e40", "graph.split.resolution must be a fraction of whole numbers up to"),
        ("1e-400", "got a longer one"),
    ],
)
def test_others_are_refused_before_a_run(resolution: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        design_of(resolution)
