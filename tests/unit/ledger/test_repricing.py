"""Cost, plan and period of a reservation follow from the settings that it carries, no matter who wrote the entry."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from dplib.canonical import settings_hash
from dplib.config.load import check
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design as Counts
from dplib.jobs.pricing import price
from dplib.jobs.table import JOBS, job_named
from dplib.ledger.approvals import plan_hash
from dplib.ledger.audit import not_recomputed
from dplib.ledger.ledger import Ledger
from dplib.ledger.repricing import Priced, settings_body, stored_settings
from dplib.ledger.runs import Account, RunKey, Terms
from dplib.privacy.budget import Currency
from dplib.workflow.design import cost_of, delta_of, natural_terms
from dplib.workflow.prepared import Prepared
from dplib.workflow.settings import counted_settings, free_settings
from tests.support.ledgers import KEY, TERMS, Place, key_number, measurement, open_with

CONF = Path(__file__).parents[3] / "conf"


def configurations() -> list[tuple[str, dict[str, Any]]]:
    """Those of conf/ that are jobs', name no date and need no data that is not there."""
    found = []
    for path in sorted(CONF.glob("*.yaml")):
        text = path.read_text()
        settings = yaml.safe_load(text)
        here = "${DPLIB_SHARED}" not in text or "DPLIB_SHARED" in os.environ
        if isinstance(settings, dict) and settings.get("job") in JOBS and "{date}" not in text and here:
            found.append((path.name, settings))
    return found


@pytest.mark.parametrize(("name", "settings"), configurations(), ids=[name for name, _ in configurations()])
def test_the_settings_of_every_job_are_priced_as_their_run_is(name: str, settings: dict[str, Any]) -> None:
    run = job_named(settings["job"]).prepare(CONF / name)
    design = run.design
    assert design.events
    terms = natural_terms(design)
    delta = None if terms.currency is Currency.PURE else delta_of(design)
    account = Account(settings["dataset"], terms, Fraction(10), delta)
    kept = json.loads(json.dumps(run.plan_settings, default=str))
    priced = price(settings["job"], kept, account)
    assert priced.cost == cost_of(design, terms.currency, account)
    assert priced.settings_hash == run.key.settings_hash
    assert (priced.terms, priced.window) == (terms, run.config.day_window)


SHOP: dict[str, Any] = {
    "config_version": 1,
    "job": "consistent-histograms",
    "dataset": "takeaway",
    "input": {"path": "rows.csv", "options": {"header": "true"}, "columns": {"day": "d", "item": "i", "unit": "u"}},
    "privacy": {"unit": "order", "budget": {"epsilon": 1}, "max_rows_per_unit": 2},
    "domain": {"items": ["bread", "milk", "tea"], "first_day": "2024-01-01", "last_day": "2024-01-14"},
}


def shop(**changes: Any) -> Prepared[Counts]:
    config = check(ConsistentHistogramsConfig, SHOP | changes)
    return Prepared(Counts.resolve(config, Path("/shop")), config, Path("/shop"), "")


def counted_hash(run: Prepared[Counts]) -> str:
    return run.key.settings_hash


def test_how_the_input_is_reached_is_hashed_into_nothing_public() -> None:
    plain = shop()
    source = SHOP["input"] | {"options": {"HEADER": "True", "fs.s3a.secret.key": "hunter2"}}
    secret, other = (shop(input=source), shop(input=source | {"options": source["options"] | {"fs.s3a.x": "y"}}))
    assert counted_hash(secret) == counted_hash(other) == counted_hash(plain) == settings_hash(plain.settings)
    for run in (secret, other):
        assert "hunter2" not in json.dumps([run.plan_settings, counted_settings(run.plan_settings)])
    assert secret.key.former == (settings_hash(secret.settings),)  # as versions before made it
    assert plain.key.former == ()
    assert counted_hash(shop(input=SHOP["input"] | {"options": {"header": "true", "sep": ";"}})) != counted_hash(plain)


