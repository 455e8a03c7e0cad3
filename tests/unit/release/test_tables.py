from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dplib.errors import ConfigError, IntegrityError
from dplib.release import tables
from dplib.release.tables import plain_text, read_table, shielded_text, write_table

ITEMS = ["naan", "éclair", "bhaji", "naan", "bhaji"]
DAYS = np.array(["2020-01-02", "2020-01-01", "2020-01-01", "2020-01-01", "2019-12-31"], dtype="datetime64[D]")
COUNTS = np.array([5, 4, 3, 2, 1])
NOISY = np.array([0.1, np.nan, -0.0, 1e300, -2.5])


def columns(order: Sequence[int] | np.ndarray = range(5)) -> dict[str, Any]:
    index = list(order)
    return {"item": [ITEMS[i] for i in index], "day": DAYS[index], "count": COUNTS[index], "noisy": NOISY[index]}


def test_rows_come_back_sorted_with_their_types(tmp_path: Path) -> None:
    path = write_table(tmp_path / "estimates", "top", columns(), ["item", "day"])
    assert path == tmp_path / "estimates" / "top.parquet"
    table = read_table(tmp_path / "estimates")
    assert [str(field.type) for field in table.schema] == [
        "dictionary<values=string, indices=int32, ordered=0>",
        "date32[day]",
        "int64",
        "double",
    ]
    assert table.to_pylist() == [
        {"item": "bhaji", "day": date(2019, 12, 31), "count": 1, "noisy": -2.5},
        {"item": "bhaji", "day": date(2020, 1, 1), "count": 3, "noisy": 0.0},
        {"item": "naan", "day": date(2020, 1, 1), "count": 2, "noisy": 1e300},
        {"item": "naan", "day": date(2020, 1, 2), "count": 5, "noisy": 0.1},
        {"item": "éclair", "day": date(2020, 1, 1), "count": 4, "noisy": None},
    ]


def test_same_rows_are_same_bytes_in_any_order_and_any_form(tmp_path: Path) -> None:
    reference = write_table(tmp_path / "a", "top", columns(), ["item", "day"], csv=True).read_bytes()
    text = (tmp_path / "a" / "top.csv").read_bytes()
    spare = pa.array(["zebra", "naan", "éclair", "bhaji", "naan"])
    coded = pa.DictionaryArray.from_arrays(pa.array([1, 2, 3, 4, 3]), spare)
    frame = pd.DataFrame(columns())
    forms = [
        columns([4, 2, 0, 3, 1]),
        {**columns(), "item": np.array(ITEMS)},
        {**columns(), "item": np.array(ITEMS, dtype=object)},
        {**columns(), "item": pa.array(ITEMS)},
        {**columns(), "item": coded},
        {**columns(), "item": pa.chunked_array([coded[:2], coded[2:]])},
        {**columns(), "count": COUNTS.astype(np.int16)},
        {**columns(), "day": DAYS.astype("datetime64[s]")},
        {**columns(), "noisy": np.where(NOISY == 0, 0.0, np.where(np.isnan(NOISY), -np.nan, NOISY))},
        {name: frame[name].to_numpy() for name in frame},
    ]
    for number, form in enumerate(forms):
        path = write_table(tmp_path / str(number), "top", form, ["item", "day"], csv=True)
        assert path.read_bytes() == reference, f"form {number}"
        assert path.with_suffix(".csv").read_bytes() == text
    changed = columns()
    changed["noisy"] = np.nextafter(NOISY, 9)
    assert write_table(tmp_path / "b", "top", changed, ["item", "day"]).read_bytes() != reference


