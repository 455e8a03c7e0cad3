"""What no setting can be is refused with its key; what JSON writes as two halves is one character."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.config import yaml_text
from dplib.config.load import override, read_yaml
from dplib.config.names import ListFile, declared_names
from dplib.config.yaml_text import parse_yaml
from dplib.errors import ConfigError

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a: {b: 1e999}", "a.b"),
        ("a: [0, .inf]", "a.1"),
        ("a: .nan", "a"),
        ("a: 1_0", "a"),
        ("a: 0.1_0", "a"),
        ("a: &x [*x]", "a.0"),
        ("a: &x {b: {c: *x}}", "a.b.c"),
        ("a: &x [1, 2]\nb: &y [*x, *x, &z [*z, *x]]", "b.2.0"),
        ("a: 2024-02-30", "--config"),
        (f"a: {'9' * 5000}", "--config"),
        (f"a: {'[' * 60 + ']' * 60}", "a" + ".0" * 39 + "."),
        (f"a: {'[' * 700}", "--config"),
        ("a: 1\na: 2", "--config"),
        (BOMB, "the configuration"),
        ('a: "\\ud800"', "'a'"),
        ('a: {"b\\e": 1}', "a.b\x1b"),
        ('a: ["\\0"]', "a.0"),
        ('domain: {items: ["x\\x7f"]}', "domain.items.0"),
        ('{"a": ["\\u0000"]}', "a.0"),
        ('{"a": "\\ud800"}', "'a'"),
        (f'{{"a": {"[" * 60}{"]" * 60}}}', "a" + ".0" * 39 + "."),
    ],
    ids=range(21),
)
def test_what_no_setting_can_be_is_named(text: str, name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "--config")
    assert str(caught.value).startswith(f"{name} must ") or name.endswith(".")
    assert ", got " in str(caught.value)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(["1_0", "2024-01-02", "12:30", "NO", "null", "<<", "\x7f", "\ud800", "\u2028"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=20)
@given(JSON, st.booleans())
def test_json_is_read_as_the_yaml_that_it_is(value: object, escaped: bool) -> None:
    text = json.dumps({"a": value}, ensure_ascii=escaped)
    found = []
    for read in (parse_yaml, yaml_text._composed):
        try:
            found.append(read(text, "--config"))
        except ConfigError as error:
            found.append(str(error))
    assert repr(found[0]) == repr(found[1])


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '"a": 1'])
def test_what_json_takes_otherwise_is_yaml(text: str) -> None:
    try:
        expected = yaml_text._composed(text, "--config")
    except ConfigError as error:
        with pytest.raises(ConfigError, match=re.escape(str(error))):
            parse_yaml(text, "--config")
    else:
        assert parse_yaml(text, "--config") == expected


def test_other_texts_stay_as_they_are() -> None:
    found = parse_yaml(
        '{a: 12:30, b: NO, c: "\\ud83c\\udf5e", d: "1_0", input: {options: {sep: "\\t"}}, e: 0x1F}', "--config"
    )
    assert found == {"a": "12:30", "b": "NO", "c": "🍞", "d": "1_0", "input": {"options": {"sep": "\t"}}, "e": 31}
    assert parse_yaml("", "--config") is None


def test_an_assignment_is_checked_like_the_file() -> None:
    with pytest.raises(ConfigError, match=r"--set a\.b must be valid YAML"):
        override({}, ["a.b=[1"])
    with pytest.raises(ConfigError, match=r"must be a finite number, got 1e999"):
        override({}, ["a.b=1e999"])


def test_an_assignment_reaches_elements_of_lists() -> None:
    settings = {"constraints": [{"measured": True}, {"totals": {"a": ["x", "y"]}}]}
    found = override(settings, ["constraints.0.measured=false", "constraints.1.totals.a.1=z"])
    assert found == {"constraints": [{"measured": False}, {"totals": {"a": ["x", "z"]}}]}
    for wrong in (
        "constraints.2.measured=1",
        "constraints.-1.measured=1",
        "constraints.x=1",
        "constraints.0.measured.b=1",
    ):
        with pytest.raises(ConfigError, match="--set must name a key inside mappings, or an element"):
            override(settings, [wrong])


def test_a_file_without_an_end_is_no_list_and_no_configuration(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ConfigError, match=r"--config must name a text file of at most 64 MiB, got /dev/zero"):
        read_yaml(tmp_path / "/dev/zero")
    with pytest.raises(ConfigError, match=r"domain\.items\.file must .* at most 256 MiB, got /dev/zero"):
        declared_names(ListFile(file="/dev/zero"), tmp_path, "domain.items")


def test_a_listed_name_has_no_control_characters(tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "items.txt").write_text("bread\nmi\x1b[31mlk\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"domain\.items must hold names without control characters, got 'mi"):
        declared_names(ListFile(file="items.txt"), tmp_path, "domain.items")
