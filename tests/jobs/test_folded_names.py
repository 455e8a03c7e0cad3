"""Capitals and spaces that make no difference, from rows to counts of three jobs."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dplib.config.key_input import KeyInput
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.jobs.consistent_histograms.job import JOB
from dplib.spark.rows.bins import BIN_RULES, judge_values
from dplib.spark.rows.inspect import inspect_values
from dplib.spark.rows.keys import judge_keys, open_keys
from tests.jobs.test_other_item import counted
from tests.support.jobs import new_shop, refuse_spark, require_refused

ROWS = [
    ("2024-01-01", "BREAD", "2", "a"),
    ("2024-01-01", "Cre\u0301me \xa0 brûlée", "1", "a"),
    ("2024-01-03", "  crÉme brûlée", "3", "b"),
    ("2024-01-03", "bread.", "2", "b"),
]
DOMAIN = {"items": ["Bread", "Créme Brûlée"], "first_day": "2024-01-01", "last_day": "2024-01-14"}


def test_items_are_counted_whatever_their_capitals(tmp_path: Path, spark: SparkSession) -> None:
    shop = new_shop(tmp_path / "shop", ROWS).set(domain=DOMAIN, constraints=[], input__fold=["spaces", "case"])
    assert counted(spark, shop) == {"Bread": 2, "Créme Brûlée": 4}
    keys = [JOB.prepare(shop.set(input__fold=fold).config).key.settings_hash for fold in (["case", "spaces"], ["case"])]
    shop.set(input__fold=["spaces", "case"])
    assert [key == JOB.prepare(shop.config).key.settings_hash for key in keys] == [True, False]


def test_groups_and_categories_are_folded(spark: SparkSession) -> None:
    given: dict[str, Any] = {"path": "x", "columns": {"value": "a", "group": "b"}, "fold": ["case"]}
    domain = BinDomain(categories=("Low", "HIGH"), groups=("North", "Süd"))
    rows = [("low", "NORTH"), ("High", "SÜD"), ("low", "Su\u0308d"), ("lo w", "north"), ("low", "sud")]
    frame = spark.createDataFrame(rows, "value string, group string").coalesce(1)
    found = judge_values(frame, HistogramInput.model_validate(given), domain).collect()
    assert [(row["day"], row["row_type"]) for row in found[:3]] == [(0, 0), (1, 1), (1, 0)]
    assert [row["failed"] and BIN_RULES[row["failed"]] for row in found] == [None] * 3 + [*BIN_RULES[2:]]


def test_groups_that_are_not_declared_count_in_the_other_one(spark: SparkSession) -> None:
    given: dict[str, Any] = {"path": "x", "columns": {"value": "a", "group": "b"}, "fold": ["case", "spaces"]}
    domain = BinDomain(categories=("low",), groups=("north", "Rest"), other=1)
    rows = [("low", "NORTH"), ("low", "rests"), ("low", "rest"), ("low", "\xa0"), ("low", None), ("high", "south")]
    frame = spark.createDataFrame(rows, "value string, group string").coalesce(1)
    found = judge_values(frame, HistogramInput.model_validate(given), domain).collect()
    assert [row["day"] for row in found[:3]] == [0, 1, 1]
    assert [row["failed"] and BIN_RULES[row["failed"]] for row in found[3:]] == [*BIN_RULES[3:] * 2, BIN_RULES[2]]
    # Their owner sees which these are.
    seen = inspect_values(frame, HistogramInput.model_validate(given), domain, 1)
    assert seen.values["group is listed"] == [("rests", 1)]
    assert [tuple(each) for each in seen.rules[3:5]] == [("group is declared", 3, 2), ("group is listed", 2, 1)]
    assert seen.hints == []


def test_keys_are_released_as_they_are_folded(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("what,who\nTea  time,a\ntea TIME ,b\n,c\n", encoding="utf-8")
    given = {"path": "rows.csv", "options": {"header": "true"}, "columns": {"key": "what", "unit": "who"}}
    source = KeyInput.model_validate(given | {"fold": ["case", "spaces"]})
    found = judge_keys(open_keys(spark, source, tmp_path)).where("failed IS NULL").collect()
    assert [(bytes(row["key"]), bytes(row["unit"])) for row in found] == [(b"tea time", b"a"), (b"tea time", b"b")]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"input__fold": ["cases"]}, "input.fold.0 must be 'case' or 'spaces', got cases"),
    ({"input__fold": []}, "input.fold must hold at least 1, got []"),
    ({"input__fold": ["case", "case"]}, "input.fold must name each difference once, got case twice"),
    ({"domain__items": ["Bread", "bread"]}, "domain.items must hold names that differ by more than case (input.fold)"),
]


def test_names_that_would_be_one_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_spark(monkeypatch)
    for number, (changes, sentence) in enumerate(WRONG):
        shop = new_shop(tmp_path / str(number), ROWS).set(domain=DOMAIN, constraints=[], input__fold=["case"])
        assert sentence in require_refused(shop.set(**changes), 2).err
