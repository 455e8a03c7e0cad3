"""Settings of jobs whose rows hold one value each: which columns say what is binned, for which group and unit."""

import datetime as dt
from dataclasses import dataclass

from dplib.arrays import FloatArray
from dplib.config.fold import FoldedNames
from dplib.config.sections import MappedColumns, Source, Timestamps


class HistogramColumns(MappedColumns):
    """Which input column holds what."""

    value: str
    """What is binned: a number, a moment or a category."""
    group: str | None = None
    """Which histogram a row belongs to; absent for a single histogram."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""


class HistogramInput(Source, Timestamps, FoldedNames):
    """Where the rows are and how to read them."""

    columns: HistogramColumns


@dataclass(frozen=True, eq=False)
class BinDomain:
    """The public keys of rows: bins of one kind, and groups.

    Attributes:
        edges: edges of numeric bins, increasing, shape (n_bins + 1,); None for other kinds.
        clamp: whether numbers beyond the edges count in the first or last bin.
        first_day: first day of the first bin of days; None for other kinds.
        n_days: number of days.
        days_per_bin: width of a bin of days.
        categories: in order; None for other kinds.
        groups: None where there is one histogram.
        other: number of the group of rows whose group is not declared; None where they are dropped.
    """

    edges: FloatArray | None = None
    clamp: bool = False
    first_day: dt.date | None = None
    n_days: int = 0
    days_per_bin: int = 1
    categories: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    other: int | None = None
