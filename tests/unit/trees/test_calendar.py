"""Calendar levels against the standard library's dates."""

import datetime as dt
from itertools import groupby, pairwise

import pytest

from dplib.errors import ConfigError
from dplib.trees.calendar import calendar_levels
from dplib.trees.interval_tree import IntervalTree

KEYS = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.year, (day.month - 1) // 3),
    "month": lambda day: (day.year, day.month),
    "week": lambda day: day.isocalendar()[:2],
    "day": lambda day: day,
}
RANGES = [
    (dt.date(2016, 9, 1), dt.date(2019, 7, 31)),
    (dt.date(2020, 12, 28), dt.date(2021, 1, 3)),
    (dt.date(1969, 11, 12), dt.date(1970, 3, 2)),
    (dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
    (dt.date(1899, 12, 31), dt.date(1904, 3, 1)),
]


@pytest.mark.parametrize(("first", "last"), RANGES)
@pytest.mark.parametrize("levels", [["year", "quarter", "month", "day"], ["day", "month"], ["week", "day"], ["day"]])
def test_every_asked_level_groups_days_as_the_calendar_does(first: dt.date, last: dt.date, levels: list[str]) -> None:
    calendar = calendar_levels(first, last, levels)
    days = [first + dt.timedelta(offset) for offset in range((last - first).days + 1)]
    for name in levels:
        sizes = [len(list(group)) for _, group in groupby(days, KEYS[name])]
        edges = calendar.edges[calendar.level_of[name]]
        assert [hi - lo for lo, hi in pairwise(edges)] == sizes
    tree = IntervalTree.from_level_edges(calendar.edges)
    assert tree.n_leaves == len(days)
    counts = [len(edges) for edges in calendar.edges]
    assert counts == sorted(set(counts))


def test_levels_with_the_same_nodes_are_one() -> None:
    calendar = calendar_levels(dt.date(2021, 3, 1), dt.date(2021, 3, 31), ["year", "quarter", "month", "day"])
    assert calendar.level_of == {"all": 0, "year": 0, "quarter": 0, "month": 0, "day": 1}
    assert len(calendar.edges) == 2
    one_day = calendar_levels(dt.date(2021, 3, 1), dt.date(2021, 3, 1), ["day"])
    assert (len(one_day.edges), one_day.level_of) == (1, {"all": 0, "day": 0})


@pytest.mark.parametrize(
    ("levels", "rule"),
    [
        (["week", "month", "day"], "nest"),
        (["week", "year", "day"], "nest"),
        (["month", "year"], "include day"),
        ([], "include day"),
        (["day", "day"], "name each level once"),
        (["hour", "day"], "be of"),
    ],
)
def test_wrong_levels_are_refused_with_the_setting_s_name(levels: list[str], rule: str) -> None:
    with pytest.raises(ConfigError, match=rf"tree\.levels must {rule}"):
        calendar_levels(dt.date(2021, 1, 1), dt.date(2021, 2, 1), levels)


def test_an_inverted_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"domain\.last_day must"):
        calendar_levels(dt.date(2021, 1, 2), dt.date(2021, 1, 1), ["day"])
