"""What the page of a release shows, as plain values: no rows, no noise, no Spark.

Anyone who fills this in draws on the stored noisy measurement, on what was computed from it and on public settings. The
page adds nothing but words: `dplib.jobs.consistent_histograms.page`.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.page.guarantee import NoiseRow
from dplib.progress import Round


@dataclass(frozen=True, eq=False)
class ExpectedErrors:
    """Standard errors that follow from the settings, before any row is read.

    Attributes:
        of: which series they are for, in words.
        queries: kinds of query, such as ``month``.
        ours: standard error of this release's estimates, shape (n_queries,).
        baselines: name to the standard errors of another way to spend the same budget, shape (n_queries,), NaN where
            it has none; at most three.
    """

    of: str
    queries: tuple[str, ...]
    ours: FloatArray
    baselines: Mapping[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Points:
    """One series at one level of the tree.

    Attributes:
        level: its name, such as ``day``.
        dates: first day of each interval, n of them.
        estimate: shape (n,).
        half_width: of the 95 % intervals, shape (n,); NaN where none is stated.
        published: shape (n,), or None where nothing is published.
        marked: intervals that are to be told apart, shape (n,); none where None.
        mark: what they are, such as cut by the range.
    """

    level: str
    dates: tuple[dt.date, ...]
    estimate: FloatArray
    half_width: FloatArray
    published: IntArray | FloatArray | None
    marked: BoolArray | None = None
    mark: str = ""


@dataclass(frozen=True, eq=False)
class SeriesChart:
    """One series to draw, at one or more levels from fine to coarse; coarse ones only where a page has no room."""

    name: str
    levels: tuple[Points, ...]


@dataclass(frozen=True, eq=False)
class SeriesTotals:
    """Every series over the whole range, or over all that is known of a stream: shapes (n_series,).

    ``half_width`` is that of a 95 % interval, NaN where none is stated; ``published`` is None where nothing is
    published.
    """

    names: tuple[str, ...]
    estimate: FloatArray
    half_width: FloatArray
    published: IntArray | FloatArray | None


@dataclass(frozen=True)
class Estimation:
    """How the estimates were made.

    Attributes:
        solver: its name.
        reason: why this one, a sentence.
        layout: where it ran, a phrase such as ``one process on the driver``.
        rounds: one record a round; empty for solvers without rounds.
        converged: whether the stop rule was met; always for exact solvers.
        constraints: what holds on each day, a sentence each.
        notes: what the plan had to say, a sentence each.
        unpublished: why nothing stands in ``published/``; empty where something does.
    """

    solver: str
    reason: str
    layout: str
    rounds: tuple[Round, ...]
    converged: bool
    constraints: tuple[str, ...]
    notes: tuple[str, ...]
    unpublished: str = ""


@dataclass(frozen=True, eq=False)
class PageContent:
    """Everything the page of one release shows within its frame (`dplib.page.frame`).

    Attributes:
        first_day: first day of the declared range.
        last_day: last one, inclusive; of a stream the newest.
        n_days: how many have counts: all of these, but for days that a stream has not measured.
        n_items: declared items, without totals.
        noise: one entry a level of the tree, from the root down.
        errors: expected errors by query.
        charts: the series that a page has room for, the largest first.
        totals: every series over the whole range.
        estimation: how the estimates were made.
        state: of a stream, what is known of it, a sentence each; empty elsewhere.
    """

    first_day: dt.date
    last_day: dt.date
    n_days: int
    n_items: int
    noise: tuple[NoiseRow, ...]
    errors: ExpectedErrors
    charts: tuple[SeriesChart, ...]
    totals: SeriesTotals
    estimation: Estimation
    state: tuple[str, ...] = ()
