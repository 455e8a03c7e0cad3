"""Plans read backwards: the least budget within an error, by the plans of every job; which settings made a run new."""

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.jobs.table import job_named
from dplib.ledger.runs import Publication
from dplib.workflow.changed_settings import changed_settings, differing
from dplib.workflow.offer import Offer
from dplib.workflow.wanted_error import NUMBERS, REACH, least_place, number_at, place_of
from tests.support.every_job import JOBS, entries_of, new_place_of
from tests.support.jobs import Shop, named
from tests.support.ledgers import measurement

WEIGHTS = {"selection": {"mechanism": "gaussian"}, "privacy__budget": {"epsilon": 1, "delta": "1e-6"}}


def errors_at(place: Shop, budget: Fraction) -> dict[str, float]:
    """What the plan states at a budget, which is what the job gives without one."""
    prepared = job_named(place.job).prepare(place.config, (f"privacy.budget.epsilon={budget}",))
    stated = prepared.job.plan(prepared.design, "")[0].stated_errors()
    assert prepared.job.errors is None or prepared.job.errors(prepared.design) == stated
    return stated


def test_where_the_data_choose_the_buckets_no_error_is_stated(tmp_path: Path) -> None:
    assert errors_at(new_place_of("range-histograms", tmp_path, tree={"method": "adaptive"}), Fraction(1)) == {}


@pytest.mark.parametrize("job", JOBS)
def test_a_budget_is_the_least_of_three_digits_within_the_error(job: str, tmp_path: Path) -> None:
    place = new_place_of(job, tmp_path, **(WEIGHTS if job == "key-selection" else {}))
    answer, now = next(iter(errors_at(place, Fraction(1)).items()))
    asked = place.command("plan", "--error", str(now / 3), "--answer", answer, "--json")
    found = json.loads(asked.out)["needed"][0]
    budget = Fraction(found["budget"])
    assert (found["answer"], found["error_now"]) == (answer, now)
    assert errors_at(place, budget)[answer] == found["error"] <= now / 3
    assert errors_at(place, number_at(place_of(float(budget)) - 1))[answer] > now / 3
    assert entries_of(place) == []


@pytest.mark.parametrize(("job", "largest"), [("range-histograms", "64"), ("key-selection", "15.9")])
def test_the_largest_budget_that_a_job_takes_is_found_and_none_beyond_it(
    job: str, largest: str, tmp_path: Path
) -> None:
    """Where hardly any noise is left, errors fall faster than any power of the budget, and larger ones are refused."""
    place = new_place_of(job, tmp_path, **(WEIGHTS if job == "key-selection" else {}))
    answer, least = next(iter(errors_at(place, Fraction(largest)).items()))
    with pytest.raises(ConfigError):
        errors_at(place, number_at(place_of(float(largest)) + 1))
    words = ("--answer", answer, "--json")
    asked = (place.command("plan", "--error", error, *words) for error in (str(least), str(least * 0.99), "1e-100"))
    assert [json.loads(each.out)["needed"][0]["budget"] for each in asked] == [largest, None, None]


def test_a_relative_error_is_one_of_its_count_and_wrong_words_are_refused(tmp_path: Path) -> None:
    place = new_place_of("consistent-histograms", tmp_path, queries=["week"])
    absolute = place.command("plan", "--error", "5", "--answer", "week").out
    assert place.command("plan", "--error", "2.5%", "--count", "200", "--answer", "week").out == absolute
    assert "week of an item" in absolute
    for words, name in (
        (("--error", "few"), "--error"),
        (("--error", "-1"), "--error"),
        (("--error", "1e-400"), "--error"),
        (("--error", "5%", "--count", "1e400"), "--count"),
        (("--error", "5%"), "--count"),
        (("--error", "5", "--count", "9"), "--count"),
        (("--error", "5", "--answer", "wek"), "--answer"),
        (("--count", "5"), "--count and --answer"),
    ):
        refused = place.command("plan", *words)
        assert (refused.code, named(refused)) == (2, name)


def test_a_table_of_keys_states_no_error(tmp_path: Path) -> None:
    refused = new_place_of("key-selection", tmp_path).command("plan", "--error", "5")
    assert (refused.code, named(refused)) == (2, "--error")


@settings(max_examples=30)
@given(st.integers(-REACH, REACH + 1), st.integers(-REACH, REACH))
def test_the_least_place_is_found_from_anywhere(least: int, near: int) -> None:
    found = least_place(lambda place: place >= least, near, 0)
    assert found == (None if least > REACH else least)


@given(st.integers(-20 * NUMBERS, 20 * NUMBERS))
def test_places_count_the_numbers_of_three_digits(place: int) -> None:
    assert abs(place_of(float(number_at(place))) - place) <= 1
    assert number_at(place) < number_at(place + 1)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (lambda settings: settings, ()),
        (
            lambda settings: settings | {"domain": settings["domain"] | {f"x{n}": n for n in range(20)}},
            "and 12 more differ",
        ),
        (lambda settings: settings | {"constraints": [{}]}, None),
        (lambda settings: settings | {"constraints": 5}, None),
        (lambda settings: [], None),
    ],
)
def test_a_plan_names_what_changed_and_stops_at_no_stored_settings(
    stored: Callable[[dict[str, Any]], Any], told: str | tuple[()] | None, tmp_path: Path
) -> None:
    place = new_place_of("consistent-histograms", tmp_path)
    prepared = job_named(place.job).prepare(place.config)
    ledger, settings = prepared.open_ledger(), prepared.plan_settings
    offer = Offer(prepared, ledger.account("shop"))
    other = replace(prepared.key, settings_hash="f" * 64)
    run = ledger.reserve(other, offer.terms, offer.cost, "", settings=stored(settings))
    run = ledger.record_measurement(run, measurement())
    ledger.record_published(run, Publication(str(prepared.output / run.release_id), "p" * 64, "m" * 64))
    found = changed_settings(prepared)
    if isinstance(told, str):
        assert found is not None
        assert told in found.text
    else:
        assert told == (None if found is None else found.settings)


def test_differing_settings_are_named_and_not_shown() -> None:
    one = {"privacy": {"budget": {"epsilon": 1}, "unit": "a"}, "items": ["x", "y"], "constraints": [{"measured": True}]}
    other = {"privacy": {"budget": {"epsilon": 2}, "unit": "a"}, "items": ["x"], "constraints": [{"measured": False}]}
    assert list(differing(one, other)) == ["constraints.0.measured", "items", "privacy.budget.epsilon"]
    assert list(differing(one, one)) == []
    assert next(differing(one, other | {"constraints": []})) == "constraints"
    assert list(differing({}, {"tree": "auto"})) == ["tree"]
