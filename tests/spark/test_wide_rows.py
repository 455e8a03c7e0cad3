"""Wide rows: cells and caps against plain Python, and what one row or unit more changes."""

import datetime as dt
import math
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.config.event_input import Columns, Input
from dplib.config.sections import EventPrivacySettings
from dplib.spark.rows.contributions import keep_rows
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.inspect import inspect_rows
from dplib.spark.rows.read import _with_cells
from dplib.spark.rows.row_domain import RULES, RowDomain
from dplib.spark.rows.wide import bounded_rows, cut_rows, judge_wide
from tests.spark.rows import table_of
from tests.support.interpreted import planning_once

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
ITEMS = ("tea", "coffee", "milk", "cocoa")
FIRST, N_DAYS, CAP = dt.date(2024, 1, 1), 5, 4
DOMAIN = RowDomain(FIRST, N_DAYS, ITEMS)
Wide = tuple[str, tuple[str | None, ...], str]
"""Day, cells as text, and unit."""


def settings(unit: bool, **caps: int) -> tuple[Input, EventPrivacySettings]:
    columns = Columns(day="d", items=list(ITEMS), unit="u" if unit else None)
    given: dict[str, Any] = {"unit": "order" if unit else "event", "budget": {"epsilon": 1}, "max_quantity": CAP}
    given |= {"max_rows_per_unit": 3} if unit else {}
    return Input(path="rows", columns=columns), EventPrivacySettings.model_validate(given | caps)


def frame(spark: SparkSession, rows: Sequence[Wide], unit: bool) -> DataFrame:
    schema = "day string, " + ", ".join(f"`items.{place}` string" for place in range(len(ITEMS))) + ", unit string"
    made = spark.createDataFrame([(day, *cells, name) for day, cells, name in rows], schema)
    return _with_cells(made if unit else made.drop("unit"))


def random_rows(seed: int, n: int) -> list[Wide]:
    draw = random.Random(seed)
    cells = ("", None, " ", "0", "1", "1", "2", "-3", "9", "2.9", "inf", "1e400")
    rows = []
    for _ in range(n):
        day = (FIRST + dt.timedelta(days=draw.randrange(N_DAYS))).isoformat()
        own = tuple(draw.choice(cells) if draw.random() < 0.9 else draw.choice(("x", "NaN", "1,0")) for _ in ITEMS)
        rows.append((day, own if draw.random() < 0.7 else ("1", "2", "2", "0"), f"u{draw.randrange(n // 6)}"))
    return rows


def cut_oracle(day: int, cells: Sequence[int], copy: int, unit: bytes, key: bytes) -> tuple[int, ...]:
    """A row above the cap: its items in the order of their hashes until the cap is reached."""
    content = day.to_bytes(4, "little") + b"".join(n.to_bytes(4, "little") for n in cells)
    content += copy.to_bytes(8, "little") + unit

    def place(item: int) -> bytes:
        message = item.to_bytes(4, "little") + content
        return blake2b(message, key=key, digest_size=16, person=b"dplib wide row").digest()

    left, kept = CAP, [0] * len(cells)
    for item in sorted((n for n in range(len(cells)) if cells[n]), key=place):
        kept[item] = min(left, cells[item])
        left -= kept[item]
    return tuple(kept)


def bounded_oracle(rows: Sequence[Wide], unit: bool, key: bytes) -> IntArray:
    """Counts by day and item, one row at a time."""
    resolved: list[tuple[int, tuple[int, ...], bytes]] = []
    seen: Counter[tuple[int, tuple[int, ...]]] = Counter()
    for day_text, texts, name in rows:
        day = (dt.date.fromisoformat(day_text) - FIRST).days
        try:
            numbers = [float(text) if (text or "").strip() else 0.0 for text in texts]
        except ValueError:
            continue
        if any(math.isnan(number) for number in numbers):
            continue
        cells = tuple(math.floor(min(max(number, 0.0), CAP)) for number in numbers)
        owner = name.encode() if unit else b""
        if sum(cells) > CAP:
            copy = 0 if unit else seen[day, cells]
            seen[day, cells] += 1
            cells = cut_oracle(day, cells, copy, owner, key)
        if sum(cells):
            resolved.append((day, cells, owner))
    if unit:

        def place(row: tuple[int, tuple[int, ...], bytes]) -> bytes:
            numbers = row[0].to_bytes(4, "little") + bytes(4) + sum(row[1]).to_bytes(8, "little")
            message = numbers + b"".join(n.to_bytes(4, "little") for n in row[1]) + row[2]
            return blake2b(message, key=key, digest_size=16).digest()

        by_unit: dict[bytes, list[tuple[int, tuple[int, ...], bytes]]] = defaultdict(list)
        for row in sorted(resolved, key=place):
            by_unit[row[2]].append(row)
        resolved = [row for own in by_unit.values() for row in own[:3]]
    counts = np.zeros((N_DAYS, len(ITEMS)), np.int64)
    for day, cells, _ in resolved:
        counts[day] += cells
    return counts


