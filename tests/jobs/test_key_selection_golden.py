"""Small releases of keys under a test key: the keys, their rounds and their noisy weights stay what they were.

The rows go through the functions that Spark's tasks run. Recording: `tests.support.golden`.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dplib.config.load import check
from dplib.jobs.key_selection.config import KeySelectionConfig
from dplib.jobs.key_selection.design import Design
from dplib.jobs.key_selection.run import selection_digest
from dplib.jobs.key_selection.tables import MEASUREMENT, PUBLISHED, Selected, write_measurement, write_tables
from dplib.release.tables import read_table
from dplib.spark.rows.keys import decide, gather_keys, weigh_keys
from dplib.workflow.settings import measurement_settings
from tests.support.every_job import WORDS
from tests.support.golden import digest_of, golden_keys, require_other, require_recorded
from tests.support.jobs import SECRET

NAME = "key_selection"
CASES: dict[str, dict[str, Any]] = {
    "table": {},
    "one key": {"max_keys_per_unit": 1},
    "gaussian": {"mechanism": "gaussian"},
    "laplace": {"mechanism": "laplace"},
}
UNITS, KEYS = 900, 40


def release_of(folder: Path, case: str, secret: bytes = SECRET) -> dict[str, str]:
    """SHA-256 of both tables as text, which no version of a library changes."""
    changes = dict(CASES[case])
    selection = {"mechanism": changes.pop("mechanism", "auto")}
    config = check(KeySelectionConfig, WORDS | {"privacy": WORDS["privacy"] | changes, "selection": selection})
    design = Design.resolve(config)
    keys = golden_keys("key-selection", measurement_settings(config, design), secret)
    # Every unit has five keys, of which low numbers are common.
    pairs = sorted({(f"u{u}", f"k{u * (i + 1) % 97 % (2 + u % KEYS)}") for u in range(UNITS) for i in range(5)})
    columns = [pa.array([pair[place].encode() for pair in pairs], pa.binary()) for place in (0, 1)]
    rows = pa.RecordBatch.from_arrays(columns, names=["unit", "key"])
    units = list(gather_keys(design.max_keys, keys.bounding)(iter([rows])))
    found: list[tuple[bytes, int, int | None]] = []
    for number, rule in enumerate(design.selectors):
        gone = pa.array([key for key, _, _ in found], pa.binary())
        weighed = pa.Table.from_batches(weigh_keys(gone, rule.weights)(iter(units)))
        summed = weighed.group_by("key").aggregate([("weight", "sum")]).rename_columns(["key", "weight"])
        for batch in decide(rule, keys.measurement(selection_digest(keys)), number)(iter(summed.to_batches())):
            released = zip(batch["key"].to_pylist(), batch["noisy"].to_pylist(), strict=True)
            found += [(key, number + 1, noisy) for key, noisy in released]
    assert 0 < len(found) < KEYS
    write_measurement(design, folder, Selected.of(found))
    write_tables(design, folder, Selected.of(found))
    return {name: digest_of(read_table(folder / name).to_pylist()) for name in (MEASUREMENT, PUBLISHED)}


@pytest.mark.parametrize("case", CASES)
def test_the_release_is_the_recorded_one(case: str, tmp_path: Path) -> None:
    require_recorded(NAME, case, release_of(tmp_path, case))


def test_another_secret_decides_otherwise(tmp_path: Path) -> None:
    require_other(NAME, "gaussian", release_of(tmp_path, "gaussian", SECRET[::-1]))
