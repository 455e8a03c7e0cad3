"""Constraints in the form that the rest of the library uses, and restrictions to independent parts of them.

Notation: series are the items, then all totals; ``A`` is the incidence of one day, ``A[s, j]`` the count that one
row of type ``j`` adds to series ``s``; G and B are its day's generators and constraint matrix (`DayConstraints`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, IntArray
from dplib.constraints.day_constraints import DayConstraints
from dplib.validate import require


@dataclass(frozen=True, eq=False)
class ResolvedConstraints:
    """All that follows from the items, packages, totals and equations of a configuration.

    Attributes:
        series: names: the items, then the totals.
        n_items: how many of the series are items.
        measured: whether a series is measured, shape (n_series,); an unmeasured total has infinite variance.
        row_types: what one input row can be: the packages, or the items.
        day_constraints: consecutive day constraints that cover all days.
        incidence: ``A`` of each of the day constraints, shape (n_series, n_row_types), non-negative.
        valid: whether a row type exists on a day, shape (n_day_constraints, n_row_types); rows of others are dropped by
            this public rule.
        row_l1: largest L1 norm of a column of ``A`` over measured series: what one row adds to one tree level.
        row_l2_squared: largest squared L2 norm of such a column.
        components: groups of series that no constraint links to each other: independent least-squares problems.
        generator_components: the same for integer tables: series that share a generator belong together too.
        has_invariants: whether a public invariant is used (neighbours must be replace-one).
        notes: sentences for the plan.
    """

    series: tuple[str, ...]
    n_items: int
    measured: BoolArray
    row_types: tuple[str, ...]
    day_constraints: tuple[DayConstraints, ...]
    incidence: tuple[IntArray, ...]
    valid: BoolArray
    row_l1: int
    row_l2_squared: int
    components: tuple[IntArray, ...]
    generator_components: tuple[IntArray, ...]
    has_invariants: bool
    notes: tuple[str, ...]


def linked(rows: Sequence[npt.NDArray[np.generic]], n_series: int) -> tuple[IntArray, ...]:
    """Connected components of series, two being linked where a row is non-zero for both.

    Args:
        rows: matrices, each of shape (any, n_series).
        n_series: number of series.

    Returns:
        Sorted series numbers of each component, by their smallest.
    """
    root = list(range(n_series))

    def find(series: int) -> int:
        while root[series] != series:
            root[series] = root[root[series]]
            series = root[series]
        return series

    for matrix in rows:
        for row in matrix:
            support = np.flatnonzero(row)
            for other in support[1:]:
                low, high = sorted((find(int(support[0])), find(int(other))))
                root[high] = low
    label = np.array([find(series) for series in range(n_series)], dtype=np.int64)
    return tuple(np.flatnonzero(label == value).astype(np.int64) for value in np.unique(label))


def restrict(daily: DayConstraints, series_index: npt.ArrayLike) -> DayConstraints:
    """The part of day constraints that speaks of some series.

    Generators keep the rows of these series and the columns that touch them; where a column touches other series as
    well, non-negativity of the parts is weaker than of the whole (use ``generator_components`` for integer tables).

    Args:
        daily: the constraints.
        series_index: series numbers, shape (m,): a union of components.

    Raises:
        ConfigError: if a constraint links these series to others.
    """
    index = np.asarray(series_index, dtype=np.int64)
    inside = np.zeros(daily.n_series, dtype=bool)
    inside[index] = True
    touches = (daily.matrix[:, inside] != 0).any(axis=1)
    crosses = touches & (daily.matrix[:, ~inside] != 0).any(axis=1)
    require(not crosses.any(), "series_index", "hold whole components", "series that a constraint links to others")
    generators, names = daily.generators, daily.generator_names
    if generators is not None:
        rows = generators[index]
        kept = np.flatnonzero(rows.any(axis=0))
        generators, names = rows[:, kept], tuple(names[column] for column in kept)
    return replace(
        daily,
        matrix=np.ascontiguousarray(daily.matrix[touches][:, index]),
        rhs=daily.rhs[touches],
        generators=generators,
        generator_names=names,
    )


def same_constraints(one: DayConstraints, other: DayConstraints) -> bool:
    """Whether two agree in all but their days."""
    if (one.generators is None) != (other.generators is None):
        return False
    same_generators = (
        one.generators is None or other.generators is None or np.array_equal(one.generators, other.generators)
    )
    return (
        np.array_equal(one.matrix, other.matrix)
        and np.array_equal(one.rhs, other.rhs)
        and same_generators
        and one.generator_names == other.generator_names
    )
