"""One small release under a test key, byte for byte: noise, estimates and integers stay what they were.

Recording: `tests.support.golden`.
"""

import hashlib
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dplib.jobs.consistent_histograms.job import JOB
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.publish import results_on_driver, write_tables
from dplib.ledger.runs import Run, RunState
from dplib.release.tables import read_table
from dplib.secret.secret import Secret
from dplib.workflow.run_keys import RunKeys
from tests.support.golden import digest_of, require_other, require_recorded
from tests.support.jobs import ITEMS, SECRET, new_shop

NAME = "consistent_histograms"
CASES: dict[str, dict[str, object]] = {"laplace": {"epsilon": 1}, "gaussian": {"rho": "0.1"}}


def release_of(folder: Path, case: str, secret: bytes = SECRET) -> dict[str, str]:
    """SHA-256 of the noisy counts as text and of the tables as CSV, which no version of a library changes."""
    prepared = JOB.prepare(new_shop(folder).set(privacy__budget=CASES[case], publish__output__csv=True).config)
    run = Run(2, prepared.key, Fraction(1), RunState.RESERVED)
    counts = np.arange(14 * len(ITEMS), dtype=np.int64).reshape(14, len(ITEMS)) * 7 % 23
    keys = RunKeys.derive(Secret(secret), run)
    measure_on_driver(prepared.design, counts, keys, folder)
    write_tables(prepared.design, results_on_driver(prepared.design, folder), folder)
    noisy = read_table(folder / "measurement", ["item", "node", "noisy"]).to_pylist()
    estimates = read_table(folder / "estimates", ["item", "node", "estimate", "std_error"]).to_pylist()
    (published,) = (folder / "published").glob("*.csv")
    return {
        "measurement": digest_of(noisy),
        "estimates": digest_of(estimates),
        "published": hashlib.sha256(published.read_bytes()).hexdigest(),
    }


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    require_recorded(NAME, case, release_of(tmp_path, case))


def test_another_secret_gives_other_noise(tmp_path: Path) -> None:
    require_other(NAME, "laplace", release_of(tmp_path, "laplace", SECRET[::-1]))
