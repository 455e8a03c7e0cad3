"""Levels that are chosen for a stream, against a search over all calendars and against the periods of dates."""

import datetime as dt

import numpy as np
import pytest

from dplib.consistency import stream_levels
from dplib.consistency.stream_levels import (
    asked_ranges,
    best_levels,
    calendar_tree,
    calendars,
    choose_levels,
    growing_objective,
)
from dplib.privacy.noise import Law
from dplib.trees.interval_tree import IntervalTree

FIRST, LAST = dt.date(2026, 1, 15), dt.date(2026, 6, 30)
DAYS = [FIRST + dt.timedelta(days=n) for n in range((LAST - FIRST).days + 1)]


def ones(tree: IntervalTree) -> np.ndarray:
    return np.ones(tree.n_levels)


@pytest.mark.parametrize(
    ("question", "first_of"),
    [
        ("day", lambda day: day),
        ("month to date", lambda day: max(FIRST, day.replace(day=1))),
        ("year to date", lambda _: FIRST),
        ("week to date", lambda day: max(FIRST, day - dt.timedelta(days=day.weekday()))),
    ],
)
def test_ranges_begin_where_the_period_of_their_last_day_does(question: str, first_of: object) -> None:
    lo, last = asked_ranges(FIRST, LAST, question)
    assert last.tolist() == list(range(len(DAYS)))
    assert [DAYS[day] for day in lo] == [first_of(day) for day in DAYS]  # type: ignore[operator]


def test_recent_days_and_whole_periods() -> None:
    lo, last = asked_ranges(FIRST, LAST, "last 7 days")
    assert (lo[0], last[0], set((last - lo).tolist()), last[-1]) == (0, 6, {6}, len(DAYS) - 1)
    assert [part.tolist() for part in asked_ranges(FIRST, LAST, "total")] == [[0], [len(DAYS) - 1]]
    lo, last = asked_ranges(FIRST, LAST, "month")
    assert [DAYS[day].month for day in lo] == list(range(1, 7)) == [DAYS[day].month for day in last]
    short = asked_ranges(FIRST, FIRST + dt.timedelta(days=2), "last 28 days")
    assert [part.tolist() for part in short] == [[0], [2]]


@pytest.mark.parametrize(
    ("law", "asked"),
    [
        (Law.GAUSSIAN, ["year to date"]),
        (Law.GAUSSIAN, ["day", "last 7 days", "last 28 days", "year to date"]),
        (Law.LAPLACE, ["day", "last 7 days", "last 28 days", "year to date"]),
        (Law.GAUSSIAN, ["total"]),
    ],
)
def test_no_calendar_of_few_levels_serves_better(law: Law, asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Although a third as many calendars as usual get their best shares."""
    monkeypatch.setattr(stream_levels, "TRIED", stream_levels.TRIED // 3)
    questions = [(question, 1.0) for question in asked]
    last = dt.date(2026, 4, 15)
    chosen = choose_levels(FIRST, last, questions, law, ones)
    assert sum(chosen.shares) == 1
    for levels in calendars(FIRST, last, 3)[::13]:
        tree = calendar_tree(FIRST, last, levels)
        other = best_levels(levels, growing_objective(tree, FIRST, last, questions), law, ones(tree))
        # Standard errors within one per cent.
        assert chosen.value / 2 <= other.value / 2 + 0.01
