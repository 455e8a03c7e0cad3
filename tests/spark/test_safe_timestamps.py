"""Timestamps that no clock shows fail no run, of every unit and format."""

import datetime as dt
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dplib.config.event_input import Columns
from dplib.errors import DplibError, SchemaError
from dplib.spark.rows.parquet_times import _by_arrow, footer_types, message_types, stored_time
from dplib.spark.rows.read import MOMENT_TYPES, NUMBER_TYPES, open_columns, open_rows
from dplib.spark.rows.resolve import number_sql
from dplib.spark.rows.timestamps import with_day_number
from tests.spark.reading import days_of, rows, source
from tests.support.interpreted import interpreting

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")


@pytest.mark.parametrize(("unit", "zone"), [("ms", "UTC"), ("us", None), ("ns", "UTC"), ("ns", None)])
def test_no_parquet_timestamp_fails_the_run_and_each_is_right(
    unit: str, zone: str | None, compiled: SparkSession, tmp_path: Path
) -> None:
    """Those with a zone are read by compiled expressions, a unit that is rounded and one that is not among them."""
    ticks = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    noon = 1_700_000_000 * ticks  # 2023-11-14 22:13:20
    values = [noon, noon + 2 * 3_600 * ticks, None, -1, 2**63 - 1, -(2**63), 9_223_372_036_854_776]
    pq.write_table(pa.table({"day": pa.array(values, pa.timestamp(unit, zone))}), tmp_path / "in")
    expected = [0, 1, None, -1, -1, -1, -1]
    with interpreting(compiled, wanted=zone is None):
        assert days_of(compiled, tmp_path, format="parquet") == expected


def test_nanoseconds_before_1970_are_rounded_down(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"day": pa.array([-1, 0, -1_000, -1_001], pa.timestamp("ns"))}), tmp_path / "in")
    found = open_columns(spark, source(format="parquet"), {"day": "day"}, {"day": MOMENT_TYPES}, tmp_path)
    micros = [row[0] for row in found.select(F.unix_micros(F.col("day").cast("timestamp"))).collect()]
    assert micros == [-1, 0, -1, -2]


def test_footers_say_the_same_to_both_readers(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "a b": pa.array([1], pa.timestamp("ms", "UTC")),
            "c.d": pa.array([1], pa.timestamp("us")),
            "e": pa.array([1], pa.timestamp("ns")),
            "f": pa.array([[1.5]], pa.list_(pa.float64())),
            "g": ["x"],
        }
    )
    pq.write_table(table, tmp_path / "in")
    (found,) = footer_types(spark, [f"file:{tmp_path}/in"], {}) or []
    assert list(found) == table.column_names
    assert [found[name] for name in ("a b", "c.d", "e")] == [
        "timestamp in ms",
        "timestamp in us without zone",
        "timestamp in ns without zone",
    ]
    assert "double" in found["f"]
    # Over Spark Connect pyarrow reads them.
    by_arrow = _by_arrow(tmp_path / "in")
    assert [stored_time(by_arrow[name]) for name in table.column_names] == [
        stored_time(found[name]) for name in table.column_names
    ]
    old = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    pq.write_table(old, tmp_path / "int96", use_deprecated_int96_timestamps=True)
    (by_spark,) = footer_types(spark, [f"file:{tmp_path}/int96"], {}) or []
    assert stored_time(by_spark["t"]) is stored_time(_by_arrow(tmp_path / "int96")["t"]) is None
    assert message_types("message m {\n  optional int64 t (TIMESTAMP_MILLIS);\n}") == {"t": "timestamp in ms"}


def test_old_timestamps_of_96_bits_wrap_and_fail_nothing(spark: SparkSession, tmp_path: Path) -> None:
    nanos, noon = 86_400 * 10**9, 1_700_000_000
    days = pa.array([10**9 * (noon + i) for i in range(5)], pa.timestamp("ns"))
    pq.write_table(
        pa.table({"day": days}),
        tmp_path / "in",
        use_deprecated_int96_timestamps=True,
        compression="none",
        use_dictionary=False,
    )
    data = (tmp_path / "in").read_bytes()
    for i, (time, day) in enumerate([(2**63 - 1, 2**31 - 1), (-(2**63), -(2**31)), (0, 2**31 - 1)]):
        rest, number = (10**9 * (noon + i)) % nanos, 10**9 * (noon + i) // nanos + 2_440_588
        assert data.count(struct.pack("<qi", rest, number)) == 1
        data = data.replace(struct.pack("<qi", rest, number), struct.pack("<qi", time, day))
    (tmp_path / "in").write_bytes(data)
    assert days_of(spark, tmp_path, format="parquet") == [-1, -1, -1, 0, 0]


def test_orc_timestamps_are_refused_by_their_type(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"day": pa.array([-1], pa.timestamp("ns")), "item": ["a"], "date": [dt.date(2024, 1, 1)]})
    orc.write_table(table, tmp_path / "in")
    with pytest.raises(SchemaError, match=r"^input.columns.day must name a column of dates or texts in ORC files"):
        open_rows(spark, source(format="orc"), tmp_path)
    columns = Columns(day="date", item="item").model_dump()
    assert rows(spark, tmp_path, format="orc", columns=columns) == [(dt.date(2024, 1, 1), "a")]


def test_extreme_values_of_typed_columns_fail_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "day": pa.array([-(2**31), 2**31 - 1, 19_675, None], pa.date32()),
            "item": pa.array([2**63 - 1, -(2**63), 0, None], pa.int64()),
            "quantity": pa.array([float("inf"), float("nan"), -1e308, 1e-320]),
        }
    )
    for kind, writer in {"parquet": pq.write_table, "orc": orc.write_table}.items():
        writer(table, tmp_path / kind)
        section = source(path=kind, format=kind)
        types = {"day": MOMENT_TYPES, "q": NUMBER_TYPES}
        found = open_columns(spark, section, {"day": "day", "q": "quantity"}, types, tmp_path)
        numbered = with_day_number(found, "day", "date", section, dt.date(2023, 11, 14), 2)
        read = numbered.selectExpr("day_number", number_sql("q", "double")).collect()
        assert [row[0] for row in read] == [-1, -1, 0, None]
        assert read[0][1] == float("inf")
    with pytest.raises(DplibError):
        open_columns(
            spark, source(path="parquet", format="parquet"), {"q": "quantity"}, {"q": frozenset({"string"})}, tmp_path
        )
