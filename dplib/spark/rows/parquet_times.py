"""Timestamps of Parquet files, read so that no value can fail a run.

Spark turns a stored number of milliseconds into microseconds by an exact product: one value beyond the year 294247
fails the task, and with it every other row. It refuses nanoseconds, which pandas writes. So a column of 64-bit
timestamps is read as the number that is stored, and becomes a moment here: what lies beyond all years that Spark
knows is the last or first moment that it knows, and no day of any domain.

The unit stands in each file's footer; it must be the same in all files. Timestamps of 96 bits (INT96) are Spark's own
matter: their product wraps and fails nothing.

Reference: the Parquet format, LogicalTypes.md, "TIMESTAMP".
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from dplib.spark.engine.session import deploy_mode
from dplib.spark.rows.input_files import local_name, side_by_side

_TIME = re.compile(r"timestamp in (ms|us|ns)( without zone)?")
_UNITS = {"MILLIS": "ms", "MICROS": "us", "NANOS": "ns"}
_FIELD = re.compile(
    r"  (?:required|optional|repeated) (\S+) (.*?)(?: \(([A-Z0-9_]+(?:\(.*\))?)\))?(?: = \d+)?(?:;| \{)"
)
_MAX_MILLIS = (1 << 63) // 1000 - 1


class StoredTime(NamedTuple):
    """How a column stores moments: the unit, and whether they are instants or times without zone."""

    unit: str
    is_instant: bool


def stored_time(kind: str) -> StoredTime | None:
    """How moments are stored in a column of a footer's type; None where it holds none of 64 bits."""
    found = _TIME.fullmatch(kind)
    return None if found is None else StoredTime(found[1], found[2] is None)


def footer_types(spark: SparkSession, files: Sequence[str], options: Mapping[str, str]) -> list[dict[str, str]] | None:
    """The columns of each Parquet file with their types, from the footers; no row is read.

    Args:
        spark: the session.
        files: addresses of the files.
        options: of the reader that only say how the files are reached.

    Returns:
        of each file, name to type; None over Spark Connect where the files are the server's alone.
    """
    if deploy_mode(spark) != "connect":
        configuration = _hadoop_configuration(spark, options)
        return side_by_side(lambda file: _by_spark(spark, configuration, file), files)
    places = [Path(local_name(file)) for file in files]
    if not all(place.is_file() for place in places):
        return None
    return side_by_side(lambda file: _by_arrow(Path(local_name(file))), files)


def moment_of(column: Column, stored: StoredTime) -> Column:
    """A timestamp, or one without zone, from the number that is stored; never an error."""
    if stored.unit == "ms":
        near = F.least(F.greatest(column, F.lit(-_MAX_MILLIS)), F.lit(_MAX_MILLIS))
        moment = F.timestamp_millis(F.when(column.isNotNull(), near))
    elif stored.unit == "ns":
        # Rounded down: a quotient is cut towards zero, so the sign of the rest decides.
        below = F.when(column % 1000 < 0, F.lit(1)).otherwise(F.lit(0))
        moment = F.timestamp_micros(((column - column % 1000) / 1000).cast("long") - below)
    else:
        moment = F.timestamp_micros(column)
    return moment if stored.is_instant else moment.cast("timestamp_ntz")


def _hadoop_configuration(spark: SparkSession, options: Mapping[str, str]) -> Any:
    # Spark shows neither footers nor units; its own classes read them wherever the files are.
    jvm: Any = spark._jvm
    configuration = jvm.org.apache.hadoop.conf.Configuration(spark.sparkContext._jsc.hadoopConfiguration())
    for name, value in options.items():
        configuration.set(name, value)
    return configuration


def _by_spark(spark: SparkSession, configuration: Any, file: str) -> dict[str, str]:
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(file))
    hadoop = jvm.org.apache.parquet.hadoop
    reader = hadoop.ParquetFileReader.open(hadoop.util.HadoopInputFile.fromPath(place, configuration))
    try:
        return message_types(str(reader.getFooter().getFileMetaData().getSchema().toString()))
    finally:
        reader.close()


def message_types(message: str) -> dict[str, str]:
    """The columns of a Parquet schema in the words of the format."""
    found: dict[str, str] = {}
    last = ""
    for line in message.splitlines()[1:]:
        field = _FIELD.match(line)
        if field is not None:
            kind, last, note = field[1], field[2], field[3]
            # A name that stands twice has no type that another file shares.
            again = f"{found[last]} and again " if last in found else ""
            found[last] = again + _type(kind, note)
        elif line.startswith("    ") and last:
            # What a list or a group holds is a part of its type.
            found[last] += " " + " ".join(line.strip(" ;").split()[:2])
    return found


def _type(kind: str, note: str | None) -> str:
    time = re.fullmatch(r"TIMESTAMP\((MILLIS|MICROS|NANOS),(true|false)\)", note or "")
    if kind == "int64" and time is not None:
        return f"timestamp in {_UNITS[time[1]]}" + ("" if time[2] == "true" else " without zone")
    if kind == "int64" and note in ("TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"):
        return f"timestamp in {_UNITS[note.removeprefix('TIMESTAMP_')]}"
    return kind if note is None else f"{kind} ({note})"


def _by_arrow(place: Path) -> dict[str, str]:
    import pyarrow.parquet as pq

    schema = pq.read_metadata(place).schema
    leaves = {schema.column(i).path: schema.column(i).physical_type for i in range(len(schema))}
    found = {}
    for field in schema.to_arrow_schema():
        kind = str(field.type)
        time = re.fullmatch(r"timestamp\[(ms|us|ns)(, tz=.*)?\]", kind)
        if time is not None and leaves.get(field.name) == "INT64":
            kind = f"timestamp in {time[1]}" + ("" if time[2] else " without zone")
        found[field.name] = kind
    return found
