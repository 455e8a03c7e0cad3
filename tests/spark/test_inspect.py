from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from dplib.config.edge_input import VertexDomain
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.errors import SchemaError
from dplib.spark.graphs.edges import inspect_edges, judge_edges
from dplib.spark.rows.inspect import inspect_rows, inspect_values
from dplib.spark.rows.row_domain import RULES, RowDomain
from tests.spark.rows import FIRST_DAY, ITEMS, N_DAYS, bound_oracle, random_rows, resolve_oracle, settings

DOMAIN = RowDomain(FIRST_DAY, N_DAYS, ITEMS)
TEXT = "day string, name string, quantity string, unit string"


def test_rows_kept_and_dropped_add_up_to_what_the_plain_rule_gives(
    spark: SparkSession, secret: bytes, tmp_path: Path
) -> None:
    rows = random_rows(600, seed=11)
    source, privacy = settings(max_rows=6, max_rows_per_day=2)
    report = inspect_rows(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN).rules
    found = {count.rule: count for count in report}
    assert list(found)[: len(RULES)] == list(RULES)
    total = len(rows)
    for rule in RULES:
        assert found[rule].kept + found[rule].dropped == total
        total = found[rule].kept
    resolved = resolve_oracle(rows, 5)
    assert total == len(resolved)
    assert found["unit is given"].dropped == sum(not (row[3] or "").strip() for row in rows)
    assert all(found[rule].dropped > 0 for rule in RULES if rule != "name is valid on the day")
    positive = [row for row in resolved if row[2] > 0]
    assert found["quantity is at least 1"][1:] == (len(positive), len(resolved) - len(positive))
    in_day = bound_oracle(resolved, 10**6, 2, secret)
    assert found["rows are within the cap a day"][1:] == (len(in_day), len(positive) - len(in_day))
    in_unit = bound_oracle(resolved, 6, 2, secret)
    assert found["rows are within the cap a unit"][1:] == (len(in_unit), len(in_day) - len(in_unit))


def test_quantities_beyond_the_cap_are_counted_as_clamped(spark: SparkSession) -> None:
    source, privacy = settings(max_quantity=5)
    quantities = ("-1", "0", "5", "5.5", "1e400", "NaN")
    rows = [("26/02/2020 10:00", "naan", quantity, "u") for quantity in quantities]
    found = {c.rule: c[1:] for c in inspect_rows(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN).rules}
    assert found["quantity is a number"] == (5, 1)
    assert found["quantity is within its cap"] == (2, 3)
    assert found["quantity is at least 1"] == (3, 2)


def test_no_rows_are_zeros(spark: SparkSession) -> None:
    source, privacy = settings()
    report = inspect_rows(spark.createDataFrame([], TEXT), source, privacy, DOMAIN).rules
    assert {count[1:] for count in report} == {(0, 0)}
    # No cap a day is set, so none is reported.
    assert [count.rule for count in report][len(RULES) :] == [
        "quantity is within its cap",
        "quantity is at least 1",
        "rows are within the cap a unit",
    ]


def test_a_cap_of_units_shows_what_it_drops_although_all_rows_are_of_one_day(spark: SparkSession) -> None:
    # No cap a day is set, so it is the cap of a unit that drops.
    source, privacy = settings(max_rows=4)
    rows = [("26/02/2020 10:00", "naan", "1", "u")] * 10 + [("26/02/2020 10:00", "naan", "1", "v")]
    report = inspect_rows(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN)
    assert report.rules[-1] == ("rows are within the cap a unit", 5, 6)


