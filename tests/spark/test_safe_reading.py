"""The reader is part of the guarantee: no row deletes, merges or fails others, and what would is refused beforehand."""

import datetime as dt
import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from dplib.config.edge_input import EdgeInput
from dplib.config.event_input import Columns, Input
from dplib.errors import SchemaError
from dplib.spark.graphs.edges import open_edges
from dplib.spark.rows import input_files
from dplib.spark.rows.column_hints import missing_column
from dplib.spark.rows.input_files import count_long_lines
from dplib.spark.rows.inspection import Inspection, RuleCount
from dplib.spark.rows.read import open_rows
from tests.spark.reading import HEADER, named, parquet, rows, rows_of_each, source, write

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")


Rows = dict[str, list[tuple[Any, ...]]]
Given = tuple[Mapping[str, str | bytes], dict[str, Any]]
"""Files, and settings of section `input`."""


ENCODINGS = ("UTF-8", "ISO-8859-1", "US-ASCII")
FOLDERS = ("in/a.csv", "in/sub/deeper/b.csv", "in/site=1/b.csv", "in/site=1/sub/b.csv")
LINE = HEADER + "2024-01-01,a\n"
INPUTS: dict[str, Given] = {
    "ends": ({"in": "\ufeffday,item\r2024-01-01,a\r2024-01-02,b\r"}, {}),
    "lines' name": ({"in/value=7/a": LINE, "in/value=8/a": HEADER + "2024-01-01,b\n"}, named(item="value")),
    "partitions": (
        {"in/site=01/day=20240101/a": "item\nx\n", "in/site=1/day=20240102/b": "item\nx\n"},
        named(item="site") | {"date_format": "yyyyMMdd"},
    ),
    "folders": (dict.fromkeys(FOLDERS, LINE), {"options": {"header": "true", "recursiveFileLookup": "true"}}),
    "headers beside empty files": (
        {"in/0": "", "in/1": "", "in/a": '"day",item\n2024-01-01,a\n', "in/b.gz": gzip.compress(LINE.encode())},
        {},
    ),
    "capitals of text": ({"in": "Day,day,item,note,note,\n1999,2024-01-01,a,x,y,\n"}, {}),
    "capitals of Parquet": ({"in": parquet(Day=["1999"], day=["2024-01-01"], item=["a"])}, {"format": "parquet"}),
    "capitals of JSON": ({"in": '{"Day": "1999", "item": "a", "day": "2024-01-01"}\n'}, {"format": "json"}),
    **{f"pattern {path}": ({"a [1].csv": LINE}, {"path": path}) for path in ("a [1].csv", "a*.csv", ".")},
    # Footers are read at other places than rows are.
    "pattern of Parquet": (
        {"b [1].parquet": parquet(day=["2024-01-01"], item=["a"])}, {"path": "b [1].parquet", "format": "parquet"},
    ),
    **{
        encoding: (
            {"in": HEADER.encode() + b"2024-01-01,caf\xe9\n2024-01-01,\xff\xfe\x80\n"},
            {"options": {"header": "true", "encoding": encoding}},
        )
        for encoding in ENCODINGS
    },
}  # fmt: skip
FIRST = ("2024-01-01", "a")


