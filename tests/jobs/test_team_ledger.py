"""The ledger from the command line: approved plans, budgets that renew, moves, older backups, audits."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from dplib.config.value_input import BinDomain, HistogramInput
from dplib.spark.engine.blocks import SparkSession
from dplib.spark.rows.bins import bin_rows, open_values
from dplib.spark.rows.contributions import bound_rows
from dplib.spark.rows.counts import count_cells
from tests.support.jobs import (
    ROWS,
    Shop,
    content,
    dplib,
    named,
    new_shop,
    new_shop_without_ledger,
    refuse_spark,
)
from tests.support.ledgers import Place
from tests.support.rows_in_python import count_in_python

MONTH = {"privacy__unit": "order-month", "domain__first_day": "2024-01-01", "domain__last_day": "2024-01-14"}
DAILY: dict[str, Any] = {"domain__first_day": "{date}", "domain__last_day": "{date}", "tree": "(dropped)"}


def ledger_of(shop: Shop) -> tuple[str, str]:
    return "--ledger", f"sqlite:///{shop.folder}/ledger.db"


def plan_of(shop: Shop, *words: str) -> dict[str, Any]:
    found = shop.command("plan", "--json", *words)
    assert found.code == 0, found.err
    ledger: dict[str, Any] = json.loads(found.out)["ledger"]
    return ledger


# ---- approved plans --------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("rows_in_python")
def test_a_run_waits_for_the_approval_of_its_plan_and_a_schedule_needs_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop_without_ledger(tmp_path, **DAILY)
    at = {date: ("--date", date) for date in ("2024-01-01", "2024-01-03", "2024-01-14")}
    key = ("--secret", f"file:{shop.folder}/shop.key")
    terms = ("--dataset", "shop", "--unit", "order", "--require-approval", "--budget", "10")
    made = dplib("init", *ledger_of(shop), *key, *terms, "--yes")
    assert made.code == 0, made.err
    assert "need an approved plan" in made.out
    plans = {date: plan_of(shop, *words) for date, words in at.items()}
    assert len({plan["plan_hash"] for plan in plans.values()}) == 1
    plan = plans["2024-01-01"]["plan_hash"]
    assert plan_of(shop, *at["2024-01-01"], "--set", "privacy.max_quantity=4")["plan_hash"] != plan
    assert f"Plan: {plan}, not approved" in shop.command("plan", *at["2024-01-01"]).out
    with monkeypatch.context() as early:
        refuse_spark(early)
        before = content(shop.folder)
        refused = shop.run(*at["2024-01-01"])
        assert refused.code == 4
        assert named(refused) == "dataset shop"
        assert f"dplib ledger approve shop {plan} --by NAME --why REASON" in refused.err
        assert content(shop.folder) == before
    approved = dplib(
        "ledger", "approve", "shop", plan, "--by", "A. Officer", "--why", "read", "--runs", "2", *ledger_of(shop)
    )
    assert approved.code == 0, approved.err
    assert "approved for 2 more runs" in approved.out
    assert plan_of(shop, *at["2024-01-03"])["approval"] == {"required": True, "runs_left": 2}
    first = shop.run(*at["2024-01-01"]).release
    assert shop.run(*at["2024-01-03"]).release != first
    assert shop.run(*at["2024-01-14"]).code == 4
    assert shop.run(*at["2024-01-01"]).release == first  # found, not approved again
    assert shop.run(*at["2024-01-01"], "--set", "publish.output.csv=true").release == first
    assert shop.run(*at["2024-01-01"], "--again").code == 4
    dplib("ledger", "approve", "shop", plan, "--by", "A. Officer", "--why", "more", "--runs", "9", *ledger_of(shop))
    revoked = dplib("ledger", "revoke", "shop", plan, "--by", "A. Officer", "--why", "stop", *ledger_of(shop))
    assert revoked.code == 0, revoked.err
    stopped = shop.run(*at["2024-01-14"])
    assert stopped.code == 4
    assert "revoked" in stopped.err
    shown = dplib("ledger", "show", *ledger_of(shop))
    assert f"plan {plan[:16]}...  revoked, 2 used, by A. Officer" in shown.out
    assert dplib("ledger", "require-approval", "shop", "--off", "--why", "trial", *ledger_of(shop)).code == 0
    assert shop.run(*at["2024-01-14"]).code == 0
    assert dplib("ledger", "audit", *ledger_of(shop), "--releases", str(shop.output)).code == 0
    assert dplib("verify", str(first), *ledger_of(shop)).code == 0


# ---- budgets that renew ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("rows_in_python")
def test_a_budget_renews_by_the_month_of_the_rows_and_everything_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop_without_ledger(tmp_path)
    made = dplib("init", "--config", str(shop.config), "--renew", "monthly", "--budget", "1", "--yes")
    assert made.code == 0, made.err
    assert "Account shop: 1 (pure) each month, unit order-month, neighbours add_remove." in made.out
    assert "privacy.unit: order-month" in made.out
    assert named(shop.run()) == "privacy.unit"
    shop.set(**MONTH)
    planned = shop.command("plan")
    assert "Ledger: costs 1 of 1 left in 2024-01 (pure)." in planned.out
    assert "order-month" in planned.out
    january = shop.run().release
    manifest = json.loads((january / "manifest.json").read_text())
    assert manifest["privacy_unit"] == "order-month"
    page = (january / "report.html").read_text()
    assert "order-month" in page
    assert "releases of rows of 2024-01 add up" in page
    assert "whatever their dates" not in page
    february = {"domain.first_day": "2024-02-01", "domain.last_day": "2024-02-14"}
    words = [word for name, day in february.items() for word in ("--set", f"{name}={day}")]
    shop.run(*words).release  # noqa: B018 - must succeed: the month has a budget of its own
    refuse_spark(monkeypatch)
    before = content(shop.folder)
    spent = shop.run("--set", "queries=[total]", "--again")
    assert spent.code == 4
    assert "left in 2024-01" in spent.err
    for words, name in (
        (["--set", "domain.first_day=2023-12-31", "--set", "tree=auto"], "the days read"),
        (["--set", "domain.last_day=2024-02-14", "--set", "tree=auto"], "the days read"),
        (["--set", "input.timezone=Asia/Tokyo"], "input.timezone"),
        (["--set", "input.date_format=dd/MM/yyyy"], "input.date_format"),
        (["--set", "input.columns.day=shipped"], r"input.columns (day)"),
    ):
        refused = shop.run(*words)
        assert refused.code == 2, refused.err
        assert named(refused) == name
        assert "shop" in refused.err
    assert content(shop.folder) == before
    shown = dplib("ledger", "show", *ledger_of(shop))
    assert "  2024-01: total 1  spent 1  reserved 0  left 0" in shown.out
    assert "  2024-02: total 1  spent 1  reserved 0  left 0" in shown.out
    assert max(map(len, shown.out.splitlines()[:-1])) <= 80
    accounts = json.loads(dplib("ledger", "show", "--json", *ledger_of(shop)).out)["accounts"]
    assert accounts[0]["renews_by"] == "month"
    assert dplib("verify", str(january), *ledger_of(shop)).code == 0


def test_a_job_without_declared_days_cannot_draw_on_an_account_that_renews(tmp_path: Path) -> None:
    shop = new_shop_without_ledger(tmp_path, **MONTH)
    assert dplib("init", "--config", str(shop.config), "--renew", "monthly", "--budget", "10", "--yes").code == 0
    config = tmp_path / "points.yaml"
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "shop",
        "input": {
            "path": "orders.csv",
            "options": {"header": "true"},
            "columns": {"value": "quantity", "unit": "order_id"},
        },
        "privacy": {"unit": "order-month", "max_rows_per_unit": 1, "budget": {"epsilon": 1}},
        "histogram": {"edges": {"start": 0, "stop": 4, "width": 1}},
        "secret": "file:shop.key",
    }
    config.write_text(json.dumps(settings))
    refused = dplib("run", "range-histograms", "--config", str(config))
    assert refused.code == 2
    assert "account without renewal, since this job declares no days" in refused.err
    without = dplib("init", "--dataset", "b", "--renew", "monthly", "--yes", *ledger_of(shop))
    assert without.code == 2
    assert named(without) == "--renew"
    by_quantity = dplib("init", "--config", str(config), "--dataset", "b", "--renew", "monthly", "--yes")
    assert named(by_quantity) == "--renew"


DAYS = {"path": "orders.csv", "options": {"header": "true"}, "columns": {"value": "date", "unit": "order_id"}}
OTHERS = [("2024-02-01", "bread", "5", "a")] * 9 + [("2023-12-31", "tea", "4", "c"), ("no day", "milk", "3", "a")] * 5
"""Rows of other months, of customers who have some in January as well."""


@pytest.mark.usefixtures("spark")
def test_rows_of_other_periods_change_nothing_of_a_period_even_of_the_same_customers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step of the proof that the code must keep: what is measured is a function of its period's rows."""
    made = []
    for name, rows in {"with others": [*OTHERS, *ROWS], "alone": ROWS}.items():
        shop = new_shop_without_ledger(tmp_path / name, **MONTH).rows(rows)
        assert dplib("init", "--config", str(shop.config), "--renew", "monthly", "--budget", "10", "--yes").code == 0
        assert shop.run("--stage", "measure").code == 0
        made.append(content(shop.output))
        # Rows that are all of the period are counted in this process: no cap drops one.
        count_in_python(monkeypatch)
    assert made[0] == made[1]
    assert any(name.endswith(".parquet") for name in made[0])


