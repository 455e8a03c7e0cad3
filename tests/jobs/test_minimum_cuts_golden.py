"""Small releases of minimum-cuts under a test key: what a published table holds must not change unseen.

Recording: `tests.support.golden`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.graphs.edges import canonical
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.measure import measure_graph
from dplib.jobs.minimum_cuts.publish import write_tables
from dplib.release.tables import read_table
from dplib.workflow.settings import measurement_settings
from tests.support.golden import digest_of, golden_keys, require_recorded
from tests.support.jobs import SECRET
from tests.support.minimum_cuts import config_of

NAME = "minimum_cuts"
NUMBERS = {"minimum_cut_value": {}, "synthetic_graph": {}, "minimum_cut_count": {}, "soft_cut_count": {"eta": "1/2"}}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "pure": (NUMBERS | {"top_cuts": {"k": 3}}, {"epsilon": 6}),
    "concentrated": (NUMBERS | {"top_cuts": {"k": 3}}, {"rho": "0.5"}),
    "oneshot": ({"top_cuts": {"k": 2, "method": "oneshot"}}, {"epsilon": "0.2", "delta": "0.000001"}),
    "sampled": ({"sampled_cuts": {"k": 3, "when_small": "pad"}}, {"epsilon": 8, "delta": "0.000001"}),
    "refused": ({"sampled_cuts": {"k": 3, "when_small": "refuse"}}, {"epsilon": 8, "delta": "0.000001"}),
}


def release_of(folder: Path, case: str, secret: bytes = SECRET) -> dict[str, str]:
    """SHA-256 of every table as text, which no version of a library changes."""
    config = config_of(*CASES[case], n=10)
    design = Design.resolve(config, Path())
    keys = golden_keys("minimum-cuts", measurement_settings(config, design), secret)
    vertex = np.arange(10)
    graph = canonical(10, np.tile(vertex, 2), np.append((vertex + 1) % 10, (vertex + 3) % 10), np.arange(20) % 7 + 1)
    measure_graph(design, graph, keys, folder)
    write_tables(design, folder)
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        found[str(path.parent.relative_to(folder))] = digest_of(read_table(path.parent).to_pylist())
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    require_recorded(NAME, case, release_of(tmp_path, case))
