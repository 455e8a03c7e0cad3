"""Constraints in the form that the rest of the library uses, and restrictions to independent parts of them.

Notation: series are the items, then all totals; ``A`` is the incidence of one day, ``A[s, j]`` the count that one
row of type ``j`` adds to series ``s``; G and B are its day's generators and constraint matrix (`DayConstraints`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from dplib.arrays import BoolArray, IntArray
from dplib.constraints.day_constraints import DayConstraints, PartlyAbsent, SparseFloat, SparseInt, equal
from dplib.validate import require


@dataclass(frozen=True, eq=False)
class ResolvedConstraints:
    """All that follows from the items, packages, totals and equations of a configuration.

    Attributes:
        series: names: the items, then the totals.
        n_items: how many of the series are items.
        measured: whether a series is measured, shape (n_series,); an unmeasured total has infinite variance.
        series_grouping: 0 for items, then the grouping of each total, shape (n_series,): every block of ``totals`` is
            one, then those of a public table.
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
    series_grouping: IntArray
    row_types: tuple[str, ...]
    day_constraints: tuple[DayConstraints, ...]
    incidence: tuple[SparseInt, ...]
    valid: BoolArray
    row_l1: int
    row_l2_squared: int
    components: tuple[IntArray, ...]
    generator_components: tuple[IntArray, ...]
    has_invariants: bool
    notes: tuple[str, ...]


def on_days(constraints: ResolvedConstraints, lo: int, hi: int) -> ResolvedConstraints:
    """The constraints of the days ``lo <= t < hi``, counted from the first of them."""
    kept = [n for n, daily in enumerate(constraints.day_constraints) if daily.first < hi and daily.end > lo]
    return replace(
        constraints,
        day_constraints=tuple(
            daily.between(max(daily.first, lo) - lo, min(daily.end, hi) - lo)
            for daily in (constraints.day_constraints[n] for n in kept)
        ),
        incidence=tuple(constraints.incidence[n] for n in kept),
        valid=constraints.valid[kept],
    )


def on_cells(constraints: ResolvedConstraints, edges: IntArray) -> ResolvedConstraints:
    """The constraints of cells of consecutive days, all of which have the same homogeneous ones (`are_alike`).

    Args:
        constraints: of days.
        edges: first day of each cell and one past the last, shape (n_cells + 1,).
    """
    lo, hi = int(edges[0]), int(edges[-1])
    found = on_days(constraints, lo, hi)
    if len(edges) - 1 == hi - lo:
        return found
    ends = [np.searchsorted(edges - lo, (daily.first, daily.end)).tolist() for daily in found.day_constraints]
    cells = tuple(daily.between(*own) for daily, own in zip(found.day_constraints, ends, strict=True))
    return replace(found, day_constraints=cells)


def are_alike(constraints: ResolvedConstraints, lo: IntArray, hi: IntArray) -> BoolArray:
    """Whether all days ``lo <= t < hi`` have the same homogeneous constraints, shape (n,)."""
    ends = np.array([daily.end for daily in constraints.day_constraints])
    first, last = np.searchsorted(ends, lo, side="right"), np.searchsorted(ends, hi - 1, side="right")
    homogeneous = np.array([daily.is_homogeneous for daily in constraints.day_constraints])
    return np.asarray((first == last) & homogeneous[first])


def linked(rows: Iterable[SparseFloat | SparseInt], n_series: int) -> tuple[IntArray, ...]:
    """Connected components of series, two being linked where a row is non-zero for both.

    Args:
        rows: matrices, each of shape (any, n_series), taken one after the other.
        n_series: number of series.

    Returns:
        Sorted series numbers of each component, by their smallest.
    """
    label: IntArray = np.arange(n_series, dtype=np.int64)
    for matrix in rows:
        label = _joined(
            label, np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices.astype(np.int64)
        )
    _, first, own = np.unique(label, return_index=True, return_inverse=True)
    place = np.argsort(np.argsort(first))[own.reshape(-1)]
    sizes = np.bincount(place)
    return tuple(np.split(np.argsort(place, kind="stable").astype(np.int64), np.cumsum(sizes)[:-1]))


def _joined(label: IntArray, row: IntArray, series: IntArray) -> IntArray:
    """The labels of series after those that share a row have the same: the least of theirs.

    Each round a component joins the least one beside it. One that stays is beside a lesser one in the next round, so
    rounds are at most twice the logarithm of the components. (scipy's search loads all its solvers.)
    """
    while True:
        own = label[series]
        least = np.full(int(row[-1]) + 1 if len(row) else 0, len(label))
        np.minimum.at(least, row, own)
        root = np.arange(len(label))
        np.minimum.at(root, own, least[row])
        if np.array_equal(root[label], label):
            return label
        while not np.array_equal(root[root], root):
            root = root[root]
        label = root[label]


def touched(day_constraints: Sequence[DayConstraints]) -> BoolArray:
    """Whether some equation speaks of a series, shape (n_series,)."""
    found = np.zeros(day_constraints[0].n_series, dtype=bool)
    for daily in day_constraints:
        found[daily.matrix.indices] = True
    return found


def restrict(daily: DayConstraints, series_index: npt.ArrayLike) -> DayConstraints:
    """The part of day constraints that speaks of some series; as `parted`, for one group."""
    return parted(daily, [np.asarray(series_index, dtype=np.int64)])[0]


