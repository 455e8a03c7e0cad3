"""From rows that are reports to noisy degrees and bits: the one public rule for reports that vertices made themselves.

A row is judged by these rules in order and dropped at the first that it fails:

    the vertex is declared       given, readable and in the public vertex set
    the report can be read       a whole number of at most 18 digits; bits: exactly one 0 or 1 for each vertex that is
                                 declared later
    the vertex reports once      rows that repeat a vertex's report count once; a vertex that sent different reports is
                                 taken as a non-respondent, since what it sent spends more than was agreed on

A vertex without a report is a non-respondent. The reports are randomized already, so they are no secret of anyone who
reads them.

Cost: one pass, one shuffle by vertex; the reports go to the driver.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.config.edge_input import VertexDomain
from dplib.config.network_releases import ReportInput
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.graphs.edges import VERTEX_TYPES, judge_edges
from dplib.spark.rows.inspection import Inspection, rule_counts
from dplib.spark.rows.read import open_columns
from dplib.spark.rows.resolve import text_sql

REPORT_RULES = ("the vertex is declared", "the report can be read", "the vertex reports once")


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports by vertex.

    Attributes:
        vertex: positions of the vertices that reported, rising, shape (k,).
        degree: their noisy degrees, shape (k,); None where degrees are not reported.
        bits: their bits as texts; None where bits are not reported.
    """

    vertex: IntArray
    degree: IntArray | None
    bits: list[str] | None


def open_reports(spark: SparkSession, source: ReportInput, base: Path) -> DataFrame:
    """Open the input; of a text file at most the header line is read.

    Returns:
        one column a role: vertex, and degree and bits where they are mapped.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    types = {"vertex": VERTEX_TYPES, "degree": VERTEX_TYPES, "bits": frozenset({"string"})}
    return open_columns(spark, source, source.columns.names, types, base)


def judge_reports(rows: DataFrame, domain: VertexDomain) -> DataFrame:
    """Find every row's vertex and say which rule drops it.

    Returns:
        columns vertex long (its position), degree long and bits string where they are there, failed int: the index in
        `REPORT_RULES`, null where the row passes all but the last; lazy.
    """
    others = [name for name in rows.columns if name != "vertex"]
    texts = (F.expr(f"{text_sql(name)} AS {name}") for name in others)
    # Both ends of an edge stand for the vertex: an edge list's rule finds it.
    both = rows.select(F.col("vertex").alias("source"), F.col("vertex").alias("target"), *texts)
    placed = judge_edges(both, domain).select(F.col("source").alias("vertex"), *others)
    readable = F.lit(True)
    if "degree" in others:
        digits = F.regexp_like(F.col("degree"), F.lit(r"^-?[0-9]{1,18}$"))
        readable = readable & F.coalesce(digits, F.lit(False))
    if "bits" in others:
        expected = F.lit(domain.count - 1) - F.col("vertex")
        # The last vertex has no later one and nothing to report: its text is empty or missing.
        text = F.coalesce(F.col("bits"), F.lit(""))
        readable = readable & (F.length(text) == expected) & (F.translate(text, "01", "") == "")
    failed = F.when(F.col("vertex") < 0, 0).when(~readable, 1)
    judged = placed.withColumn("failed", failed)
    return judged.withColumn("degree", F.col("degree").try_cast("long")) if "degree" in others else judged


def collect_reports(judged: DataFrame) -> Reports:
    """Bring the reports to the driver, in the order of the vertices.

    Args:
        judged: from `judge_reports`.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("collect the reports"):
        table = _once(judged).toArrow()
    order = np.argsort(table.column("vertex").to_numpy())
    table = table.take(order)
    names = table.column_names
    degree = table.column("degree").to_numpy().astype(np.int64) if "degree" in names else None
    bits = [text or "" for text in table.column("bits").to_pylist()] if "bits" in names else None
    return Reports(table.column("vertex").to_numpy().astype(np.int64), degree, bits)


def inspect_reports(judged: DataFrame) -> Inspection:
    """Count rows by rule.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("inspect the reports"):
        by_rule = {row["failed"]: row["count"] for row in judged.groupBy("failed").count().collect()}
        kept = _once(judged).count()
    return Inspection(rule_counts(REPORT_RULES, by_rule, kept))


def _once(judged: DataFrame) -> DataFrame:
    reported = [name for name in judged.columns if name not in ("vertex", "failed")]
    different = judged.where(F.col("failed").isNull()).select("vertex", *reported).distinct()
    alone = different.groupBy("vertex").agg(
        F.count("*").alias("times"), *(F.first(name).alias(name) for name in reported)
    )
    return alone.where(F.col("times") == 1).select("vertex", *reported)
