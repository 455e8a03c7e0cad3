import datetime as dt
from collections.abc import Mapping
from functools import reduce
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.event_input import Columns, Input
from dplib.config.sections import EventPrivacySettings
from dplib.errors import ConfigError
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.read import open_rows
from dplib.spark.rows.resolve import judge_rows, resolve_rows
from dplib.spark.rows.row_domain import RULES, RowDomain
from dplib.spark.rows.timestamps import has_zone
from tests.spark.rows import (
    BAD_DAYS,
    BAD_ITEMS,
    BAD_QUANTITIES,
    BAD_UNITS,
    FIRST_DAY,
    ITEMS,
    N_DAYS,
    settings,
    table_of,
)
from tests.support.interpreted import interpreting

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")

EVENT = EventPrivacySettings.model_validate({"unit": "event", "budget": {"epsilon": 1}, "max_quantity": 5})
TEXT = "day string, name string, quantity string, unit string"
GOOD_DAY = "26/02/2020 10:00"


def section(**given: Any) -> Input:
    return Input(path="rows", columns=Columns(day="d", item="i"), **given)


Judged = Mapping[tuple[str | None, ...], tuple[str | None, int | None]]
GOOD = (GOOD_DAY, "naan", "2", "u1")
QUANTITIES = {
    "-5": 0, "-Infinity": 0, "-0.0": 0, "0.99": 0, "1e-3": 0, "2.7": 2, " 3 ": 3, "\t4\r": 4, "5": 5, "6": 5,
    "1e400": 5, "Infinity": 5, "999999999999999999999999": 5,
}  # fmt: skip
FIRST_RULES = [
    ("x", "x", "x", ""),
    ("x", "x", "x", "u"),
    ("24/02/2020 00:00", "x", "x", "u"),
    (GOOD_DAY, "x", "x", "u"),
]
WRITTEN = {" naan\t": None, "\ufeffnaan": None, "Naan": RULES[3], "na an": RULES[3], 'the "hot" one': None}


def one_value(place: int, value: str | None) -> tuple[str | None, ...]:
    """A good row with another value at one place."""
    return (*GOOD[:place], value, *GOOD[place + 1 :])


@pytest.fixture(scope="module")
def judged(spark: SparkSession) -> Judged:
    """For each row of text, the rule that drops it and its quantity; compiled, as users' rows are judged."""
    values = {0: BAD_DAYS, 1: (*BAD_ITEMS, *WRITTEN), 2: (*BAD_QUANTITIES, *QUANTITIES), 3: BAD_UNITS}
    rows = [GOOD, *FIRST_RULES, *(one_value(place, value) for place, own in values.items() for value in own)]
    source, privacy = settings()
    with interpreting(spark, wanted=False):
        frame = spark.createDataFrame(rows, TEXT).coalesce(1)
        found = judge_rows(frame, source, privacy, RowDomain(FIRST_DAY, N_DAYS, ITEMS)).collect()
    told = [(None if row["failed"] is None else RULES[row["failed"]], row["quantity"]) for row in found]
    return dict(zip(rows, told, strict=True))


@pytest.mark.parametrize(
    ("place", "values", "rules"),
    [
        (0, BAD_DAYS, {"day can be read", "day is in the domain"}),
        (1, BAD_ITEMS, {"name is in the domain"}),
        (2, BAD_QUANTITIES, {"quantity is a number"}),
        (3, BAD_UNITS, {"unit is given"}),
    ],
)
def test_every_bad_value_fails_its_rule(
    judged: Judged, place: int, values: tuple[str | None, ...], rules: set[str]
) -> None:
    assert judged[GOOD] == (None, 2)
    assert {judged[one_value(place, value)][0] for value in values} == rules


def test_quantities_are_cut_to_the_cap_and_rounded_down(judged: Judged) -> None:
    assert {text: judged[one_value(2, text)] for text in QUANTITIES} == {
        text: (None, quantity) for text, quantity in QUANTITIES.items()
    }


def test_a_row_is_dropped_by_the_first_rule_that_it_fails(judged: Judged) -> None:
    assert [judged[row][0] for row in FIRST_RULES] == [RULES[0], RULES[1], RULES[2], RULES[3]]


def test_names_are_trimmed_and_then_equal(judged: Judged) -> None:
    assert {text: judged[one_value(1, text)][0] for text in WRITTEN} == WRITTEN