def test_a_free_total_changes_what_is_published_and_not_what_is_measured() -> None:
    plain, free = shop(), {"totals": {"all": ["bread", "milk"]}}
    with_total = shop(constraints=[free])
    assert counted_hash(with_total) == counted_hash(plain) == settings_hash(plain.settings)
    runs = [plain, with_total]
    run = open_run(runs[0].key)
    assert runs[0].publish_hash(run) != runs[1].publish_hash(run)
    assert runs[0].plan_settings != runs[1].plan_settings
    assert with_total.design.blocks.cut_level == plain.design.blocks.cut_level
    # A run that a version before made with the total, under its own hash: published with the hash that it had.
    former = open_run(replace(KEY, settings_hash=runs[1].key.former[0]))
    assert runs[1].key.has_settings_of(replace(former.key, dataset="takeaway", job=SHOP["job"], logical_date=""))
    assert runs[1].publish_hash(former) == settings_hash(with_total.design.publish_settings)


def open_run(key: RunKey) -> Any:
    from dplib.ledger.runs import Run, RunState

    return Run(2, key, Fraction(1), RunState.RESERVED)


def test_a_free_total_that_a_measured_one_is_made_of_decides_counts() -> None:
    measured = {"totals": {"all": ["food", "tea"]}, "measured": True}
    runs = [shop(constraints=[measured, {"totals": {"food": food}}]) for food in (["bread"], ["bread", "milk"])]
    assert counted_hash(runs[0]) != counted_hash(runs[1])
    assert free_settings(runs[0].plan_settings) == {}
    beside = shop(constraints=[measured, {"totals": {"food": ["bread"]}}, {"totals": {"more": ["food", "milk"]}}])
    assert counted_hash(beside) == counted_hash(runs[0])


@pytest.mark.parametrize("width", [2, 60_000])
def test_settings_come_back_from_an_entry_whatever_their_size(width: int) -> None:
    settings = {"domain": {"items": [f"item {number}" for number in range(width)]}}
    body = settings_body(settings)
    assert stored_settings(json.loads(json.dumps(body))) == settings
    assert len(json.dumps(body)) < 300_000
    assert settings_body(None) == {}
    assert stored_settings({}) is None
    for broken in ("x", "", "AAAA", 3):
        with pytest.raises(ConfigError, match="settings must be a mapping"):
            stored_settings({"settings": broken})


# ---- forged reservations ---------------------------------------------------------------------------------------------

SETTINGS = {"dataset": KEY.dataset, "job": KEY.job, "epsilon": "1/4"}
PRICED = replace(KEY, settings_hash=settings_hash(SETTINGS))


def pricing(_job: str, settings: Mapping[str, Any], _account: Account) -> Priced:
    return Priced(settings_hash(settings), Fraction(settings["epsilon"]), TERMS, None)


def reserve(ledger: Ledger, cost: Fraction = Fraction(1, 4), **changes: Any) -> None:
    key = replace(PRICED, **changes.pop("key", {}))
    settings = changes.pop("settings", SETTINGS)
    run = ledger.reserve(key, TERMS, cost, "", settings=settings, **changes)
    ledger.record_measurement(run, measurement())


def own_plan(settings: Mapping[str, Any] = SETTINGS, cost: Fraction = Fraction(1, 4)) -> str:
    return plan_hash(settings, KEY.logical_date, cost, TERMS.unit, TERMS.neighbors)


def test_an_honest_reservation_is_priced_and_sound(place: Place) -> None:
    ledger = open_with(place)
    ledger.require_approval("takeaway", True, "")
    ledger.approve("takeaway", own_plan(), "officer", "")
    reserve(ledger, plan=own_plan())
    ledger.require_approval("takeaway", False, "")
    reserve(ledger, Fraction(1, 2), key={"logical_date": "dearer"})  # an earlier version may have charged more
    assert ledger.audit(pricing=pricing) == []
    ledger.require_priced("takeaway", "", pricing)
    assert not_recomputed(ledger.entries()[0]) == 0


