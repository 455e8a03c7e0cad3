"""Small releases of network statistics under a test key: noise, graph, choices and estimates stay what they were.

Recording: `tests.support.golden`.
"""

from pathlib import Path
from typing import Any

import pytest

from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measure import measure_edges
from dplib.jobs.network_statistics.publish import write_tables
from dplib.jobs.network_statistics.rehearse import generate
from dplib.release.tables import read_table
from dplib.workflow.settings import measurement_settings
from tests.support.golden import digest_of, golden_keys, require_recorded
from tests.support.jobs import SECRET
from tests.support.network_statistics import config_of

NAME = "network_statistics"
N = 60
HALVES = {"one": list(range(30)), "other": list(range(30, N))}
PARTS: dict[str, Any] = {
    "adjacency": {"blocks": HALVES},
    "split": {"candidates": {"halves": HALVES, "all": {"everybody": list(range(N))}}, "resolution": "1/10"},
    "coverage": {"candidates": {"first": [0, 1], "last": [58, 59]}},
}
CENTRAL = ["edge_count", "largest_degree", "degree_histogram", "cumulative_histogram", "sorted_degrees", "k_stars"]
CASES: dict[str, dict[str, Any]] = {
    "edge": {
        "privacy": {"budget": {"epsilon": 20}},
        "graph": PARTS | {"statistics": [*CENTRAL, "degree_sequence", "triangles", "adjacency", "split", "coverage"]},
    },
    "vertex": {
        "privacy": {"budget": {"rho": "0.5"}, "neighbors": "vertex"},
        "graph": {"statistics": CENTRAL, "degree_bound": {"bounding": "projected", "largest": 5}},
    },
    "local": {
        "privacy": {"budget": {"epsilon": 4}, "model": "local"},
        "graph": {"statistics": ["degree_sequence", "adjacency"], "adjacency": {"blocks": HALVES}},
    },
}


def release_of(folder: Path, case: str, secret: bytes = SECRET) -> dict[str, str]:
    """SHA-256 of every table as text, which no version of a library changes."""
    given = CASES[case]
    config = config_of(n=N, privacy=given["privacy"], **given["graph"])
    design = Design.resolve(config, Path())
    keys = golden_keys("network-statistics", measurement_settings(config, design), secret)
    measure_edges(design, generate(N, 200, 1), keys, folder)
    write_tables(design, folder)
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        rows = read_table(path.parent, blocks=(path.stem,)).to_pylist()
        found[str(path.relative_to(folder).with_suffix(""))] = digest_of(rows)
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    require_recorded(NAME, case, release_of(tmp_path, case))