def test_large_table_is_the_same_bytes_from_a_shuffle_and_agrees_with_a_plain_reader(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    count = 1 << 16
    data = {"node": np.arange(count), "noisy": generator.normal(size=count)}
    order = generator.permutation(count)
    first = write_table(tmp_path / "a", "top", data, ["node"])
    second = write_table(tmp_path / "b", "top", {name: values[order] for name, values in data.items()}, ["node"])
    assert first.read_bytes() == second.read_bytes()
    read = pq.read_table(second)
    np.testing.assert_array_equal(read["node"].to_numpy(), data["node"])
    np.testing.assert_array_equal(read["noisy"].to_numpy(), data["noisy"])


@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_few_texts_are_the_same_bytes_as_many(n_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts and dictionaries, in any order, that a spreadsheet takes for formulas and of any width, and their CSV."""
    texts = ["\U0001f600", "=1", "é", "\uffff", "a"][:n_rows]
    columns: dict[str, Any] = {
        "text": texts,
        "coded": pa.array(texts, pa.string()).dictionary_encode(),
        "row": np.arange(n_rows),
    }
    write_table(tmp_path / "few", "x", columns, ["text"], csv=True)
    monkeypatch.setattr(tables, "_FEW_TEXTS", -1)
    write_table(tmp_path / "many", "x", columns, ["text"], csv=True)
    few, many = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("few", "many"))
    assert len(few) == 2
    assert few == many


def test_reading_picks_columns_rows_and_blocks(tmp_path: Path) -> None:
    write_table(tmp_path, "top", columns(), ["item", "day"])
    write_table(tmp_path, "block-0001", {**columns([0]), "item": ["zeera"]}, ["item", "day"])
    assert read_table(tmp_path, ["count"]).column("count").to_pylist() == [5, 1, 3, 2, 5, 4]
    assert read_table(tmp_path, ["item"], blocks=["block-0001"]).to_pylist() == [{"item": "zeera"}]
    where = [("item", "in", ["naan", "zeera"]), ("day", ">=", date(2020, 1, 2))]
    assert read_table(tmp_path, ["item", "count"], where).to_pylist() == [
        {"item": "zeera", "count": 5},
        {"item": "naan", "count": 5},
    ]
    for comparison, expected in {"==": [3], "!=": [1, 2, 4, 5], "<": [1, 2], "<=": [1, 2, 3], ">": [4, 5]}.items():
        found = read_table(tmp_path, ["count"], [("count", comparison, 3)], ["top"])
        assert sorted(found.column("count").to_pylist()) == expected


def test_a_short_table_comes_whole_to_a_caller_who_keeps_its_rows(tmp_path: Path) -> None:
    write_table(tmp_path, "top", columns(), ["item", "day"])
    for few, expected in ((5, [1, 3, 2, 5, 4]), (4, [3])):
        found = read_table(tmp_path, ["count", "item"], [("count", "==", 3)], few=few)
        assert (found.column_names, found.column("count").to_pylist()) == (["count", "item"], expected)
        with pytest.raises(ConfigError, match="column must be one of count, day, item, noisy, got price"):
            read_table(tmp_path, ["count"], [("price", "==", 3)], few=few)
        with pytest.raises(ConfigError, match="comparison must be one of"):
            read_table(tmp_path, ["count"], [("count", "like", 3)], few=few)


def test_empty_block_keeps_its_types(tmp_path: Path) -> None:
    nothing = {"item": np.array([], dtype=str), "count": np.array([], dtype=np.int64)}
    write_table(tmp_path, "empty", nothing, ["item"])
    table = read_table(tmp_path)
    assert (table.num_rows, str(table.schema.field("count").type)) == (0, "int64")


def test_csv_holds_the_same_rows(tmp_path: Path) -> None:
    write_table(tmp_path, "top", {"item": ['a "b", c', "d"], "noisy": [0.1, 1 / 3]}, ["item"], csv=True)
    frame = pd.read_csv(tmp_path / "top.csv")
    assert frame.to_dict("list") == {"item": ['a "b", c', "d"], "noisy": [0.1, 1 / 3]}


@pytest.mark.parametrize(
    ("data", "sort_by", "rule"),
    [
        ({"a": [1, 1]}, ["a"], "differ in a"),
        ({"a": [1, 2]}, ["b"], "sort_by"),
        ({"a": [1, 2]}, [], "sort_by"),
        ({"a": [1, 2], "b": [True, False]}, ["a"], "column b"),
        ({"a": [1, 2], "b": np.array([1j, 2j])}, ["a"], "column b"),
        ({"a": [1, 2], "b": pa.array(["x", None]).dictionary_encode()}, ["a"], "texts"),
        ({"a": np.array([1, 2], dtype=np.uint64)}, ["a"], "column a"),
    ],
)
def test_wrong_tables_are_refused_without_showing_a_row(
    data: dict[str, Any], sort_by: list[str], rule: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=rule):
        write_table(tmp_path, "top", data, sort_by)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "a/b", ".hidden", "../x"])
def test_block_must_name_a_file(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="block must name a file"):
        write_table(tmp_path, name, {"a": [1]}, ["a"])


def test_missing_broken_or_unknown_parts_are_clear_errors(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match="got none or too few"):
        read_table(tmp_path)
    path = write_table(tmp_path, "top", columns(), ["item", "day"])
    with pytest.raises(IntegrityError, match="got none or too few"):
        read_table(tmp_path, blocks=["other"])
    with pytest.raises(ConfigError, match="column must be one of count, day, item, noisy, got price"):
        read_table(tmp_path, ["price"])
    with pytest.raises(ConfigError, match="comparison must be one of"):
        read_table(tmp_path, where=[("count", "~", 1)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(IntegrityError, match="sound Parquet"):
        read_table(tmp_path)


def test_no_text_of_a_csv_file_is_a_formula_and_each_comes_back(tmp_path: Path) -> None:
    names = [
        '=HYPERLINK("http://a.example","x")', "+1", "-1", "@SUM(A1)", "'", "'=1", "''", "\uff1d1+1", "a=1", "",
        'a,b"c',
    ]  # fmt: skip
    write_table(tmp_path, "top", {"item": names, "count": np.arange(len(names)) - 5}, ["item"], csv=True)
    read = pd.read_csv(tmp_path / "top.csv", keep_default_na=False)
    assert not any(cell.startswith(tuple("=+-@\uff1d")) for cell in read["item"])
    stored = read_table(tmp_path).to_pylist()
    assert [plain_text(cell) for cell in read["item"]] == [row["item"] for row in stored]
    assert sorted(row["item"] for row in stored) == sorted(names)
    assert read["count"].tolist() == [row["count"] for row in stored]
    assert [shielded_text(name) for name in ("bread", "-1", "'x")] == ["bread", "'-1", "''x"]