@pytest.mark.parametrize(("in_all", "a_day"), [(6, None), (6, 2)])
def test_the_losses_of_items_are_what_the_caps_take(
    spark: SparkSession, secret: bytes, in_all: int, a_day: int | None
) -> None:
    rows = random_rows(600, seed=5, n_units=12)
    source, privacy = settings(max_rows=in_all, max_rows_per_day=a_day, max_quantity=2)
    report = inspect_rows(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN)
    held, clipped = resolve_oracle(rows, 2**53), resolve_oracle(rows, 2)
    expected: dict[int, float] = defaultdict(float)
    n_keys = 300
    for number in range(n_keys):
        for row in bound_oracle(clipped, in_all, a_day or in_all, secret + bytes([number % 256, number // 256])):
            expected[row[1]] += row[2] / n_keys
    assert {loss.name for loss in report.losses} == set(ITEMS)
    for loss in report.losses:
        item = ITEMS.index(loss.name)
        assert loss.held == pytest.approx(sum(row[2] for row in held if row[1] == item), rel=1e-12)
        assert loss.clipped == sum(row[2] for row in clipped if row[1] == item)
        assert loss.counted == pytest.approx(expected[item], rel=0.15 if in_all == 6 and a_day else 0.05)
    assert [loss.held - loss.counted for loss in report.losses] == sorted(
        (loss.held - loss.counted for loss in report.losses), reverse=True
    )


def test_dropped_values_are_named_and_a_pattern_is_suggested(spark: SparkSession) -> None:
    source, privacy = settings()
    rows = [("2020-02-26", "naan", "1", f"u{i}") for i in range(5)] + [("2020-02-27", "naan", "1", "w")]
    rows += [("26/02/2020 10:00", "Naan", "1", "v"), ("26/02/2020 10:00", "naan", "a\x1b[1mb", "x")]
    report = inspect_rows(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN)
    assert report.values["day can be read"] == [("2020-02-26", 5), ("2020-02-27", 1)]
    assert report.values["name is in the domain"] == [("Naan", 1)]
    assert report.values["quantity is a number"] == [("a\\x1b[1mb", 1)]
    assert "yyyy-MM-dd would read 6 of 6" in report.hints[0]
    assert report.hints[1] == "Dropped as undeclared: Naan. Declared is: naan."
    assert "4 declared names have no row that counts" in report.hints[2]
    with pytest.raises(SchemaError, match="`quantity is a number`, got none"):
        report.require_some_kept()


def test_values_of_bins_and_edges_are_named(spark: SparkSession) -> None:
    domain = BinDomain(edges=np.array([0.0, 10.0]), groups=("north", "south"))
    source = HistogramInput.model_validate(
        {"path": "x", "columns": {"value": "a", "group": "b", "unit": "c"}, "options": {}}
    )
    rows = [("five", "north", "u"), ("20", "north", "u"), ("5", "North", "u"), ("5", "north", " "), ("5", "south", "u")]
    table = spark.createDataFrame([*rows, *[("6", "south", "u")] * 5], "value string, group string, unit string")
    found = inspect_values(table, source, domain, 3)
    assert {rule: values[0].value for rule, values in found.values.items()} == {
        "unit is given": "(nothing)",
        "value can be read": "five",
        "value is in a bin": "20",
        "group is declared": "North",
    }
    assert found.rules[-1] == ("rows are within the cap a unit", 3, 3)
    assert found.losses == [("south", 6.0, 6.0, 3.0)]
    assert found.hints == [
        "Dropped as undeclared: North. Declared is: north.",
        "1 declared groups have no row that counts: north.",
    ]
    edges = spark.createDataFrame(
        [("1", "x"), ("1", "9"), ("1", "2"), ("2", "1"), ("3", "3")], "source string, target string"
    )
    vertices = VertexDomain(4, 1)
    inspection = inspect_edges(judge_edges(edges, vertices, for_owner=True), vertices, None)
    assert [each.dropped for each in inspection.rules] == [0, 1, 1, 1, 1]
    assert inspection.values["both ends can be read"] == [("x", 1)]
    assert inspection.values["both ends are declared"] == [("9", 1)]
    assert inspection.hints == ["2 of 4 declared vertices have no edge that counts."]
    bounded = inspect_edges(judge_edges(edges, VertexDomain(4, 1), for_owner=True), vertices, 0)
    assert bounded.rules[-1] == ("the degree is within the bound", 0, 2)
