"""Delta tables as input: the rows of the version that is meant, whatever is written meanwhile."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from dplib.config.event_input import Columns, Input
from dplib.errors import ConfigError, SchemaError
from dplib.spark.rows.read import open_rows
from tests.spark.reading import rows_of_each

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
DAY = dt.date(2024, 1, 1)
COLUMNS = Columns(day="day", item="item", quantity="n", unit="unit")


def rows(first: int, n: int = 3, items: str = "tea") -> pa.Table:
    return pa.table(
        {
            "day": pa.array([DAY + dt.timedelta(days=k) for k in range(first, first + n)]),
            "item": [f"{items} {k % 2}" for k in range(first, first + n)],
            "n": pa.array(range(first, first + n), pa.int32()),
            "unit": [f"u{k}" for k in range(first, first + n)],
        }
    )


def frame(spark: SparkSession, path: Path, **settings: Any) -> DataFrame:
    return open_rows(spark, Input(path=str(path), format="delta", columns=COLUMNS, **settings), Path())


def opened(spark: SparkSession, path: Path, **settings: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame(spark, path, **settings).collect())


def expected(*tables: pa.Table) -> list[tuple[Any, ...]]:
    return sorted((r["day"], r["item"], r["n"], r["unit"]) for table in tables for r in table.to_pylist())


@pytest.mark.parametrize("partitions", [None, ["item", "day"]], ids=str)
def test_a_version_has_its_live_rows(partitions: list[str] | None, spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "a table"
    first, second = rows(0), rows(3, items="a b%c/d")
    write_deltalake(place, first, partition_by=partitions)
    write_deltalake(place, second, mode="append")
    DeltaTable(place).delete("unit = 'u1'")
    versions = {"0": frame(spark, place, version=0), "1": frame(spark, place, version=1), "last": frame(spark, place)}
    # Files that no version names are no rows.
    DeltaTable(place).optimize.compact()
    found = rows_of_each(spark, versions | {"compacted": frame(spark, place)})
    both = expected(first, second)
    left = [row for row in both if row[3] != "u1"]
    assert {name: sorted(lines) for name, lines in found.items()} == {
        "0": expected(first), "1": both, "last": left, "compacted": left,
    }  # fmt: skip


def test_what_is_written_after_opening_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    write_deltalake(tmp_path, rows(0))
    before = frame(spark, tmp_path)
    write_deltalake(tmp_path, rows(3), mode="overwrite")
    assert sorted(tuple(row) for row in before.collect()) == expected(rows(0))


def test_an_empty_table_and_a_column_that_came_later(compiled: SparkSession, tmp_path: Path) -> None:
    DeltaTable.create(tmp_path / "empty", rows(0).schema)
    assert opened(compiled, tmp_path / "empty") == []
    write_deltalake(tmp_path / "grown", rows(0).drop_columns(["n"]))
    write_deltalake(tmp_path / "grown", rows(3), mode="append", schema_mode="merge")
    assert [row[2] for row in opened(compiled, tmp_path / "grown")] == [None, None, None, 3, 4, 5]


def test_what_cannot_be_opened_is_a_schema_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=r"^input.path must name a Delta table that can be opened, got .*no table"):
        opened(spark, tmp_path / "none")
    write_deltalake(tmp_path / "other", pa.table({"unit": ["SECRETVALUE"]}))
    with pytest.raises(
        SchemaError, match=r"^input.columns.day must name one column of the input, got day; its columns are unit$"
    ):
        opened(spark, tmp_path / "other")
    write_deltalake(tmp_path / "one", rows(0))
    with pytest.raises(ConfigError, match=r"^input.version must be a version that the table has, got 7$"):
        opened(spark, tmp_path / "one", version=7)


def add_to_log(place: Path, *actions: dict[str, Any]) -> None:
    """Write a commit as another writer would."""
    log = place / "_delta_log"
    number = len(list(log.glob("*.json")))
    (log / f"{number:020d}.json").write_text("\n".join(json.dumps(action) for action in actions))


def protocol(*features: str) -> dict[str, Any]:
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    return {"protocol": versions | {"readerFeatures": list(features), "writerFeatures": list(features)}}


def test_tables_that_only_the_connector_reads_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_deltalake(tmp_path / "deleted", rows(0))
    (log,) = (tmp_path / "deleted" / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    add = next(action["add"] for action in actions if "add" in action)
    add_to_log(tmp_path / "deleted", protocol("deletionVectors"))
    # The feature alone is no reason: no row is deleted by a vector.
    assert opened(spark, tmp_path / "deleted") == expected(rows(0))
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40}
    add_to_log(tmp_path / "deleted", {"add": add | {"deletionVector": vector | {"cardinality": 1}}})
    with pytest.raises(SchemaError, match=r"without Delta's connector in Spark, got .* with deletionVectors$"):
        opened(spark, tmp_path / "deleted")
    write_deltalake(tmp_path / "mapped", rows(0))
    (log,) = (tmp_path / "mapped" / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    metadata = next(action["metaData"] for action in actions if "metaData" in action)
    metadata["configuration"]["delta.columnMapping.mode"] = "name"
    add_to_log(tmp_path / "mapped", protocol("columnMapping"), {"metaData": metadata})
    with pytest.raises(SchemaError, match=r"(columnMapping|can be opened)"):
        opened(spark, tmp_path / "mapped")