def counted(spark: SparkSession, rows: Sequence[Wide], unit: bool, key: bytes, partitions: int = 3) -> IntArray:
    source, privacy = settings(unit)
    bounded = bounded_rows(frame(spark, rows, unit).repartition(partitions), source, privacy, DOMAIN, key)
    return count_cells(bounded, N_DAYS, len(ITEMS))


def test_counts_of_rows_without_a_unit_are_those_of_plain_python(compiled: SparkSession, secret: bytes) -> None:
    rows = random_rows(3, 240)
    np.testing.assert_array_equal(counted(compiled, rows, False, secret), bounded_oracle(rows, False, secret))


def test_counts_of_units_are_those_of_plain_python(spark: SparkSession, secret: bytes) -> None:
    rows = random_rows(3, 240)
    expected = bounded_oracle(rows, True, secret)
    random.Random(3).shuffle(rows)
    with planning_once(spark, wanted=False):
        np.testing.assert_array_equal(counted(spark, rows, True, secret), expected)


def cut(cells: Sequence[Sequence[int]], days: Sequence[int], key: bytes, **more: Sequence[object]) -> pa.RecordBatch:
    """What a task makes of rows, each with its unit, or with the number of its equals."""
    kinds = {"unit": pa.binary(), "copies": pa.int64()}
    columns = {"day": pa.array(days, pa.int32()), "cells": pa.array(cells, pa.list_(pa.int32()))}
    columns |= {name: pa.array(given, kinds[name]) for name, given in more.items()}
    (found,) = cut_rows(CAP, key)(iter([pa.RecordBatch.from_pydict(columns)]))
    return found


def test_one_row_more_changes_at_most_the_cap_and_equal_rows_are_cut_apart(secret: bytes) -> None:
    before, after = (
        np.sum(cut([[4, 4, 4, 4]], [0], secret, copies=[n]).column("cells").to_pylist(), axis=0) for n in (39, 40)
    )
    assert (after >= before).all()
    assert (after - before).sum() == CAP
    # Cut by one hash all of these would count under one item.
    assert (after > 0).all()


def test_equal_rows_are_cut_a_piece_at_a_time(secret: bytes) -> None:
    columns = {"day": [2, 3, 1], "cells": [[3, 2, 0, 1], [1, 2, 0, 0], [0, 5, 5, 5]], "copies": [30, 9, 1]}
    schema = pa.schema({"day": pa.int32(), "cells": pa.list_(pa.int32()), "copies": pa.int64()})
    batch = pa.RecordBatch.from_pydict(columns, schema)
    whole, pieces = (pa.Table.from_batches(cut_rows(CAP, secret, size)([batch])) for size in (1000, 31))
    assert whole.num_rows == 32
    assert pieces.combine_chunks() == whole
    # Of four cells each seven rows are made at once, and of a row that is wider than a piece one.
    assert [len(list(cut_rows(CAP, secret, size)([batch]))) for size in (31, 3)] == [5, 32]


def test_what_is_compiled_does_not_grow_with_the_cells(spark: SparkSession) -> None:
    schemas = (", ".join(f"`items.{place}` {kind} " for place in range(n)) for n, kind in ((2, "string"), (40, "long")))
    frames = [_with_cells(spark.createDataFrame([], schema)) for schema in schemas]
    # The words by which texts are trimmed and read.
    plans = [each._jdf.queryExecution().analyzed().toString().lower() for each in frames]  # type: ignore[operator]
    assert [plans[0].count(word) for word in ("trim", "rlike")] == [plans[1].count(word) for word in ("trim", "rlike")]
    assert "rlike" in plans[0]


