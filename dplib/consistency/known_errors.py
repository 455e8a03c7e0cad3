"""Exact errors of a stream's answers as they are known on the day on which they are asked for, from settings alone."""

import datetime as dt

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.stream_levels import asked_ranges
from dplib.estimates.known_ranges import KnownRanges
from dplib.trees.interval_tree import IntervalTree


class KnownErrors:
    """Errors of each series' answers.

    Days and series factor where the constraints of all days are the same; elsewhere these are the errors of the mean
    factor of each series.

    Args:
        tree: over the days of the horizon.
        level_variance: by which least squares weigh each level, inf where not measured, shape (n_levels,).
        whole: standard error of each series over the horizon, shape (n_series,).
        first_day: of the horizon.
        last_day: its last.
    """

    def __init__(
        self, tree: IntervalTree, level_variance: FloatArray, whole: FloatArray, first_day: dt.date, last_day: dt.date
    ) -> None:
        self._tree, self._variance = tree, level_variance
        self._days = first_day, last_day
        alone = KnownRanges(tree, np.zeros(1, dtype=np.int64), np.array([tree.n_leaves - 1]))
        # What multiplies the standard error on a tree of one series.
        self._factor = whole / np.sqrt(alone.variance(level_variance))

    def of(self, question: str) -> tuple[FloatArray, FloatArray]:
        """Mean standard error of each series over the ranges of a question, shape (n_series,), and days of each range.

        Args:
            question: as in `dplib.consistency.stream_levels.asked_ranges`.
        """
        lo, last = asked_ranges(*self._days, question)
        variance = KnownRanges(self._tree, lo, last).variance(self._variance)
        return np.sqrt(variance).mean() * self._factor, (last + 1 - lo).astype(np.float64)