@pytest.fixture(scope="module")
def read(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of `INPUTS`, all read by one job."""
    opened = {}
    for name, (files, settings) in INPUTS.items():
        # A folder whose name is a pattern.
        base = tmp_path_factory.mktemp("report") / ("[2024] {x}*?" if name.startswith("pattern") else "in")
        write(base, files)
        opened[name] = open_rows(spark, source(**settings), base)
    return rows_of_each(spark, opened)


def test_no_line_of_text_fails_or_swallows_others(compiled: SparkSession, tmp_path: Path) -> None:
    odd = [
        "," * 1_100_000,  # more fields than any parser takes
        "x" * 1_500_000,
        '2024-01-02,"unclosed',
        '"' * 4_001,
        "\0\0,\0",
        "\\" * 999,
        '2024-01-03,"a" b"',
        "\u2028\u0085,\ufeff",
    ]
    write(tmp_path, {"in": HEADER + "2024-01-01,first\n" + "\n".join(odd) + "\n2024-01-04,last\n"})
    found = rows(compiled, tmp_path)
    assert ("2024-01-01", "first") in found
    assert ("2024-01-04", "last") in found
    assert ("2024-01-02", "unclosed") in found
    assert len(found) == 2 + len(odd) - 2


def test_lines_may_end_as_they_like(read: Rows) -> None:
    assert read["ends"] == [("2024-01-01", "a"), ("2024-01-02", "b")]


def test_a_line_of_json_is_at_most_one_row(compiled: SparkSession, tmp_path: Path) -> None:
    good = json.dumps({"day": "2024-01-01", "item": "a"})
    lines = [
        good, f"[{good},{good}]", f"[{good},{{broken", '{"day":' + "[" * 3_000 + "]" * 3_000 + "}",
        '{"day":1' + "0" * 5_000 + "}", '{"day":"cut', "null", good,
    ]  # fmt: skip
    write(tmp_path, {"in": "\n".join(lines)})
    found = rows(compiled, tmp_path, format="json")
    assert len(found) == len(lines)
    assert found.count(("2024-01-01", "a")) == 2
    assert found.count((None, None)) == len(lines) - 2


@pytest.mark.parametrize(("kind", "limit"), [("csv", 10**6), ("json", 2 * 10**6), ("snap", 10**6)])
def test_lines_that_are_passed_over_for_their_length_are_told(
    kind: str, limit: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(input_files.LINE_LIMITS, "json", 2 * 10**6)  # an eighth of what it is
    given = EdgeInput.model_validate({"path": "in", "format": kind}) if kind == "snap" else source(format=kind)
    for end in ("\n", "\r\n"):
        lines = ["x" * length for length in (limit - 2, limit - 1, limit + 1)]
        write(tmp_path, {"in": end.join(["day", *lines, "y", ""])})
        assert count_long_lines(spark, given, tmp_path) == 2


OPEN_COST = "spark.sql.files.openCostInBytes"
"""Counts as a file's length where Spark decides how long a task's part is."""


def test_no_format_s_limit_is_longer_than_what_the_line_reader_holds() -> None:
    assert max(input_files.LINE_LIMITS.values()) < input_files._MAX_HELD


@pytest.mark.parametrize("kind", ["csv", "json", "snap"])
def test_no_other_row_decides_whether_a_long_line_counts(
    kind: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All lengths are a 32nd of the true ones: what matters is which is longer.
    monkeypatch.setattr(input_files, "_MAX_HELD", input_files._MAX_HELD // 32)
    limits = {name: limit // 32 for name, limit in input_files.LINE_LIMITS.items()}
    monkeypatch.setattr(input_files, "LINE_LIMITS", limits)
    open_cost = 2**22 // 32
    spark.conf.set(OPEN_COST, str(open_cost))
    # Files are cut into tasks by their sizes; pieces of these lines, their beginnings or ends, would be rows.
    row = {"csv": "2024-01-02,a", "json": '{"day": "2024-01-02", "item": "a"}', "snap": "2 3"}[kind]
    other = {"csv": "2024-01-01,a", "json": '{"day": "2024-01-01", "item": "a"}', "snap": "0 1"}[kind]
    blank = " " * (17_000_000 // 32)
    lines = [blank + row, row + blank, 2 * blank + row] + ([blank[:93_750] + row] * 9 if kind != "json" else [])
    given = EdgeInput.model_validate({"path": "in", "format": kind}) if kind == "snap" else source(format=kind)
    header = [HEADER.strip()] if kind == "csv" else []
    # Half of the second file ends a little before its longest line does: a task of that size would read the rest.
    longest = 2 * blank + row
    padding = " " * (len(longest) - open_cost - limits[kind] // 4)
    try:
        for written in ([*[other] * 10_000, *lines, other], [longest, padding, other]):
            write(tmp_path, {"in": "\n".join([*header, *written, ""])})
            found = open_edges(spark, given, tmp_path) if kind == "snap" else open_rows(spark, given, tmp_path)
            assert found.count() == written.count(other)
    finally:
        spark.conf.unset(OPEN_COST)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_no_byte_fails_an_encoding(encoding: str, read: Rows) -> None:
    items = {"UTF-8": ["caf\ufffd", "\ufffd" * 3], "ISO-8859-1": ["caf\xe9", "\xff\xfe\x80"]}
    assert sorted(row[1] for row in read[encoding]) == sorted(items.get(encoding, items["UTF-8"]))


def test_a_folder_may_be_named_as_lines_are(read: Rows) -> None:
    assert read["lines' name"] == [("2024-01-01", "7"), ("2024-01-01", "8")]


def test_lines_that_are_too_long_are_a_rule_before_all_others() -> None:
    found = Inspection([RuleCount("a", 2, 1)])
    assert found.with_long_lines(3).rules == [("line is not too long", 3, 3), ("a", 2, 1)]
    assert found.with_long_lines(0).rules == [("a", 2, 1)]
    with pytest.raises(SchemaError, match="`line is not too long`, got none"):
        Inspection([RuleCount("a", 0, 0)]).with_long_lines(1).require_some_kept()


def test_partition_folders_are_text(read: Rows) -> None:
    assert read["partitions"] == [("20240101", "01"), ("20240102", "1")]


@pytest.mark.parametrize(
    "files",
    [
        ("in/a.csv", "in/sub/b.csv"),
        ("in/a.csv", "in/site=1/b.csv"),
        ("in/site=1/a.csv", "in/site=1/sub/b.csv"),
        ("in/sub/deeper/b.csv",),
    ],
)
def test_files_that_would_be_left_out_are_a_refusal(
    files: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, dict.fromkeys(files, HEADER + "2024-01-01,a\n"))
    with pytest.raises(SchemaError, match=r"^input.path must name (files, or folders|what Spark can open)"):
        open_rows(spark, source(), tmp_path)


def test_files_in_all_folders_are_read_where_that_is_asked_for(read: Rows) -> None:
    assert read["folders"] == [FIRST] * len(FOLDERS)


@pytest.mark.parametrize("files", [("in/a", "in/sub/b"), ("in/a", "in/site=1/b"), ("in/a", "in/b")])
@pytest.mark.parametrize("kind", ["snap", "metis", "gml"])
def test_graph_files_that_would_be_left_out_are_a_refusal(
    kind: str, files: tuple[str, ...], spark: SparkSession, tmp_path: Path
) -> None:
    text = {"snap": "0 1\n", "metis": "2 1\n2\n1\n", "gml": "graph [ edge [ source 0 target 1 ] ]\n"}[kind]
    write(tmp_path, dict.fromkeys(files, text))
    rule = "files, or folders .*1 of 2 files lie elsewhere; name their folders$"
    if files[1] == "in/b":
        if kind == "snap":
            return  # which is read by line
        rule = "one file where the format is .*, got 2 files"
    edges = EdgeInput.model_validate({"path": "in", "format": kind})
    with pytest.raises(SchemaError, match=rf"^input.path must name {rule}"):
        open_edges(spark, edges, tmp_path)


def test_an_empty_folder_and_empty_files_are_refused(spark: SparkSession, tmp_path: Path, read: Rows) -> None:
    (tmp_path / "in").mkdir()
    for kind in ("csv", "json", "parquet", "orc"):
        with pytest.raises(SchemaError, match=r"^input.path must name at least one file, got in"):
            open_rows(spark, source(format=kind), tmp_path)
    write(tmp_path, {"in/a": "", "in/b": ""})
    with pytest.raises(SchemaError, match=r"^input.path must .* got in, empty files only"):
        open_rows(spark, source(), tmp_path)
    assert read["headers beside empty files"] == [FIRST] * 2


def _two_tables(first: pa.Table, second: pa.Table, writer: Callable[[pa.Table, Path], None]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        folder.mkdir()
        writer(first, folder / "a")
        writer(second, folder / "b")

    return make


DAY = pa.array([dt.date(2024, 1, 1)])
DIFFERENT = {
    "parquet": [
        (pa.table({"day": DAY, "item": ["a"]}), pa.table({"day": ["2024-01-01"], "item": ["a"]})),
        (pa.table({"day": DAY, "item": ["a"]}), pa.table({"day": DAY, "other": ["a"]})),
        (pa.table({"day": DAY, "item": ["a"]}), pa.table([DAY, ["a"], ["b"]], names=["day", "item", "item"])),
        (
            pa.table({"day": pa.array([1], pa.timestamp("ms")), "item": ["a"]}),
            pa.table({"day": pa.array([1], pa.timestamp("ns")), "item": ["a"]}),
        ),
    ],
    "orc": [
        (pa.table({"day": DAY, "item": ["a"]}), pa.table({"day": ["2024-01-01"], "item": ["a"]})),
        (pa.table({"day": DAY, "item": ["a"]}), pa.table({"day": DAY, "other": ["a"]})),
    ],
}


@pytest.mark.parametrize("kind", list(DIFFERENT))
def test_files_of_one_folder_must_hold_a_column_with_one_type(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    writer = {"parquet": pq.write_table, "orc": orc.write_table}[kind]
    for number, (first, second) in enumerate(DIFFERENT[kind]):
        folder = tmp_path / str(number)
        _two_tables(first, second, writer)(folder)
        with pytest.raises(SchemaError, match=r"^input.columns.(day|item) must name a column that all files hold with"):
            open_rows(spark, source(path=str(folder), format=kind), tmp_path)


def test_headers_of_one_folder_must_be_equal(spark: SparkSession, tmp_path: Path, read: Rows) -> None:
    assert read["headers beside empty files"] == [FIRST] * 2
    write(tmp_path, INPUTS["headers beside empty files"][0])
    write(tmp_path, {"in/c": "item,day\na,2024-01-01\n"})
    match = r"^input.path must name files with the same columns in the same order, got day, item and, in file 5 of 5 by"
    with pytest.raises(SchemaError, match=match):
        open_rows(spark, source(), tmp_path)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["Day", "item"], "its columns are Day, item: did you mean Day.*Capitals count"),
        (["day;item"], 'holds semicolons: set input.options.sep to ";"'),
        (["day\titem"], r'holds tabs: set input.options.sep to "\\t"'),
        (["days", "item"], "its columns are days, item: did you mean days"),
        (["when", "item"], "its columns are when, item$"),
        (["d\0a\0y\0", "\0i\0t\0e\0m\0"], "UTF-16 text"),
        (["PAR1\x15\x04\x15\x10"], "the file is Parquet: set input.format to parquet"),
        (['{"day": "2024-01-01"', ' "item": "a"}'], "the file is JSON: set input.format to json"),
        (["PK\x03\x04\x14\0\x06\0"], "a workbook or an archive"),
    ],
)
def test_each_wrong_header_has_its_own_sentence(names: list[str], said: str) -> None:
    told = missing_column("day", "day", names, ",")
    assert re.search(rf"^input.columns.day must name one column of the input, got day.*{said}", told)
    assert told.isprintable()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (" day ,item\nx,a\n", 'its columns are " day ", item: did you mean " day ", with the blanks'),
        ("day,item,day\nx,a,b\n", r"which stands 2 times among its columns \(day, item, day\)"),
        ("day;item\nx;a\n", 'holds semicolons: set input.options.sep to ";"'),
        ("day,item\nx,a\n".encode("utf-16"), "UTF-16 text"),
        (gzip.compress(b"day,item\nx,a\n", mtime=0), "the file is compressed"),
    ],
    ids=["blanks", "twice", "semicolons", "UTF-16", "gzip"],
)
def test_the_first_line_of_a_file_without_the_column_is_told(
    data: str | bytes, said: str, spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, {"in": data})
    with pytest.raises(
        SchemaError, match=rf"^input.columns.day must name one column of the input, got day.*{said}"
    ) as c:
        open_rows(spark, source(), tmp_path)
    assert str(c.value).isprintable()


def test_columns_that_differ_in_capitals_or_stand_twice_elsewhere_are_read(
    read: Rows,
) -> None:
    for kind in ("text", "Parquet", "JSON"):
        assert read[f"capitals of {kind}"] == [FIRST]


def test_the_configurations_folder_is_no_pattern(read: Rows) -> None:
    found = [rows for name, rows in read.items() if name.startswith("pattern")]
    assert found == [[FIRST]] * 4


def test_tables_kept_as_text_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    for kind in ("csv", "orc"):
        spark.sql(f"DROP TABLE IF EXISTS kept_{kind}")
        spark.sql(f"CREATE TABLE kept_{kind} (day TIMESTAMP, item STRING) USING {kind} LOCATION '{tmp_path}/{kind}'")
    columns = Columns(day="day", item="item").model_dump()
    with pytest.raises(SchemaError, match=r"^input.table must name a table of parquet, orc or delta, .* as csv"):
        open_rows(spark, Input.model_validate({"table": "kept_csv", "columns": columns}), tmp_path)
    with pytest.raises(SchemaError, match=r"^input.columns.day must name a column of dates, texts or Parquet"):
        open_rows(spark, Input.model_validate({"table": "kept_orc", "columns": columns}), tmp_path)
    for kind in ("csv", "orc"):
        spark.sql(f"DROP TABLE kept_{kind}")
