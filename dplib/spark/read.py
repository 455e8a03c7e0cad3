"""From the input that a configuration names to a DataFrame with one column a role.

Text (CSV, JSON, XML) is read as strings only, with a schema made from the configuration: nothing is inferred, so no
row can change a type or raise an error that quotes it. Of a CSV file with a header the order of the columns is taken
from its header line; every file must have the same one. Malformed lines, bad encodings and a truncated last line
become rows with nulls or odd strings, which the row rule (`dplib.spark.resolve`) then judges. Other formats and
tables keep their types.

The result has one column a role: for event rows ``day``, ``name`` (item or package) and, where mapped, ``quantity``
and ``unit``.

Limits: neighbouring data sets are sets of rows as the reader delivers them, so a row of text must not swallow others:
with the option ``multiLine`` an unclosed quote can. JSON and XML have no header: a column that no record has is a
column of nulls, which only `dplib inspect` shows. A CSV line of more than a million fields cannot be read. Options
are Spark's with Spark's defaults: quotes doubled inside quotes (RFC 4180) need `escape: '"'`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import IllegalArgumentException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from dplib.config.sections import Input, Source
from dplib.errors import ConfigError, SchemaError
from dplib.spark.delta import open_delta
from dplib.spark.moments import check_date_format
from dplib.spark.session import SPARK_ERRORS, error_name, pin_session

TEXT_FORMATS = ("csv", "json", "xml")
FIXED_OPTIONS = {"mode": "PERMISSIVE", "inferschema": "false", "enforceschema": "false"}
"""Options of the text readers that no configuration may change (a stricter mode stops at a row and quotes it)."""
MAX_FIELDS = 1_000_000
_INTEGERS = frozenset({"byte", "short", "integer", "long"})
KEY_TYPES = _INTEGERS | {"string", "decimal", "boolean", "date"}
NUMBER_TYPES = _INTEGERS | {"string", "decimal", "float", "double"}
MOMENT_TYPES = frozenset({"string", "date", "timestamp", "timestamp_ntz"})
EVENT_TYPES: Mapping[str, frozenset[str]] = {
    "day": MOMENT_TYPES,
    "item": KEY_TYPES,
    "package": KEY_TYPES,
    "quantity": NUMBER_TYPES,
    "unit": KEY_TYPES,
}
"""Types that the columns of event rows may have, by role."""


def open_rows(spark: SparkSession, source: Input, base: Path) -> DataFrame:
    """Open rows that are events of a day; of a text file at most the header line is read.

    Args:
        spark: the session; its settings that decide counts are pinned.
        source: section `input` of the configuration.
        base: folder that relative paths start from (the configuration's).

    Returns:
        columns day, name, and quantity and unit where they are mapped.

    Raises:
        ConfigError: if an option, the format or `date_format` is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    pin_session(spark)
    check_date_format(spark, source.date_format)
    rows = open_columns(spark, source, source.columns.names, EVENT_TYPES, base)
    return rows.withColumnsRenamed({"item": "name", "package": "name"})


def open_columns(
    spark: SparkSession,
    source: Source,
    columns_by_role: Mapping[str, str],
    accepted: Mapping[str, frozenset[str]],
    base: Path,
) -> DataFrame:
    """Open the input and select one column a role; of a text file at most the header line is read.

    Args:
        spark: the session; its settings that decide counts are pinned.
        source: where the input is.
        columns_by_role: role to the input's column, section `input.columns`.
        accepted: role to the names of Spark's types that it may have.
        base: folder that relative paths start from (the configuration's).

    Returns:
        one column a role, named as the role.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    pin_session(spark)
    options = _options(source)
    with opening(source):
        frame = _open(spark, source, columns_by_role, options, base)
        types = [field.dataType.typeName() for field in frame.schema.fields]
        columns = frame.columns
    # Positions, not names: a name may hold dots or stand twice.
    selected: list[Column] = []
    numbered = frame.toDF(*(f"c{i}" for i in range(len(columns))))
    for role, column in columns_by_role.items():
        # The columns that are there are not listed: without a header they would be the values of a row.
        if columns.count(column) != 1:
            raise SchemaError(f"input.columns.{role} must name one column of the input, got {column}")
        position = columns.index(column)
        if types[position] not in accepted[role]:
            allowed = ", ".join(sorted(accepted[role]))
            raise SchemaError(
                f"input.columns.{role} must name a column of type {allowed}, got {column} of type {types[position]}"
            )
        selected.append(F.col(f"c{position}").alias(role))
    return numbered.select(*selected)


@contextmanager
def opening(source: Source) -> Iterator[None]:
    """Turn what Spark raises while it opens the input into a sentence about the setting.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened.
    """
    setting = "input.path" if source.table is None else "input.table"
    shown = source.table or (source.path if isinstance(source.path, str) else ", ".join(source.path or []))
    try:
        yield
    except SPARK_ERRORS as error:
        name = error_name(error)
        if "DATA_SOURCE_NOT_FOUND" in name:
            raise ConfigError(f"input.format must be a format that Spark can read, got {source.format}") from None
        if isinstance(error, IllegalArgumentException):
            raise ConfigError(f"input.options must be options of Spark's {source.format} reader, got {name}") from None
        raise SchemaError(f"{setting} must name what Spark can open, got {shown} ({name})") from None


def _options(source: Source) -> dict[str, str]:
    """The reader's options, with those that keep rows out of messages."""
    if source.table is not None or source.format.lower() not in TEXT_FORMATS:
        return dict(source.options)
    options = {}
    for name, value in source.options.items():
        fixed = FIXED_OPTIONS.get(name.lower())
        if fixed is not None and value.lower() != fixed.lower():
            raise ConfigError(f"input.options.{name} must be absent or {fixed}, got {value}")
        options[name.lower()] = value
    return {"maxcolumns": str(MAX_FIELDS)} | options | FIXED_OPTIONS


def _open(
    spark: SparkSession, source: Source, columns_by_role: Mapping[str, str], options: dict[str, str], base: Path
) -> DataFrame:
    if source.table is not None:
        return spark.table(source.table)
    if source.is_delta:
        return open_delta(spark, source, base)
    reader = spark.read.format(source.format).options(**options)
    paths = source.paths(base)
    if source.format.lower() not in TEXT_FORMATS:
        return reader.load(paths)
    if source.format.lower() != "csv":
        names = list(dict.fromkeys(columns_by_role.values()))
    elif options.get("header", "false").lower() == "true":
        names = reader.load(paths).columns
    else:
        positions = column_positions(columns_by_role, "where input.options.header is not true")
        # `_c0, _c1, ...` up to the last column that the configuration names: no row is asked how many there are.
        names = [f"_c{i}" for i in range(max(positions.values()) + 1)]
    # A schema whose columns stand twice cannot be stated; the role check below names such a column.
    if len(set(names)) < len(names):
        return reader.load(paths)
    return reader.schema(StructType([StructField(name, StringType()) for name in names])).load(paths)


def column_positions(columns_by_role: Mapping[str, str], where: str) -> dict[str, int]:
    """The positions of columns that have no names but `_c0, _c1, ...`, by role.

    Args:
        columns_by_role: role to column, section `input.columns`.
        where: in which inputs that is so, for the message.

    Raises:
        SchemaError: if a column has another name.
    """
    positions = {}
    for role, column in columns_by_role.items():
        position = column.removeprefix("_c")
        if column == position or not position.isdecimal() or not position.isascii() or int(position) >= MAX_FIELDS:
            raise SchemaError(f"input.columns.{role} must be _c0, _c1, ... {where}, got {column}")
        positions[role] = int(position)
    return positions
