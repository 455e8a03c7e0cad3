from collections import defaultdict

import numpy as np
import pytest
from pyspark.sql import SparkSession

from dplib.config.edge_input import VertexDomain
from dplib.config.value_input import BinDomain, HistogramInput
from dplib.errors import SchemaError
from dplib.spark.graphs.edges import inspect_edges, judge_edges
from dplib.spark.rows.inspect import inspect_judged, inspect_rows, inspect_values
from dplib.spark.rows.inspection import Inspection, RuleCount
from dplib.spark.rows.row_domain import RULES, RowDomain
from tests.spark.rows import FIRST_DAY, ITEMS, N_DAYS, bound_oracle, random_rows, resolve_oracle, settings, table_of
from tests.support.interpreted import interpreting

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
DOMAIN = RowDomain(FIRST_DAY, N_DAYS, ITEMS)
ROWS = random_rows(600, seed=11)
TEXT = "day string, name string, quantity string, unit string"


@pytest.fixture(scope="module")
def random_report(spark: SparkSession) -> Inspection:
    """Random rows with both caps of a unit, inspected with compiled expressions, as users' rows are."""
    source, privacy = settings(max_rows=6, max_rows_per_day=2)
    with interpreting(spark, wanted=False):
        return inspect_rows(spark.createDataFrame(ROWS, TEXT), source, privacy, DOMAIN)


def test_rows_kept_and_dropped_add_up_to_what_the_plain_rule_gives(random_report: Inspection, secret: bytes) -> None:
    found = {count.rule: count for count in random_report.rules}
    assert list(found)[: len(RULES)] == list(RULES)
    total = len(ROWS)
    for rule in RULES:
        assert found[rule].kept + found[rule].dropped == total
        total = found[rule].kept
    resolved = resolve_oracle(ROWS, 5)
    assert total == len(resolved)
    assert found["unit is given"].dropped == sum(not (row[3] or "").strip() for row in ROWS)
    assert all(found[rule].dropped > 0 for rule in RULES if rule != "name is valid on the day")
    positive = [row for row in resolved if row[2] > 0]
    assert found["quantity is at least 1"][1:] == (len(positive), len(resolved) - len(positive))
    in_day = bound_oracle(resolved, 10**6, 2, secret)
    assert found["rows are within the cap a day"][1:] == (len(in_day), len(positive) - len(in_day))
    in_unit = bound_oracle(resolved, 6, 2, secret)
    assert found["rows are within the cap a unit"][1:] == (len(in_unit), len(in_day) - len(in_unit))


def test_the_losses_of_items_are_what_both_caps_take(random_report: Inspection, secret: bytes) -> None:
    """Close to the mean over 60 keys, by chance off by 3 % (the standard error): a unit meets two caps."""
    held, clipped = resolve_oracle(ROWS, 2**53), resolve_oracle(ROWS, 5)
    counted: dict[int, float] = defaultdict(float)
    for number in range(60):
        for row in bound_oracle(clipped, 6, 2, secret + bytes([number])):
            counted[row[1]] += row[2] / 60
    assert {loss.name for loss in random_report.losses} == set(ITEMS)
    for loss in random_report.losses:
        item = ITEMS.index(loss.name)
        assert loss.held == pytest.approx(sum(row[2] for row in held if row[1] == item), rel=1e-12)
        assert loss.clipped == sum(row[2] for row in clipped if row[1] == item)
        assert loss.counted == pytest.approx(counted[item], rel=0.15)
    lost = [loss.held - loss.counted for loss in random_report.losses]
    assert lost == sorted(lost, reverse=True)


def test_no_rows_are_zeros(spark: SparkSession) -> None:
    judged = "failed int, shown string, day int, row_type int, quantity long, series int, clamped boolean, unit string"
    report = inspect_judged(spark.createDataFrame([], judged), RULES, 4, 4, ITEMS)
    assert {count[1:] for count in report.rules} == {(0, 0)}
    assert report.losses == []
    # No cap a day is set, so none is reported.
    assert [count.rule for count in report.rules][len(RULES) :] == [
        "quantity is within its cap",
        "quantity is at least 1",
        "rows are within the cap a unit",
    ]