def test_cells_that_are_numbers_are_read_as_their_texts(spark: SparkSession) -> None:
    kinds = {"double": (2.5, math.inf, math.nan, None), "float": (2.5, -1.0, math.nan, None)}
    kinds |= {"long": (2**53 + 1, -1, 0, None), "boolean": (True, False, True, None)}
    schema = ", ".join(f"`items.{place}` {kind}" for place, kind in enumerate(kinds))
    frame = _with_cells(table_of(spark, list(zip(*kinds.values(), strict=True)), schema))
    rows = frame.collect()
    found = np.array([row["cells"] for row in rows])
    expected = [[2.5, 2.5, 2.0**53, 1], [math.inf, -1, -1, 0], [math.nan, math.nan, 0, 1], [0, 0, 0, 0]]
    assert np.array_equal(found, expected, equal_nan=True)
    assert [row["bad_cell"] for row in rows] == [None, None, "NaN", None]


def test_a_unit_more_or_less_changes_at_most_its_caps(secret: bytes) -> None:
    draw = random.Random(5)
    rows = [(draw.randrange(N_DAYS), [draw.choice((0, 1, 2, 4)) for _ in ITEMS], b"u%d" % (n // 6)) for n in range(120)]

    def bounded(left_out: bytes) -> IntArray:
        days, cells, units = zip(*(row for row in rows if row[2] != left_out), strict=True)
        batch = cut(cells, days, secret, unit=units)
        # A row's type is 0, so its day alone is its cell.
        sent = batch.append_column("cell", batch["day"].cast(pa.int64())).filter(pc.greater(batch["quantity"], 0))
        kept = pa.Table.from_batches(keep_rows(3, 3, secret)(iter([sent])))
        counts = np.zeros((N_DAYS, len(ITEMS)), np.int64)
        np.add.at(counts, kept["day"].to_numpy(), kept["cells"].to_pylist())
        return counts

    everything = bounded(b"none")
    for unit in (b"u0", b"u1", b"u19"):
        change = everything - bounded(unit)
        assert (change >= 0).all()
        assert 0 < change.sum() <= 3 * CAP


def test_rules_and_days_of_cells(spark: SparkSession, secret: bytes) -> None:
    source, privacy = settings(False)
    domain = RowDomain(
        FIRST, N_DAYS, (*ITEMS[:3], "rest"), np.array([0, 2, 0, 0]), np.array([5, 5, 1, 5]), other=3
    )  # cocoa is not listed
    rows: list[Wide] = [
        ("2024-01-01", ("1", "1", "1", "1"), ""),
        ("2024-01-03", ("", "1", "2", None), ""),
        ("2024-01-09", ("1", "", "", ""), ""),
        ("x", ("1", "", "", ""), ""),
        ("2024-01-02", ("1", "two", "", ""), ""),
    ]
    wide = frame(spark, rows, False).coalesce(1)
    found = judge_wide(wide, source, privacy, domain).select("failed", F.col("shown")).collect()
    assert [None if row["failed"] is None else RULES[row["failed"]] for row in found] == [
        None, None, "day is in the domain", "day can be read", "quantity is a number"
    ]  # fmt: skip
    assert [row["shown"] for row in found[2:]] == ["2024-01-09", "x", "two"]
    counts = count_cells(bounded_rows(wide, source, privacy, domain, secret), N_DAYS, 4)
    assert counts.tolist() == [[1, 0, 1, 1], [0] * 4, [0, 1, 0, 0], [0] * 4, [0] * 4]


def test_the_owner_sees_what_the_caps_take_of_each_item(spark: SparkSession) -> None:
    source, privacy = settings(False)
    rows: list[Wide] = [("2024-01-01", ("4", "4", "0", ""), ""), ("2024-01-01", ("1", "", "", ""), "")]
    found = inspect_rows(frame(spark, rows, False), source, privacy, DOMAIN)
    assert {rule.rule: rule.dropped for rule in found.rules}["quantity is within its cap"] == 1
    assert found.losses == [("coffee", 4.0, 2.0, 2.0), ("tea", 5.0, 3.0, 3.0)]
    assert found.hints == ["2 declared names have no row that counts: milk, cocoa."]
