"""From the input that a configuration names to a DataFrame with one column a role.

Text (CSV, JSON) is read as strings only, with a schema made from the configuration: nothing is inferred, so no row can
change a type or raise an error that quotes it. Malformed lines, bad encodings and a truncated last line become rows
with nulls or odd strings, which the row rule (`dplib.spark.rows.resolve`) then judges. Other formats and tables keep
their types. Which formats and options there are: `dplib.config.reader_options`; how each is read:
`dplib.spark.rows.path_input`.

The result has one column a role: for event rows ``day``, ``name`` (item or package) and, where mapped, ``quantity``
and ``unit``.

Limits: JSON has no header: a column that no record has is a column of nulls, which only `dplib inspect` shows. Options
are Spark's with Spark's defaults: quotes doubled inside quotes (RFC 4180) need `escape: '"'`. What a view of the
catalogue computes is its author's: an expression in it that fails at one row fails the run.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from pyspark.errors import IllegalArgumentException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.event_input import Input
from dplib.config.item_table import KEY_SEPARATOR
from dplib.config.sections import Source
from dplib.errors import ConfigError, SchemaError
from dplib.spark.engine.session import SPARK_ERRORS, error_name, pin_session
from dplib.spark.rows.path_input import open_path, position_of
from dplib.spark.rows.resolve import number_sql, text_column, text_sql
from dplib.spark.rows.table_input import open_table
from dplib.spark.rows.timestamps import check_date_format

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
_PLAIN_NAME = re.compile(r"\w+", re.ASCII)


def open_rows(spark: SparkSession, source: Input, base: Path) -> DataFrame:
    """Open rows that are events of a day; of a text file at most the header line is read.

    Args:
        spark: the session; its settings that decide counts are pinned.
        source: section `input` of the configuration.
        base: folder that relative paths start from (the configuration's).

    Returns:
        columns day, name (of several columns their joined texts), and quantity and unit where they are mapped; of wide
        rows in place of name and quantity cells (array of double) and bad_cell (text of the first that is no number).

    Raises:
        ConfigError: if an option, the format or `date_format` is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    check_date_format(spark, source.date_format)
    names = source.columns.names
    accepted = dict(EVENT_TYPES) | {role: KEY_TYPES for role in names if role.startswith("item.")}
    accepted |= {role: NUMBER_TYPES | {"boolean"} for role in names if role.startswith("items.")}
    rows = open_columns(spark, source, names, accepted, base, {"item": "name", "package": "name"})
    if source.columns.items is not None:
        return _with_cells(rows)
    parts = [F.col(f"`{role}`") for role in rows.columns if role.startswith("item.")]
    if not parts:
        return rows
    # One text, null where a part is: it equals an item's key only where each part equals the item's own.
    joined = [text_column(parts[0])]
    joined += [piece for part in parts[1:] for piece in (F.lit(KEY_SEPARATOR), text_column(part))]
    others = [F.col(role) for role in rows.columns if not role.startswith("item.")]
    return rows.select(*others, F.concat(*joined).alias("name"))


def open_columns(
    spark: SparkSession,
    source: Source,
    columns_by_role: Mapping[str, str],
    accepted: Mapping[str, frozenset[str]],
    base: Path,
    given_names: Mapping[str, str] = MappingProxyType({}),
) -> DataFrame:
    """Open the input and select one column a role; of a text file at most the header line is read.

    Args:
        spark: the session; its settings that decide counts are pinned.
        source: where the input is.
        columns_by_role: role to the input's column, section `input.columns`.
        accepted: role to the names of Spark's types that it may have.
        base: folder that relative paths start from (the configuration's).
        given_names: role to the name that its column gets.

    Returns:
        one column a role, named as the role where it gets no other name.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    pin_session(spark)
    # Names of files' columns may differ in capitals alone; those of a catalogue may not.
    spark.conf.set("spark.sql.caseSensitive", "false" if source.table is not None else "true")
    with opening(source):
        if source.table is not None:
            opened = open_table(spark, source.table, columns_by_role)
        else:
            opened = open_path(spark, source, columns_by_role, base)
        fields = opened.frame.schema.fields
    types, names = [field.dataType.typeName() for field in fields], [field.name for field in fields]
    # Positions, not names: a name may hold dots or stand twice.
    selected: list[str] = []
    numbered = opened.frame
    if not _are_plain(names):
        names = [f"c{i}" for i in range(len(names))]
        numbered = numbered.toDF(*names)
    for role, column in columns_by_role.items():
        position = position_of(role, column, opened.names)
        known = accepted[role]
        if types[position] not in known:
            allowed = ", ".join(sorted(known))
            raise SchemaError(
                f"input.columns.{role} must name a column of type {allowed}, got {column} of type {types[position]}"
            )
        selected.append(f"`{names[position]}` AS `{given_names.get(role, role)}`")
    return numbered.selectExpr(*selected)


def _are_plain(columns: Sequence[str]) -> bool:
    """Whether each name means one column, whatever case means."""
    return len({name.lower() for name in columns}) == len(columns) and all(map(_PLAIN_NAME.fullmatch, columns))


def _with_cells(rows: DataFrame) -> DataFrame:
    """Rows whose item columns are one array of numbers: 0 for an empty cell, NaN for what is no number.

    One expression reads them all: with one a column, thousands of columns were as many pages of Java to compile.
    """
    kinds = {field.name: field.dataType.typeName() for field in rows.schema.fields if field.name.startswith("items.")}
    plain = (
        F.col(f"`{role}`").cast("int") if kind == "boolean" else F.col(f"`{role}`") for role, kind in kinds.items()
    )
    others = [F.col(role) for role in rows.columns if role not in kinds]
    texts = rows.select(*others, F.array(*(column.cast("string") for column in plain)).alias("texts"))
    bad_cell = text_sql(f"get(filter(texts, text -> isnan({_CELL})), 0)")
    return texts.select(
        *others, F.expr(f"transform(texts, text -> {_CELL}) AS cells"), F.expr(f"{bad_cell} AS bad_cell")
    )


_CELL = (
    f"CASE WHEN coalesce({text_sql('text')}, '') != '' THEN coalesce({number_sql('text', 'string')}, double('NaN'))"
    " ELSE 0D END"
)


@contextmanager
def opening(source: Source) -> Iterator[None]:
    """Turn what Spark raises while it opens the input into a sentence about the setting.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened.
    """
    setting = "input.path" if source.table is None else "input.table"
    try:
        yield
    except SPARK_ERRORS as error:
        name = error_name(error)
        if "DATA_SOURCE_NOT_FOUND" in name:
            raise ConfigError("input.format", "be a format that Spark can read", source.format) from None
        if isinstance(error, IllegalArgumentException):
            raise ConfigError("input.options", f"be options of Spark's {source.format} reader", name) from None
        raise SchemaError(f"{setting} must name what Spark can open, got {source.shown} ({name})") from None
