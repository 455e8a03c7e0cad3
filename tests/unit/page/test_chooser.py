"""Every series stands in the page once: in the digits that its error allows, as many as there is room for."""

import datetime as dt
import json
from itertools import product

import numpy as np
import pytest

from dplib.page import chooser as module
from dplib.page.axis_scale import linear_to
from dplib.page.blocks import Section
from dplib.page.chooser import ChoiceLevel, chooser, series_that_fit
from dplib.page.page import render_page
from dplib.trees.calendar import cut_ends

HOSTILE = "</script><script>alert(1)</script>"


def _level(half: np.ndarray, published: bool = True) -> ChoiceLevel:
    estimate = np.linspace(-3.14159, 271.828, half.size).reshape(half.shape)
    counts = np.maximum(np.rint(estimate), 0).astype(np.int64) if published else None
    labels = [f"2024-01-{day:02d}" for day in range(1, half.shape[1] + 1)]
    return ChoiceLevel("day", "count a day", labels, estimate, half, counts, np.arange(half.shape[1]) == 0, "cut")


def test_numbers_of_the_page_are_those_of_the_level() -> None:
    half = np.full((3, 4), 12.3456)
    half[2] = [12, 13, 14, np.nan]
    level = _level(half)
    (found,) = json.loads(chooser("series", ["a", "b", "c"], [level]).data)["levels"]
    assert found["estimate"] == np.rint(level.estimate).tolist()
    assert found["published"] == level.published.tolist()  # type: ignore[union-attr]
    # What series have in common stands there once.
    assert found["half"] == [12, [12, 13, 14, None]]
    assert found["halfOf"] == [0, 0, 1]
    assert found["marked"] == [0]
    (small,) = json.loads(chooser("series", ["a"], [_level(np.full((1, 4), 0.0234), published=False)]).data)["levels"]
    assert small["digits"] == 3
    assert small["estimate"][0][0] == -3.142
    assert small["published"] is None


def test_names_cannot_leave_the_data_and_one_script_runs() -> None:
    block = chooser("series", [HOSTILE], [_level(np.ones((1, 4)))])
    assert json.loads(block.data)["names"] == [HOSTILE]
    html = render_page("t", "s", (Section("One", (block, block)),))
    assert html.count("<script") == 3
    assert HOSTILE not in html
    policy = html.split('Content-Security-Policy" content="')[1].split('"')[0]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-")
    assert "script" not in render_page("t", "s", (Section("One", ()),)).replace("runs no script", "")


def test_coarse_levels_have_the_first_claim_on_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_NUMBERS", 1000)
    assert series_that_fit(50, [365, 12]) == [1, 50]
    assert series_that_fit(500, [365, 12]) == [0, 83]
    assert series_that_fit(2, [365, 12]) == [2, 2]
    short = chooser("series", ["a", "b"], [_level(np.ones((1, 4))), _level(np.ones((2, 2)))])
    assert "Of 2 the page holds by day the 1 largest" in str(short.caption)


def test_skewed_counts_are_on_a_logarithmic_axis_but_noise_is_not_blown_up() -> None:
    assert linear_to([1, 2, 3, 200], [1.0] * 4) == 2.5
    assert linear_to([1, 2, 3, 200], [30.0] * 4) is None
    assert linear_to([1, 2, 3, 100], None) is None
    assert linear_to([0.0, 0.0, -900.0], [np.nan] * 3) == 1.0


def test_cut_ends_are_the_periods_that_go_on_outside() -> None:
    one, zero = dt.timedelta(days=1), dt.date(2023, 12, 20)
    period = {
        "year": lambda day: day.year,
        "quarter": lambda day: (day.year, (day.month - 1) // 3),
        "month": lambda day: (day.year, day.month),
        "week": lambda day: day.isocalendar()[:2],
        "day": lambda day: day,
    }
    for begin, end in product(range(0, 20, 3), range(20, 60)):
        first, last = zero + begin * one, zero + end * one
        for level, of in period.items():
            assert cut_ends(first, last, level) == (of(first - one) == of(first), of(last + one) == of(last))
        monday = first - first.weekday() * one
        assert cut_ends(first, last, "2 weeks") == (monday != first, (last + one - monday).days % 14 != 0)
