"""The series that a page draws, at every level that was measured, and by months: as many as it has room for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.page_content import Points, SeriesChart
from dplib.page.chooser import series_that_fit
from dplib.privacy.noise_quantile import half_widths
from dplib.trees.calendar import COARSE_TO_FINE, cut_ends

CUT = "cut by the range"
MAX_LAWS = 48
"""Half widths of charts that are worked out, over all levels and series together."""


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """All series on the intervals of one level.

    Attributes:
        name: of the level.
        lo: first day of each interval, shape (n,).
        hi: one past its last, shape (n,).
        estimate: shape (n, n_series).
        error: standard errors, NaN where none is stated, shape (n, n_series).
        counts: published ones, shape (n, n_series); None where nothing is published.
        marked: intervals that are to be told apart, shape (n,).
        mark: what they are.
    """

    name: str
    lo: IntArray
    hi: IntArray
    estimate: FloatArray
    error: FloatArray
    counts: IntArray | FloatArray | None
    marked: BoolArray
    mark: str = CUT


def cut_intervals(design: Design, name: str, lo: IntArray, hi: IntArray) -> BoolArray:
    """Which of the intervals of a level the range cuts, or the padding of the tree, shape (n,)."""
    if name in COARSE_TO_FINE or name.endswith(" weeks"):
        domain = design.config.domain
        first, last = cut_ends(domain.first_day, domain.last_day, name)
        return np.asarray((first & (lo == 0)) | (last & (hi == domain.n_days)))
    widths = hi - lo
    return np.asarray(widths < widths.max())


def series_charts(
    design: Design,
    levels: Sequence[LevelCounts],
    order: IntArray,
    half_width: Callable[[int, int, int], float],
    published: BoolArray | None = None,
) -> tuple[SeriesChart, ...]:
    """The largest series, each at the levels that there is room for.

    Args:
        design: of the release.
        levels: the finest first.
        order: the series, the largest first, shape (n_series,).
        half_width: from first day, end and series to that of the 95 % interval.
        published: which series have published counts, shape (n_series,); all where None.
    """
    kept = [order[:m] for m in series_that_fit(len(order), [len(level.lo) for level in levels])]
    sizes = [len(level.lo) * len(own) for level, own in zip(levels, kept, strict=True)]
    errors = [level.error[:, own].reshape(-1) for level, own in zip(levels, kept, strict=True)]
    ends = np.cumsum([0, *sizes])

    def exact(at: int) -> float:
        number = int(np.searchsorted(ends, at, side="right")) - 1
        row, column = divmod(at - int(ends[number]), len(kept[number]))
        level = levels[number]
        return half_width(int(level.lo[row]), int(level.hi[row]), int(kept[number][column]))

    halves = np.split(half_widths(np.concatenate(errors), exact, MAX_LAWS), ends[1:-1])
    of_level = [half.reshape(len(level.lo), len(own)) for level, half, own in zip(levels, halves, kept, strict=True)]
    dates = [tuple(design.date(day) for day in level.lo.tolist()) for level in levels]
    found = []
    for place in range(max(map(len, kept))):
        points = []
        for level, half, days in zip(levels, of_level, dates, strict=True):
            if place >= half.shape[1]:
                continue
            series = int(order[place])
            has = level.counts is not None and (published is None or published[series])
            counts = level.counts[:, series] if has and level.counts is not None else None
            shown = (level.estimate[:, series], half[:, place], counts, level.marked, level.mark)
            points.append(Points(level.name, days, *shown))
        found.append(SeriesChart(design.series[int(order[place])], tuple(points)))
    return tuple(found)
