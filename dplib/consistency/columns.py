"""Which series share their noise at a node, and which share of the budget each such column gets.

A column is a set of series with an event of its own: all measured series, or with the setting ``measure`` the single
series, and each group of their totals. Each job proves that the events together keep to its budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.config.measure import Measure
from dplib.consistency.question_shares import grouping_shares, is_judged
from dplib.constraints.resolved import ResolvedConstraints
from dplib.constraints.row_norms import row_norms
from dplib.privacy.noise import Law
from dplib.privacy.rounding import share_text
from dplib.validate import require


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a design.

    Attributes:
        of: column of each series, shape (n_series,); what is not measured has one too.
        names: of the columns, for readers; empty where all measured series are one.
        streams: what the noise of each is named by, whatever readers call it; empty likewise.
        shares: of each column, of sum 1.
        measure: the section that names these shares outright, so that ``auto`` is decided once; None without any.
        notes: sentences for the plan.
    """

    of: IntArray
    names: tuple[str, ...]
    streams: tuple[str, ...]
    shares: tuple[Fraction, ...]
    measure: Measure | None
    notes: tuple[str, ...] = ()

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.shares)


def unshared(constraints: ResolvedConstraints) -> Columns:
    """All measured series as one column."""
    return Columns(np.zeros(len(constraints.series), dtype=np.int64), (), (), (Fraction(1),), None)


def columns_of(
    constraints: ResolvedConstraints,
    names: tuple[str, ...],
    streams: tuple[str, ...],
    measure: Measure | Literal["auto"],
    law: Law,
) -> tuple[Columns, ResolvedConstraints]:
    """The columns that a setting asks for, and the constraints with what is measured by it.

    Args:
        constraints: what links the series.
        names: of the columns, the single series' first.
        streams: what their noise is named by.
        measure: the setting.
        law: of the noise.

    Raises:
        ConfigError: if it has another number of shares than there are columns.
    """
    of = constraints.series_grouping
    if measure == "auto":
        norms = [series_norms(constraints, of == number) for number in range(len(names))]
        costs = np.array([float(law.sensitivity(*each)) ** law.exponent for each in norms])
        given: Sequence[Fraction] = grouping_shares(constraints, of, law, np.maximum(costs, 1.0))
    else:
        given = measure.shares
        rule = f"have one share for each of {', '.join(names)}"
        require(len(given) == len(names), "measure.shares", rule, len(given))
    shares = tuple(share / sum(given) for share in given)
    measured = np.array([shares[column] > 0 for column in of])
    l1, square = series_norms(constraints, measured)
    notes: tuple[str, ...] = ()
    if measure == "auto":
        parts = ", ".join(f"{name} {share_text(share)}" for name, share in zip(names, shares, strict=True))
        notes = (f"Shares of the {names[0]} and their totals, chosen for the queries (measure: auto): {parts}.",)
        if not is_judged(constraints):
            notes = (f"measure: auto decides nothing where packages link so many series; shares are equal: {parts}.",)
    columns = Columns(of, names, streams, shares, Measure(shares=list(shares)), notes)
    return columns, replace(constraints, measured=measured, row_l1=l1, row_l2_squared=square)


def series_norms(constraints: ResolvedConstraints, series: BoolArray) -> tuple[int, int]:
    """Largest L1 and squared L2 norm of what one row adds to some series of one level."""
    return row_norms([incidence[np.flatnonzero(series)] for incidence in constraints.incidence])
