"""Which files the input has, and whether their columns agree: asked before a budget is reserved.

Everything here is schema: names of files and folders, header lines, footers. No row is read. A file that the reader
would leave out in silence (deeper than the folder, beside partition folders) is a refusal, since nobody would notice
that its rows are missing; so is a file whose columns differ from the others', which would fail the run, or worse, be
read by position.

Cost: one listing; a look at the first line or the footer of each file, some at a time.
"""

import bz2
import gzip
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dplib.config.paths import require_local_files
from dplib.config.reader_options import access_options, is_file_option, is_option
from dplib.config.sections import Source, SparkSettings
from dplib.errors import SchemaError
from dplib.spark.engine.session import deploy_mode, quiet_spark_errors, runs_here
from dplib.spark.rows.named_files import named_files

LINE_LIMIT = "mapreduce.input.linerecordreader.line.maxlength"
"""Option of Hadoop's line reader: longer lines are passed over, each for itself."""
MAX_LINE = 1_000_000
LINE_LIMITS = {"csv": MAX_LINE, "snap": MAX_LINE, "json": 16_000_000}
"""By format: a line of text with this many bytes, its end included, is passed over, as are longer ones."""
LINE = "__line"
"""Column of the lines of text; any other name could be that of a partition folder."""
_MAX_HELD, _MAX_SEEN = 1 << 24, 1 << 28
_TASK_BYTES = "spark.sql.files.maxPartitionBytes"
_HEAD = 2 * MAX_LINE
_THREADS = 8
_BLANK = bytes(range(33))
_SEPARATORS = frozenset(",;|\t")
_PLAIN_OPTIONS = frozenset({"mode", "maxcolumns", "sep", "delimiter", "quote", "escape"})
_SPARK_ONLY = (".zst", ".zstd", ".snappy", ".lz4", ".deflate")
T = TypeVar("T")


@dataclass(frozen=True)
class InputFiles:
    """The files that are read.

    Attributes:
        files: their addresses, in order of their names.
        partitions: names of the columns that partition folders (``name=value``) give, all of them text.
    """

    files: tuple[str, ...]
    partitions: tuple[str, ...]


def require_input_here(source: Source, base: Path, settings: SparkSettings) -> None:
    """Refuse a path without files before Spark starts, where Spark is going to run on this machine.

    Raises:
        SchemaError: if there is nothing at a path.
        ConfigError: if a variable is not set.
    """
    if source.table is None and runs_here(settings):
        require_local_files("input.path", source.places(base))


def list_files(spark: SparkSession, source: Source, base: Path) -> InputFiles:
    """List the files of a path, and refuse folders some of whose files would be left out in silence.

    Raises:
        SchemaError: if there is no file, or some files lie where the reader does not look.
    """
    shown = source.shown
    options, paths = _file_options(source), source.paths(base)
    named = () if options else named_files(spark, source.places(base))
    if named:
        return InputFiles(named, ())
    found = spark.read.format("text").schema(f"{LINE} string").options(**options).load(paths)
    partitions = tuple(found.columns[1:])
    files = sorted(found.inputFiles())
    if files and not partitions and [local_name(file) for file in files] == sorted(map(local_name, paths)):
        return InputFiles(tuple(files), partitions)  # files are named, no folders
    deeper = spark.read.format("text").options(**(options | {"recursiveFileLookup": "true"})).load(paths)
    everything = set(deeper.inputFiles())
    if not everything:
        raise SchemaError(f"input.path must name at least one file, got {shown}, where there is none")
    read = [file for file in files if _is_partitioned(file, partitions)]
    left_out = len(everything) - len(set(read))
    if left_out:
        every = ', or set input.options.recursiveFileLookup to "true" to read every file'
        raise SchemaError(
            "input.path must name files, or folders whose files lie directly in them or all in partition folders "
            f"(name=value), got {shown}, where {left_out} of {len(everything)} files lie elsewhere; name their folders"
            + (every if is_option(source.format, "recursiveFileLookup") else "")
        )
    return InputFiles(tuple(read), partitions)


def open_lines(spark: SparkSession, source: Source, base: Path, kept: Sequence[str] = ()) -> DataFrame:
    """The lines of text files that are not too long, in the column `LINE`, and those of partition folders; lazy.

    Where a file is cut into tasks inside a line that is longer than what the line reader holds, or than the rest of the
    task's part, the reader takes a piece of the line for a line. Where files are cut depends on their sizes, so on
    other rows. Parts are smaller here than what the reader holds: the only pieces are as long as that, which is too
    long. So no line counts or not by what other lines there are. ``kept``: further conditions on a line, as SQL.
    """
    limit = LINE_LIMITS[source.format.lower()]
    spark.conf.set(_TASK_BYTES, str(_MAX_HELD - 1))
    # A line's end counts, and is no part of the value.
    conditions = [f"octet_length({LINE}) < {limit - 1}", *kept]
    return _lines(spark, source, base, _MAX_HELD).where(" AND ".join(conditions))


