"""Rows whose item is not listed count under one public name: from files to counts, in every kind of input."""

from pathlib import Path
from typing import Any

import pytest

from dplib.errors import DplibError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.job import JOB
from dplib.jobs.consistent_histograms.rows import row_domain, row_source
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.counts import count_cells
from dplib.spark.rows.read import open_rows
from dplib.spark.rows.wide import bounded_rows
from tests.support.jobs import Shop, dplib, named, new_shop, refuse_spark, require_refused

ROWS = [
    ("2024-01-01", "bread", "2", "a"),
    ("2024-01-01", "cheese", "1", "a"),  # not listed
    ("2024-01-03", "rest", "3", "b"),  # the other item by its name
    ("2024-01-03", " ham ", "2", "b"),
    ("2024-01-05", "", "1", "c"),  # no name
    ("2024-01-14", "tea", "1", "c"),
    ("2024-01-14", "Bread", "4", "d"),
]
LIST = {"items": ["bread", "milk", "tea"], "other": "rest", "first_day": "2024-01-01", "last_day": "2024-01-14"}
TOTALS = [{"totals": {"food": ["bread", "rest"]}, "measured": True}]
EXACT = {"epsilon": 900}


def shop_with(folder: Path, **changes: object) -> Shop:
    shop = new_shop(folder, ROWS, budget="100000").set(domain=LIST, constraints=TOTALS, privacy__budget=EXACT)
    return shop.set(**changes)


def counted(spark: SparkSession, shop: Shop) -> dict[str, int]:
    """What a run would count of each series, over all days."""
    prepared = JOB.prepare(shop.config)
    source, domain, constraints = row_source(prepared), row_domain(prepared.design), prepared.design.constraints
    rows = open_rows(spark, source, prepared.base)
    bounded = bounded_rows(rows, source, prepared.design.config.privacy, domain, bytes(32))
    counts = count_cells(bounded, domain.n_days, domain.n_row_types).sum(axis=0)
    return dict(zip(constraints.series, (constraints.incidence[0] @ counts).tolist(), strict=True))


PRODUCTS = "store,sku,region,from\ns1,1,north,\ns2,1,south,2024-01-08\n"
OF_TABLE = {
    "items": {"file": "products.csv", "columns": ["store", "sku"], "attributes": ["region"], "first_day": "from"},
    "other": {"store": "any", "sku": "rest", "region": "south"},
    "groupings": [{"by": ["region"], "measured": True}, []],
    "first_day": "2024-01-01",
    "last_day": "2024-01-14",
}
SALES = [
    ("2024-01-01", "s1", "1", "2", "a"),
    ("2024-01-01", "s1", "2", "1", "a"),  # no such combination
    ("2024-01-02", "s2", "1", "4", "b"),  # is listed, and not yet sold
    ("2024-01-09", "s2", "1", "3", "b"),
    ("2024-01-09", "s2", "", "3", "c"),  # half a name is none
]


def test_the_other_item_of_a_table_has_the_attributes_that_it_declares(tmp_path: Path, spark: SparkSession) -> None:
    columns = {"day": "day", "item": ["store", "sku"], "quantity": "qty", "unit": "order"}
    shop = shop_with(tmp_path / "shop", domain=OF_TABLE, constraints=[], input__columns=columns)
    (shop.folder / "products.csv").write_text(PRODUCTS)
    found = counted(spark, shop.rows(SALES, ("day", "store", "sku", "qty", "order")))
    counts = {"any / rest": 1, "s1 / 1": 2, "s2 / 1": 3}
    assert found == counts | {"region=north": 2, "region=south": 4, "grand total": 6}
    # The same row in the file is the same measurement.
    key = JOB.prepare(shop.config).key
    (shop.folder / "products.csv").write_text(PRODUCTS + "any,rest,south,\n")
    shop.set(domain__other="any / rest")
    assert JOB.prepare(shop.config).key == key
    public = JOB.prepare(shop.config).design.public()
    assert Design.from_public(public).public() == public