def parted(daily: DayConstraints, groups: Sequence[IntArray]) -> list[DayConstraints]:
    """The parts of day constraints that speak of groups of series; one pass over the entries for all of them.

    Generators keep the rows of a group's series and the columns that touch them; where a column touches other series
    as well, non-negativity of the parts is weaker than of the whole (use ``generator_components`` for integer tables).

    Args:
        daily: the constraints.
        groups: series numbers of each group, shape (m,): a union of components.

    Raises:
        ConfigError: if a constraint links these series to others.
    """
    if len(groups) == 1 and np.array_equal(groups[0], np.arange(daily.n_series)):
        return [daily]
    label, place = np.full(daily.n_series, -1), np.zeros(daily.n_series, dtype=np.int64)
    for number, group in enumerate(groups):
        label[group], place[group] = number, np.arange(len(group))
    matrix = daily.matrix
    own = label[matrix.indices]
    row_label = np.full(matrix.shape[0], -1)
    row_of = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    row_label[row_of] = own
    whole = bool((own == row_label[row_of]).all())
    require(whole, "series_index", "hold whole components", "series that a constraint links to others")
    order = np.argsort(row_label, kind="stable")
    ends = np.searchsorted(row_label[order], np.arange(len(groups) + 1))
    sorted_rows, rhs = matrix[order], daily.rhs[order]
    generators = None if daily.generators is None else daily.generators[np.concatenate(groups)]
    bounds, found = np.cumsum([0, *map(len, groups)]), []
    for number, group in enumerate(groups):
        rows = slice(int(ends[number]), int(ends[number + 1]))
        part = _rows_between(sorted_rows, rows, place, len(group))
        own_generators, names = _generators_between(generators, bounds[number], bounds[number + 1], daily)
        found.append(DayConstraints(daily.first, daily.end, part, rhs[rows], own_generators, names))
    return found


def parted_days(day_constraints: Sequence[DayConstraints], groups: Sequence[IntArray]) -> list[list[DayConstraints]]:
    """The parts of consecutive day constraints for each group of series; of items' days each has its own periods alone.

    Args:
        day_constraints: the constraints.
        groups: series numbers of each group, as for `parted`.
    """
    label, place = np.full(day_constraints[0].n_series, len(groups)), np.zeros(day_constraints[0].n_series, np.int64)
    for number, group in enumerate(groups):
        label[group], place[group] = number, np.arange(len(group))
    found: list[list[DayConstraints]] = [[] for _ in groups]
    wholes: dict[tuple[int, int], list[DayConstraints]] = {}
    before: list[tuple[DayConstraints | None, IntArray]] = [(None, place)] * len(groups)
    for daily in day_constraints:
        whole, absent = (daily.whole, daily.absent) if isinstance(daily, PartlyAbsent) else (daily, place[:0])
        key = id(whole.matrix), id(whole.generators)
        wholes.setdefault(key, [])
        wholes[key] = wholes[key] or parted(whole, groups)
        order = np.argsort(label[absent], kind="stable")
        ends = np.searchsorted(label[absent][order], np.arange(len(groups) + 1))
        absent = place[absent][order]
        for number, part in enumerate(wholes[key]):
            own = absent[ends[number] : ends[number + 1]]
            last, (same, known) = found[number], before[number]
            if same is part and np.array_equal(known, own):
                last[-1] = last[-1].between(last[-1].first, daily.end)
                continue
            before[number] = part, own
            made = PartlyAbsent(daily.first, daily.end, part, own) if len(own) else part.between(daily.first, daily.end)
            last.append(made)
    return found


def _rows_between(matrix: SparseFloat, rows: slice, place: IntArray, width: int) -> SparseFloat:
    """Some rows with their columns renumbered."""
    ends = matrix.indptr[rows.start : rows.stop + 1]
    entries = slice(int(ends[0]), int(ends[-1]))
    columns = place[matrix.indices[entries]]
    return csr_array((matrix.data[entries], columns, ends - ends[0]), shape=(rows.stop - rows.start, width))


def _generators_between(
    generators: SparseInt | None, first: int, end: int, daily: DayConstraints
) -> tuple[SparseInt | None, tuple[str, ...]]:
    """The generators of some series, without the columns that touch none of them."""
    if generators is None:
        return None, ()
    entries = slice(int(generators.indptr[first]), int(generators.indptr[end]))
    kept, columns = np.unique(generators.indices[entries], return_inverse=True)
    ends = generators.indptr[first : end + 1] - generators.indptr[first]
    part = csr_array((generators.data[entries], columns.reshape(-1), ends), shape=(end - first, len(kept)))
    return part, tuple(daily.generator_names[column] for column in kept.tolist())


def same_constraints(one: DayConstraints, other: DayConstraints) -> bool:
    """Whether two agree in all but their days."""
    if one.generators is None or other.generators is None:
        same_generators = one.generators is None and other.generators is None
    else:
        same_generators = equal(one.generators, other.generators)
    return (
        same_generators
        and equal(one.matrix, other.matrix)
        and np.array_equal(one.rhs, other.rhs)
        and one.generator_names == other.generator_names
    )
