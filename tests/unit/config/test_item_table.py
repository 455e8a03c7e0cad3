"""Items from a public table: what of it decides, and one sentence for each fault."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.item_table import ItemTable
from dplib.config.table_text import without_columns
from dplib.errors import ConfigError

FIRST, LAST = dt.date(2024, 1, 1), dt.date(2024, 12, 31)
SETTINGS: dict[str, Any] = {"file": "p.csv", "columns": ["store", "sku"], "attributes": ["region"]}
GOOD = "store,sku,region\ns1,a,north\n"
DAYS = SETTINGS | {"first_day": "from", "last_day": "to"}
DATED = "store,sku,region,from,to\ns1,a,n,"


def read(folder: Path, text: str | bytes, **settings: Any) -> ItemTable:
    (folder / "p.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    return ItemTable(**SETTINGS | settings).read(folder, FIRST, LAST)


def test_only_what_decides_is_kept_and_it_reads_back(tmp_path: Path) -> None:
    days = {"first_day": "from", "last_day": "to"}
    one = read(tmp_path, "sku,store,price,region,from,to\nb,s1,3,south,2024-03-01,\na,s1,2,north,1999-01-01,\n", **days)
    other = read(
        tmp_path,
        'region,sku,store,from,to\nnorth, a ,"s1",,\nsouth,b,s1,2024-03-01,2050-01-01\nsouth,gone,s1,,2023-12-31\n\n',
        **days,
    )
    assert one == other
    assert one.table == "store,sku,region,from,to\ns1,a,north,,\ns1,b,south,2024-03-01,\n"
    items = one.items(FIRST, LAST)
    assert items.names == ("s1 / a", "s1 / b")
    assert items.values == (("s1",), ("a", "b"), ("north", "south"))
    assert items.days is not None
    assert items.days.tolist() == [[0, 366], [60, 366]]
    assert one.read(Path(), FIRST, LAST) == one


def test_days_that_cut_nothing_are_left_out(tmp_path: Path) -> None:
    found = read(
        tmp_path, "store,sku,region,from,to\ns1,a,north,2024-01-01,2024-12-31\n", first_day="from", last_day="to"
    )
    assert found.table == GOOD
    assert found == read(tmp_path, GOOD)
    assert found.items(FIRST, LAST).days is None


def test_columns_can_be_taken_out_of_the_text() -> None:
    assert without_columns('store,sku,region\ns1,"a,b",north\n', {"region"}) == 'store,sku\ns1,"a,b"\n'


def test_names_of_items_may_not_meet(tmp_path: Path) -> None:
    found = read(tmp_path, "store,sku,region\na / b,c,north\na,b / c,north\n")
    with pytest.raises(ConfigError, match=r"differ when the values of store, sku are joined .*, got a / b / c twice"):
        _ = found.items(FIRST, LAST).names


@pytest.mark.parametrize(
    ("text", "settings", "sentence"),
    [
        (b"store,sku,region\ns1,\xff,north\n", {}, "domain.items.file must name a readable text file, in UTF-8"),
        ("", {}, "domain.items.columns must name columns of p.csv, got store"),
        ("store,sku,region\n", {}, "domain.items must hold at least one item, got none"),
        ("stor,sku,region\ns1,a,n\n", {}, "domain.items.columns must name .* p.csv, got store; did you mean stor?"),
        ("store,sku,Region\ns1,a,n\n", {}, "domain.items.attributes must .* got region; did you mean Region?"),
        ("store,sku,region,sku\ns1,a,n,a\n", {}, "domain.items.columns must .* got sku, which stands there twice"),
        (GOOD, {"first_day": "from"}, "domain.items.first_day must name columns of p.csv, got from"),
        (GOOD + "s1,a,north\n", {}, "domain.items must hold each item once, got s1 / a twice"),
        (GOOD + "s1,a,south\n", {}, "must give each item one value of region, got north and south for s1 / a"),
        (GOOD + "s2,,south\n", {}, "domain.items must have a value in each row, got none in column sku, line 3"),
        (GOOD + "s2,b, \n", {}, "domain.items must have a value in each row, got none in column region, line 3"),
        (GOOD + "s2,b\n", {}, "domain.items.file must have as many cells .* got 2 in place of 3 in line 3"),
        (GOOD + 's2,"b\nc",x\n', {}, "domain.items must hold values without control characters, got one in column sku"),
        (GOOD + 's2,"b"c,x\n', {}, "domain.items.file must be a CSV file, got p.csv"),
        (DATED + "1/2/24,\n", DAYS, "hold days YYYY-MM-DD in column from, got 1/2/24 in line 2"),
        (DATED + "20240102,\n", DAYS, "hold days YYYY-MM-DD in column from, got 20240102"),
        (DATED + "2024-05-02,2024-05-01\n", DAYS, "hold no day .* got 2024-05-01 before 2024-05-02 for s1 / a"),
        (DATED + "2025-01-01,\n", DAYS, "must hold an item that exists on a day of the domain"),
    ],
)
def test_a_wrong_table_is_one_sentence(
    tmp_path: Path, text: str | bytes, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence.replace("?", r"\?")):
        read(tmp_path, text, **settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"attributes": ["region", "sku"]}, "must name each column once, got sku twice"),
        ({"columns": ["item", "sku"]}, "must name columns that differ from the other columns .* got item"),
        ({"attributes": ["count"]}, "must name columns that differ from the other columns .* got count"),
        ({"file": None}, "domain.items.file must name a CSV file, got nothing"),
        ({"columns": []}, "at least 1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ItemTable(**SETTINGS | settings)


def test_ten_thousand_items_keep_their_order(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(10_000)
    lines = [f"s{n % 250},{n // 250},r{n % 8}" for n in order.tolist()]
    items = read(tmp_path, "\n".join(["store,sku,region", *lines, ""])).items(FIRST, LAST)
    keys = [(f"s{n % 250}", str(n // 250)) for n in range(10_000)]
    assert items.names == tuple(" / ".join(key) for key in sorted(keys))
    region = {(f"s{n % 250}", str(n // 250)): f"r{n % 8}" for n in range(10_000)}
    assert items.column(2) == [region[key] for key in sorted(keys)]
