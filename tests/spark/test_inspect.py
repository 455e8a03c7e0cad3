from pathlib import Path

from pyspark.sql import SparkSession

from dplib.spark.inspect import inspect_rows
from dplib.spark.resolve import RULES, RowDomain
from tests.spark.rows import FIRST_DAY, ITEMS, N_DAYS, bound_oracle, random_rows, resolve_oracle, settings

DOMAIN = RowDomain(FIRST_DAY, N_DAYS, ITEMS)
TEXT = "day string, name string, quantity string, unit string"


def test_rows_kept_and_dropped_add_up_to_what_the_plain_rule_gives(
    spark: SparkSession, secret: bytes, tmp_path: Path
) -> None:
    rows = random_rows(600, seed=11)
    source, privacy = settings(max_rows=6, max_rows_per_day=2)
    report = inspect_rows(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN)
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
    found = {c.rule: c[1:] for c in inspect_rows(spark.createDataFrame(rows, TEXT), source, privacy, DOMAIN)}
    assert found["quantity is a number"] == (5, 1)
    assert found["quantity is within its cap"] == (2, 3)
    assert found["quantity is at least 1"] == (3, 2)


def test_no_rows_are_zeros(spark: SparkSession) -> None:
    source, privacy = settings()
    report = inspect_rows(spark.createDataFrame([], TEXT), source, privacy, DOMAIN)
    assert {count[1:] for count in report} == {(0, 0)}
    # No cap a day is set, so none is reported.
    assert [count.rule for count in report][len(RULES) :] == [
        "quantity is within its cap",
        "quantity is at least 1",
        "rows are within the cap a unit",
    ]
