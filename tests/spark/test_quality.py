"""Counts of the input by what becomes of its rows: a unit more or less changes them by no more than is claimed."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from pyspark.sql import SparkSession

from dplib.clustering.point_frame import PointFrame
from dplib.clustering.space import Space
from dplib.config.edge_input import VertexDomain, WeightSettings
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.spark.rows.quality import count_categories, count_units_above
from dplib.spark.rows.quality_rows import (
    judged_edges,
    judged_events,
    judged_points,
    judged_values,
    judged_weighted_edges,
)
from dplib.spark.rows.row_domain import RULES, RowDomain
from tests.spark.rows import FIRST_DAY, ITEMS, N_DAYS, Row, random_rows, resolve_oracle, settings

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


def test_one_unit_changes_the_counters_by_its_kept_rows_at_most(spark: SparkSession) -> None:
    rows, q = random_rows(160, seed=8, n_units=6, bad=0.8), 2
    whole, above = counted(spark, rows, q)
    unit = min({(row[3] or "").strip() for row in rows} - {""})
    fewer, fewer_above = counted(spark, [row for row in rows if (row[3] or "").strip() != unit], q)
    change = np.array(whole) - np.array(fewer)
    # The rows of all others stay those that they were.
    assert (change >= 0).all()
    assert change.sum() == q
    assert 0 <= above - fewer_above <= 1
    # All rows of a unit may meet one rule; a row without a unit is a unit of its own, however many there are.
    same: list[Row] = [("2020-02-26", "naan", str(place), "new") for place in range(5)]
    more, _ = counted(spark, [*rows, *same, *[(None, None, None, " "), (None, None, None, None)] * 2], q)
    assert (np.array(more) - np.array(whole)).tolist() == [2 * q, q] + [0] * len(RULES)


def test_rows_of_one_pair_are_one_unit(spark: SparkSession) -> None:
    ends = "source string, target string"
    edges = [("1", "2"), ("2", "1"), ("01", "2"), ("1", "9"), ("9", "1"), ("x", "1"), ("3", "3"), ("", "1"), ("", "1")]
    judged = judged_edges(spark.createDataFrame(edges, ends), VertexDomain(4, 1))
    assert judged.rules == ("both ends are given", "both ends can be read", "both ends are declared", "the ends differ")
    assert count_categories(judged, 1, KEY).tolist() == [2, 1, 1, 1, 1, 0]
    table = [("1", "2", w) for w in ("1", "2.5", "x", None, "7")] + [("2", "3", "9"), ("3", "4", "2")]
    weighted = spark.createDataFrame(table, f"{ends}, weight string")
    found = judged_weighted_edges(weighted, VertexDomain(4, 1), WeightSettings(largest=5), None)
    counts = count_categories(found, 1, KEY)
    assert counts.sum() == 3
    assert counts[-2:].sum() >= 2
    assert counts[-1] >= 1


def test_values_and_points_are_counted_like_rows(spark: SparkSession) -> None:
    source = HistogramInput.model_validate({"path": "x", "columns": {"value": "a", "unit": "c"}, "options": {}})
    rows = [("five", "u"), ("20", "v"), ("5", "w"), ("6", "w"), ("7", "w"), ("5", " ")]
    judged = judged_values(
        spark.createDataFrame(rows, "value string, unit string"), source, BinDomain(edges=np.array([0.0, 10.0])), 2
    )
    assert count_categories(judged, 1, KEY).tolist() == [1, 1, 1, 0, 1, 0]
    assert count_units_above(judged).tolist() == [1]
    frame = PointFrame(Space.box([-1.0, -1.0], [1.0, 1.0]), (0.0, 0.0), (1.0, 1.0))
    points = [(0.5, 0.5), (3.0, 0.0), (None, 0.0), (float("nan"), 0.0), (0.1, 0.2)]
    table = spark.createDataFrame(points, "x0 double, x1 double")
    assert count_categories(judged_points(table, frame, 1, True), 1, KEY).tolist() == [0, 2, 2, 1]
    assert count_categories(judged_points(table, frame, 1, False), 1, KEY).tolist() == [0, 2, 3, 0]


def test_counters_depend_on_no_order(spark: SparkSession) -> None:
    rows = random_rows(120, seed=4, n_units=9)
    source, privacy = settings()
    mixed = random.Random(1).sample(rows, len(rows))
    table = spark.createDataFrame(mixed, TEXT).repartition(7)
    found = count_categories(judged_events(table, source, privacy, DOMAIN), 2, KEY).tolist()
    assert found == counted(spark, rows, 2)[0]
