"""From the design's public keys to what the readers of rows need: row kinds and their days.

A *row kind* is a row type (item or package) on one run of consecutive days on which it exists; a package that is off
the day's constraints for a while has two. Kinds are the columns of the exact counts.
"""

import numpy as np

from dplib.arrays import IntArray
from dplib.config.event_input import Input
from dplib.config.item_table import TableItems
from dplib.jobs.consistent_histograms.design import Design
from dplib.spark.rows.row_domain import RowDomain
from dplib.workflow.prepared import Prepared


def row_domain(design: Design) -> RowDomain:
    """The public keys of the rows: days, and kinds of row by name and days."""
    kinds, table, other = row_kinds(design), item_rows(design), design.config.domain.other
    keys = design.constraints.row_types if table is None else table.keys
    names = [design.constraints.row_types[row_type] for row_type in kinds[:, 0].tolist()]
    return RowDomain(
        first_day=design.config.domain.first_day,
        n_days=design.config.domain.n_days,
        names=names,
        valid_first=kinds[:, 1],
        valid_end=kinds[:, 2],
        keys=[keys[row_type] for row_type in kinds[:, 0].tolist()],
        other=names.index(other) if isinstance(other, str) else None,
    )


def row_source(prepared: Prepared[Design]) -> Input:
    """How the rows are read, with a column of each item where all are meant."""
    return prepared.source(Input).listed(prepared.design.items)


def item_rows(design: Design) -> TableItems | None:
    """The public table whose items rows name; None where these are listed, or rows name packages."""
    return None if design.rows_are_packages else design.table


def row_kinds(design: Design) -> IntArray:
    """The kinds as (row type, first day, one past the last day), by row type, shape (n_kinds, 3)."""
    constraints = design.constraints
    if (table := item_rows(design)) is not None and table.days is not None:
        return np.column_stack([np.arange(table.n_items), table.days])
    # A column on each side on which nothing exists, so that each run has a start and an end.
    valid = np.pad(constraints.valid.T.astype(np.int8), ((0, 0), (1, 1)))
    steps = np.diff(valid, axis=1)
    row_type, start = np.nonzero(steps > 0)
    _, end = np.nonzero(steps < 0)
    edges = np.array([0, *(daily.end for daily in constraints.day_constraints)], dtype=np.int64)
    return np.stack([row_type, edges[start], edges[end]], axis=1).astype(np.int64)


class SeriesCounts:
    """From exact counts of rows to exact counts of the measured series.

    Cost: O(non-zero entries of the incidence) a day; the matrices are built once, O(series x kinds) for each of the day
    constraints.

    Args:
        design: the design.
    """

    def __init__(self, design: Design) -> None:
        constraints = design.constraints
        types = row_kinds(design)[:, 0]
        known = {id(each): each for each in constraints.incidence}
        parts = {key: incidence[constraints.measured][:, types] for key, incidence in known.items()}
        self._day_constraints = [
            (daily.first, daily.end, parts[id(incidence)])
            for daily, incidence in zip(constraints.day_constraints, constraints.incidence, strict=True)
        ]
        self._width = int(constraints.measured.sum())

    def of(self, counts: IntArray, first_day: int = 0) -> IntArray:
        """Counts of the measured series, shape (n, n_measured_series).

        Args:
            counts: by day and row kind, shape (n, n_kinds), for the days from ``first_day``.
            first_day: first day of ``counts``.
        """
        series = np.zeros((len(counts), self._width), dtype=np.int64)
        for first, end, incidence in self._day_constraints:
            days = slice(max(first - first_day, 0), max(end - first_day, 0))
            series[days] = np.asarray(incidence @ counts[days].T).T
        return series
