import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from dplib.config.event_input import Columns, Input
from dplib.errors import ConfigError, SchemaError
from dplib.spark.rows import input_files
from dplib.spark.rows.read import open_rows
from tests.spark.reading import rows_of_each
from tests.support.interpreted import interpreting

pytestmark = pytest.mark.usefixtures("interpreted", "planned_once")
COLUMNS = {"day": "when", "item": "what", "quantity": "n", "unit": "who"}
GOOD = ("2020-01-01", "naan", "1", "u1")
Line = tuple[str | None, ...]


def source(columns: dict[str, str] | None = None, **settings: Any) -> Input:
    given = {"options": {"header": "true"}, **settings}
    if "table" not in given:
        given.setdefault("path", "rows.csv")
    else:
        given.pop("options")
    return Input(columns=Columns(**(columns or COLUMNS)), **given)


def read(spark: SparkSession, folder: Path, section: Input) -> list[Line]:
    rows = open_rows(spark, section, folder)
    assert rows.columns == ["day", "name", "quantity", "unit"]
    return sorted((tuple(row) for row in rows.collect()), key=str)


def test_csv_columns_come_from_the_header_in_any_order(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("\ufeffn,what,price,who,when\n1,naan,9.5,u1,2020-01-01\n", encoding="utf-8")
    assert read(spark, tmp_path, source()) == [GOOD]


def test_every_sign_of_windows_1252_is_read_as_it_is_written(spark: SparkSession, tmp_path: Path) -> None:
    signs = [bytes([code]) for code in range(0x80, 0x100) if code not in (0x81, 0x8D, 0x8F, 0x90, 0x9D)]
    lines = ["when;what €;n;who".encode("cp1252"), *(b"2020-01-01;" + sign + b"x;1;u" for sign in signs)]
    (tmp_path / "rows.csv").write_bytes(b"\r\n".join(lines))
    options = {"header": "true", "sep": ";", "encoding": "Windows-1252"}
    rows = read(spark, tmp_path, source(COLUMNS | {"item": "what €"}, options=options))
    trimmed = (sign.decode("cp1252") + "x" for sign in signs)
    assert sorted(row[1] or "" for row in rows) == sorted(trimmed)


def test_one_column_may_have_two_roles_and_names_may_hold_dots(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("a.day,`what`,n\n2020-01-01,naan,1\n")
    columns = {"day": "a.day", "item": "`what`", "quantity": "n", "unit": "a.day"}
    assert read(spark, tmp_path, source(columns)) == [("2020-01-01", "naan", "1", "2020-01-01")]


def test_malformed_lines_become_rows_and_nothing_stops(compiled: SparkSession, tmp_path: Path) -> None:
    lines = (
        b"when,what,n,who\n"
        b'2020-01-01,"the ""hot"", one",1,u1\n'  # quotes and a comma
        b"2020-01-01,naan\n"  # too short
        b"2020-01-01,naan,1,u1,more,and more\n"  # too long
        b'2020-01-02,"split\nname",2,u2\n'  # an embedded newline makes two malformed rows
        b"2020-01-03,\xff\xfe,3,u3\n"  # no valid UTF-8
        + b"2020-01-04" + b"," * 30_000 + b"\n"  # more fields than the reader's own limit
        + b"\n2020-01-05,na"  # an empty and a truncated line
    )  # fmt: skip
    (tmp_path / "rows.csv").write_bytes(lines)
    rows = read(compiled, tmp_path, source(options={"header": "true", "escape": '"'}))
    assert ("2020-01-01", 'the "hot", one', "1", "u1") in rows
    assert ("2020-01-01", "naan", None, None) in rows
    assert GOOD in rows
    assert ("2020-01-03", "\ufffd\ufffd", "3", "u3") in rows
    assert ("2020-01-05", "na", None, None) in rows
    assert ("2020-01-04", None, None, None) in rows
    assert len(rows) == 8


def test_lines_that_are_cut_are_read_as_the_parser_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    inputs: dict[str, DataFrame] = {}
    for place, sep in enumerate((",", "\t", "|")):
        signs = [sep, "a", "1", " ", '"', "\\", "\0", "\t", "\ufeff", "é", "#", "'"]
        # All triples once: where tabs and bars separate, pairs show what the sign changes.
        sizes = range(1, 4) if sep == "," else range(1, 3)
        lines = ["".join(line) for size in sizes for line in itertools.product(signs, repeat=size)]
        lines += [sep.join(["2020-01-01", "naan", "1", "u", "more"][:size]) for size in range(1, 6)]
        text = [line.encode() for line in lines]
        text += [b"a\xff" + sep.encode() + b"b\xc3", b"\xed\xa0\x80" + sep.encode()]
        header = sep.join(["when", "what", "n", "who"]).encode()
        (tmp_path / f"{place}.csv").write_bytes(b"\n".join([header, *text]))
        # With that option the parser takes every line.
        for name, own in (("cut", {}), ("parsed", {"nullValue": ""})):
            section = source(path=f"{place}.csv", options={"header": "true", "sep": sep} | own)
            inputs[f"{name} {sep}"] = open_rows(spark, section, tmp_path)
    # Lines with commas are taken apart by compiled expressions.
    commas = {name: inputs.pop(name) for name in ("cut ,", "parsed ,")}
    with interpreting(spark, wanted=False):
        found = rows_of_each(spark, commas)
    found |= rows_of_each(spark, inputs)
    for sep in (",", "\t", "|"):
        assert len(found[f"cut {sep}"]) > (1_500 if sep == "," else 130)
        assert found[f"cut {sep}"] == found[f"parsed {sep}"]


def test_headers_that_are_cut_are_those_of_the_parser(spark: SparkSession, tmp_path: Path) -> None:
    signs = [",", "when", "1", " ", "\t", "é", "#", "'", "\u2028", "\xa0", ";"]
    header = ",".join("".join(name) for name in itertools.product(signs, repeat=2))
    (tmp_path / "rows.csv").write_text(f" {header} \n")
    options = {"sep": ","}
    parsed = input_files._parsed(spark, source(), f"file:{tmp_path}/rows.csv", options)
    assert input_files._cut(f" {header} ".encode(), options) == parsed
    assert len(parsed) > 120
    for left_to_it in (b'a,"b"', b"a\\,b", b"a\0,b", b"caf\xe9,b"):
        assert input_files._cut(left_to_it, options) == ()
    assert input_files._cut(b"a,b", options | {"comment": "#"}) == ()


def test_csv_without_header_is_read_by_position_without_asking_a_row(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("truncated\nu1,2020-01-01,naan,1,5.0\n")
    columns = {"day": "_c1", "item": "_c2", "quantity": "_c3", "unit": "_c0"}
    assert read(spark, tmp_path, source(columns, options={})) == [GOOD, (None, None, None, "truncated")]
    with pytest.raises(SchemaError, match=r"input.columns.day must be _c0, _c1, ... where .* got when"):
        open_rows(spark, source(options={}), tmp_path)


def test_globs_and_lists_of_paths(spark: SparkSession, tmp_path: Path) -> None:
    for number, name in enumerate(["a1", "a2", "b1"]):
        (tmp_path / f"{name}.csv").write_text(f"when,what,n,who\n2020-01-01,naan,{number},u\n")
    paths = {"glob": "a*.csv", "list": ["a2.csv", str(tmp_path / "b1.csv")], "folder": "."}
    opened = {shown: open_rows(spark, source(path=path), tmp_path) for shown, path in paths.items()}
    numbers = {shown: [line[2] for line in rows] for shown, rows in rows_of_each(spark, opened).items()}
    assert numbers == {"glob": ["0", "1"], "list": ["1", "2"], "folder": ["0", "1", "2"]}


def test_json_is_read_as_strings(spark: SparkSession, tmp_path: Path) -> None:
    records = [dict(zip(("when", "what", "n", "who"), GOOD, strict=True)), {"when": "x", "n": 2.5}]
    text = "\n".join(json.dumps(record) for record in records)
    (tmp_path / "rows.json").write_text(text + '\n{"what": {"a":1}}\n{"n": 1e400}\n{"when": "cut o', encoding="utf-8")
    rows = read(spark, tmp_path, source(path="rows.json", format="json", options={}))
    expected: list[Line] = [
        GOOD,
        ("x", None, "2.5", None),
        (None, '{"a":1}', None, None),
        (None, None, '"Infinity"', None),
        (None, None, None, None),
    ]
    assert rows == sorted(expected, key=str)


def test_parquet_and_tables_keep_their_types(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql("SELECT DATE'2020-01-01' AS `when`, 'naan' AS what, 1.5D AS n, 7L AS who")
    frame.write.parquet(str(tmp_path / "rows.parquet"))
    frame.createOrReplaceTempView("typed_view")
    frame.write.mode("overwrite").saveAsTable("typed_table")
    sections = [
        source(path="rows.parquet", format="parquet", options={}),
        source(table="typed_view"),
        source(table="default.typed_table"),
    ]
    for section in sections:
        rows = open_rows(spark, section, tmp_path)
        assert [field.dataType.typeName() for field in rows.schema] == ["date", "string", "double", "long"]
        assert rows.count() == 1
    spark.sql("DROP TABLE typed_table")


def test_a_column_of_an_impossible_type_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("SELECT 5 AS `when`, 'naan' AS what, 1 AS n, array(1) AS who").createOrReplaceTempView("odd_view")
    with pytest.raises(SchemaError, match=r"input.columns.day must name a column of type .*, got when of type integer"):
        open_rows(spark, source(table="odd_view"), tmp_path)


@pytest.mark.parametrize(
    ("section", "error", "message"),
    [
        (
            source({**COLUMNS, "day": "OrderDat"}),
            SchemaError,
            "input.columns.day must name one column .* got OrderDat; its columns are when, what, n, who$",
        ),
        (source(path="absent.csv"), SchemaError, r"input.path must name what Spark can open, got absent.csv"),
        (source(path=["rows.csv", "no*.csv"]), SchemaError, r"input.path must .* got rows.csv, no\*.csv"),
        (source(path="broken.parquet", format="parquet", options={}), SchemaError, "input.path must .* broken.parquet"),
        (
            source(path="empty.csv"),
            SchemaError,
            r"input.path must .* \(input.options.header .* got empty.csv, an empty",
        ),
        (source(table="absent.table"), SchemaError, "input.table must name what Spark can open, got absent.table"),
        (source(table="not a name"), SchemaError, "input.table must name what Spark can open, got not a name"),
        (source(date_format="dd/mm/yyyy"), ConfigError, "input.date_format must hold year, month .* got dd/mm/yyyy"),
    ],
)
def test_what_cannot_be_opened_is_one_sentence(
    spark: SparkSession, tmp_path: Path, section: Input, error: type[Exception], message: str
) -> None:
    (tmp_path / "rows.csv").write_text("when,what,n,who\nSECRET,SECRET,SECRET,SECRET\n")
    (tmp_path / "broken.parquet").write_bytes(b"SECRET no parquet SECRET")
    (tmp_path / "empty.csv").write_bytes(b"")
    with pytest.raises(error, match=message) as caught:
        open_rows(spark, section, tmp_path)
    assert "SECRET" not in str(caught.value)
    assert "\n" not in str(caught.value)