def _lines(spark: SparkSession, source: Source, base: Path, most_held: int) -> DataFrame:
    ends = {name: value for name, value in source.options.items() if name.lower() == "linesep"}
    reader = spark.read.format("text").schema(f"{LINE} string").options(**_file_options(source), **ends)
    return reader.option(LINE_LIMIT, str(most_held)).load(source.paths(base))


def count_long_lines(spark: SparkSession, source: Source, base: Path) -> int:
    """The lines that the reader passes over for their length. NOT PRIVATE: for the eyes of the data's owner only.

    Lines of 256 MB and more are not counted.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    limit = None if source.table is not None else LINE_LIMITS.get(source.format.lower())
    if limit is None:
        return 0
    with quiet_spark_errors("inspect the rows"):
        return _lines(spark, source, base, _MAX_SEEN).where(f"octet_length({LINE}) >= {limit - 1}").count()


def _file_options(source: Source) -> dict[str, str]:
    """The options that say which files there are and how they are reached."""
    chosen = {name: value for name, value in source.options.items() if is_file_option(name)}
    return chosen | access_options(source.format, source.options)


def _is_partitioned(file: str, partitions: Sequence[str]) -> bool:
    """Whether the last folders of a file are those of the partition columns, in order."""
    folders = local_name(file).split("/")[:-1]
    last = folders[len(folders) - len(partitions) :]
    names = [unquote(folder.partition("=")[0]) for folder in last if "=" in folder]
    return names == list(partitions)


def local_name(file: str) -> str:
    """The path of a file's address, without scheme and escapes."""
    return unquote(re.sub(r"^file:(//)?(?=/)", "", file))


def header_of(
    spark: SparkSession, source: Source, files: Sequence[str], options: Mapping[str, str]
) -> tuple[tuple[str, ...], list[bytes]]:
    """The column names of CSV files with header lines, which must be the same in all files; and these lines.

    Args:
        spark: the session.
        source: for messages.
        files: addresses of the files.
        options: of the reader.

    Raises:
        SchemaError: if no file has a header line, or two have different ones.
    """
    lines = _first_lines(spark, source, files, options)
    known: dict[bytes, tuple[str, ...]] = {}
    first: tuple[str, ...] | None = None
    for number, (file, line) in enumerate(zip(files, lines, strict=True), 1):
        if line is None:
            continue
        if len(line) >= MAX_LINE:
            raise SchemaError(f"input.path must name files whose first line has less than {MAX_LINE:,} bytes, got more")
        if line not in known:
            known[line] = _cut(line, options) or _parsed(spark, source, file, options)
        first = known[line] if first is None else first
        if known[line] != first:
            raise SchemaError(
                "input.path must name files with the same columns in the same order, got "
                f"{listed(first)} and, in file {number} of {len(files)} by name, {listed(known[line])}"
            )
    if first is None:
        empty = "an empty file" if len(files) == 1 else "empty files only"
        raise SchemaError(
            "input.path must name files whose first line names the columns (input.options.header is true), got "
            f"{source.shown}, {empty}"
        )
    return first, list(known)


def _first_lines(
    spark: SparkSession, source: Source, files: Sequence[str], options: Mapping[str, str]
) -> list[bytes | None]:
    """The first line of each file that is no blank and no comment; None where there is none."""
    here = deploy_mode(spark) == "local"

    def look(file: str) -> bytes | None:
        if here and file.startswith("file:") and not file.endswith(_SPARK_ONLY):
            line, complete = _first_line_here(local_name(file), options)
            if line is not None or complete:
                return line
        return _first_line_by_spark(spark, source, file, options)

    try:
        return side_by_side(look, files)
    except (OSError, EOFError):
        raise SchemaError(f"input.path must name files that can be read, got {source.shown}, one is damaged") from None


