"""The reader is part of the guarantee: no row deletes, merges or fails others, and what would is refused beforehand."""

import datetime as dt
import gzip
import json
import struct
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dplib.config.edge_input import EdgeInput
from dplib.config.sections import Columns, Input
from dplib.errors import DplibError, SchemaError
from dplib.spark.graphs.edges import open_edges
from dplib.spark.rows.input_files import count_long_lines
from dplib.spark.rows.inspection import Inspection, RuleCount
from dplib.spark.rows.moments import day_number
from dplib.spark.rows.parquet_times import _by_arrow, footer_types, message_types, stored_time
from dplib.spark.rows.read import MOMENT_TYPES, NUMBER_TYPES, open_columns, open_rows
from dplib.spark.rows.resolve import number_column

HEADER = "day,item\n"
TEXT = frozenset({"string"})


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
    number = day_number(F.col("day"), kind, section, dt.date(2023, 11, 14), 2)
    return [row[0] for row in found.select(number).collect()]


def test_no_line_of_text_fails_or_swallows_others(spark: SparkSession, tmp_path: Path) -> None:
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
    found = rows(spark, tmp_path)
    assert ("2024-01-01", "first") in found
    assert ("2024-01-04", "last") in found
    assert ("2024-01-02", "unclosed") in found
    assert len(found) == 2 + len(odd) - 2


def test_lines_may_end_as_they_like(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"in": "\ufeffday,item\r2024-01-01,a\r2024-01-02,b\r"})
    assert rows(spark, tmp_path) == [("2024-01-01", "a"), ("2024-01-02", "b")]


def test_a_line_of_json_is_at_most_one_row(spark: SparkSession, tmp_path: Path) -> None:
    good = json.dumps({"day": "2024-01-01", "item": "a"})
    lines = [
        good,
        f"[{good},{good}]",
        f"[{good},{{broken",
        '{"day":' + "[" * 3_000 + "]" * 3_000 + "}",
        '{"day":1' + "0" * 5_000 + "}",
        '{"day":"cut',
        "null",
        good,
    ]
    write(tmp_path, {"in": "\n".join(lines)})
    found = rows(spark, tmp_path, format="json")
    assert len(found) == len(lines)
    assert found.count(("2024-01-01", "a")) == 2
    assert found.count((None, None)) == len(lines) - 2


@pytest.mark.parametrize(("kind", "limit"), [("csv", 10**6), ("json", 1 << 24), ("snap", 10**6)])
def test_lines_that_are_passed_over_for_their_length_are_told(
    kind: str, limit: int, spark: SparkSession, tmp_path: Path
) -> None:
    given = EdgeInput.model_validate({"path": "in", "format": kind}) if kind == "snap" else source(format=kind)
    for end in ("\n", "\r\n"):
        for length, told in ((limit - 2, 0), (limit - 1, 1), (limit + 1, 1)):
            write(tmp_path, {"in": end.join(["day", "x" * length, "y", ""])})
            assert count_long_lines(spark, given, tmp_path) == told


def test_lines_that_are_too_long_are_a_rule_before_all_others() -> None:
    found = Inspection([RuleCount("a", 2, 1)])
    assert found.with_long_lines(3).rules == [("line is not too long", 3, 3), ("a", 2, 1)]
    assert found.with_long_lines(0).rules == [("a", 2, 1)]
    with pytest.raises(SchemaError, match="`line is not too long`, got none"):
        Inspection([RuleCount("a", 0, 0)]).with_long_lines(1).require_some_kept()


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_no_parquet_timestamp_fails_the_run_and_each_is_right(
    unit: str, zone: str | None, spark: SparkSession, tmp_path: Path
) -> None:
    ticks = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    noon = 1_700_000_000 * ticks  # 2023-11-14 22:13:20
    values = [noon, noon + 2 * 3_600 * ticks, None, -1, 2**63 - 1, -(2**63), 9_223_372_036_854_776]
    pq.write_table(pa.table({"day": pa.array(values, pa.timestamp(unit, zone))}), tmp_path / "in")
    expected = [0, 1, None, -1, -1, -1, -1]
    assert days_of(spark, tmp_path, format="parquet") == expected


def test_nanoseconds_before_1970_are_rounded_down(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"day": pa.array([-1, 0, -1_000, -1_001], pa.timestamp("ns"))}), tmp_path / "in")
    found = open_columns(spark, source(format="parquet"), {"day": "day"}, {"day": MOMENT_TYPES}, tmp_path)
    micros = [row[0] for row in found.select(F.unix_micros(F.col("day").cast("timestamp"))).collect()]
    assert micros == [-1, 0, -1, -2]


