"""Nothing of the rows leaves a run of kmeans but through the noise: not by a file, not by a word, not by a log.

A run on some rows is repeated on none at all, with the same noisy answers. What differs then between the two, in the
bytes of the release or in what was said on the way, came from the rows past the noise: a label, an inertia, a number of
rows or of rounds.
"""

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from dplib.clustering.record import Replayed
from dplib.jobs.kmeans import measure as measuring
from dplib.jobs.kmeans.query import design_of
from dplib.jobs.kmeans.tables import Tables
from dplib.release.manifest import load_manifest
from tests.support.jobs import content
from tests.support.places import GROUPS, new_places, read_in_python

CASES: dict[str, dict[str, Any]] = {
    "grid": {"clustering__method": "grid"},
    "lloyd": {"clustering__method": "lloyd", "privacy__budget": {"rho": "0.5"}, "privacy__max_rows_per_unit": 3},
    "private radius": {"clustering": {"radius": "private", "n_clusters": 2, "method": "grid"}},
}
ON_SPARK = "grid"
"""With pictures as well: those of all methods are drawn from the same tables."""


def said(text: str) -> str:
    """What a command wrote, without when it was and how long it took."""
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z|\d+(\.\d+)? ?s\b", "", text)


def run_on(
    rows: list[tuple[str, ...]], place: Path, changes: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> tuple[Path, str]:
    """A release and everything that was said while it was made."""
    caplog.clear()
    with caplog.at_level(logging.INFO):
        found = new_places(place, **changes).rows(rows).run()
    assert found.code == 0, found.err
    return found.release, said(found.out + found.err + caplog.text)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", CASES)
def test_with_the_same_answers_no_rows_give_the_same_bytes_and_words(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    request: pytest.FixtureRequest,
) -> None:
    if name == ON_SPARK:
        request.getfixturevalue("pictures")
    else:
        read_in_python(monkeypatch)
    place = tmp_path / "place"
    release, words = run_on(GROUPS, place, CASES[name], caplog)
    answers, files = Tables(release, design_of(load_manifest(release))).read_records(), content(release)
    assert len(files) > 5
    place.rename(tmp_path / "first")
    monkeypatch.setattr(measuring, "KeyedNoise", lambda key: Replayed(answers))
    again, other_words = run_on([], place, CASES[name], caplog)
    assert content(again) == files
    assert other_words == words


def test_a_planted_word_about_the_rows_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted: a log line with a sum of the rows, and an answer without noise."""
    read_in_python(monkeypatch)
    release, words = run_on(GROUPS, tmp_path / "place", CASES["grid"], caplog)
    answers, files = Tables(release, design_of(load_manifest(release))).read_records(), content(release)
    (tmp_path / "place").rename(tmp_path / "first")

    class Talking(Replayed):
        def add(self, values: Any, noise: Any, *labels: str | int) -> Any:
            logging.getLogger("dplib").warning("%s: %d", labels[0], values.sum())
            noisy = super().add(values, noise, *labels)
            return noisy + (values.sum() == 0)

    monkeypatch.setattr(measuring, "KeyedNoise", lambda key: Talking(answers))
    again, other_words = run_on([], tmp_path / "place", CASES["grid"], caplog)
    assert other_words != words
    assert content(again) != files
