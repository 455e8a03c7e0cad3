"""The other commands of the contract: they read well, tell the truth, and spend nothing."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest

from dplib.privacy.budget import Currency
from tests.support.jobs import ITEMS, JOB, ROWS, Shop, content, dplib, named, new_shop
from tests.support.rows_in_python import count_in_python


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A shop with one release; no command here changes it."""
    shop = new_shop(tmp_path_factory.mktemp("commands")).set(publish__output__csv=True)
    with pytest.MonkeyPatch.context() as patch:
        count_in_python(patch)
        assert shop.run().code == 0
    return shop


@pytest.fixture(scope="module")
def release(shop: Shop) -> Path:
    return shop.run().release


def ledger_of(shop: Shop) -> str:
    return f"sqlite:///{shop.folder}/ledger.db"


def test_init_makes_what_the_example_needs(tmp_path: Path) -> None:
    example = dplib("example", JOB)
    assert example.code == 0
    config = tmp_path / "example.yaml"
    config.write_text(example.out)
    without = dplib("plan", JOB, "--config", str(config))
    assert without.code == 0
    assert "Ledger: ledger must exist (dplib init creates it)" in without.out
    made = dplib("init", "--config", str(config), "--budget", "3", "--yes")
    assert made.code == 0, made.err
    assert "Account shop: 3 (pure), unit order, neighbours add_remove." in made.out
    assert (tmp_path / "dplib.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "ledger.db").stat().st_mode & 0o077 == 0
    key = (tmp_path / "dplib.key").read_text()
    again = dplib("init", "--config", str(config), "--yes")
    assert (again.code, (tmp_path / "dplib.key").read_text()) == (0, key)
    assert "The account shop exists" in again.out
    assert key.strip() not in made.out + again.out
    planned = dplib("plan", JOB, "--config", str(config))
    assert "Ledger: costs 1 of 3 left (pure)." in planned.out


def test_init_by_flags_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = dplib("init", "--dataset", "a", "--currency", "zcdp", "--budget", "1/2", "--unit", "customer", "--yes")
    assert made.code == 0, made.err
    assert "Account a: 0.5 (zcdp), unit customer" in made.out
    for words, name in [
        (("--dataset", "b", "--budget", "none"), "budget"),
        (("--dataset", "b", "--budget", "-1"), "budget"),
        (("--dataset", "b", "--currency", "euro"), "currency"),
        (("--dataset", "b"), "--budget"),
        (("--dataset", "a/b", "--budget", "1"), "dataset"),
        ((), "--dataset"),
    ]:
        refused = dplib("init", *words, "--yes")
        assert refused.code == 2
        assert refused.err.startswith(f"dplib: {name} must "), refused.err
    assert "customer" in dplib("ledger", "show").out


def test_plan_says_what_a_run_then_does(shop: Shop, release: Path) -> None:
    before = content(shop.folder)
    planned = json.loads(shop.command("plan", "--json").out)
    manifest = json.loads((release / "manifest.json").read_text())
    assert planned["ledger"]["cost"] == manifest["cost"] == "1"
    assert planned["ledger"]["existing_run"] == release.name
    assert planned["ledger"]["left"] == "9"
    assert planned["settings_hash"] == manifest["settings_hash"]
    assert planned["row_l1"] == manifest["sensitivities"]["row_l1"]
    scales = {level["level"]: level["noise"] for level in planned["levels"] if level["noise"]}
    assert scales == {each["level"]: each["scale"] for each in manifest["mechanisms"]} == {1: "60", 2: "60"}
    queries = {error["query"]: error for error in planned["errors"]}
    answers = json.loads(dplib("query", str(release), "--json").out)
    items = [answer["std_error"] for answer in answers if answer["item"] in ITEMS]
    assert queries["total"]["items"] == pytest.approx(sum(items) / len(items))
    text = shop.command("plan").out
    for words in ("no row is read, nothing is spent", "epsilon", "Expected standard error", "Solver"):
        assert words in text
    assert f"{release.name} is published; running again spends nothing" in text
    assert planned["changed"] is None
    other = shop.command("plan", "--set", "privacy.max_quantity=4", "--set", "constraints.0.measured=false").out
    assert f"New: constraints.0.measured, privacy.max_quantity differ from {release.name}." in other
    assert f"New: --date differs from {release.name}." in shop.command("plan", "--date", "2024-01-14").out
    assert content(shop.folder) == before


def test_query_adds_up_the_estimates(release: Path) -> None:
    found = json.loads(dplib("query", str(release), "--from", "2024-01-03", "--to", "2024-01-12", "--json").out)
    assert [answer["item"] for answer in found] == [*ITEMS, "drinks"]
    by_item = {answer["item"]: answer for answer in found}
    assert by_item["drinks"]["estimate"] == pytest.approx(by_item["milk"]["estimate"] + by_item["tea"]["estimate"])
    assert by_item["drinks"]["published"] == by_item["milk"]["published"] + by_item["tea"]["published"]
    for answer in found:
        assert 2 * 1.9599 < (answer["high"] - answer["low"]) / answer["std_error"] < 2 * 2.12
    days = [
        json.loads(dplib("query", str(release), "--item", "tea", "--from", day, "--to", day, "--json").out)[0]
        for day in (str(dt.date(2024, 1, 3) + dt.timedelta(days=number)) for number in range(10))
    ]
    assert sum(day["estimate"] for day in days) == pytest.approx(by_item["tea"]["estimate"])
    table = dplib("query", str(release), "--item", "tea")
    assert "95 % interval" in table.out
    # Intervals are of the counts after caps: query and page say so.
    caveat = "after the public caps (at most 3 rows of one order; each row as 5 at most)"
    assert caveat in table.out
    assert caveat in (release / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("--item", "beer"), "--item"),
        (("--from", "2023-01-01"), "--from"),
        (("--from", "2024-01-05", "--to", "2024-01-04"), "--from"),
        (("--from", "soon"), "--from"),
        (("--to", "2025-01-01"), "--from"),
    ],
)
def test_questions_that_have_no_answer(words: tuple[str, ...], name: str, release: Path) -> None:
    refused = dplib("query", str(release), *words)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith(f"dplib: {name} "), refused.err
    assert " must " in refused.err


