"""Keep Spark's classes in an archive that later JVMs start from: python -m scripts.class_archive.

A small job that uses what ours use runs once; Java writes the classes that it has loaded when it ends. Where a Java
cannot keep an archive, nothing is kept and the exit code is 1: all works without, and starts some seconds later.
"""

import datetime as dt
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from dplib.config.event_input import Input
from dplib.config.sections import EventPrivacySettings, SparkSettings
from dplib.spark.engine.java import class_archive
from dplib.spark.engine.session import JAVA_OPTIONS, start_session, stop
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.read import open_rows
from dplib.spark.rows.resolve import resolve_rows
from dplib.spark.rows.row_domain import RowDomain

SECONDS_TO_WRITE = 120


def main() -> None:
    """Make the archive anew."""
    archive = class_archive()
    archive.unlink(missing_ok=True)
    conf = {JAVA_OPTIONS: f"'-XX:ArchiveClassesAtExit={archive}'"}
    spark = start_session("classes", SparkSettings(master="local[2]", conf=conf))
    java = SparkContext._gateway
    assert java is not None
    with tempfile.TemporaryDirectory() as name:
        _use(spark, Path(name))
    stop(spark)
    java.shutdown()
    # The JVM ends when its input does.
    java.proc.stdin.close()
    java.proc.wait(SECONDS_TO_WRITE)
    if not archive.is_file():
        sys.exit(1)


def _use(spark: SparkSession, folder: Path) -> None:
    """Formats, joins, windows and Python tasks, as the jobs use them, and rows that are read, bounded and counted."""
    numbers = spark.range(1000).select("id", (F.col("id") % 7).alias("key"), F.rand(0).alias("x"))
    numbers.write.parquet(str(folder / "parquet"))
    numbers.write.csv(str(folder / "csv"), header=True)
    rows = spark.read.parquet(str(folder / "parquet")).withColumn("text", F.col("id").cast("string").cast("binary"))
    text = spark.read.csv(str(folder / "csv"), schema="id long, key long, x double", header=True)
    first = F.row_number().over(Window.partitionBy("key").orderBy("x"))
    rows.withColumn("place", first).where("place < 5").groupBy("key").agg(F.sum("x"), F.count("*")).collect()
    rows.join(text, "id").repartition(3, "id").select(text["key"]).distinct().toArrow()
    held = rows.select("id", "x").mapInArrow(_same, "id long, x double").persist()
    held.groupBy("id").applyInArrow(_first, "id long, x double").toArrow()
    spark.sparkContext.parallelize(range(4), 2).map(str).collect()
    (folder / "rows.csv").write_text('day,item,who\n2024-01-01,a,u\n2024-1-1,"a",u\n', encoding="utf-8")
    columns = {"day": "day", "item": "item", "unit": "who"}
    source = Input.model_validate({"path": "rows.csv", "options": {"header": "true"}, "columns": columns})
    privacy = EventPrivacySettings.model_validate({"unit": "who", "budget": {"epsilon": 1}, "max_rows_per_unit": 1})
    domain = RowDomain(dt.date(2024, 1, 1), 1, ["a"])
    resolved = resolve_rows(open_rows(spark, source, folder), source, privacy, domain)
    count_cells(bound_rows(resolved, 1, 1, bytes(16)), 1, 1)


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _first(table: pa.Table) -> pa.Table:
    return table.slice(0, 1)


if __name__ == "__main__":
    main()