@pytest.mark.parametrize(
    ("forge", "problem"),
    [
        (
            lambda ledger: reserve(ledger, Fraction(1, 10**9)),
            "states a cost of 1/1000000000 where its settings cost 1/4",
        ),
        (lambda ledger: reserve(ledger, settings=None), "holds no settings of this format"),
        (lambda ledger: reserve(ledger, settings=SETTINGS | {"epsilon": "1/9"}), "another hash than its settings"),
        (lambda ledger: reserve(ledger, settings=SETTINGS | {"job": "kmeans"}), "no settings of its account and job"),
        (lambda ledger: reserve(ledger, settings={}), "no settings of its account and job"),
        (lambda ledger: approved(ledger), "names another plan than its settings are"),
    ],
)
def test_a_forged_reservation_is_found_by_the_audit_and_by_the_next_run(
    forge: Callable[[Ledger], None], problem: str, place: Place
) -> None:
    ledger = open_with(place)
    forge(ledger)
    assert ledger.audit() == []  # well chained, and every rule is kept
    (found,) = ledger.audit(pricing=pricing)
    assert problem in found.problem
    with pytest.raises(IntegrityError, match=rf"ledger entry {found.sequence} must say what its settings cost"):
        ledger.require_priced("takeaway", "", pricing)


def approved(ledger: Ledger) -> None:
    """Something else was approved than what is reserved under its name."""
    ledger.require_approval("takeaway", True, "")
    cheap = own_plan(SETTINGS | {"epsilon": "1/100"})
    ledger.approve("takeaway", cheap, "officer", "")
    reserve(ledger, plan=cheap)


def test_reservations_of_earlier_versions_are_counted_until_the_account_has_newer_ones(place: Place) -> None:
    ledger = open_with(place)
    book = ledger.entries()[0]
    old = {name: value for name, value in vars(book[0]).items() if name != "digest"}
    old["body"] = book[0].body.replace('"cost_format":1,', "")
    from dplib.ledger.chain import seal

    place.store([seal(**old)])
    ledger.reserve(key_number(1), TERMS, Fraction(1, 8), "")
    assert ledger.audit(pricing=pricing) == []
    assert not_recomputed(ledger.entries()[0]) == 1
    reserve(ledger)
    assert ledger.audit(pricing=pricing) == []
    ledger.reserve(key_number(2), TERMS, Fraction(1, 8), "")
    (found,) = ledger.audit(pricing=pricing)
    assert "takes no others: forged, or written by an older dplib" in found.problem


@pytest.mark.parametrize("stated", ["1", None, True, [1], 1.5])
def test_a_format_that_is_no_number_is_that_of_an_entry_without_settings(
    stated: object, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_with(place)
    monkeypatch.setattr("dplib.ledger.ledger.settings_body", lambda _: {"settings": SETTINGS, "cost_format": stated})
    reserve(ledger, Fraction(1, 10**9))
    (found,) = ledger.audit(pricing=pricing)
    assert "holds no settings of this format" in found.problem
    assert not_recomputed(ledger.entries()[0]) == 1
    with pytest.raises(IntegrityError, match="must say what its settings cost"):
        ledger.require_priced("takeaway", "", pricing)


def test_a_voided_forgery_stops_no_run(place: Place) -> None:
    ledger = open_with(place)
    run = ledger.reserve(PRICED, TERMS, Fraction(1, 10**9), "", settings=SETTINGS)
    with pytest.raises(IntegrityError):
        ledger.require_priced("takeaway", "", pricing)
    ledger.void(run, "forged")
    ledger.require_priced("takeaway", "", pricing)
    assert Terms(Currency.PURE, "order", TERMS.neighbors) == TERMS
