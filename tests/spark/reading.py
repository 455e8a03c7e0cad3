"""Small inputs of days and items, and how they are read."""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from dplib.config.event_input import Columns, Input
from dplib.spark.rows.read import MOMENT_TYPES, open_columns, open_rows
from dplib.spark.rows.timestamps import with_day_number

HEADER = "day,item\n"


def source(**settings: Any) -> Input:
    options = {"header": "true"} if settings.get("format", "csv") == "csv" else {}
    return Input.model_validate(
        {"path": "in", "options": options, "columns": Columns(day="day", item="item").model_dump()} | settings
    )


def rows(spark: SparkSession, folder: Path, **settings: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in open_rows(spark, source(**settings), folder).collect()), key=str)


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
