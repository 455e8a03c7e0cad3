"""Counts of the input by what becomes of its rows: a unit more or less changes them by no more than is claimed."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from pyspark.sql import SparkSession

from dplib.arrays import IntArray
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.space import Space
from dplib.config.edge_input import VertexDomain, WeightSettings
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.spark.rows.quality import JudgedRows, count_categories, count_units_above
from dplib.spark.rows.quality_rows import (
    judged_edges,
    judged_events,
    judged_points,
    judged_values,
    judged_weighted_edges,
)
from dplib.spark.rows.row_domain import RULES, RowDomain
from tests.spark.rows import FIRST_DAY, ITEMS, N_DAYS, Row, random_rows, resolve_oracle, settings, table_of

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
DOMAIN = RowDomain(FIRST_DAY, N_DAYS, ITEMS)
TEXT = "day string, name string, quantity string, unit string"
KEY = bytes(range(16))


def counted(spark: SparkSession, rows: Sequence[Row], q: int, max_rows: int = 4) -> tuple[list[int], int]:
    source, privacy = settings(max_rows=max_rows)
    judged = judged_events(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN)
    return count_categories(judged, q, KEY).tolist(), int(count_units_above(judged)[0])


def test_every_row_is_in_one_counter(compiled: SparkSession) -> None:
    rows = random_rows(300, seed=3)
    found, above = counted(compiled, rows, 1000, max_rows=5)
    assert sum(found) == len(rows)
    assert len(found) == len(RULES) + 2
    assert found[0] == sum(not (row[3] or "").strip() for row in rows)
    resolved = resolve_oracle(rows, 5)
    assert found[-2] + found[-1] == len(resolved)
    units = [row[3] for row in resolved if row[2] > 0]
    assert above == sum(units.count(unit) > 5 for unit in set(units))


Judged = tuple[int | None, bool, bool, bytes | None, bytes | None]
"""Rule that the row fails, whether it is clipped and takes a place, content and owner."""


def count(spark: SparkSession, rows: Sequence[Judged], q: int) -> IntArray:
    schema = "failed int, clipped boolean, takes_place boolean, content binary, owner binary"
    return count_categories(JudgedRows(table_of(spark, rows, schema), RULES, 4), q, KEY)


def test_one_unit_changes_the_counters_by_its_kept_rows_at_most(spark: SparkSession) -> None:
    draw, q = random.Random(8), 2
    rows: list[Judged] = [
        (
            draw.choice((None, *range(len(RULES)))),
            draw.random() < 0.3,
            True,
            b"%d" % draw.randrange(9),
            b"u%d" % (n % 6),
        )
        for n in range(160)
    ]
    whole = count(spark, rows, q)
    assert whole.sum() == 6 * q
    # The rows of all others stay those that they were, in any order.
    change = whole - count(spark, [row for row in draw.sample(rows, len(rows)) if row[4] != b"u0"], q)
    assert (change >= 0).all()
    assert change.sum() == q
    # All rows of a unit may meet one rule; a row without a unit is a unit of its own, however many there are.
    same: list[Judged] = [(1, False, True, b"%d" % place, b"new") for place in range(5)]
    more = count(spark, [*rows, *same, *[(0, False, True, None, None)] * 2 * q], q)
    assert (more - whole).tolist() == [2 * q, q] + [0] * len(RULES)


def test_rows_of_one_pair_are_one_unit(spark: SparkSession) -> None:
    ends = "source string, target string"
    edges = [("1", "2"), ("2", "1"), ("01", "2"), ("1", "9"), ("9", "1"), ("x", "1"), ("3", "3"), ("", "1"), ("", "1")]
    judged = judged_edges(table_of(spark, edges, ends), VertexDomain(4, 1))
    assert judged.rules == ("both ends are given", "both ends can be read", "both ends are declared", "the ends differ")
    assert count_categories(judged, 1, KEY).tolist() == [2, 1, 1, 1, 1, 0]
    table = [("1", "2", w) for w in ("1", "2.5", "x", None, "7")] + [("2", "3", "9"), ("3", "4", "2")]
    weighted = table_of(spark, table, f"{ends}, weight string")
    found = judged_weighted_edges(weighted, VertexDomain(4, 1), WeightSettings(largest=5), None)
    counts = count_categories(found, 1, KEY)
    assert counts.sum() == 3
    assert counts[-2:].sum() >= 2
    assert counts[-1] >= 1


def test_values_and_points_are_counted_like_rows(spark: SparkSession) -> None:
    source = HistogramInput.model_validate({"path": "x", "columns": {"value": "a", "unit": "c"}, "options": {}})
    rows = [("five", "u"), ("20", "v"), ("5", "w"), ("6", "w"), ("7", "w"), ("5", " ")]
    judged = judged_values(
        table_of(spark, rows, "value string, unit string"), source, BinDomain(edges=np.array([0.0, 10.0])), 2
    )
    assert count_categories(judged, 1, KEY).tolist() == [1, 1, 1, 0, 1, 0]
    assert count_units_above(judged).tolist() == [1]
    frame = PointFrame(Space.box([-1.0, -1.0], [1.0, 1.0]), (0.0, 0.0), (1.0, 1.0))
    points = [(0.5, 0.5), (3.0, 0.0), (None, 0.0), (float("nan"), 0.0), (0.1, 0.2)]
    table = table_of(spark, points, "x0 double, x1 double")
    within, anywhere = (judged_points(table, frame, 1, are_public) for are_public in (True, False))
    # A point outside is clipped where the bounds are public: of the two times four points that have both, one is.
    both = replace(within, frame=within.frame.union(anywhere.frame))
    assert count_categories(both, 1, KEY).tolist() == [0, 4, 5, 1]


def test_rows_of_a_unit_are_counted_up_to_its_number(spark: SparkSession) -> None:
    rows = random_rows(120, seed=4, n_units=9)
    source, privacy = settings()
    found = count_categories(judged_events(table_of(spark, rows, TEXT), source, privacy, DOMAIN), 2, KEY)
    of_unit = Counter((row[3] or "").strip() for row in rows)
    assert found[0] == of_unit.pop("") > 1
    assert found[1:].sum() == sum(min(2, n_rows) for n_rows in of_unit.values()) < len(rows) / 2