def test_footers_say_the_same_to_both_readers(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "a b": pa.array([1], pa.timestamp("ms", "UTC")),
            "c.d": pa.array([1], pa.timestamp("us")),
            "e": pa.array([1], pa.timestamp("ns")),
            "f": pa.array([[1.5]], pa.list_(pa.float64())),
            "g": ["x"],
        }
    )
    pq.write_table(table, tmp_path / "in")
    (found,) = footer_types(spark, [f"file:{tmp_path}/in"], {}) or []
    assert list(found) == table.column_names
    assert [found[name] for name in ("a b", "c.d", "e")] == [
        "timestamp in ms",
        "timestamp in us without zone",
        "timestamp in ns without zone",
    ]
    assert "double" in found["f"]
    # Over Spark Connect pyarrow reads them.
    by_arrow = _by_arrow(tmp_path / "in")
    assert [stored_time(by_arrow[name]) for name in table.column_names] == [
        stored_time(found[name]) for name in table.column_names
    ]
    old = pa.table({"t": pa.array([1], pa.timestamp("ns"))})
    pq.write_table(old, tmp_path / "int96", use_deprecated_int96_timestamps=True)
    (by_spark,) = footer_types(spark, [f"file:{tmp_path}/int96"], {}) or []
    assert stored_time(by_spark["t"]) is stored_time(_by_arrow(tmp_path / "int96")["t"]) is None
    assert message_types("message m {\n  optional int64 t (TIMESTAMP_MILLIS);\n}") == {"t": "timestamp in ms"}


def test_old_timestamps_of_96_bits_wrap_and_fail_nothing(spark: SparkSession, tmp_path: Path) -> None:
    nanos, noon = 86_400 * 10**9, 1_700_000_000
    days = pa.array([10**9 * (noon + i) for i in range(5)], pa.timestamp("ns"))
    pq.write_table(
        pa.table({"day": days}),
        tmp_path / "in",
        use_deprecated_int96_timestamps=True,
        compression="none",
        use_dictionary=False,
    )
    data = (tmp_path / "in").read_bytes()
    for i, (time, day) in enumerate([(2**63 - 1, 2**31 - 1), (-(2**63), -(2**31)), (0, 2**31 - 1)]):
        rest, number = (10**9 * (noon + i)) % nanos, 10**9 * (noon + i) // nanos + 2_440_588
        assert data.count(struct.pack("<qi", rest, number)) == 1
        data = data.replace(struct.pack("<qi", rest, number), struct.pack("<qi", time, day))
    (tmp_path / "in").write_bytes(data)
    assert days_of(spark, tmp_path, format="parquet") == [-1, -1, -1, 0, 0]


def test_orc_timestamps_are_refused_by_their_type(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"day": pa.array([-1], pa.timestamp("ns")), "item": ["a"], "date": [dt.date(2024, 1, 1)]})
    orc.write_table(table, tmp_path / "in")
    with pytest.raises(SchemaError, match=r"^input.columns.day must name a column of dates or texts in ORC files"):
        open_rows(spark, source(format="orc"), tmp_path)
    columns = Columns(day="date", item="item").model_dump()
    assert rows(spark, tmp_path, format="orc", columns=columns) == [(dt.date(2024, 1, 1), "a")]


def test_partition_folders_are_text(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"in/site=01/day=20240101/a": "item\nx\n", "in/site=1/day=20240102/b": "item\nx\n"})
    columns = Columns(day="day", item="site").model_dump()
    assert rows(spark, tmp_path, columns=columns, date_format="yyyyMMdd") == [("20240101", "01"), ("20240102", "1")]


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
    options = {"header": "true", "recursiveFileLookup": "true"}
    assert rows(spark, tmp_path, options=options) == [("2024-01-01", "a")] * len(files)


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


def test_an_empty_folder_and_empty_files_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for kind in ("csv", "json", "parquet", "orc"):
        with pytest.raises(SchemaError, match=r"^input.path must name at least one file, got in"):
            open_rows(spark, source(format=kind), tmp_path)
    write(tmp_path, {"in/a": "", "in/b": ""})
    with pytest.raises(SchemaError, match=r"^input.path must .* got in, empty files only"):
        open_rows(spark, source(), tmp_path)
    write(tmp_path, {"in/c": HEADER + "2024-01-01,a\n"})
    assert rows(spark, tmp_path) == [("2024-01-01", "a")]


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


