"""Small releases of minimum-cuts under a test key: what a published table holds must not change unseen.

Record anew with DPLIB_RECORD_GOLDEN=1 after a change of the sampler format, of the counting version, or of a table.
"""

import hashlib
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.graphs.edges import canonical
from dplib.minimum_cuts.measure import measure_graph
from dplib.minimum_cuts.publish import write_tables
from dplib.randomness.secret import Secret
from dplib.release.canonical import settings_hash
from dplib.release.run_keys import RunKeys
from dplib.release.runs import Run, RunKey, RunState
from dplib.release.tables import read_table
from tests.jobs_support import SECRET
from tests.minimum_cuts_support import design_of

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "minimum_cuts.json"
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
    design = design_of(*CASES[case], n=10)
    key = RunKey("golden", "minimum-cuts", "", settings_hash(design.settings))
    keys = RunKeys.derive(Secret(secret), Run(2, key, Fraction(1), RunState.RESERVED))
    vertex = np.arange(10)
    graph = canonical(10, np.tile(vertex, 2), np.append((vertex + 1) % 10, (vertex + 3) % 10), np.arange(20) % 7 + 1)
    measure_graph(design, graph, keys, folder)
    write_tables(design, folder)
    found = {}
    for path in sorted(folder.rglob("*.parquet")):
        rows = read_table(path.parent).to_pylist()
        for row in rows:
            # Six digits: the last bits of a float depend on the machine.
            row.update({name: f"{value:.6f}" for name, value in row.items() if isinstance(value, float)})
        name = str(path.parent.relative_to(folder))
        found[name] = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    found = release_of(tmp_path, case)
    if os.environ.get("DPLIB_RECORD_GOLDEN") == "1":
        known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
        GOLDEN.write_text(json.dumps(known | {case: found}, indent=2, sort_keys=True) + "\n")
    assert json.loads(GOLDEN.read_text())[case] == found


def test_another_secret_gives_other_noise(tmp_path: Path) -> None:
    known = json.loads(GOLDEN.read_text())["pure"]
    found = release_of(tmp_path, "pure", SECRET[::-1])
    assert found.keys() == known.keys()
    assert all(found[table] != known[table] for table in ("measurement", "measurement/choices", "estimates/numbers"))
