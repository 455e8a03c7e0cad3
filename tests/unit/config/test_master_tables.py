"""Totals, packages and items from columns of public tables are what they would be if they were typed."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplib.config.item_table import ItemTable
from dplib.config.master_tables import TotalsTable
from dplib.config.names import ListFile
from dplib.config.table_text import delimiter_of, with_names, with_row
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.job import JOB
from tests.support.jobs import Shop, new_shop

PRODUCTS = """\
name;department;aisle
tea;drinks;1
bread;;2
milk;drinks;2
caviar;luxury;9
"""
MENU = "meal,dish,number\nbreakfast,bread,2\n breakfast,tea ,1\nlunch,milk,3\n"
TOTALS = {"file": "products.csv", "item": "name", "by": "department"}
PACKAGES = {"file": "menu.csv", "package": "meal", "item": "dish", "pieces": "number"}


def shop_with(folder: Path, **changes: object) -> Shop:
    shop = new_shop(folder).set(**changes)
    (folder / "products.csv").write_text(PRODUCTS, encoding="utf-16")
    (folder / "menu.csv").write_text(MENU, encoding="utf-8-sig")
    return shop


def hashed(shop: Shop) -> str:
    return JOB.prepare(shop.config).key.settings_hash


def test_a_table_gives_what_would_be_typed(tmp_path: Path) -> None:
    days = {"measured": True, "from": "2024-01-03", "name": "departments"}
    read = shop_with(tmp_path / "a", constraints=[{"totals_from": TOTALS} | days])
    typed = shop_with(tmp_path / "b", constraints=[{"totals": {"drinks": ["milk", "tea"]}} | days])
    assert hashed(read) == hashed(typed)
    aisles = JOB.prepare(read.set(constraints__0__totals_from__by="aisle").config).design
    assert aisles.series == ("bread", "milk", "tea", "1", "2")
    columns = {"day": "date", "package": "product", "quantity": "quantity", "unit": "order_id"}
    both = shop_with(tmp_path / "c", input__columns=columns, constraints=[{"packages_from": PACKAGES}])
    contents = {"breakfast": {"bread": 2, "tea": 1}, "lunch": {"milk": 3}}
    same = shop_with(tmp_path / "d", input__columns=columns, constraints=[{"packages": contents}])
    assert hashed(both) == hashed(same)
    ones = PACKAGES | {"pieces": None}
    assert hashed(both.set(constraints=[{"packages_from": ones}])) != hashed(same)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"totals_from": TOTALS | {"by": "departmnt"}}, "got departmnt; did you mean department?"),
    ({"totals_from": TOTALS | {"file": "none.csv"}}, "constraints.0.totals_from.file must name a readable text file"),
    ({"totals_from": TOTALS | {"item": "aisle"}}, "must give a total of an item of domain.items, got none"),
    ({"totals_from": TOTALS, "totals": {"a": ["tea"]}}, "got totals and totals_from"),
    ({"packages_from": PACKAGES | {"pieces": "dish"}}, "must hold whole numbers in column dish, got bread"),
    ({"packages_from": PACKAGES, "measured": True}, "must have `measured` on totals only, got it on packages_from"),
]


def test_wrong_tables_are_refused_by_name(tmp_path: Path) -> None:
    for number, (constraint, sentence) in enumerate(WRONG):
        shop = shop_with(tmp_path / str(number), constraints=[constraint])
        with pytest.raises(ConfigError) as refused:
            JOB.prepare(shop.config)
        assert sentence in str(refused.value)


def test_rows_of_wrong_lengths_are_refused_and_empty_last_cells_are_not(tmp_path: Path) -> None:
    (tmp_path / "products.csv").write_text("name,department\ntea,drinks\nbread\nmilk,drinks,2\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"x must have as many cells in each row as in its header, got 1 in place"):
        TotalsTable.model_validate(TOTALS).read(tmp_path, "x", frozenset(["tea"]))
    for sign in ",;\t|":
        assert with_row(f"sku{sign}from\na{sign}\n", {"sku": "b"}) == f"sku{sign}from\na{sign}\nb{sign}\n"


NAMED = {"columns": ["name"], "attributes": ["department"]}


def test_what_no_reader_of_tables_takes_is_refused_by_name(tmp_path: Path) -> None:
    """Longer names and values than it takes, a quote that is not closed, and signs that no name may hold."""
    (tmp_path / "wanted.txt").write_text("tea\n", encoding="utf-8")
    only = {"only": {"file": "wanted.txt"}}
    day = dt.date(2024, 1, 1)
    for text in (
        f"{'n' * 200_000},department\n",
        f"name,department\ntea,{'n' * 200_000}\n",
        'name,department\ntea,"x\n',
    ):
        (tmp_path / "products.csv").write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=r"x\.file must be a CSV file, got products\.csv: "):
            TotalsTable.model_validate(TOTALS).read(tmp_path, "x", frozenset(["tea"]))
        for more, added in (({}, None), (only, None), ({}, {"name": "rest", "department": "none"})):
            with pytest.raises(ConfigError, match=r"domain\.items\.file must be a CSV file, got products\.csv: "):
                ItemTable.model_validate({"file": "products.csv"} | NAMED | more).read(tmp_path, day, day, added)
        with pytest.raises(ConfigError, match=r"x\.file must be a CSV file, got products\.csv: "):
            ListFile(file="products.csv", column="department").names(tmp_path, "x")
    (tmp_path / "products.csv").write_text("name,department\ntea,dri\x1fnks\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"x must hold values without control characters, got one in row 1"):
        TotalsTable.model_validate(TOTALS).read(tmp_path, "x", frozenset(["tea"]))


def test_only_some_items_of_the_master_are_counted(tmp_path: Path) -> None:
    (tmp_path / "wanted.txt").write_text("milk\ntea\nunknown\n", encoding="utf-8")
    items = {"file": "products.csv", "columns": ["name"], "attributes": ["department"], "only": {"file": "wanted.txt"}}
    domain = {"items": items, "groupings": [[]], "first_day": "2024-01-01", "last_day": "2024-01-14"}
    shop = shop_with(tmp_path, domain=domain, constraints=[])
    found = JOB.prepare(shop.config).design
    assert found.series == ("milk", "tea", "grand total")
    typed = "name,department\nmilk,drinks\ntea,drinks\n"
    assert isinstance(found.config.domain.items, ItemTable)
    assert found.config.domain.items.table == typed


def test_what_makes_no_difference_in_rows_makes_none_between_public_tables(tmp_path: Path) -> None:
    """Keys of a folded selection find their rows of the master, which calls them otherwise, and these their totals."""
    (tmp_path / "wanted.txt").write_text("MILK\nt\u00e9 noir\n", encoding="utf-8")
    master = "name,department\nMilk,cold\nTe\u0301  Noir,hot\nbread,dry\n"
    (tmp_path / "master.csv").write_text(master, encoding="utf-8")
    items = {"file": "master.csv", "columns": ["name"], "only": {"file": "wanted.txt"}}
    (tmp_path / "aisles.csv").write_text("name,aisle\nmilk,one\nT\u00c9 NOIR,one\n", encoding="utf-8")
    domain = {"items": items, "first_day": "2024-01-01", "last_day": "2024-01-14"}
    totals = [{"totals_from": {"file": "aisles.csv", "item": "name", "by": "aisle"}}]
    shop = shop_with(tmp_path, domain=domain, constraints=totals, input__fold=["case", "spaces"])
    found = JOB.prepare(shop.config).design
    assert found.series == ("Milk", "Te\u0301  Noir", "one")
    assert found.config.constraints[0].totals == {"one": ["Milk", "Te\u0301  Noir"]}
    with pytest.raises(ConfigError, match=r"domain\.items must hold at least one item, got none"):
        JOB.prepare(shop.set(input__fold=["spaces"]).config)


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).map(str.strip).filter(bool)


@given(st.lists(CELLS, min_size=2, max_size=4, unique=True), st.sampled_from(",;\t|"), CELLS)
def test_delimiters_are_those_that_give_the_named_columns(names: list[str], sign: str, value: str) -> None:
    if any(set(name) & set(',;\t|"\ufeff') for name in [*names, value]):
        return
    table = sign.join(names) + "\n" + sign.join(["x"] * len(names)) + "\n"
    assert delimiter_of(table, names) == sign
    longer = with_row(table, {names[0]: value, names[1]: "y"})
    assert longer.splitlines()[-1].split(sign)[:2] == [value, "y"]
    assert with_names(longer, names[:1], [value], " / ") == "\n".join([sign.join(names), longer.splitlines()[-1], ""])


def test_a_list_in_a_column_has_any_delimiter(tmp_path: Path) -> None:
    (tmp_path / "products.csv").write_text(PRODUCTS, encoding="utf-8")
    assert ListFile(file="products.csv", column="name").names(tmp_path, "x") == ["tea", "bread", "milk", "caviar"]
    with pytest.raises(ConfigError, match=r"got nam; did you mean name\?"):
        ListFile(file="products.csv", column="nam").names(tmp_path, "x")
