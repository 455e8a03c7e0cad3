"""Items of a public table and totals by their attributes: from rows to a release and its answers."""

import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dplib.canonical import canonical_json
from dplib.config.selection import select
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.job import JOB
from dplib.release.manifest import Manifest, public_design
from dplib.release.tables import read_table
from dplib.workflow.settings import free_settings
from tests.support.jobs import Shop, dplib, new_shop, refuse_spark

PRODUCTS = """\
store,sku,region,category,from,to
s1,1,north,tea,,
s1,2,north,tea,,2024-01-06
s1,3,north,coffee,,
s2,1,north,tea,2024-01-08,
s2,3,north,coffee,,
s3,1,south,tea,,
s3,4,south,milk,2024-01-03,2024-01-10
"""
HEADER = ("day", "store", "sku", "qty", "order")
ROWS = [
    ("2024-01-01", "s1", "1", "2", "a"),
    ("2024-01-01", " s1", "3\t", "1", "a"),
    ("2024-01-06", "s1", "2", "4", "b"),
    ("2024-01-07", "s1", "2", "4", "b"),  # is no longer sold
    ("2024-01-09", "s3", "4", "3", "c"),
    ("2024-01-09", "s2", "4", "3", "c"),  # no such combination
    ("2024-01-10", "s1 / 1", "", "3", "d"),  # an item's name is not its key
    ("2024-01-14", "s3", "1", "5", "e"),
]
GROUPINGS = [["category"], {"by": ["region"], "measured": True}, ["region", "category"], [], ["store"]]
CHANGES: dict[str, Any] = {
    "input__columns": {"day": "day", "item": ["store", "sku"], "quantity": "qty", "unit": "order"},
    "privacy__budget": {"epsilon": 1500},
    "domain": {
        "items": {"file": "products.csv", "columns": ["store", "sku"], "attributes": ["region", "category"]}
        | {"first_day": "from", "last_day": "to"},
        "groupings": GROUPINGS,
        "first_day": "2024-01-01",
        "last_day": "2024-01-14",
    },
    "constraints": [],
    "publish": {"output": {"path": "releases", "csv": True}},
}
EXPECTED = {"s1 / 1": 2, "s1 / 2": 4, "s1 / 3": 1, "s2 / 1": 0, "s2 / 3": 0, "s3 / 1": 5, "s3 / 4": 3}


def stores(folder: Path, products: str = PRODUCTS, **changes: object) -> Shop:
    shop = new_shop(folder, budget="100000")
    (folder / "products.csv").write_text(products, encoding="utf-8")
    return shop.set(**CHANGES).set(**changes).rows(ROWS, HEADER)


def answers(release: Path, *words: str) -> dict[str, tuple[int, float]]:
    found = dplib("query", str(release), "--json", *words)
    assert found.code == 0, found.err
    return {each["item"]: (each["published"], each["std_error"]) for each in json.loads(found.out)}


@pytest.mark.usefixtures("spark")
def test_from_rows_to_answers_by_attribute(tmp_path: Path) -> None:
    shop = stores(tmp_path / "shop")
    release = shop.run("--yes").release
    table = read_table(release / "published").to_pandas()
    whole = table[table.level == 0].set_index("item")
    assert whole[whole.grouping == "items"]["count"].to_dict() == EXPECTED
    totals = Counter[str]()
    for _, row in whole[whole.grouping == "items"].iterrows():
        for name in (f"category={row.category}", f"region={row.region}", f"store={row.store}", "grand total"):
            totals[name] += row["count"]
        totals[f"region={row.region}, category={row.category}"] += row["count"]
    assert whole[whole.grouping != "items"]["count"].to_dict() == totals
    # A store's total knows its region, a category's does not; no combination is made up.
    assert whole.loc["store=s3", ["region", "category", "sku"]].tolist() == ["south", "", ""]
    assert set(whole.grouping) == {"items", "category", "region", "region, category", "grand total", "store"}
    assert "region=south, category=coffee" not in whole.index
    # Items have rows of their own days only, in every table.
    for name in ("measurement", "estimates", "published"):
        days = read_table(release / name).to_pandas()
        days = days[(days.first_day == days.last_day) & (days.item == "s3 / 4")]
        assert sorted(day.day for day in days.first_day) == list(range(3, 11))
    assert dplib("verify", str(release)).code == 0
    assert "category=tea" in (release / "estimates" / "block-000000.csv").read_text()
    page = (release / "report.html").read_text()
    assert "Grouping region, category: 4 totals of 1 to 3 items, a free sum" in page
    _ask(release)


def _ask(release: Path) -> None:
    one = answers(release, "--where", "region=north")
    assert one["region=north"][0] == 7
    both = answers(release, "--where", "region=north", "--where", "region=south")
    assert {name: count for name, (count, _) in both.items()} == {"region=north": 7, "region=south": 8}
    summed = answers(release, "--where", "region=north", "--where", "region=south", "--sum")
    assert list(summed) == ["region=north + region=south"]
    assert summed["region=north + region=south"] == pytest.approx(
        answers(release, "--item", "grand total")["grand total"]
    )
    # No grouping has it, and yet it is one answer.
    assert answers(release, "--where", "sku=1", "--from", "2024-01-14")["sku=1"][0] == 5
    assert answers(release, "--where", "category=tea", "--where", "store=s1")["category=tea, store=s1"][0] == 6
    parts = answers(release, "--item", "s1 / 1", "--item", "s1 / 2", "--item", "s1 / 3", "--sum")
    assert next(iter(parts.values())) == pytest.approx(answers(release, "--item", "store=s1")["store=s1"])


