"""Whole jobs whose input and output are tables: Delta by path, and a table of Spark's own catalogue."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from dplib.arrays import IntArray
from dplib.errors import ConfigError, SchemaError
from dplib.jobs.consistent_histograms.job import JOB
from dplib.jobs.consistent_histograms.rows import row_source
from dplib.release.tables import read_table
from dplib.spark.rows.read import open_rows
from tests.support.jobs import ITEMS, ROWS, Shop, content, dplib, new_shop, noisy_days

EXACT = {"privacy__budget": {"epsilon": 900}}
"""Noise that is 0 but for a chance of 1e-12 a count."""


def table() -> pa.Table:
    days, items, quantities, units = zip(*ROWS, strict=True)
    return pa.table(
        {
            "date": pa.array([dt.date.fromisoformat(day) for day in days]),
            "product": list(items),
            "quantity": pa.array([int(quantity) for quantity in quantities]),
            "order_id": list(units),
        }
    )


def new_table_shop(folder: Path, **source: Any) -> Shop:
    shop = new_shop(folder, budget="100000").set(**EXACT)
    shop.settings["input"] = {"columns": shop.settings["input"]["columns"]} | source
    return shop.set()


def counted() -> IntArray:
    """Counts by day and item of the rows, as of the same rows in any input."""
    counts = np.zeros((14, len(ITEMS)), dtype=np.int64)
    for day, item, quantity, _ in ROWS:
        counts[dt.date.fromisoformat(day).day - 1, ITEMS.index(item)] += int(quantity)
    return counts


def events(err: str) -> list[str]:
    """What happened to the run: neither its stages nor the warning that nobody inspected its rules."""
    found = [json.loads(line)["event"] for line in err.splitlines()]
    return [event for event in found if event not in ("stage", "warning")]


@pytest.mark.usefixtures("spark")
def test_delta_tables_in_and_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_deltalake(tmp_path / "shop" / "orders", table())
    shop = new_table_shop(tmp_path / "shop", path="orders", format="delta")
    blocked = shop.folder / "lake"
    blocked.write_text("a file where a folder should be")
    shop.set(publish__output__tables={"published": "lake", "estimates": "errors"})
    monkeypatch.setenv("DPLIB_LOG", "json")
    outcome = shop.run()
    # The release is complete all the same; only its table is missing.
    assert outcome.code == 1
    assert events(outcome.err) == ["started", "reserved", "measured", "published", "failed"]
    assert "complete; run again" in json.loads(outcome.err.splitlines()[-1])["message"]
    assert shop.ledger.runs("shop")[0].state.value == "published"
    (release,) = (path for path in shop.output.iterdir() if path.name != ".lock")
    before = content(release)
    assert np.array_equal(noisy_days(release, ITEMS), counted())
    blocked.unlink()
    write_deltalake(shop.folder / "orders", table(), mode="append")
    again = shop.run()
    assert (again.code, again.release) == (0, release)
    assert events(again.err) == ["started", "published", "appended", "appended", "finished"]
    assert events(shop.run().err) == ["started", "published", "finished"]
    assert content(release) == before
    for name, place in (("published", "lake"), ("estimates", "errors")):
        stored = DeltaTable(shop.folder / place).to_pyarrow_table().to_pandas()
        own = read_table(release / name).to_pandas()
        assert set(stored.release_id) == {release.name}
        assert stored.drop(columns=["release_id", "dataset", "logical_date"]).astype(str).equals(own.astype(str))
    checked = json.loads(dplib("verify", str(release), "--ledger", f"sqlite:///{shop.folder}/ledger.db", "--json").out)
    assert checked
    assert all(check["ok"] is True for check in checked)
    # Nothing says how often rows came in, or how many.
    texts = outcome.err + again.err + (release / "manifest.json").read_text()
    assert not any(word in texts for word in ('"version": 0', '"version": 1', "rows read"))


def opened(spark: SparkSession, shop: Shop) -> DataFrame:
    """The rows of a shop, before anything is reserved."""
    prepared = JOB.prepare(shop.config)
    return open_rows(spark, row_source(prepared), prepared.base)


def test_a_pinned_version_is_a_measurement_setting(spark: SparkSession, tmp_path: Path) -> None:
    for n_times in (1, 2):
        write_deltalake(tmp_path / "orders", table(), mode="append" if n_times > 1 else "error")
    shop = new_table_shop(tmp_path, path="orders", format="delta")
    hashes = []
    for version in (None, 0, 1):
        shop.settings["input"] = {k: v for k, v in shop.settings["input"].items() if k != "version"}
        shop.settings["input"] |= {} if version is None else {"version": version}
        shop.set()
        hashes.append(JOB.prepare(shop.config).key.settings_hash)
    assert len(set(hashes)) == 3
    # Of the latest version each row is there twice.
    assert [opened(spark, shop.set(input__version=version)).count() for version in (0, 1)] == [4, 8]
    with pytest.raises(ConfigError, match=r"input\.version must be a version"):
        opened(spark, shop.set(input__version=5))
    for wrong in ({"format": "parquet"}, {"version": -1}, {"path": ["orders", "more"]}):
        refused = Shop(tmp_path, shop.settings | {"input": shop.settings["input"] | wrong}).set()
        with pytest.raises(ConfigError):
            JOB.prepare(refused.config)


def test_a_table_of_the_sessions_catalogue(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "stored").mkdir()
    pq.write_table(table(), tmp_path / "stored" / "rows.parquet")
    columns = "date DATE, product STRING, quantity BIGINT, order_id STRING"
    spark.sql("CREATE DATABASE IF NOT EXISTS dplib_tables")
    try:
        spark.sql(f"CREATE TABLE dplib_tables.orders ({columns}) USING parquet LOCATION '{tmp_path}/stored'")
        shop = new_table_shop(tmp_path / "table", table="dplib_tables.orders")
        # Rows of these types are counted by the run above.
        own, rows = ("name", "day", "quantity", "unit"), opened(spark, shop)
        found = [{role: row[role] for role in own} for row in rows.collect()]
        stored = table().rename_columns({"date": "day", "product": "name", "order_id": "unit"})
        assert found == [{role: row[role] for role in own} for row in stored.to_pylist()]
        with pytest.raises(SchemaError, match=r"^input\.table must"):
            opened(spark, shop.set(input__table="dplib_tables.none"))
    finally:
        spark.sql("DROP DATABASE dplib_tables CASCADE")
