"""From the design's public keys to what the readers of rows need: row kinds and their days.

A *row kind* is a row type (item or package) on one run of consecutive days on which it exists; a package that is off
the day's constraints for a while has two. Kinds are the columns of the exact counts.
"""

from itertools import groupby

import numpy as np

from dplib.arrays import IntArray
from dplib.jobs.consistent_histograms.design import Design
from dplib.spark.rows.resolve import RowDomain


def row_domain(design: Design) -> RowDomain:
    """The public keys of the rows: days, and kinds of row by name and days."""
    kinds = row_kinds(design)
    return RowDomain(
        first_day=design.config.domain.first_day,
        n_days=design.config.domain.n_days,
        names=[design.constraints.row_types[row_type] for row_type, _, _ in kinds],
        valid_first=np.array([first for _, first, _ in kinds], dtype=np.int64),
        valid_end=np.array([end for _, _, end in kinds], dtype=np.int64),
    )


def row_kinds(design: Design) -> list[tuple[int, int, int]]:
    """The kinds as (row type, first day, one past the last day), by row type."""
    constraints = design.constraints
    kinds = []
    for row_type in range(len(constraints.row_types)):
        runs = groupby(
            zip(constraints.valid[:, row_type], constraints.day_constraints, strict=True), key=lambda pair: pair[0]
        )
        for is_valid, run in runs:
            day_constraints = [daily for _, daily in run]
            if is_valid:
                kinds.append((row_type, day_constraints[0].first, day_constraints[-1].end))
    return kinds


class SeriesCounts:
    """From exact counts of rows to exact counts of the measured series.

    Cost: O(non-zero entries of the incidence) a day; the matrices are built once, O(series x kinds) for each of the day
    constraints.

    Args:
        design: the design.
    """

    def __init__(self, design: Design) -> None:
        constraints = design.constraints
        types = [row_type for row_type, _, _ in row_kinds(design)]
        self._day_constraints = [
            (daily.first, daily.end, incidence[constraints.measured][:, types])
            for daily, incidence in zip(constraints.day_constraints, constraints.incidence, strict=True)
        ]
        self._width = int(constraints.measured.sum())

    def of(self, counts: IntArray, first_day: int = 0) -> IntArray:
        """Counts of the measured series.

        Args:
            counts: by day and row kind, shape (n, n_kinds), for the days from ``first_day``.
            first_day: first day of ``counts``.

        Returns:
            Shape (n, n_measured_series).
        """
        series = np.zeros((len(counts), self._width), dtype=np.int64)
        for first, end, incidence in self._day_constraints:
            days = slice(max(first - first_day, 0), max(end - first_day, 0))
            series[days] = np.asarray(incidence @ counts[days].T).T
        return series
