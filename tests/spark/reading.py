"""Small inputs of days and items, and how they are read."""

import datetime as dt
from collections.abc import Mapping
from functools import reduce
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.event_input import Columns, Input
from dplib.spark.rows.read import MOMENT_TYPES, open_columns, open_rows
from dplib.spark.rows.timestamps import with_day_number

HEADER = "day,item\n"


def source(**settings: Any) -> Input:
    options = {"header": "true"} if settings.get("format", "csv") == "csv" else {}
    return Input.model_validate(
        {"path": "in", "options": options, "columns": Columns(day="day", item="item").model_dump()} | settings
    )


def named(day: str = "day", item: str = "item") -> dict[str, Any]:
    """The setting of columns with these names."""
    return {"columns": Columns(day=day, item=item).model_dump()}


def parquet(**columns: list[str]) -> bytes:
    """A Parquet file."""
    pq.write_table(pa.table(columns), file := BytesIO())
    return file.getvalue()


def rows(spark: SparkSession, folder: Path, **settings: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in open_rows(spark, source(**settings), folder).collect()), key=str)


def rows_of_each(spark: SparkSession, inputs: Mapping[str, DataFrame]) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of several inputs with the same columns of text, read by one job."""
    frames = [frame.withColumn("input", F.lit(name)) for name, frame in inputs.items()]
    while len(frames) > 1:  # two by two: one after the other, Spark would look at the first ones again each time
        frames = [reduce(DataFrame.union, frames[place : place + 2]) for place in range(0, len(frames), 2)]
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in inputs}
    for row in frames[0].collect():
        found[row["input"]].append(tuple(row)[:-1])
    return {name: sorted(rows, key=str) for name, rows in found.items()}


def write(folder: Path, files: Mapping[str, str | bytes]) -> None:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())


def days_of(spark: SparkSession, folder: Path, **settings: Any) -> list[int | None]:
    section = source(**settings)
    found = open_columns(spark, section, {"day": "day"}, {"day": MOMENT_TYPES}, folder)
    kind = found.schema["day"].dataType.typeName()
    numbered = with_day_number(found, "day", kind, section, dt.date(2023, 11, 14), 2)
    return [row["day_number"] for row in numbered.select("day_number").collect()]
