"""A small release of range-histograms under a test key: what a published table holds must not change unseen.

Record anew with DPLIB_RECORD_GOLDEN=1 after a change of the sampler format, of the counting version, or of a table.
"""

import hashlib
import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplib.config.load import check
from dplib.config.range_histograms import RangeHistogramsConfig
from dplib.randomness.secret import Secret
from dplib.range_histograms.design import Design
from dplib.range_histograms.measure import measure_on_driver
from dplib.range_histograms.publish import results_on_driver, write_tables
from dplib.range_histograms.tables import write_strategy
from dplib.release.canonical import settings_hash
from dplib.release.run_keys import RunKeys
from dplib.release.runs import Run, RunKey, RunState
from dplib.release.tables import read_table
from tests.jobs_support import SECRET

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "range_histograms.json"
CASES = {
    "laplace": {"budget": {"epsilon": 1}, "tree": {"method": "boost", "branching": 4}},
    "gaussian": {"budget": {"rho": "0.1"}, "tree": {"method": "boost", "branching": 2}},
    "adaptive": {"budget": {"epsilon": "0.5"}, "tree": {"method": "adaptive"}},
}


def release_of(folder: Path, case: str, secret: bytes = SECRET) -> dict[str, str]:
    """SHA-256 of the noisy counts and of the tables as text, which no version of a library changes."""
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "golden",
        "input": {"path": "none", "columns": {"value": "v", "group": "g"}},
        "privacy": {"unit": "event", "budget": CASES[case]["budget"]},
        "histogram": {"edges": {"start": 0, "stop": 16, "width": 1}, "groups": ["b", "a"]},
        "tree": CASES[case]["tree"],
    }
    design = Design.resolve(check(RangeHistogramsConfig, settings), folder)
    key = RunKey("golden", "range-histograms", "", settings_hash(design.settings))
    keys = RunKeys.derive(Secret(secret), Run(2, key, Fraction(1), RunState.RESERVED))
    write_strategy(folder, design.strategy)
    measure_on_driver(design, np.arange(32).reshape(2, 16) * 11 % 29, keys, folder)
    write_tables(design, results_on_driver(design, folder), folder)
    noisy = read_table(folder / "measurement", ["group", "node", "noisy"]).to_pylist()
    estimates = read_table(folder / "estimates", ["group", "node", "lo", "hi", "estimate"]).to_pylist()
    for row in estimates:
        # Six digits: the last bits of a float depend on the machine.
        row["estimate"] = f"{round(row['estimate'], 6) + 0.0:.6f}"
    published = read_table(folder / "published", ["group", "bin", "count"]).to_pylist()
    tables = {"measurement": noisy, "estimates": estimates, "published": published}
    return {name: hashlib.sha256(json.dumps(rows).encode()).hexdigest() for name, rows in tables.items()}


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    found = release_of(tmp_path, case)
    if os.environ.get("DPLIB_RECORD_GOLDEN") == "1":
        known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
        GOLDEN.write_text(json.dumps(known | {case: found}, indent=2, sort_keys=True) + "\n")
    assert json.loads(GOLDEN.read_text())[case] == found


def test_another_secret_gives_other_noise(tmp_path: Path) -> None:
    known = json.loads(GOLDEN.read_text())["laplace"]
    found = release_of(tmp_path, "laplace", SECRET[::-1])
    assert all(found[table] != known[table] for table in known)