@pytest.fixture(scope="module")
def planted_report(spark: SparkSession) -> Inspection:
    """Odd quantities, ten rows of one unit whose cap is 4 and eight of another's two days, and many that rules drop."""
    source, privacy = settings(max_rows=4, max_quantity=5)
    good = "26/02/2020 10:00"
    rows = [(good, "naan", n, f"q{n}") for n in ("-1", "0", "5", "5.5", "1e400", "NaN")]
    rows += [(good, "naan", "1", "u")] * 10 + [(good, "naan", "1", "v")]
    rows += [(good, "naan", "1", "z")] * 6 + [("27/02/2020 10:00", "papadum, plain", "1", "z")] * 2
    rows += [("2020-02-26", "naan", "1", f"u{i}") for i in range(35)] + [("2020-02-27", "naan", "1", "w")]
    rows += [(good, "Naan", "1", "v"), *[(good, "naan", "a\x1b[1mb", "x")] * 2]
    return inspect_rows(table_of(spark, rows, TEXT), source, privacy, DOMAIN)


def test_quantities_beyond_the_cap_are_counted_as_clamped(planted_report: Inspection) -> None:
    found = {count.rule: count[1:] for count in planted_report.rules}
    assert found["quantity is a number"] == (5 + 19, 1 + 2)
    assert found["quantity is within its cap"] == (2 + 19, 3)
    assert found["quantity is at least 1"] == (3 + 19, 2)


def test_without_a_cap_a_day_that_of_a_unit_drops_and_gives_each_row_one_chance(planted_report: Inspection) -> None:
    assert planted_report.rules[-1] == ("rows are within the cap a unit", 3 + 4 + 1 + 4, 6 + 4)
    naan, papadum = planted_report.losses
    assert naan[2:] == (15 + 10 + 1 + 6, pytest.approx(15 + 4 + 1 + 3))
    assert papadum == ("papadum, plain", 2.0, 2.0, pytest.approx(1.0))


def test_dropped_values_are_named_and_a_pattern_is_suggested(planted_report: Inspection) -> None:
    assert planted_report.values == {
        "day can be read": [("2020-02-26", 35), ("2020-02-27", 1)],
        "name is in the domain": [("Naan", 1)],
        "quantity is a number": [("a\\x1b[1mb", 2), ("NaN", 1)],
    }
    assert "yyyy-MM-dd would read 36 of 36" in planted_report.hints[0]
    assert planted_report.hints[1] == "Dropped as undeclared: Naan. Declared is: naan."
    assert "2 declared names have no row that counts" in planted_report.hints[2]


def test_an_input_of_which_a_rule_drops_all_is_refused() -> None:
    quantity = RuleCount("quantity is a number", 0, 2)
    with pytest.raises(SchemaError, match="`quantity is a number`, got none"):
        Inspection([RuleCount("day can be read", 2, 1), quantity]).require_some_kept()
    # What changes rows, or drops none, refuses none.
    Inspection([quantity, RuleCount("unit is given", 0, 0)], changing=frozenset({quantity.rule})).require_some_kept()


def test_values_of_bins_and_edges_are_named(spark: SparkSession) -> None:
    domain = BinDomain(edges=np.array([0.0, 10.0]), groups=("north", "south"))
    source = HistogramInput.model_validate(
        {"path": "x", "columns": {"value": "a", "group": "b", "unit": "c"}, "options": {}}
    )
    rows = [("five", "north", "u"), ("20", "north", "u"), ("5", "North", "u"), ("5", "north", " "), ("5", "south", "u")]
    table = table_of(spark, [*rows, *[("6", "south", "u")] * 5], "value string, group string, unit string")
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
    edges = table_of(
        spark, [("1", "x"), ("1", "9"), ("1", "2"), ("2", "1"), ("3", "3")], "source string, target string"
    )
    vertices = VertexDomain(4, 1)
    inspection = inspect_edges(judge_edges(edges, vertices, for_owner=True), vertices, None)
    assert [each.dropped for each in inspection.rules] == [0, 1, 1, 1, 1]
    assert inspection.values["both ends can be read"] == [("x", 1)]
    assert inspection.values["both ends are declared"] == [("9", 1)]
    assert inspection.hints == ["2 of 4 declared vertices have no edge that counts."]
    bounded = inspect_edges(judge_edges(edges, VertexDomain(4, 1), for_owner=True), vertices, 0)
    assert bounded.rules[-1] == ("the degree is within the bound", 0, 2)
