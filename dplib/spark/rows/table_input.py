"""A table of the catalogue as input, where what it is stored in is safe row by row.

Anyone who made the table chose its format and the options of its reader, which a configuration cannot see to: tables
kept as text are refused, and timestamps whose storage could fail at one value. What a view computes cannot be seen.
"""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from dplib.errors import SchemaError
from dplib.spark.rows.parquet_times import footer_types, stored_time
from dplib.spark.rows.path_input import Opened

_TEXT = ("csv", "json", "xml", "text", "avro", "jdbc")


def open_table(spark: SparkSession, table: str, columns: Mapping[str, str]) -> Opened:
    """Open a table; no row is read.

    Args:
        spark: the session.
        table: its name.
        columns: role to column.

    Raises:
        SchemaError: if it is stored in a way in which one row can fail others.
    """
    frame = spark.table(table)
    provider = _provider(spark, table)
    if provider in _TEXT:
        raise SchemaError(
            f"input.table must name a table of parquet, orc or delta, since its reader's options are its own, got "
            f"{table} stored as {provider}; name its files in input.path"
        )
    opened = Opened(frame, tuple(frame.columns))
    if provider in ("parquet", "orc"):
        _require_safe_times(spark, frame, provider, columns)
    return opened


def _provider(spark: SparkSession, table: str) -> str:
    """What a table is stored in, in small letters; empty for views."""
    details = spark.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    found = [row["data_type"] for row in details if row["col_name"] == "Provider"]
    return str(found[-1]).lower() if found else ""


def _require_safe_times(spark: SparkSession, frame: DataFrame, provider: str, columns: Mapping[str, str]) -> None:
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    times = {role: name for role, name in columns.items() if kinds.get(name, "").startswith("timestamp")}
    files = frame.inputFiles() if times and provider == "parquet" else []
    footers = footer_types(spark, files, {}) if files else []
    for role, name in times.items():
        stored = {stored_time(types.get(name, "")) for types in footers or ()}
        risky = provider == "orc" or footers is None or any(time and time.unit != "us" for time in stored)
        if risky:
            raise SchemaError(
                f"input.columns.{role} must name a column of dates, texts or Parquet timestamps in microseconds of a "
                f"table, since one timestamp of others can fail the run (name a Parquet table's files in input.path), "
                f"got {name} of type {kinds[name]} stored as {provider}"
            )
