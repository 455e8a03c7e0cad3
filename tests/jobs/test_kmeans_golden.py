"""A small release of k-means under a test key: what a published table holds must not change unseen.

Recording: `tests.support.golden`.
"""

from pathlib import Path

import pytest

from dplib.clustering.problem import FORMAT
from dplib.config.load import check
from dplib.jobs.kmeans.config import KMeansConfig
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.measure import measure_points
from dplib.jobs.kmeans.publish import write_tables
from dplib.release.tables import read_table
from tests.support.clustering import mixture
from tests.support.golden import digest_of, require_recorded
from tests.support.jobs import SECRET
from tests.support.kmeans import GAUSSIAN, keys_of, rows_in, settings_of

NAME = "kmeans"
CASES = {
    "auto": settings_of("auto", {"epsilon": 1}),
    "grid": settings_of("grid", {"epsilon": 1}),
    "local_search": settings_of("local_search", {"epsilon": 1}, d=3),
    "tree_coreset": settings_of("tree_coreset", GAUSSIAN, d=5),
}


BEFORE = {
    "auto": {
        "centers": "a8ecdc594c677a77b4d47567d0457b39523be523b4a96c9801ab7cff15ebda0c",
        "measurement": "92b65ff41b8c574ccbab3475e30e54f6697bb2410d0c621269d8e966b3649664",
    },
    "grid": {
        "centers": "aaf66a899f8895fa85c0f8b6dfecad1e2967332e29be1b670c351a5d1b30efe8",
        "measurement": "2a1c9676de7232a4c1032f42899c3a73d252bb4f296b47457d69e974fe080037",
    },
}
"""What format 1 gave: releases made by it are read by it."""


def release_of(folder: Path, case: str, secret: bytes = SECRET, rules: int = FORMAT) -> dict[str, str]:
    """SHA-256 of the tables as text, numbers in four digits: the last bits of a float depend on the machine."""
    design = Design.resolve(check(KMeansConfig, CASES[case]), Path(), rules)
    # Points on a coarse grid, so that no library's last bit moves one.
    rows = (mixture(400, design.frame.space.dimension, 4, 7) * 64).round() / 64
    measure_points(design, rows_in(rows), keys_of(design, secret), folder)
    write_tables(design, folder)
    tables = {
        "measurement": read_table(folder / "measurement", ["draw", "statistic", "cell", "coordinate", "noisy"]),
        "centers": read_table(folder / "estimates", ["center", "coordinate", "value"], blocks=("centers",)),
        "weights": read_table(folder / "estimates", ["center", "weight"], blocks=("weights",)),
    }
    return {name: digest_of(table.to_pylist(), "{:.4g}".format) for name, table in tables.items()}


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    require_recorded(NAME, case, release_of(tmp_path, case))


@pytest.mark.parametrize("case", BEFORE)
def test_releases_of_format_1_are_read_as_they_were_made(case: str, tmp_path: Path) -> None:
    found = release_of(tmp_path, case, rules=1)
    assert {table: found[table] for table in BEFORE[case]} == BEFORE[case]
    public = Design.resolve(check(KMeansConfig, CASES[case]), Path(), 1).public()
    assert "clustering_format" not in public
    assert Design.from_public(public).rules == 1
    now = Design.resolve(check(KMeansConfig, CASES[case]), Path())
    assert Design.from_public(now.public()).rules == FORMAT
