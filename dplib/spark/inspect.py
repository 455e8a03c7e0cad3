"""What each rule does to the rows, for the eyes of the data's owner only.

NOT PRIVATE: exact counts of rows. They are for the screen of somebody who may see the data, so that a wrong date
pattern, a misspelt item or a cap that is too low is found before it costs a budget. Nothing is written, drawn or spent.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.config.sections import Input, Privacy
from dplib.spark.resolve import RULES, RowDomain, judge_rows
from dplib.spark.session import quiet_spark_errors


class RuleCount(NamedTuple):
    """Rows that passed a rule and rows that it dropped (or, for the quantity's cap, changed)."""

    rule: str
    kept: int
    dropped: int


def inspect_rows(rows: DataFrame, source: Input, privacy: Privacy, domain: RowDomain) -> list[RuleCount]:
    """Count the event rows kept and dropped by each rule. NOT PRIVATE.

    Args:
        rows: as for `dplib.spark.resolve.resolve_rows`.
        source: section `input`.
        privacy: section `privacy`.
        domain: days and row types.

    Returns:
        as `inspect_judged`.
    """
    judged = judge_rows(rows, source, privacy, domain)
    return inspect_judged(judged, RULES, privacy.rows_per_unit, privacy.rows_per_day)


def inspect_judged(judged: DataFrame, rules: Sequence[str], max_rows: int, max_rows_per_day: int) -> list[RuleCount]:
    """Count judged rows by rule. NOT PRIVATE.

    Args:
        judged: columns failed (index of the first rule that a row fails, null where it counts), day, row_type,
            quantity, and where there are such: clamped (whether the quantity lay outside its cap), unit.
        rules: names of the rules.
        max_rows: cap of a unit's rows.
        max_rows_per_day: cap of a unit's rows a day.

    Returns:
        first the rules in order (a row counts as dropped at the first rule that it fails); with quantities ``quantity
        is within its cap`` (dropped: rows that count as 0 or as the cap instead) and ``quantity is at least 1``
        (dropped: rows that count nothing); with units ``rows are within the cap a day``, where there is one, and
        ``rows are within the cap a unit`` (dropped: rows that the keyed hash would cut; their number does not depend
        on the key).

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    has_quantity = "clamped" in judged.columns
    clamped = F.col("clamped").cast("long") if has_quantity else F.lit(0)
    with quiet_spark_errors("inspect the rows"):
        totals = judged.groupBy("failed").agg(
            F.count("*").alias("rows"),
            F.sum(clamped).alias("clamped"),
            F.sum((F.col("quantity") > 0).cast("long")).alias("positive"),
        )
        by_rule = {row["failed"]: row for row in totals.collect()}
        caps = _cap_counts(judged, max_rows, max_rows_per_day) if "unit" in judged.columns else []
    left = sum(row["rows"] for row in by_rule.values())
    result = []
    for index, rule in enumerate(rules):
        dropped = by_rule[index]["rows"] if index in by_rule else 0
        left -= dropped
        result.append(RuleCount(rule, left, dropped))
    if has_quantity:
        outside, positive = (by_rule[None]["clamped"], by_rule[None]["positive"]) if None in by_rule else (0, 0)
        result.append(RuleCount("quantity is within its cap", left - outside, outside))
        result.append(RuleCount("quantity is at least 1", positive, left - positive))
    return result + caps


def _cap_counts(judged: DataFrame, max_rows: int, max_rows_per_day: int) -> list[RuleCount]:
    """Rows before and after each cap of `dplib.spark.contributions.bound_rows`."""
    counted = judged.where(F.col("failed").isNull() & (F.col("quantity") > 0))
    days = counted.groupBy("unit", "day").agg(F.count("*").alias("all"))
    units = days.groupBy("unit").agg(
        F.sum("all").alias("all"), F.sum(F.least("all", F.lit(max_rows_per_day))).alias("in_day")
    )
    row = units.agg(
        F.coalesce(F.sum("all"), F.lit(0)),
        F.coalesce(F.sum("in_day"), F.lit(0)),
        F.coalesce(F.sum(F.least("in_day", F.lit(max_rows))), F.lit(0)),
    ).collect()[0]
    a_day = [RuleCount("rows are within the cap a day", row[1], row[0] - row[1])] if max_rows_per_day < max_rows else []
    return [*a_day, RuleCount("rows are within the cap a unit", row[2], row[1] - row[2])]
