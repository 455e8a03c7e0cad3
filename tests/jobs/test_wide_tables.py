"""A column an item: from a wide file to counts."""

from pathlib import Path
from typing import Any

import pytest

from dplib.jobs.consistent_histograms.job import JOB
from dplib.jobs.consistent_histograms.rows import row_domain, row_source
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.quality_rows import judged_events
from dplib.spark.rows.read import open_rows
from dplib.spark.rows.wide import bounded_rows, column_types
from tests.jobs.test_other_item import counted
from tests.support.jobs import DROP, Shop, new_shop, refuse_spark, require_refused

HEADER = ("date", "bread", "milk", "tea", "cheese", "order_id")
ROWS = [
    ("2024-01-01", "2", "1", "", "", "a"),
    ("2024-01-03", "0", "", "5", "1", "b"),  # a piece above the cap of a row
    ("2024-01-05", "1", "many", "", "", "b"),
    ("2024-01-14", "1", "", "", "3", "c"),
]
COLUMNS = {"day": "date", "items": "all", "unit": "order_id"}


def wide_shop(folder: Path, **changes: object) -> Shop:
    shop = new_shop(folder, budget="100000").set(input__columns=COLUMNS, privacy__budget={"epsilon": 900})
    return shop.set(**changes).rows(ROWS, HEADER)


def test_a_wide_file_is_counted(tmp_path: Path, spark: SparkSession) -> None:
    shop = wide_shop(tmp_path / "shop", domain__other="rest", constraints=[])
    found = counted(spark, shop.set(input__columns__items=["bread", "tea", "cheese"]))
    # Of the six pieces of a row five count.
    assert (found["bread"], found["milk"], sum(found.values())) == (4, 0, 12)
    assert (found["tea"], found["rest"]) in {(5, 3), (4, 4)}


def test_what_is_counted_has_the_types_of_narrow_rows(tmp_path: Path, spark: SparkSession) -> None:
    """So that each layout counts either kind alike; of all items' columns those that are not listed do not count."""
    types = []
    for shop in (new_shop(tmp_path / "narrow"), wide_shop(tmp_path / "wide", privacy__max_quantity=4)):
        prepared = JOB.prepare(shop.config)
        source, domain = row_source(prepared), row_domain(prepared.design)
        rows = open_rows(spark, source, prepared.base)
        types.append(bounded_rows(rows, source, prepared.design.config.privacy, domain, bytes(32)).dtypes)
        if source.columns.items is not None:
            judged = judged_events(rows, source, prepared.design.config.privacy, domain).frame.collect()
            listed = dict(zip(source.columns.items, column_types(source, domain), strict=True))
    assert types[0] == types[1]
    assert listed == {"bread": 0, "milk": 1, "tea": 2}
    # One piece of five is above the cap.
    ends = [(row.failed, row.failed is None and row.clipped, row.owner) for row in judged]
    assert ends == [(None, False, b"a"), (None, True, b"b"), (5, False, b"b"), (None, False, b"c")]
    assert len({bytes(row.content) for row in judged}) == len(ROWS)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"input__columns__items": ["bread", "mlik"]}, "got mlik; did you mean milk?"),
    ({"domain__other": "rest"}, "input.columns.items must be a list where domain.other takes other columns, got all"),
    ({"input__columns__items": []}, "input.columns.items must be `all` or name at least one column, each once"),
    ({"input__columns__items": ["bread", "bread"]}, "name at least one column, each once, got others"),
    ({"input__columns__item": "bread"}, "must name one of item, items or package, got item and items"),
    ({"input__columns__items": DROP}, "must name one of item, items or package, got none"),
    ({"input__columns__quantity": "bread"}, "input.columns.quantity must be absent where a row has several items"),
]


def test_wrong_wide_settings_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_spark(monkeypatch)
    for number, (changes, sentence) in enumerate(WRONG):
        assert sentence in require_refused(wide_shop(tmp_path / str(number), **changes), 2).err
