"""A small release of k-means under a test key: what a published table holds must not change unseen.

Recording: `tests.golden_support`.
"""

from pathlib import Path

import pytest

from dplib.kmeans.measure import measure_points
from dplib.kmeans.publish import write_tables
from dplib.release.tables import read_table
from tests.clustering_support import mixture
from tests.golden_support import digest_of, recorded, require_recorded
from tests.jobs_support import SECRET
from tests.kmeans_support import GAUSSIAN, design_of, keys_of, rows_in, settings_of

CASES = {
    "auto": settings_of("auto", {"epsilon": 1}),
    "grid": settings_of("grid", {"epsilon": 1}),
    "local_search": settings_of("local_search", {"epsilon": 1}, d=3),
    "tree_coreset": settings_of("tree_coreset", GAUSSIAN, d=5),
}


def release_of(folder: Path, case: str, secret: bytes = SECRET) -> dict[str, str]:
    """SHA-256 of the tables as text, numbers in four digits: the last bits of a float depend on the machine."""
    design = design_of(CASES[case])
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
    require_recorded("kmeans", case, release_of(tmp_path, case))


def test_another_secret_gives_other_noise(tmp_path: Path) -> None:
    known = recorded("kmeans")["grid"]
    found = release_of(tmp_path, "grid", SECRET[::-1])
    assert all(found[table] != known[table] for table in known)
