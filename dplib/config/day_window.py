"""Which days a configuration reads, and by which clock: what a budget that renews by the period must know of a run."""

import datetime as dt
from dataclasses import dataclass

from dplib.config.consistent_histograms import ConsistentHistogramsConfig
from dplib.config.range_histograms import RangeHistogramsConfig
from dplib.config.sections import JobConfig


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


def day_window(config: JobConfig) -> DayWindow | None:
    """The days that a configuration declares; None where its rows may be of any day.

    Both jobs drop a row outside these days first, before the caps choose among a unit's rows
    (`dplib.spark.resolve.resolve_rows`, `dplib.spark.bins.bin_rows`), so nothing that they publish depends on it.
    """
    if isinstance(config, ConsistentHistogramsConfig):
        clock = DayClock(config.input.columns.day, config.input.date_format, config.input.timezone)
        return DayWindow(config.domain.first_day, config.domain.last_day, clock)
    if isinstance(config, RangeHistogramsConfig) and config.histogram.days is not None:
        clock = DayClock(config.input.columns.value, config.input.date_format, config.input.timezone)
        return DayWindow(config.histogram.days.first, config.histogram.days.last, clock)
    return None
