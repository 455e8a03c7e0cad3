"""Which days a configuration reads, and by which clock: what a budget that renews by the period must know of a run."""

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True)
class DayClock:
    """How the day of a row is read.

    Attributes:
        column: the input column that says when the row's event happened.
        date_format: its pattern.
        timezone: the time zone in which a moment becomes a day.
    """

    column: str
    date_format: str
    timezone: str


@dataclass(frozen=True)
class DayWindow:
    """The days that a run reads: rows of other days, and rows without one, are dropped before anything is computed.

    Attributes:
        first: first day.
        last: last day, inclusive.
        clock: how a row's day is read.
    """

    first: dt.date
    last: dt.date
    clock: DayClock