def test_what_is_not_listed_counts_as_other_within_the_caps_of_all(tmp_path: Path, spark: SparkSession) -> None:
    """Packages, whose names are looked up as those of items are: one that is not listed is one piece of other."""
    columns = {"day": "date", "package": "product", "quantity": "quantity", "unit": "order_id"}
    packages = [{"packages": {"bread": {"bread": 2, "tea": 1}}}, {"totals": {"all": ["bread", "tea", "rest"]}}]
    many = [(f"2024-01-0{2 + n % 2}", f"thing {n}", "9", "e") for n in range(50)]
    shop = shop_with(tmp_path, input__columns=columns, constraints=packages).rows([*ROWS, *many])
    rest = 11 + 3 * 5  # tea is an item and no package; three rows of five pieces of e
    assert counted(spark, shop) == {"bread": 4, "milk": 0, "tea": 2, "rest": rest, "all": 6 + rest}


@pytest.mark.usefixtures("spark")
def test_the_owner_sees_what_counts_as_other(tmp_path: Path) -> None:
    shop = shop_with(tmp_path / "shop")
    seen = dplib("inspect", JOB.name, "--config", str(shop.config))
    assert seen.code == 0, seen.err
    lines = {" ".join(line.split()) for line in seen.out.splitlines()}
    # One row has no name; those that count as other are named besides.
    assert {"day is in the domain 7 0", "name is in the domain 6 1", "name is listed 3 3"} <= lines, seen.out
    assert {"quantity is a number 6 0"} <= lines, seen.out
    assert "Counted as other: Bread. Declared is: bread." in seen.out


def test_other_spends_anew_and_its_absence_changes_no_hash(tmp_path: Path) -> None:
    def hashed(**changes: object) -> str:
        shop = shop_with(tmp_path / f"shop{len(list(tmp_path.iterdir()))}", **changes)
        return JOB.prepare(shop.config).key.settings_hash

    listed = LIST | {"items": [*LIST["items"], "rest"]}
    assert hashed() == hashed(domain=listed)
    plain = {name: value for name, value in listed.items() if name != "other"}
    assert hashed() != hashed(domain=plain)
    assert hashed(domain=plain) == hashed(domain=plain | {"other": None})


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"domain__other": " rest"}, "domain.other must hold names without blanks at their ends, got ' rest'"),
    ({"domain__other": {"sku": "x"}}, "domain.other must be one name unless the names come from a table"),
    ({"domain__other": ["rest"]}, "domain.other must be a text"),
]
WRONG_TABLE: list[tuple[object, str]] = [
    ("rest", "domain.other must be a name of the table, or a row for it, got rest"),
    ("s2 / 1", "domain.other must be a name that exists on all days, got s2 / 1"),
    ({"store": "any", "sku": "rest"}, "must give a value of each of store, sku, region, got none of region"),
    ({"store": "a", "sku": "b", "regoin": "c"}, "got regoin; did you mean region?"),
    ({"store": "s1", "sku": "1", "region": "north"}, "domain.items must hold each item once, got s1 / 1 twice"),
]


def test_wrong_other_items_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_spark(monkeypatch)
    for number, (changes, sentence) in enumerate(WRONG):
        refused = require_refused(shop_with(tmp_path / str(number), **changes), 2)
        assert sentence in refused.err
        assert named(refused) == "domain.other"
    for number, (other, sentence) in enumerate(WRONG_TABLE):
        columns = {"day": "day", "item": ["store", "sku"], "quantity": "qty", "unit": "order"}
        domain = OF_TABLE | {"other": other}
        shop = shop_with(tmp_path / f"t{number}", domain=domain, constraints=[], input__columns=columns)
        (shop.folder / "products.csv").write_text(PRODUCTS)
        assert sentence in require_refused(shop, 2).err
    # As wide as the days of all others, and still not all days: rows of the first would count off its own.
    (shop.folder / "products.csv").write_text("store,sku,region,from\ns1,1,north,2024-01-08\n")
    assert (
        "domain.other must be a name that exists on all days, got s1 / 1"
        in require_refused(shop.set(domain__other="s1 / 1"), 2).err
    )
    columns = {"day": "date", "package": "product", "quantity": "quantity", "unit": "order_id"}
    twice = shop_with(tmp_path / "p", constraints=[{"packages": {"rest": {"bread": 1}}}], input__columns=columns)
    with pytest.raises(DplibError, match=r"domain\.other must be the only one of its name"):
        JOB.prepare(twice.config)
