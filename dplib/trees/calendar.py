"""Calendar levels of a day range: which days belong to which year, quarter, month or week.

Weeks are ISO 8601 weeks (Monday to Sunday); `13 weeks` are as many, counted from the first one of the range. The first
and the last node of a level may be cut by the range. Weeks nest in neither months, quarters nor years, so a tree has
either weeks or those.

Cost: O(n_days), vectorised.
"""

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dplib.arrays import IntArray
from dplib.validate import require, require_known

DateArray = npt.NDArray[np.datetime64]

COARSE_TO_FINE = ("year", "quarter", "month", "week", "day")
MONDAY_EPOCH = np.datetime64("1969-12-29", "D")
WEEKS = r"([2-9]|[1-9][0-9]{1,2}) weeks"
"""Levels of several weeks."""
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, eq=False)
class CalendarLevels:
    """Nested levels from the whole range down to days.

    Attributes:
        edges: boundaries of each level's nodes, for `IntervalTree.from_level_edges`; no two levels are equal.
        level_of: for each asked level (and `all`) its number in ``edges``; levels with the same nodes share one.
    """

    edges: tuple[IntArray, ...]
    level_of: dict[str, int]


def calendar_levels(first_day: dt.date, last_day: dt.date, levels: Sequence[str]) -> CalendarLevels:
    """Calendar levels of the days from ``first_day`` to ``last_day``, both inclusive.

    Args:
        first_day: first day.
        last_day: last day.
        levels: of `year`, `quarter`, `month`, `13 weeks` (any number), `week`, `day`; in any order, `day` among them.

    Raises:
        ConfigError: if a level is unknown, stands twice or is missing, if levels do not nest, or if the range is empty.
    """
    require(last_day >= first_day, "domain.last_day", "not be before domain.first_day", last_day)
    listed = ", ".join(levels)
    weeks = {level: _n_weeks(level) for level in levels}
    known = all(level in COARSE_TO_FINE or weeks[level] > 1 for level in levels)
    require(known, "tree.levels", f"be of {', '.join(COARSE_TO_FINE)}, or several weeks, such as 13 weeks", listed)
    require(len(set(levels)) == len(levels), "tree.levels", "name each level once", listed)
    require("day" in levels, "tree.levels", "include day", listed or "none")
    of_weeks = sorted((number for number in weeks.values() if number), reverse=True)
    alone = not of_weeks or len(of_weeks) == len(levels) - 1
    require(alone, "tree.levels", "nest, and weeks do not nest in months, quarters or years", listed)
    nested = all(coarse % fine == 0 for coarse, fine in pairwise(of_weeks))
    require(nested, "tree.levels", "nest, each number of weeks dividing the next", listed)
    days = np.arange(np.datetime64(first_day, "D"), np.datetime64(last_day, "D") + 1)
    edges = [np.array([0, len(days)], dtype=np.int64)]
    level_of = {"all": 0}
    for name in sorted(levels, key=_coarse_first):
        starts = np.flatnonzero(np.diff(_period(days, name), prepend=-(10**9)))
        level = np.append(starts, len(days)).astype(np.int64)
        if len(level) > len(edges[-1]):
            edges.append(level)
        level_of[name] = len(edges) - 1
    return CalendarLevels(tuple(edges), level_of)


def period_edges(first_day: dt.date, last_day: dt.date, by: str | None) -> IntArray:
    """Where the calendar's periods of a range begin, in days from its first, and its length; of the range where None.

    Raises:
        ConfigError: if there is no such period.
    """
    if by is not None:
        require_known("--by", by, COARSE_TO_FINE, f"be one of {', '.join(COARSE_TO_FINE)}")
    found = calendar_levels(first_day, last_day, list({by or "day", "day"}))
    return found.edges[found.level_of[by or "all"]]


def cut_ends(first_day: dt.date, last_day: dt.date, level: str) -> tuple[bool, bool]:
    """Whether a range cuts the first and the last of a level's periods."""
    first, last = np.datetime64(first_day, "D"), np.datetime64(last_day, "D")
    starts = _period(np.array([first - 1, first]), "week" if _n_weeks(level) else level)
    ends = _period(np.array([first, last, last + 1]), level)
    return bool(starts[0] == starts[1]), bool(ends[1] == ends[2])


def _n_weeks(level: str) -> int:
    """Weeks of a level's nodes, 0 where it has none."""
    several = re.fullmatch(WEEKS, level)
    return int(several[1]) if several else int(level == "week")


def _coarse_first(level: str) -> tuple[int, int]:
    weeks = _n_weeks(level)
    return (COARSE_TO_FINE.index("week" if weeks else level), -weeks)


def _period(days: DateArray, level: str) -> IntArray:
    """A number that changes exactly where a new period of the level starts."""
    if level == "day":
        return days.astype(np.int64)
    if level in _MONTHS:
        return np.asarray(days.astype("datetime64[M]").astype(np.int64) // _MONTHS[level])
    weeks = (days - MONDAY_EPOCH).astype(np.int64) // 7
    return weeks if level == "week" else np.asarray((weeks - weeks[0]) // _n_weeks(level))