def test_questions_that_name_nothing_there_are_refused(tmp_path: Path) -> None:
    names = JOB.prepare(stores(tmp_path / "shop").config).design.names
    for (items, where, add_up), sentence in WRONG:
        with pytest.raises(ConfigError, match=re.escape(sentence)):
            select(names, items, where, add_up)


WRONG: list[tuple[tuple[list[str], list[str], bool], str]] = [
    (([], ["regoin=north"], False), "--where must name a column of the items' table (store, sku, region, category)"),
    (([], ["regoin=north"], False), "got regoin; did you mean region?"),
    (([], ["region=nord"], False), "must give a value that the column region has, got nord; did you mean north?"),
    (([], ["region="], False), "must give a value that the column region has, got none"),
    (([], ["north"], False), "--where must have the form column=value, got north"),
    (([], ["region=south", "category=coffee"], False), "got region=south, category=coffee"),
    (
        (["north"], [], False),
        "--item must be an item or total of the release, got north; did you mean --where region=north?",
    ),
    ((["category=tee"], [], False), "got category=tee; did you mean category=tea?"),
    (([], [], True), "--sum must be given with --item or --where, got neither"),
    ((["s1 / 1", "region=north"], [], True), "got s1 / 1 and region=north, which both hold s1 / 1"),
]


def test_names_of_totals_may_not_be_those_of_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = stores(tmp_path / "shop", "sku,kind\nkind=a,a\nb,a\n")
    shop.set(input__columns__item="sku", domain__groupings=[["kind"]])
    shop.set(domain__items={"file": "products.csv", "columns": ["sku"], "attributes": ["kind"]})
    refuse_spark(monkeypatch)
    found = shop.run()
    assert "domain.groupings.0 must make names that no item and no other total has, got kind=a twice" in found.err


def test_only_what_is_measured_decides_the_measurement(tmp_path: Path) -> None:
    def hashes(products: str = PRODUCTS, **changes: object) -> tuple[str, str]:
        shop = stores(tmp_path / f"shop{len(list(tmp_path.iterdir()))}", products, **changes)
        prepared = JOB.prepare(shop.config)
        return prepared.key.settings_hash, canonical_json(free_settings(prepared.plan_settings)).decode()

    counted, free = hashes()
    lines = PRODUCTS.splitlines()
    assert hashes("\n".join([lines[0], *lines[:0:-1]])) == (counted, free)
    # Categories are in no measured grouping: they shape the release, and no more.
    other = hashes(PRODUCTS.replace("coffee", "cocoa"))
    assert other[0] == counted
    assert other[1] != free
    assert hashes(domain__groupings=[{"by": ["region"], "measured": True}])[0] == counted
    assert hashes(PRODUCTS.replace("north", "N"))[0] != counted
    assert hashes(PRODUCTS.replace("2024-01-08", "2024-01-09"))[0] != counted
    assert hashes(domain__groupings=[{"by": ["category"], "measured": True}])[0] != counted


def test_a_manifest_leads_to_no_file(tmp_path: Path) -> None:
    shop = stores(tmp_path / "shop")
    public = JOB.prepare(shop.config).design.public()
    assert Design.from_public(public).public() == public
    public["domain"]["items"]["file"] = "products.csv"
    manifest = SimpleNamespace(job=JOB.name, details={"design": public})
    with pytest.raises(IntegrityError, match="must hold the names of its release"):
        public_design(cast(Manifest, manifest), JOB.name)


MEALS = {
    "packages": {"breakfast": {"s1 / 1": 2, "s1 / 3": 1}, "lunch": {"s1 / 3": 1, "s3 / 1": 3}, "picnic": {"s3 / 4": 1}}
}
SOLD = [
    ("2024-01-01", "breakfast", "2", "a"),
    ("2024-01-02", "picnic", "1", "b"),  # milk is sold from the third on
    ("2024-01-05", "picnic", "4", "c"),
    ("2024-01-14", "lunch", "1", "d"),
    ("2024-01-14", "s1 / 1", "1", "e"),  # an item is no package
]


@pytest.mark.usefixtures("rows_in_python")
def test_rows_that_are_packages_of_a_tables_items(tmp_path: Path) -> None:
    columns = {"day": "day", "package": "meal", "quantity": "qty", "unit": "order"}
    budget = {"epsilon": 6000}  # a package has up to four pieces, and its noise is as much wider
    given = {"input__columns": columns, "publish__counts": "integers", "privacy__budget": budget}
    shop = stores(tmp_path / "shop", constraints=[MEALS], **given)
    release = shop.rows(SOLD, ("day", "meal", "qty", "order")).run("--yes").release
    assert dplib("verify", str(release)).code == 0
    found = {name: count for name, (count, _) in answers(release, "--where", "region=north").items()}
    assert found == {"region=north": 2 * 3 + 1}
    found = {name: count for name, (count, _) in answers(release).items()}
    assert [found[name] for name in ("s1 / 1", "s1 / 3", "s3 / 1", "s3 / 4", "s1 / 2")] == [4, 3, 3, 4, 0]
    assert found["grand total"] == 14
    assert "Package picnic is on sale 2024-01-03 to 2024-01-10" in (release / "report.html").read_text()
