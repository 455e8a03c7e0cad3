"""Whatever a person misspells is answered with the nearest right word."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from dplib.config.load import check
from dplib.errors import ConfigError
from dplib.jobs.table import JOBS, job_named
from dplib.trees.calendar import period_edges
from tests.jobs.test_minimum_cuts import new_contacts
from tests.jobs.test_network_statistics import new_network
from tests.jobs.test_range_histograms import new_visits
from tests.support.jobs import Shop, dplib, new_shop, refuse_spark
from tests.support.places import new_places

EQUATION = {"coefficients": {"bread": 1, "mlik": 1}, "value": 3}
EVENTS = {"unit": "event", "neighbors": "replace_one", "budget": {"epsilon": 1}}
PACKAGES = {"day": "date", "package": "product", "quantity": "quantity", "unit": "order_id"}
SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"privacy__max_quantty": 3}, "max_quantity"),
    ({"privacy__MAX_QUANTTY": 3}, "max_quantity"),
    ({"input__colums": {}}, "columns"),
    ({"privacy__noise": "discrete_laplac"}, "discrete_laplace"),
    ({"publish__solver": {"method": "bosting"}}, "boosting"),
    ({"queries": ["dya"]}, "day"),
    ({"tree": {"levels": ["mont", "day"]}}, "month"),
    ({"input__format": "parket"}, "parquet"),
    ({"input__options": {"heeder": "true"}}, "header"),
    ({"input__timezone": "Europe/Londn"}, "Europe/London"),
    ({"input__fold": ["cases"]}, "case"),
    ({"constraints": [{"totals": {"drinks": ["milk", "taa"]}}]}, "tea"),
    ({"constraints": [{"packages": {"meal": {"bred": 1}}}], "input__columns": PACKAGES}, "bread"),
    (
        {
            "constraints": [{"equations": {"e": EQUATION}}],
            "privacy": EVENTS,
            "input__columns": {"day": "d", "item": "i"},
        },
        "milk",
    ),
    ({"queries": [{"range": "day", "target": {"count": 9, "relative_error": "0.1", "of": "itms"}}]}, "items"),
    ({"publish__solver": {"method": "alternating", "split": ["trees", "drink"]}}, "drinks"),
    ({"input__columns": {"day": "date", "items": ["brad"], "unit": "order_id"}}, "bread"),
]


def test_settings_values_and_names_of_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_spark(monkeypatch)
    for number, (changes, meant) in enumerate(SETTINGS):
        shop = new_shop(tmp_path / str(number))
        found = shop.set(**changes).command("plan")
        assert found.code == 2, (changes, found.err)
        assert f"; did you mean {meant}?" in found.err, found.err


def places(folder: Path) -> list[Shop]:
    return [
        new_shop(folder / "shop"),
        new_visits(folder / "visits"),
        new_places(folder / "points"),
        new_network(folder / "network"),
        new_contacts(folder / "cuts"),
    ]


def test_every_setting_of_every_job_with_a_letter_left_out(tmp_path: Path) -> None:
    for place in places(tmp_path):
        model = job_named(place.job).config
        for section in (place.settings, *(each for each in place.settings.values() if isinstance(each, dict))):
            for name in list(section):
                if section is place.settings and name == "config_version":
                    continue
                value = section.pop(name)
                section[name[:-2] + name[-1:]] = value
                with pytest.raises(ConfigError) as refused:
                    check(model, place.settings)
                del section[name[:-2] + name[-1:]]
                section[name] = value
                told = str(refused.value)
                assert f"did you mean {name}?" in told or "must be set, got nothing" in told, told


WORDS: list[tuple[tuple[str, ...], str]] = [
    (("rnu",), "run"),
    (("ledger", "shwo"), "show"),
    (("example", "kmean"), "kmeans"),
    (("guide", "inputs"), "input"),
    (("plan", "consistent-histogram", "--config", "x"), "consistent-histograms"),
]


def test_commands_jobs_and_pages() -> None:
    for words, meant in WORDS:
        found = dplib(*words)
        assert found.code == 2, found.err
        text = found.out + found.err
        assert f"id you mean {meant}?" in text or f"Did you mean '{meant}'?" in text, text
    assert all(job in dplib("example", "none").err for job in JOBS)
    with pytest.raises(ConfigError, match=r"--by must be one of .*, got weak; did you mean week\?"):
        period_edges(dt.date(2024, 1, 1), dt.date(2024, 1, 9), "weak")
