"""From rows that are reports of the local model to merged integers: the one public rule for what users sent.

A row is judged by these rules in order and dropped at the first that it fails:

    unit is given              not null and not blank
    the report can be read     a report that some question's oracle can give
    the unit reports once      rows that repeat a unit's report count once; a unit that sent different reports is taken
                               as a non-respondent, since what it sent spends more than was agreed on

Reports are randomized already, so they are no secret of anyone who reads them.

Cost: one pass and one shuffle, by unit; partitions send merged integers to the driver.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.clustering.source import Keyed
from dplib.config.point_input import PointInput
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.points.points import TOTALS, added_totals, totals_row
from dplib.spark.rows.contributions import Batches
from dplib.spark.rows.inspection import Inspection, rule_counts
from dplib.spark.rows.read import KEY_TYPES, open_columns
from dplib.spark.rows.resolve import text_sql

REPORT_RULES = ("unit is given", "the report can be read", "the unit reports once")


class ReportReader(Protocol):
    """How texts are read: `dplib.jobs.kmeans.report_text.ReportReader`."""

    @property
    def width(self) -> int:
        """Integers under each key of what is merged."""

    def read(self, texts: Sequence[str | None], /) -> tuple[IntArray, list[bytes]]:
        """The question of each text, -1 where it is no report, and the reports' bytes."""

    def merge(self, asked: IntArray, payloads: Sequence[bytes], /) -> Keyed:
        """Merged integers."""


def open_point_reports(spark: SparkSession, source: PointInput, base: Path) -> DataFrame:
    """Open the input; of a text file at most the header line is read.

    Returns:
        columns report and unit, texts.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    names = source.columns.names
    rows = open_columns(spark, source, names, {"report": frozenset({"string"}), "unit": KEY_TYPES}, base)
    return rows.selectExpr(*(f"{text_sql(name)} AS {name}" for name in ("report", "unit")))


def merge_reports(rows: DataFrame, reader: ReportReader) -> Keyed:
    """Merge the reports of all units that reported once.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    merged = _once(_judged(rows, reader)).mapInArrow(_merge(reader), TOTALS)
    with quiet_spark_errors("add up the reports"):
        return added_totals(merged.toArrow(), reader.width)


def inspect_point_reports(rows: DataFrame, reader: ReportReader) -> Inspection:
    """Count rows by rule; of the last one, units that count.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    units = _judged(rows, reader).groupBy("failed", "unit").agg(F.count("*").alias("rows"), *_least_and_most())
    alone = F.sum((F.col("least") == F.col("most")).cast("long")).alias("alone")
    with quiet_spark_errors("inspect the reports"):
        found = {
            row["failed"]: row for row in units.groupBy("failed").agg(F.sum("rows").alias("rows"), alone).collect()
        }
    by_rule = {failed: row["rows"] for failed, row in found.items()}
    kept = found[None]["alone"] if None in found else 0
    return Inspection(rule_counts(REPORT_RULES, by_rule | {len(REPORT_RULES) - 1: by_rule.get(None, 0) - kept}, kept))


def _judged(rows: DataFrame, reader: ReportReader) -> DataFrame:
    """Columns failed int, unit binary, asked int, report binary."""
    # As bytes: a table's text need not be valid UTF-8, and Python would refuse it with a message that quotes it.
    binary = rows.select(F.col("report").cast("binary").alias("report"), F.col("unit").cast("binary").alias("unit"))
    return binary.mapInArrow(_judge(reader), "failed int, unit binary, asked int, report binary")


def _once(judged: DataFrame) -> DataFrame:
    units = judged.where(F.col("failed").isNull()).groupBy("unit").agg(*_least_and_most())
    return units.where(F.col("least") == F.col("most")).select("least.asked", "least.report")


def _least_and_most() -> tuple[Column, Column]:
    """Of a unit's reports, two that are equal where all are."""
    sent = F.struct("asked", "report")
    return F.min(sent).alias("least"), F.max(sent).alias("most")


def _judge(reader: ReportReader) -> Callable[[Batches], Batches]:
    def judge(batches: Batches) -> Batches:
        for batch in batches:
            texts = [_ascii(value) for value in batch.column("report").to_pylist()]
            asked, payloads = reader.read(texts)
            given = np.array([bool(value) for value in batch.column("unit").to_pylist()], dtype=np.bool_)
            failed = np.where(given, np.where(asked < 0, 1, -1), 0).astype(np.int32)
            arrays = [pa.array(failed, mask=failed < 0), batch.column("unit").cast(pa.binary())]
            arrays += [pa.array(asked.astype(np.int32)), pa.array(payloads, pa.binary())]
            yield pa.record_batch(arrays, names=["failed", "unit", "asked", "report"])

    return judge


def _ascii(value: bytes | None) -> str | None:
    return value.decode("ascii") if value is not None and value.isascii() else None


def _merge(reader: ReportReader) -> Callable[[Batches], Batches]:
    def merge(batches: Batches) -> Batches:
        for batch in batches:
            asked = batch.column("asked").to_numpy().astype(np.int64)
            yield totals_row(0, reader.merge(asked, batch.column("report").to_pylist()))

    return merge