def test_a_directory_that_is_no_release(tmp_path: Path) -> None:
    for command in ("query", "verify", "report"):
        refused = dplib(command, str(tmp_path))
        assert (refused.code, named(refused)) == (2, "RELEASE")


def test_verify_finds_the_release_of_a_configuration_and_date(shop: Shop, release: Path) -> None:
    good = dplib("verify", "--config", str(shop.config))
    assert good.code == 0, good.err
    assert release.name in "".join(good.out.split())
    assert "manifest recorded" in good.out
    absent = dplib("verify", "--config", str(shop.config), "--date", "2024-01-01")
    assert (absent.code, absent.out) == (1, "")
    assert absent.err == "dplib: --config must name settings whose release exists, got none for 2024-01-01\n"
    assert dplib("verify").err == "dplib: RELEASE must be given, or --config, got neither\n"
    assert dplib("verify", str(release), "--config", str(shop.config)).code == 2


def test_report_shows_where_the_page_is(release: Path, tmp_path: Path) -> None:
    assert dplib("report", str(release)).out == f"{release / 'report.html'}\n"
    copied = dplib("report", str(release), "--to", str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_bytes() == (release / "report.html").read_bytes()
    assert copied.last == str(tmp_path / "page.html")
    refused = dplib("report", str(release), "--to", str(tmp_path / "absent" / "page.html"))
    assert refused.code == 2
    assert refused.err.startswith("dplib: --to must ")


@pytest.mark.usefixtures("rows_in_python")
def test_rehearsal_meets_the_predicted_errors_and_touches_nothing(shop: Shop) -> None:
    """A rehearsal is a run, whose rows are counted without Spark here."""
    before = content(shop.folder)
    found = shop.command("rehearse", "--rows-per-day", "20")
    assert found.code == 0, found.err
    rows = {words[0]: words[1:] for words in map(str.split, found.out.splitlines()) if words}
    for query in ("day", "total"):
        _, predicted, measured, published = (float(number.replace(",", "")) for number in rows[query])
        assert predicted > 0
        assert 0.1 < measured / predicted < 4
        assert published > 0
    assert content(shop.folder) == before


KINDS: dict[str, tuple[dict[str, Any], list[tuple[str, str]], dict[str, Any]]] = {
    "packages that change": (
        {
            "input__columns": {"day": "date", "package": "product"},
            "privacy": {"unit": "event", "budget": {"epsilon": 1}},
            "constraints": [
                {"packages": {"meal": {"bread": 2, "tea": 1}}},
                {"packages": {"breakfast": {"bread": 1, "milk": 1}}, "from": "2024-01-05"},
            ],
        },
        [("2024-01-02", "meal"), ("2024-01-09", "breakfast"), ("2024-01-02", "breakfast")],
        {},
    ),
    "a public total": (
        {
            "input__columns": {"day": "date", "item": "product"},
            "privacy": {"unit": "event", "neighbors": "replace_one", "budget": {"epsilon": 1}},
            "constraints": [{"equations": {"seats": {"coefficients": {"bread": 1, "milk": 1, "tea": 1}, "value": 2}}}],
        },
        [(f"2024-01-{day:02d}", item) for day in range(1, 15) for item in ("bread", "tea")],
        {"neighbors": "replace_one"},
    ),
    "rho and a cap a day": (
        {"privacy__budget": {"rho": 1}, "privacy__max_rows_per_day": 1, "tree": {"levels": ["week", "day"]}},
        [],
        {"currency": Currency.ZCDP, "unit": "order"},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("rows_in_python")
def test_every_kind_of_release_is_published_verified_and_queried(kind: str, tmp_path: Path) -> None:
    changes, rows, terms = KINDS[kind]
    shop = Shop(tmp_path)
    new_shop(tmp_path)
    (tmp_path / "ledger.db").unlink()
    shop.set(**changes).account(**({"unit": "event"} | terms))
    shop.rows(rows, ("date", "product")) if rows else shop.rows(ROWS)
    assert shop.command("plan").code == 0
    found = shop.run()
    assert found.code == 0, found.err
    verified = dplib("verify", str(found.release), "--ledger", ledger_of(shop))
    assert verified.code == 0, verified.out
    asked = dplib("query", str(found.release), "--json")
    assert asked.code == 0, asked.err
    assert len(json.loads(asked.out)) >= len(ITEMS)