def test_values_of_other_periods_take_no_place_of_a_customer(spark: SparkSession, tmp_path: Path) -> None:
    """The same of range histograms, to the counts that they measure."""
    shop = new_shop(tmp_path).rows([*OTHERS, *ROWS])
    source, domain = HistogramInput.model_validate(DAYS), BinDomain(first_day=dt.date(2024, 1, 1), n_days=31)
    rows = bin_rows(open_values(spark, source, domain, shop.folder), source, domain)
    counts = count_cells(bound_rows(rows, 2, 2, bytes(32)), 1, 31)
    assert {day + 1: n for day, n in enumerate(counts[0].tolist()) if n} == {1: 2, 3: 1, 14: 1}


# ---- moves and older books -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("rows_in_python")
def test_a_moved_ledger_is_named_to_old_configurations_and_its_releases_are_found(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = new_shop(tmp_path / "shop")
    release = shop.run().release
    before = content(shop.output)
    target = place.url if "postgresql" in place.url else f"sqlite:///{tmp_path}/team.db"
    moved = dplib("ledger", "migrate", "--from", ledger_of(shop)[1], "--to", target)
    assert moved.code == 0, moved.err
    assert "4 entries moved to" in moved.out
    refuse_spark(monkeypatch)
    for words in ((), ("--again",), ("--set", "privacy.budget.epsilon=2")):
        stale = shop.run(*words)
        assert stale.code == 2
        assert named(stale) == "ledger"
        assert "was moved to" in stale.err
    password = make_url(target).password
    monkeypatch.setenv("TEAM_LEDGER", target)
    shop.set(ledger="${TEAM_LEDGER}")
    assert shop.run().release == release
    assert content(shop.output) == before
    assert dplib("verify", str(release), "--ledger", target).code == 0
    shown = dplib("ledger", "show", *ledger_of(shop))
    assert shown.out.startswith("MOVED to ")
    if password:
        assert password not in moved.out + moved.err + shown.out + shown.err


def test_show_filters_exports_and_audits_from_a_file(tmp_path: Path) -> None:
    shop = new_shop(tmp_path)
    shown = dplib("ledger", "show", "--dataset", "shop", "--since", "2024-01-01", *ledger_of(shop))
    tip = shop.ledger.tip
    assert shown.out.splitlines()[0] == "Account shop: 10 (pure), unit order, neighbours add_remove."
    assert shown.out.splitlines()[-1] == f"Tip: {tip[0]}:{tip[1]}"
    assert named(dplib("ledger", "show", "--dataset", "nobody", *ledger_of(shop))) == "--dataset"
    assert named(dplib("ledger", "show", "--since", "monday", *ledger_of(shop))) == "--since"
    book = tmp_path / "book.jsonl"
    book.write_text(dplib("ledger", "export", *ledger_of(shop)).out)
    good = dplib("ledger", "audit", "--from", str(book), "--known", f"{tip[0]}:{tip[1]}")
    assert good.code == 0, good.err
    book.write_text(book.read_text().replace("dplib init", "").replace('"why": ""', '"why": "x"'))
    assert dplib("ledger", "audit", "--from", str(book)).code == 1
    assert dplib("ledger", "audit", "--from", str(shop.config)).code == 2


def test_tables_alone_and_the_rule_for_an_account_that_exists(tmp_path: Path) -> None:
    address = ("--ledger", f"sqlite:///{tmp_path}/team.db")
    for _ in range(2):
        assert dplib("ledger", "create", *address).out == f"The ledger is in place: sqlite:///{tmp_path}/team.db\n"
    assert dplib("ledger", "show", *address).out == f"Tip: 0:{'0' * 64}\n"
    key = ("--secret", f"file:{tmp_path}/dplib.key", "--dataset", "shop", "--yes")
    assert dplib("init", *address, *key, "--budget", "10").code == 0
    later = dplib("init", *address, *key, "--require-approval")
    assert "exists; its terms are fixed" in later.out
    assert "need an approved plan" in later.out
    shown = json.loads(dplib("ledger", "show", "--json", *address).out)
    assert shown["accounts"][0]["needs_approval"] is True