def test_typed_quantities(spark: SparkSession) -> None:
    texts = spark.sql("SELECT DATE'2020-01-01' AS day, 'a' AS name, explode(array('NaN','inf','-inf','2.9',NULL)) AS q")
    frame = texts.select("day", "name", F.col("q").cast("float").alias("quantity"))
    resolved = resolve_rows(frame, section(), EVENT, RowDomain(dt.date(2020, 1, 1), 1, ["a"]))
    assert sorted(row["quantity"] for row in resolved.collect()) == [0, 2, 5]


def test_packages_count_on_their_days_only(spark: SparkSession) -> None:
    domain = RowDomain(
        dt.date(2020, 1, 1),
        6,
        ["meal", "snack", "meal"],
        valid_first=np.array([0, 1, 3]),
        valid_end=np.array([2, 6, 6]),
    )
    days = [f"2020-01-0{i}" for i in range(1, 7)]
    frame = table_of(spark, [(day, name) for day in days for name in ("meal", "snack")], "day string, name string")
    rows = judge_rows(frame, section(), EVENT, domain).collect()
    # "meal" changed its contents on day 3 and was off the menu on day 2.
    counted = sorted((row["row_type"], row["day"]) for row in rows if row["failed"] is None)
    assert counted == [(0, 0), (0, 1), *((1, day) for day in range(1, 6)), (2, 3), (2, 4), (2, 5)]
    assert {(row["day"], RULES[row["failed"]]) for row in rows if row["failed"] is not None} == {
        (0, "name is valid on the day"),
        (2, "name is valid on the day"),
    }


def test_a_name_must_mean_one_thing_on_each_day() -> None:
    domain = RowDomain(FIRST_DAY, 9, ["a", " a "], valid_first=np.array([0, 4]), valid_end=np.array([5, 9]))
    with pytest.raises(ConfigError, match="mean one thing on each day, got a twice"):
        _ = domain.daily
    with pytest.raises(ConfigError, match="not be blank"):
        _ = RowDomain(FIRST_DAY, 9, ["a", " "]).daily


def test_many_names(spark: SparkSession) -> None:
    n = 20_000
    names = [f"item {i}" for i in range(n)]
    frame = spark.range(0, n + 500, 100).select(
        F.lit("2020-01-01").alias("day"), F.concat(F.lit("item "), F.col("id")).alias("name")
    )
    resolved = resolve_rows(frame, section(), EVENT, RowDomain(dt.date(2020, 1, 1), 1, names))
    assert sorted(row["row_type"] for row in resolved.collect()) == list(range(0, n, 100))


INSTANTS = [
    "2020-03-08T06:59+00:00", "2020-03-08T07:01+00:00",  # spring forward in New York
    "2020-03-08T04:59+00:00", "2020-03-08T05:00+00:00",  # its midnight
    "2020-11-01T04:00+00:00", "2020-11-02T04:59+00:00", "2020-11-02T05:00+00:00",  # fall back, a day of 25 hours
    "2020-06-01T23:30-05:00", "2020-06-01T00:30+05:45", "2020-12-31T23:59-12:00", "2021-01-01T00:00+14:00",
]  # fmt: skip


def test_instants_fall_on_the_day_of_the_fixed_zone(spark: SparkSession) -> None:
    first, domain, days = dt.date(2020, 1, 1), RowDomain(dt.date(2020, 1, 1), 400, ["a"]), list[DataFrame]()
    frame = table_of(spark, [(text, "a") for text in INSTANTS], "day string, name string")
    typed = frame.withColumn("day", F.to_timestamp("day", "yyyy-MM-dd'T'HH:mmXXX"))
    zones = {"America/New_York": frame, "Asia/Kathmandu": frame, "Pacific/Apia": typed}
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")  # a session of someone else: it must not matter
    try:
        for zone, rows in zones.items():
            source = section(timezone=zone, date_format="yyyy-MM-dd'T'HH:mmXXX")
            days.append(resolve_rows(rows, source, EVENT, domain).select("day", F.lit(zone).alias("zone")))
        found = reduce(DataFrame.union, days).collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    for zone in zones:
        moments = (dt.datetime.fromisoformat(text).astimezone(ZoneInfo(zone)) for text in INSTANTS)
        expected = [(moment.date() - first).days for moment in moments]
        assert [row["day"] for row in found if row["zone"] == zone] == expected