def test_headers_of_one_folder_must_be_equal(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"in/a": '"day",item\n2024-01-01,a\n', "in/b.gz": gzip.compress(b"day,item\n2024-01-01,a\n")})
    assert rows(spark, tmp_path) == [("2024-01-01", "a")] * 2
    write(tmp_path, {"in/c": "item,day\na,2024-01-01\n"})
    match = r"^input.path must name files with the same columns in the same order, got day, item and, in file 3 of 3 by"
    with pytest.raises(SchemaError, match=match):
        open_rows(spark, source(), tmp_path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("Day,item\nx,a\n", "its columns are Day, item: did you mean Day.*Capitals count"),
        (" day ,item\nx,a\n", 'its columns are " day ", item: did you mean " day ", with the blanks'),
        ("day,item,day\nx,a,b\n", r"which stands 2 times among its columns \(day, item, day\)"),
        ("day;item\nx;a\n", 'holds semicolons: set input.options.sep to ";"'),
        ("day\titem\nx\ta\n", r'holds tabs: set input.options.sep to "\\t"'),
        ("days,item\nx,a\n", "its columns are days, item: did you mean days"),
        ("when,item\nx,a\n", "its columns are when, item$"),
        ("day,item\nx,a\n".encode("utf-16"), "UTF-16 text"),
        ("day,item\nx,a\n".encode("utf-16-le"), "UTF-16 text"),
        (b"PAR1\x15\x04\x15\x10\nday,item\n", "the file is Parquet: set input.format to parquet"),
        ('{"day": "2024-01-01", "item": "a"}\n', "the file is JSON: set input.format to json"),
        (gzip.compress(b"day,item\nx,a\n", mtime=0), "the file is compressed"),
        (b"PK\x03\x04\x14\x00\x06\x00", "a workbook or an archive"),
    ],
)
def test_each_wrong_header_has_its_own_sentence(
    data: str | bytes, said: str, spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, {"in": data})
    with pytest.raises(
        SchemaError, match=rf"^input.columns.day must name one column of the input, got day.*{said}"
    ) as c:
        open_rows(spark, source(), tmp_path)
    assert str(c.value).isprintable()


def test_columns_that_differ_in_capitals_or_stand_twice_elsewhere_are_read(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, {"in": "Day,day,item,note,note,\n1999,2024-01-01,a,x,y,\n"})
    assert rows(spark, tmp_path) == [("2024-01-01", "a")]
    table = pa.table({"Day": ["1999"], "day": ["2024-01-01"], "item": ["a"]})
    pq.write_table(table, tmp_path / "pq")
    assert rows(spark, tmp_path, path="pq", format="parquet") == [("2024-01-01", "a")]
    write(tmp_path, {"json": '{"Day": "1999", "item": "a", "day": "2024-01-01"}\n'})
    assert rows(spark, tmp_path, path="json", format="json") == [("2024-01-01", "a")]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_the_configurations_folder_is_no_pattern(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    base = tmp_path / "report [2024] {x}*?"
    base.mkdir()
    table = pa.table({"day": ["2024-01-01"], "item": ["a"]})
    {
        "csv": lambda: write(base, {"a [1].csv": HEADER + "2024-01-01,a\n"}),
        "json": lambda: write(base, {"a [1].json": '{"day": "2024-01-01", "item": "a"}'}),
        "parquet": lambda: pq.write_table(table, base / "a [1].parquet"),
    }[kind]()
    for path in (f"a [1].{kind}", f"a*.{kind}", "."):
        assert rows(spark, base, path=path, format=kind) == [("2024-01-01", "a")]


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


def test_extreme_values_of_typed_columns_fail_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "day": pa.array([-(2**31), 2**31 - 1, 19_675, None], pa.date32()),
            "item": pa.array([2**63 - 1, -(2**63), 0, None], pa.int64()),
            "quantity": pa.array([float("inf"), float("nan"), -1e308, 1e-320]),
        }
    )
    for kind, writer in {"parquet": pq.write_table, "orc": orc.write_table}.items():
        writer(table, tmp_path / kind)
        section = source(path=kind, format=kind)
        assert days_of(spark, tmp_path, path=kind, format=kind) == [-1, -1, 0, None]
        found = open_columns(spark, section, {"q": "quantity"}, {"q": NUMBER_TYPES}, tmp_path)
        numbers = [row[0] for row in found.select(number_column(F.col("q"), "double")).collect()]
        assert numbers[0] == float("inf")
        assert len(numbers) == 4
    with pytest.raises(DplibError):
        open_columns(spark, source(path="parquet", format="parquet"), {"q": "quantity"}, {"q": TEXT}, tmp_path)
