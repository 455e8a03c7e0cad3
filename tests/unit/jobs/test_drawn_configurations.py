"""Drawn configurations of all jobs: what a setting decides is said before a reservation; nothing is paid, then lost.

`make accept NAME=faults` takes two thousand.
"""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.configurations import JOBS, configuration, key_selection
from tests.support.drawing import Draw
from tests.support.drawn import outcome, outcome_of

FOUND = (5, 12, 45, 535, 635, 1045)
"""Whose publication failed when it was first tried: halves of characters, zero bytes, the ends of the calendar, a
solver that does not take the tree, rounds without a change."""


@pytest.mark.parametrize("first", range(len(JOBS)), ids=[job.__name__ for job in JOBS])
def test_a_drawn_configuration_is_refused_or_published(first: int, tmp_path: Path) -> None:
    said = {number: outcome(number, tmp_path) for number in range(3000 + first, 3045 + first, len(JOBS))}
    assert {number: words for number, (kind, words) in said.items() if kind == "lost"} == {}
    assert set(Counter(kind for kind, _ in said.values())) == {"published", "refused"}


def test_a_drawn_selection_is_refused_or_published(tmp_path: Path) -> None:
    said = [outcome_of(key_selection(Draw(number)), tmp_path) for number in range(9)]
    assert [words for kind, words in said if kind == "lost"] == []
    assert {kind for kind, _ in said} == {"published", "refused"}


@pytest.mark.parametrize("number", FOUND)
def test_what_was_lost_once_is_not_lost_again(number: int, tmp_path: Path) -> None:
    kind, words = outcome(number, tmp_path)
    assert kind != "lost", words


def test_the_harness_sees_a_publication_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = next(number for number in range(3002, 3100, 5) if outcome(number, tmp_path)[0] == "published")
    monkeypatch.setattr("dplib.jobs.kmeans.run.write_tables", lambda *_: 1 / 0)
    kind, words = outcome_of(configuration(sound), tmp_path)
    assert kind == "lost"
    assert "ZeroDivisionError" in words


def test_bins_at_the_end_of_the_floats_are_published_and_drawn(tmp_path: Path) -> None:
    settings = {
        "config_version": 1,
        "job": "range-histograms",
        "dataset": "shop",
        "input": {"path": "none.csv", "columns": {"value": "price"}},
        "privacy": {"unit": "event", "budget": {"epsilon": 1}},
        "histogram": {"edges": [1e308, 1.5e308, 1.7e308]},
    }
    assert outcome_of(settings, tmp_path) == ("published", "")
