"""Releases and ledgers of the version before the rooms were moved: open, verified, asked, published anew, looked at."""

import datetime as dt
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dplib
from dplib.page.blocks import Figure, Section
from dplib.page.centers_figure import CenterMap, centers_over_cells
from dplib.page.chooser import ChoiceLevel, chooser
from dplib.page.figures import Series, series_with_band
from dplib.page.number_text import with_margin
from dplib.page.page import render_page
from dplib.reading.release import Release
from tests.support.browser import CHROMIUM, WIDTHS, Seen, open_pages
from tests.support.jobs import refuse_spark
from tests.support.stored_releases import STORED, used

pytestmark = pytest.mark.pictures
JOBS = sorted(path.stem for path in STORED.glob("*.zip"))


Place = tuple[dict[str, bool], Path]
"""What a stored place was good for, and its release."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Place]]:
    """From a job to its place, used once; without Spark."""

    @cache
    def place(job: str) -> Place:
        folder = tmp_path_factory.mktemp(job) / "place"
        seen = used(job, folder)
        (manifest,) = (folder / "releases").glob("*/manifest.json")
        return seen, manifest.parent

    with pytest.MonkeyPatch.context() as patch:
        refuse_spark(patch)
        yield place


@pytest.mark.parametrize("job", JOBS)
def test_a_stored_release_and_its_ledger_are_as_good_as_new_ones(job: str, place: Callable[[str], Place]) -> None:
    seen, _ = place(job)
    assert [name for name, right in seen.items() if not right] == []


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_their_pages_are_whole_in_a_browser_and_show_their_numbers(
    place: Callable[[str], Place], tmp_path: Path
) -> None:
    releases = [dplib.open_release(place(job)[1]) for job in JOBS]
    pages = [(release.path / "report.html").read_text(encoding="utf-8") for release in releases]
    pages.append(_page_of_extremes())
    backgrounds = set()
    for dark in (True, False):
        seen = open_pages(pages, tmp_path, dark)
        for number, page in enumerate(seen):
            assert page.wide <= page.window == WIDTHS[number % len(WIDTHS)]
            assert page.faults == []
            if number < len(releases) * len(WIDTHS):
                assert _numbers(releases[number // len(WIDTHS)], page) == []
            backgrounds.add(page.background)
    assert len(backgrounds) == 2


def _page_of_extremes() -> str:
    """Three days, wide numbers, counts just below 0, a full legend, and centers at the ends of their range."""
    days, marked = [dt.date(2024, 1, day) for day in (1, 2, 3)], np.array([False, False, True])
    labels, half = [day.isoformat() for day in days], np.full((1, 3), 0.1)
    estimate = np.array([[0.0, 1.5e12, -2.5e12], [-0.5, 0.0, 7.0]])
    choosers = [
        chooser("series", ["a"], [ChoiceLevel("day", "count a day", labels, own, half, own, marked, "preliminary")])
        for own in (estimate[:1], estimate[1:])
    ]
    few = Series(days, [1, 2, 40_000], [6.0] * 3, [0, 0, 40_000], "count for 10 weeks", marked, "cut by the range")
    place, none = np.array([[0.0, 0.0], [10.0, 10.0]]), np.zeros((0, 2))
    centers = CenterMap(("x", "y"), place[0], place[1], place, np.full((2, 2), np.nan), none, np.zeros(0))
    drawn = [series_with_band(few), centers_over_cells(centers)]
    figures = [Figure(svg, "title", "caption", "alt") for svg in drawn]
    return render_page("t", "s", (Section("One", (*choosers, *figures)),))


def _numbers(release: Release, page: Seen) -> list[str]:
    """The numbers of a release that its page does not show."""
    asked = release.query()
    if release.job == "kmeans":
        wanted = [f"{weight:,.0f}" for weight in asked["weight"]]
    elif release.job == "key-selection":
        wanted = [*asked["key"], *(f"{weight:,.0f}" for weight in asked["weight"].dropna().astype(float))]
    else:
        stated = asked.dropna(subset=["low"])
        halves = (stated["high"] - stated["low"]) / 2
        wanted = [with_margin(*each)[0] for each in zip(stated["estimate"], halves, strict=True)]
        if "published" in stated:
            wanted += [f"{count:,}" for count in stated["published"].dropna().astype(int)]
    assert wanted
    missing = [number for number in wanted if number not in page.text]
    if release.job in ("consistent-histograms", "range-histograms"):
        assert page.said
        missing += [f"{name}: {said}" for name, said in page.said.items() if said != _said(release, name)]
    return missing


def _said(release: Release, name: str) -> str:
    """What the page should say of the last point of a series at a level."""
    series, _, level = name.rpartition(" by ")
    table = release.to_pandas()
    key, first = ("item", "first_day") if "item" in table else ("group", "lo")
    own = table[(table[key] == series) & (table["level"] == (level if key == "item" else table["level"].max()))]
    row = own.sort_values(first).iloc[-1]
    half = (row["high"] - row["low"]) / 2
    shown, margin = with_margin(row["estimate"], half)
    label = f"{row[first]:%Y-%m-%d}" if key == "item" else f"[{row['lo']:g}, {row['hi']:g}]"
    return f"{series}, {label}: {shown} ± {margin}; published {row['published']:,}"