def _first_line_here(name: str, options: Mapping[str, str]) -> tuple[bytes | None, bool]:
    """The first line of a file of this machine, and whether the whole file was looked at."""
    head = _head_of(Path(name))
    separator = re.escape(options.get("linesep", "").encode()) or rb"\r\n|\r|\n"
    comment = options.get("comment", "").encode()
    for line in _split(head, separator):
        trimmed = line.removeprefix(b"\xef\xbb\xbf").strip(_BLANK)
        if trimmed and not (comment and trimmed.startswith(comment)):
            return line.removeprefix(b"\xef\xbb\xbf"), True
    return None, len(head) < _HEAD


def _split(head: bytes, separator: bytes) -> Iterator[bytes]:
    """What a pattern separates, one after the other: mostly the first line alone is looked at."""
    start = 0
    for end in re.finditer(separator, head):
        yield head[start : end.start()]
        start = end.end()
    yield head[start:]


def _head_of(place: Path) -> bytes:
    kind = place.suffix.lower()
    with place.open("rb") as file:
        if kind == ".gz":
            with gzip.open(file) as unzipped:
                return bytes(unzipped.read(_HEAD))
        if kind == ".bz2":
            with bz2.open(file) as unpacked:
                return bytes(unpacked.read(_HEAD))
        return file.read(_HEAD)


def _first_line_by_spark(spark: SparkSession, source: Source, file: str, options: Mapping[str, str]) -> bytes | None:
    reader = spark.read.format("text").options(**access_options(source.format, source.options))
    if "linesep" in options:
        reader = reader.option("lineSep", options["linesep"])
    text = F.btrim("value", F.lit(_BLANK.decode()))
    lines = reader.load(escaped_address(file)).where(text != "")
    if options.get("comment"):
        lines = lines.where(~F.startswith(text, F.lit(options["comment"])))
    found = lines.select(F.col("value").cast("binary")).limit(1).collect()
    return bytes(found[0][0]) if found else None


def separator_of(options: Mapping[str, str]) -> str | None:
    """The separator of CSV that any other program would read so too; None with options that change more than it."""
    separator = options.get("sep", options.get("delimiter", ","))
    return separator if separator in _SEPARATORS and set(options) <= _PLAIN_OPTIONS else None


def special_signs(options: Mapping[str, str]) -> list[str]:
    """What has a meaning in a line of CSV besides separators: a line without is cut at these."""
    return sorted({'"', "\\", "\0", *options.get("quote", ""), *options.get("escape", "")})


def _cut(line: bytes, options: Mapping[str, str]) -> tuple[str, ...]:
    """The fields of a header line; none where the reader must be asked, which takes jobs of Spark's."""
    separator = separator_of(options)
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return ()
    if separator is None or any(sign in text for sign in special_signs(options)):
        return ()
    return tuple(text.split(separator))


def _parsed(spark: SparkSession, source: Source, file: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """The fields of a file's header line, as the reader itself takes it apart."""
    plain = dict(options) | {"header": "false"} | access_options(source.format, source.options)
    row = spark.read.format("csv").options(**plain).load(escaped_address(file)).limit(1).collect()[0]
    return tuple("" if field is None else str(field) for field in row)


def escaped_address(file: str) -> str:
    """An address as the reader takes it: without escapes of a URL, with those of a pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", unquote(file))


def side_by_side(look: Callable[[str], T], files: Sequence[str]) -> list[T]:
    """A look at each file, some at a time, in their order."""
    if len(files) == 1:
        return [look(files[0])]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(look, files))


def require_same_types(
    found: Sequence[Mapping[str, str]], columns: Mapping[str, str], partitions: Sequence[str]
) -> None:
    """Refuse files that lack a column or hold it with another type than the first file.

    Args:
        found: of each file, its columns and their types.
        columns: role to column, of those that are read.
        partitions: columns that stand in the names of folders.

    Raises:
        SchemaError: naming the column.
    """
    for role, column in columns.items():
        if column in partitions:
            continue
        for number, types in enumerate(found[1:], 2):
            first, other = found[0].get(column, "no type at all"), types.get(column, "no type at all")
            if first != other:
                raise SchemaError(
                    f"input.columns.{role} must name a column that all files hold with one type, got {column} of "
                    f"{first} and, in file {number} of {len(found)} by name, of {other}"
                )


def listed(columns: Sequence[str], most: int = 20) -> str:
    """Names of columns for a message: the first ones, each cut and without signs that a terminal would obey."""
    names = [_shown(name) for name in columns[:most]]
    return ", ".join(names) + (f" and {len(columns) - most} more" if len(columns) > most else "")


def _shown(name: str) -> str:
    cut = name if len(name) <= 40 else name[:39] + "…"
    text = "".join(sign if sign.isprintable() else "?" for sign in cut)
    return text if text == text.strip() and text else f'"{text}"'
