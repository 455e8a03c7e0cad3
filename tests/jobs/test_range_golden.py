"""A small release of range-histograms under a test key: what a published table holds must not change unseen.

Recording: `tests.support.golden`.
"""

from pathlib import Path

import numpy as np
import pytest

from dplib.config.load import check
from dplib.jobs.range_histograms.config import RangeHistogramsConfig
from dplib.jobs.range_histograms.design import Design
from dplib.jobs.range_histograms.measure import measure_on_driver
from dplib.jobs.range_histograms.publish import results_on_driver, write_tables
from dplib.jobs.range_histograms.tables import write_strategy
from dplib.release.tables import read_table
from dplib.workflow.settings import measurement_settings
from tests.support.golden import digest_of, golden_keys, require_other, require_recorded
from tests.support.jobs import SECRET

NAME = "range_histograms"
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
    config = check(RangeHistogramsConfig, settings)
    design = Design.resolve(config, folder)
    keys = golden_keys("range-histograms", measurement_settings(config, design), secret)
    write_strategy(folder, design)
    measure_on_driver(design, np.arange(32).reshape(2, 16) * 11 % 29, keys, folder)
    write_tables(design, results_on_driver(design, folder), folder)
    noisy = read_table(folder / "measurement", ["group", "node", "noisy"]).to_pylist()
    estimates = read_table(folder / "estimates", ["group", "node", "lo", "hi", "estimate"]).to_pylist()
    published = read_table(folder / "published", ["group", "bin", "count"]).to_pylist()
    tables = {"measurement": noisy, "estimates": estimates, "published": published}
    return {name: digest_of(rows) for name, rows in tables.items()}


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    require_recorded(NAME, case, release_of(tmp_path, case))


def test_another_secret_gives_other_noise(tmp_path: Path) -> None:
    require_other(NAME, "laplace", release_of(tmp_path, "laplace", SECRET[::-1]))
