"""From files to a DataFrame with named columns, a format at a time; no row is read, only header lines and footers.

No row may delete, merge or fail others, whatever stands in it:

- *CSV.* A line is a row. Columns are read by position after all header lines were found equal. Lines of a megabyte and
  more are passed over before they are taken apart, so no line has more fields than the parser takes; values have any
  length. A quote that is not closed ends with its line. A line that is equal to a header line is one, wherever it
  stands.
- *JSON.* A line is a row: the object that stands on it. An array, or whatever else is no object, is a row of nulls.
  Numbers become text as 64-bit floats do, whole ones with all their digits.
- *Parquet.* Timestamps are read as stored numbers (`dplib.spark.rows.parquet_times`).
- *ORC.* Timestamps are refused: Spark's reader fails at moments before 1970 whose fraction is below a millisecond.
- *Delta.* The live Parquet files of the log; the format stores microseconds, which Spark reads as they are.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dplib.config.reader_options import access_options, is_access
from dplib.config.sections import Source
from dplib.errors import SchemaError
from dplib.spark.rows.column_hints import missing_column
from dplib.spark.rows.delta import open_delta
from dplib.spark.rows.input_files import (
    LINE,
    MAX_LINE,
    InputFiles,
    escaped_address,
    header_of,
    list_files,
    open_lines,
    require_same_types,
    separator_of,
    side_by_side,
    special_signs,
)
from dplib.spark.rows.parquet_times import footer_types, moment_of, stored_time
from dplib.spark.rows.sql_text import literal

_BLANK = literal(bytes(range(33)).decode())
_OTHER = sorted({*range(0x80, 0xA0)} - {0x81, 0x8D, 0x8F, 0x90, 0x9D})
WINDOWS = "WINDOWS-1252"
_SIGNS = ("".join(map(chr, _OTHER)), bytes(_OTHER).decode("cp1252"))
"""Where that encoding differs from Latin-1; five of its bytes are no sign."""


@dataclass(frozen=True)
class Opened:
    """A frame with the names of its columns, which may stand twice.

    Attributes:
        frame: the columns by position.
        names: their names in the input; of CSV those that are wanted.
    """

    frame: DataFrame
    names: tuple[str, ...]


def open_path(spark: SparkSession, source: Source, columns: Mapping[str, str], base: Path) -> Opened:
    """Open the files of a path.

    Args:
        spark: the session.
        source: where they are.
        columns: role to the input's column.
        base: folder that relative paths start from.

    Raises:
        ConfigError: if the extra of a format is missing.
        SchemaError: if there are no files, some would be left out, or their columns differ.
    """
    if source.is_delta:
        frame = open_delta(spark, source, base)
        return Opened(frame, tuple(frame.columns))
    files = list_files(spark, source, base)
    opener = {"csv": _open_csv, "json": _open_json, "parquet": _open_parquet, "orc": _open_orc}[source.format.lower()]
    return opener(spark, source, columns, base, files)


def _open_csv(spark: SparkSession, source: Source, columns: Mapping[str, str], base: Path, files: InputFiles) -> Opened:
    options = {name.lower(): value for name, value in source.options.items() if not is_access("csv", name)}
    options |= {"mode": "PERMISSIVE", "maxcolumns": str(MAX_LINE + 1)}
    encoding = options.get("encoding", options.get("charset", "UTF-8")).upper()
    if encoding == WINDOWS:
        # Of Spark's own readers none takes it: they see Latin-1, which differs in a few signs.
        options = {name: each for name, each in options.items() if name != "charset"} | {"encoding": "ISO-8859-1"}
    separator, headers = None, list[bytes]()
    if options.pop("header", "false").lower() == "true":
        names, headers = header_of(spark, source, files.files, options)
        if encoding == WINDOWS:
            names = tuple(name.translate(str.maketrans(*_SIGNS)) for name in names)
        separator = options.get("sep", options.get("delimiter", ","))
    else:
        own = {role: column for role, column in columns.items() if column not in files.partitions}
        where = 'where input.options.header is not "true"'
        positions = column_positions(own, where)
        # Up to the last column that the configuration names: no row is asked how many there are.
        names = tuple(f"_c{i}" for i in range(max(positions.values(), default=0) + 1))
    for role, column in columns.items():  # before a plan is made
        position_of(role, column, names + files.partitions, separator)
    wanted = set(columns.values())
    used = [place for place, name in enumerate(names) if name in wanted]
    line = F.col(LINE)
    kept = [f"({LINE} >= '!' OR ltrim({_BLANK}, {LINE}) != '')"]
    if headers:
        octets = ", ".join(f"X'{each.hex()}'" for each in headers)
        kept.append(f"CAST({LINE} AS BINARY) NOT IN ({octets})")
    if options.get("comment"):
        kept.append(f"NOT startswith({LINE}, {literal(options['comment'])})")
    rows = open_lines(spark, source, base, kept)
    text = _decoded(line, encoding)
    fields = [f"__{i}" for i in range(len(names))]
    parts = F.expr(_parts(options, len(fields))).alias("__parts")
    # What a parser is given is interpreted, not compiled: a column.
    asked = F.when(F.isnull("__parts"), text)
    record = F.from_csv(asked, ", ".join(f"{field} string" for field in fields), options)
    cut = "CASE WHEN isnotnull(__parts) THEN nullif(get(__parts, {i}), '') ELSE __record.{name} END"
    found = [cut.format(i=place, name=fields[place]) for place in used]
    frame = _fields(rows, [parts, record.alias("__record")], found, files.partitions)
    return Opened(frame, tuple(names[place] for place in used) + files.partitions)


def _parts(options: Mapping[str, str], n_fields: int) -> str:
    """The fields of a line in which nothing but separators has a meaning; null for others, and with other options.

    Such a line costs the reader's parser several times what cutting it does. Bytes that are no UTF-8 are the parser's.
    """
    separator = separator_of(options)
    if separator is None:
        return "CAST(NULL AS ARRAY<STRING>)"
    special = " OR ".join(f"contains({LINE}, {literal(sign)})" for sign in special_signs(options))
    cut = f"split({LINE}, {literal(re.escape(separator))}, {n_fields + 1})"
    return f"CASE WHEN is_valid_utf8({LINE}) AND NOT ({special}) THEN {cut} END"


def _decoded(line: Column, encoding: str) -> Column:
    """A line that the reader took for UTF-8, in its own encoding; never an error."""
    if encoding == "UTF-8":
        return line
    latin = F.decode(line.cast("binary"), "ISO-8859-1")
    if encoding == WINDOWS:
        return F.translate(latin, *_SIGNS)
    return latin if encoding == "ISO-8859-1" else F.regexp_replace(latin, "[\x80-\xff]", "\ufffd")


def _open_json(
    spark: SparkSession, source: Source, columns: Mapping[str, str], base: Path, files: InputFiles
) -> Opened:
    wanted = [name for name in dict.fromkeys(columns.values()) if name not in files.partitions]
    parsing = {name: value for name, value in source.options.items() if name.lower().startswith("allow")}
    schema = StructType([StructField(name, StringType()) for name in wanted])
    # Of an array Spark would make many rows, or none where one of them is damaged.
    line = F.when(~F.startswith(F.ltrim(LINE), F.lit("[")), F.col(LINE))
    record = F.from_json(line, schema, parsing | {"mode": "PERMISSIVE"}) if wanted else F.lit(None)
    found = [F.col("__record").getField(name) for name in wanted]
    frame = _fields(open_lines(spark, source, base), [record.alias("__record")], found, files.partitions)
    return Opened(frame, tuple(wanted) + files.partitions)


def _fields(
    lines: DataFrame, made: Sequence[Column], fields: Sequence[str | Column], partitions: Sequence[str]
) -> DataFrame:
    """The fields of each line by position, then the columns of partition folders.

    Args:
        lines: the lines.
        made: of a line, what the fields are taken from, and what is made of those before: no field makes it again.
        fields: expressions, or their SQL.
        partitions: columns of partition folders.
    """
    folders = [F.col(f"`{_quoted(name)}`") for name in partitions]
    named = (
        F.expr(f"{each} AS __{i}") if isinstance(each, str) else each.alias(f"__{i}") for i, each in enumerate(fields)
    )
    return lines.select(*made, *folders).select(*named, *folders)


def _open_parquet(
    spark: SparkSession, source: Source, columns: Mapping[str, str], base: Path, files: InputFiles
) -> Opened:
    reader = spark.read.format("parquet").options(**source.options)
    plain = reader.load(source.paths(base))
    found = footer_types(spark, files.files, access_options("parquet", source.options))
    require_same_types(found or _spark_types(spark, source, files.files), columns, files.partitions)
    if any(plain.columns.count(column) != 1 for column in columns.values()):
        return Opened(plain, tuple(plain.columns))
    kinds = {} if found is None else found[0]
    wanted = [name for name in dict.fromkeys(columns.values()) if name not in files.partitions]
    times = {name: stored_time(kinds.get(name, "")) for name in wanted}
    if found is None:
        _refuse_times(plain, columns, "Parquet files that only the Connect server sees")
    fields = [
        StructField(name, LongType() if times[name] is not None else plain.schema[name].dataType) for name in wanted
    ]
    frame = reader.schema(StructType(fields)).load(source.paths(base))
    selected = []
    for name in (*wanted, *files.partitions):
        column, stored = F.col(f"`{_quoted(name)}`"), times.get(name)
        selected.append(column if stored is None else moment_of(column, stored).alias(name))
    return Opened(frame.select(*selected), tuple(wanted) + files.partitions)


def _open_orc(spark: SparkSession, source: Source, columns: Mapping[str, str], base: Path, files: InputFiles) -> Opened:
    require_same_types(_spark_types(spark, source, files.files), columns, files.partitions)
    frame = spark.read.format("orc").options(**source.options).load(source.paths(base))
    opened = Opened(frame, tuple(frame.columns))
    if all(opened.names.count(column) == 1 for column in columns.values()):
        _refuse_times(frame, columns, "ORC files")
    return opened


def _refuse_times(frame: DataFrame, columns: Mapping[str, str], where: str) -> None:
    for role, column in columns.items():
        kind = frame.schema[column].dataType.typeName()
        if kind.startswith("timestamp"):
            raise SchemaError(
                f"input.columns.{role} must name a column of dates or texts in {where}, since one timestamp can fail "
                f"the run there (write the moments as dates, as text or to Parquet), got {column} of type {kind}"
            )


def _spark_types(spark: SparkSession, source: Source, files: Sequence[str]) -> list[dict[str, str]]:
    """The columns of each file with their types, as Spark names them."""
    if len(files) < 2:  # nothing to compare
        return [{}]
    options = access_options(source.format, source.options)

    def look(file: str) -> dict[str, str]:
        schema = spark.read.format(source.format).options(**options).load(escaped_address(file)).schema
        return {field.name: field.dataType.simpleString() for field in schema.fields}

    return side_by_side(look, files)


def _quoted(name: str) -> str:
    return name.replace("`", "``")


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
        if column == position or not position.isdecimal() or not position.isascii() or int(position) >= MAX_COLUMNS:
            raise SchemaError(f"input.columns.{role} must be _c0, _c1, ... {where}, got {column}")
        positions[role] = int(position)
    return positions


MAX_COLUMNS = 100_000
"""Columns without names that a configuration may count through."""


def position_of(role: str, column: str, names: Sequence[str], separator: str | None = None) -> int:
    """The position of a column that the input has once.

    Args:
        role: role of the column.
        column: its name.
        names: of the input's columns.
        separator: between the fields of a header line; None where the names come from elsewhere.

    Raises:
        SchemaError: with the columns that there are.
    """
    if names.count(column) != 1:
        raise SchemaError(missing_column(role, column, names, separator))
    return names.index(column)
