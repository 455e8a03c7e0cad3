from collections.abc import Mapping
from typing import Any

import pytest

from dplib.config.edge_input import EdgeInput
from dplib.config.event_input import Columns, Input
from dplib.config.load import check
from dplib.config.reader_options import (
    ACCESS,
    FORMATS,
    OPTIONS,
    REFUSED,
    access_options,
    counted_options,
)
from dplib.errors import ConfigError


def source(**settings: Any) -> Input:
    columns = Columns(day="day", item="item").model_dump()
    return check(Input, {"path": "rows.csv", "columns": columns} | settings)


@pytest.mark.parametrize("name", ["xml", "XML", "avro", "text", "binaryFile", "jdbc", "nonsense", "snap"])
def test_formats_where_a_row_is_not_alone_are_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^input.format must be csv, json, parquet, orc or delta, got {name}"):
        source(format=name)


@pytest.mark.parametrize("name", [*FORMATS, "CSV", "Parquet"])
def test_formats_that_are_safe_are_accepted(name: str) -> None:
    assert source(format=name).format == name


def test_lists_of_edges_have_formats_of_their_own() -> None:
    assert check(EdgeInput, {"path": "graph.txt", "format": "snap"}).graph_format == "snap"
    with pytest.raises(ConfigError, match=r"^input.format must be .*snap, metis, gml or delta, got xml"):
        check(EdgeInput, {"path": "graph.xml", "format": "xml"})


@pytest.mark.parametrize(
    ("format_name", "options", "message"),
    [
        ("csv", {"multiLine": "true"}, "input.options.multiLine must be absent or false, since one unclosed quote"),
        ("json", {"MULTILINE": "TRUE"}, "input.options.MULTILINE must be absent or false, since one unclosed quote"),
        ("csv", {"maxCharsPerColumn": "100"}, "input.options.maxCharsPerColumn must be absent, since"),
        ("csv", {"maxColumns": "3"}, "input.options.maxColumns must be absent, since"),
        ("csv", {"Mode": "FAILFAST"}, "input.options.Mode must be absent or PERMISSIVE, since"),
        ("csv", {"inferSchema": "true"}, "input.options.inferSchema must be absent or false, since"),
        ("csv", {"unescapedQuoteHandling": "RAISE_ERROR"}, "input.options.unescapedQuoteHandling must be STOP_AT"),
        (
            "csv",
            {"encoding": "UTF-16"},
            "input.options.encoding must be UTF-8 or US-ASCII or ISO-8859-1 or windows-1252, got UTF-16",
        ),
        ("csv", {"header": "yes"}, "input.options.header must be true or false, got yes"),
        ("csv", {"sep": ";", "delimiter": "|"}, "input.options must name each option once, got sep and delimiter"),
        ("csv", {"header": "true", "Header": "false"}, "input.options must name each option once, got header and Head"),
        ("csv", {"colour": "red"}, r"input.options must be options of the format csv .* got colour"),
        ("parquet", {"mergeSchema": "true"}, "input.options.mergeSchema must be absent, since"),
        ("parquet", {"datetimeRebaseMode": "EXCEPTION"}, "input.options.datetimeRebaseMode must be CORRECTED or LEG"),
        ("orc", {"header": "true"}, r"input.options must be options of the format orc .* got header"),
        ("parquet", {"ignoreCorruptFiles": "true"}, "input.options.ignoreCorruptFiles must be absent, since a damaged"),
        ("delta", {"versionAsOf": "3"}, "input.options.versionAsOf must be absent, since the version of a table"),
    ],
)
def test_options_that_are_not_safe_are_refused_by_name(
    format_name: str, options: Mapping[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match="^" + message) as caught:
        source(format=format_name, options=options)
    assert "\n" not in str(caught.value)


def test_options_of_a_table_are_refused_since_nothing_reads_them() -> None:
    with pytest.raises(ConfigError, match=r"^input.options must be absent where input.table is given, got header"):
        check(Input, {"table": "a.b", "options": {"header": "true"}, "columns": {"day": "d", "item": "i"}})


def test_what_is_counted_and_how_it_is_reached_are_two_things() -> None:
    options = {"HEADER": "True", "sep": ";", "fs.s3a.secret.key": "hush", "recursivefilelookup": "false"}
    assert source(options=options).options == options
    assert counted_options("CSV", options) == {"header": "true", "recursiveFileLookup": "false", "sep": ";"}
    assert access_options("csv", options) == {"fs.s3a.secret.key": "hush"}
    assert counted_options("csv", {"header": "true"}) == {"header": "true"}
    assert counted_options("csv", {"mode": "permissive", "multiLine": "false"}) == {}
    assert counted_options("gml", {"label": "id"}) == {"label": "id"}
    assert counted_options("metis", {"first": "0"}) == {"first": "0"}
    keys = {"AWS_ACCESS_KEY_ID": "a", "aws_secret_access_key": "b", "azure_storage_account_key": "c", "region": "d"}
    assert counted_options("delta", keys) == {}
    assert access_options("delta", keys) == keys


def test_an_option_has_one_place() -> None:
    for options in OPTIONS.values():
        names = [option.name.lower() for option in options]
        assert len(set(names)) == len(names)
        assert not set(names) & set(REFUSED)
        assert not any(ACCESS.fullmatch(name) for name in (*names, *REFUSED))