def test_what_has_no_zone_falls_on_the_day_that_is_written(spark: SparkSession) -> None:
    # 2011-12-30 does not exist in Apia, nor 00:30 on 2018-11-04 in Sao Paulo.
    written = ["2011-12-29 23:59", "2011-12-30 00:30", "2018-11-04 00:30"]
    frame = table_of(spark, [(text, "a") for text in written], "day string, name string")
    domain = RowDomain(dt.date(2011, 12, 29), 4000, ["a"])
    expected = [(dt.date.fromisoformat(text[:10]) - domain.first_day).days for text in written]
    source = section(timezone="Asia/Tokyo", date_format="yyyy-MM-dd HH:mm")
    kinds, found = (("Pacific/Apia", "string"), ("Pacific/Apia", "timestamp_ntz"), ("America/Sao_Paulo", "string")), []
    try:
        for place, (session_zone, kind) in enumerate(kinds):
            spark.conf.set("spark.sql.session.timeZone", session_zone)
            moments = frame.withColumn("day", F.col("day").cast(kind))
            found.append(resolve_rows(moments, source, EVENT, domain).select("day", F.lit(place).alias("place")))
        days = reduce(DataFrame.union, found[1:]).collect()
        spark.conf.set("spark.sql.session.timeZone", "Pacific/Apia")
        days += found[0].collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    for place in range(len(kinds)):
        assert [row["day"] for row in days if row["place"] == place] == expected


def test_no_date_can_stop_a_run(spark: SparkSession) -> None:
    texts = ["+294248-01-01", "+999999999-01-01", "-999999999-01-01", "9" * 30 + "-01-01", '2020-01-01"', "2020-01-02"]
    domain = RowDomain(dt.date(2020, 1, 1), 5, ["a"])
    frame = table_of(spark, [(text, "a") for text in texts], "day string, name string")
    resolved = [resolve_rows(frame, section(), EVENT, domain)]
    far = spark.sql("SELECT explode(array(-9223372036854775807, 9223372036854775807)) AS t, 'a' AS name")
    far = far.withColumn("t", F.timestamp_micros("t"))
    first = spark.sql("SELECT date_from_unix_date(CAST(-2147483648 AS INT)) AS day, 'a' AS name")
    kinds = {kind: far.select(F.col("t").cast(kind).alias("day"), "name") for kind in ("timestamp", "timestamp_ntz")}
    kinds["date"] = far.select(F.col("t").cast("date").alias("day"), "name").union(first)
    resolved += [resolve_rows(each, section(timezone="Pacific/Apia"), EVENT, domain) for each in kinds.values()]
    assert [row["day"] for row in reduce(DataFrame.union, resolved).collect()] == [1]


def test_has_zone() -> None:
    assert all(has_zone(pattern) for pattern in ("yyyy VV", "yyyy'T'HHxxx", "HH z", "yyyy-MM-dd[XXX]"))
    assert not any(has_zone(pattern) for pattern in ("yyyy-MM-dd HH:mm", "yyyy'Z'", "HH'O''clock'"))


def test_takeaway_orders_equal_pandas(compiled: SparkSession, shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "every fourth.csv"
    lines = (shared / "data" / "retail" / "restaurant-1-orders.csv").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[::4]))
    source = Input(
        path=str(path),
        options={"header": "true"},
        columns=Columns(day="OrderDate", item="ItemName", quantity="Quantity"),
        date_format="dd/MM/yyyy HH:mm",
    )
    table = pd.read_csv(path)
    names = sorted(table["ItemName"].unique())[:200]
    first, n_days = dt.date(2017, 1, 1), 700
    day = (pd.to_datetime(table["OrderDate"], format="%d/%m/%Y %H:%M").dt.normalize() - pd.Timestamp(first)).dt.days
    kept = table["ItemName"].isin(names) & day.between(0, n_days - 1)
    expected = np.zeros((n_days, len(names)), np.int64)
    items = table["ItemName"][kept].map({name: i for i, name in enumerate(names)})
    np.add.at(expected, (day[kept], items), table["Quantity"][kept].clip(0, 5))
    rows = open_rows(compiled, source, Path())
    counts = count_cells(resolve_rows(rows, source, EVENT, RowDomain(first, n_days, names)), n_days, len(names))
    np.testing.assert_array_equal(counts, expected)
    assert expected.sum() > 10_000
