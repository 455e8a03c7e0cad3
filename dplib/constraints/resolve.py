"""Turn packages, totals and equations into day constraints, incidence and sensitivity, by exact arithmetic.

On a day with row types ``j`` (packages on sale, or items) and incidence ``A`` every possible vector of counts is
``v = G u`` with ``G = A`` restricted to the types on sale and ``u`` the non-negative row counts. Hence the constraints
that always hold are the left null space of G: ``B G = 0``, a basis of which is found over the rationals (the paper's
equation 13 is one such B). The sensitivity follows from the same matrix: one row adds ``||A e_j||_1`` to a tree level.

Cost: where rows are packages, rational elimination on the non-zeros; where rows are items the totals' equations have
full rank as they are, and the cost is that of their members.

Reference: Cai, Liu, Xiong, Ying, Wu, "Approximation method of multiple consistency constraint under differential
privacy", Journal on Communications 42(6), 2021, equation 13 (corrected: the sensitivity is the largest package's, not
the number of items).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import TypeVar

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack, vstack

from dplib.arrays import BoolArray, IntArray
from dplib.constraints import checks
from dplib.constraints.day_constraints import DayConstraints, PartlyAbsent, SparseFloat, SparseInt, equal, sparse
from dplib.constraints.groupings import Groupings
from dplib.constraints.invariants import invariant_rows
from dplib.constraints.packages import generator_names, implied, while_items_exist
from dplib.constraints.resolved import ResolvedConstraints, linked, same_constraints
from dplib.constraints.row_norms import row_norms
from dplib.constraints.specs import Equation, Package, Total
from dplib.validate import at_least

Spec = TypeVar("Spec", Package, Total, Equation)


@dataclass
class _Names:
    """Public names and their numbers."""

    items: dict[str, int]
    totals: tuple[str, ...]
    groupings: Groupings | None
    row_types: tuple[str, ...]
    series: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        grouped = () if self.groupings is None else self.groupings.names
        self.series = {name: number for number, name in enumerate((*self.items, *self.totals, *grouped))}


@dataclass(frozen=True, eq=False)
class _Segment:
    """Day constraints with what one row adds on its days."""

    daily: DayConstraints
    incidence: SparseInt
    valid: BoolArray
    redundant: frozenset[str]

    def agrees(self, other: "_Segment") -> bool:
        return (
            np.array_equal(self.valid, other.valid)
            and equal(self.incidence, other.incidence)
            and same_constraints(self.daily, other.daily)
        )


def resolve(
    items: Sequence[str],
    n_days: int,
    packages: Sequence[Package] = (),
    totals: Sequence[Total] = (),
    equations: Sequence[Equation] = (),
    rows_are_packages: bool = False,
    day_name: Callable[[int], str] = str,
    groupings: Groupings | None = None,
    item_days: IntArray | None = None,
) -> ResolvedConstraints:
    """Check the settings and derive everything that follows from them.

    Args:
        items: names of the items, in order.
        n_days: number of days, at least 1.
        packages: packages on sale; only where every input row is a package.
        totals: groups.
        equations: explicit equations.
        rows_are_packages: whether an input row is a package bought; else it is an item line.
        day_name: how a day is written in notes.
        groupings: totals of the items of a public table, on all days.
        item_days: first day of each item and one past its last, shape (n_items, 2); None where all exist on all days.
            Off its days an item's count is 0, and a package is on sale only while all of its items exist.

    Returns:
        The resolved constraints.

    Raises:
        ConfigError: naming the setting that is wrong, contradictory, or false of the rows.
    """
    at_least("n_days", n_days, 1)
    packages = [_complete(each, f"{checks.PACKAGES}.{each.name}", n_days) for each in packages]
    totals = [_complete(each, f"{checks.TOTALS}.{each.name}", n_days) for each in totals]
    equations = [_complete(each, f"{checks.EQUATIONS}[{n}]", n_days) for n, each in enumerate(equations)]
    grouped = () if groupings is None else groupings.names
    _check(items, n_days, packages, totals, grouped, equations, rows_are_packages)
    notes: list[str] = []
    if rows_are_packages and item_days is not None:
        packages, notes = while_items_exist(packages, items, item_days, day_name)
        item_days = None
    row_types = tuple(dict.fromkeys(package.name for package in packages)) if rows_are_packages else tuple(items)
    total_names = tuple(dict.fromkeys(total.name for total in totals))
    names = _Names({item: number for number, item in enumerate(items)}, total_names, groupings, row_types)
    labels = generator_names(packages) if rows_are_packages else None
    segments = _segments(names, n_days, packages, totals, equations, labels, item_days)
    measured = _measured(len(items), totals, groupings)
    found = _assemble(names, totals, segments, measured, rows_are_packages, day_name)
    return replace(found, notes=(*notes, *found.notes))


def _segments(
    names: _Names,
    n_days: int,
    packages: Sequence[Package],
    totals: Sequence[Total],
    equations: Sequence[Equation],
    labels: dict[int, str] | None,
    item_days: IntArray | None,
) -> list[_Segment]:
    """Runs of days on which the same holds."""
    specs: list[Package | Total | Equation] = [*packages, *totals, *equations]
    changes = {0, n_days} | {day for spec in specs for day in (spec.first, spec.end or 0)}
    ends = sorted(changes.union(() if item_days is None else item_days.reshape(-1).tolist()))
    segments: list[_Segment] = []
    for first, end in pairwise(ends):
        before = segments[-1].incidence if segments else None
        if first in changes:
            whole = _segment(names, first, end, packages, totals, equations, labels, None, before)
        segment = replace(whole, daily=whole.daily.between(first, end))
        on = None if item_days is None else (item_days[:, 0] <= first) & (first < item_days[:, 1])
        if on is not None and not on.all():
            if whole.daily.generators is None:  # Which public values follow from others depends on the items.
                segment = _segment(names, first, end, packages, totals, equations, labels, on, before)
            else:
                segment = replace(segment, daily=PartlyAbsent(first, end, whole.daily, np.flatnonzero(~on)), valid=on)
        if segments and segments[-1].agrees(segment):
            merged = segments[-1].daily.between(segments[-1].daily.first, end)
            segments[-1] = replace(segments[-1], daily=merged, redundant=segments[-1].redundant | segment.redundant)
        else:
            segments.append(segment)
    return segments


def _measured(n_items: int, totals: Sequence[Total], groupings: Groupings | None) -> BoolArray:
    """Whether each series is measured: the items, the totals by name, those of groupings."""
    by_name = {total.name: total.measured for total in totals}
    own = [True] * n_items + list(by_name.values())
    grouped = [] if groupings is None else groupings.measured[groupings.grouping].tolist()
    return np.array([*own, *grouped], dtype=bool)


def _complete(spec: Spec, setting: str, n_days: int) -> Spec:
    return replace(spec, end=n_days if spec.end is None else spec.end, setting=spec.setting or setting)


def _check(
    items: Sequence[str],
    n_days: int,
    packages: Sequence[Package],
    totals: Sequence[Total],
    grouped: Sequence[str],
    equations: Sequence[Equation],
    rows_are_packages: bool,
) -> None:
    checks.check_items(items)
    checks.check_packages(packages, items, rows_are_packages)
    checks.check_totals(totals, items)
    checks.check_other_names(totals, grouped)
    checks.check_equations(equations, [*items, *(total.name for total in totals), *grouped])
    specs: list[Package | Total | Equation] = [*packages, *totals, *equations]
    for spec in specs:
        checks.check_range(spec.setting, spec.first, spec.end or 0, n_days)
    checks.check_no_overlap((each.name, each.first, each.end or 0, each.setting) for each in packages)
    checks.check_no_overlap((each.name, each.first, each.end or 0, each.setting) for each in totals)


def _segment(
    names: _Names,
    first: int,
    end: int,
    packages: Sequence[Package],
    totals: Sequence[Total],
    equations: Sequence[Equation],
    labels: dict[int, str] | None,
    on: BoolArray | None,
    before: SparseInt | None,
) -> _Segment:
    """Resolve days on which nothing changes; ``on`` says which items exist, all where None.

    ``before`` is the incidence of the days before.
    """
    items, column_label = _item_rows(names, first, packages, labels)
    if on is not None:
        column_label = {column: name for column, name in column_label.items() if on[column]}
    membership = _membership(names, first, totals)
    incidence: SparseInt = sparse(vstack([items, membership @ items]), np.int64)
    if before is not None and equal(before, incidence):
        # Days that differ in what exists share what a row adds.
        incidence = before
    types = sorted(column_label)
    whole = labels is None and on is None
    generators = incidence if whole else sparse(incidence[:, types], np.int64)
    matrix = _sums(membership, on) if labels is None else _of_packages(names, generators, membership)
    active = [each for each in equations if each.first <= first < (each.end or 0)]
    extra, values, redundant = invariant_rows(names.series, active, generators, [names.row_types[j] for j in types])
    daily = DayConstraints(
        first=first,
        end=end,
        matrix=vstack([matrix, extra], format="csr") if len(values) else matrix,
        rhs=np.concatenate([np.zeros(matrix.shape[0]), values]),
        generators=None if len(values) else generators,
        generator_names=() if len(values) else tuple(column_label[j] for j in types),
    )
    return _Segment(daily, incidence, np.isin(np.arange(len(names.row_types)), types), redundant)


def _item_rows(
    names: _Names, first: int, packages: Sequence[Package], labels: dict[int, str] | None
) -> tuple[SparseInt, dict[int, str]]:
    """What a row of each type adds to the items, shape (n_items, n_row_types), and the types there are by column."""
    if labels is None:
        return eye_array(len(names.items), dtype=np.int64, format="csr"), dict(enumerate(names.row_types))
    column = {name: number for number, name in enumerate(names.row_types)}
    column_label, rows, columns, counts = {}, [], [], []
    for number, package in enumerate(packages):
        if package.first <= first < (package.end or 0):
            column_label[column[package.name]] = labels[number]
            rows += [names.items[item] for item in package.contents]
            columns += [column[package.name]] * len(package.contents)
            counts += list(package.contents.values())
    shape = len(names.items), len(names.row_types)
    return csr_array((np.array(counts, dtype=np.int64), (rows, columns)), shape=shape), column_label


def _membership(names: _Names, first: int, totals: Sequence[Total]) -> SparseInt:
    """Which items a total counts on a day, shape (n_totals, n_items)."""
    on = {total.name: total for total in totals if total.first <= first < (total.end or 0)}
    members = [checks.expand_total(name, on, names.items) if name in on else [] for name in names.totals]
    ends = np.cumsum([0, *map(len, members)])
    columns = np.array([item for each in members for item in each], dtype=np.int64)
    ones = np.ones(len(columns), dtype=np.int64)
    declared = csr_array((ones, columns, ends), shape=(len(members), len(names.items)))
    return declared if names.groupings is None else vstack([declared, names.groupings.membership], format="csr")


def _sums(membership: SparseInt, on: BoolArray | None) -> SparseFloat:
    """The equations ``members - total = 0``: of full rank as they are, since each total stands in its own only.

    Items that do not exist have ``count = 0`` besides, which keeps the rank full.
    """
    totals = membership.shape[0]
    # The sign that `primitive` gives: the first entry is positive.
    own = np.where(np.diff(membership.indptr) > 0, -1.0, 1.0)
    signs = csr_array((own, (np.arange(totals),) * 2), shape=(totals, totals))
    matrix: SparseFloat = sparse(hstack([membership, signs]), np.float64)
    off = np.zeros(0, np.int64) if on is None else np.flatnonzero(~on)
    absent = csr_array((np.ones(len(off)), (np.arange(len(off)), off)), shape=(len(off), matrix.shape[1]))
    return vstack([matrix, absent], format="csr") if len(off) else matrix


def _of_packages(names: _Names, generators: SparseInt, membership: SparseInt) -> SparseFloat:
    """What packages imply: of items and totals at once; of items, beside the sums of groupings, where there are any."""
    if names.groupings is None:
        return implied(generators)
    items = implied(sparse(generators[: len(names.items)], np.int64))
    wide = csr_array((items.data, items.indices, items.indptr), shape=(items.shape[0], len(names.series)))
    return vstack([wide, _sums(membership, None)], format="csr")


def _assemble(
    names: _Names,
    totals: Sequence[Total],
    segments: Sequence[_Segment],
    measured: BoolArray,
    rows_are_packages: bool,
    day_name: Callable[[int], str],
) -> ResolvedConstraints:
    incidences = {id(segment.incidence): segment.incidence for segment in segments}.values()
    # Absent items link nothing, and each is there on some day.
    daily = {id(each): each for each in (getattr(s.daily, "whole", s.daily) for s in segments)}.values()
    matrices = [each.matrix for each in daily]
    generators = (each.generators.T.tocsr() for each in daily if each.generators is not None)
    row_l1, row_l2_squared = row_norms([incidence[measured] for incidence in incidences])
    return ResolvedConstraints(
        series=tuple(names.series),
        n_items=len(names.items),
        measured=measured,
        series_grouping=_series_grouping(names, totals),
        row_types=names.row_types,
        day_constraints=tuple(segment.daily for segment in segments),
        incidence=tuple(segment.incidence for segment in segments),
        valid=np.array([segment.valid for segment in segments], dtype=bool),
        row_l1=row_l1,
        row_l2_squared=row_l2_squared,
        components=linked(matrices, len(names.series)),
        generator_components=linked(chain(matrices, generators), len(names.series)),
        has_invariants=any(segment.daily.generators is None for segment in segments),
        notes=tuple(_notes(names, segments, rows_are_packages, day_name)),
    )


def _series_grouping(names: _Names, totals: Sequence[Total]) -> IntArray:
    """0 for items; the block of a total's first days, counted from 1 in their order."""
    block = {total.name: total.block for total in reversed(totals)}
    number = {each: place for place, each in enumerate(dict.fromkeys(block[name] for name in names.totals), start=1)}
    found = np.array([0] * len(names.items) + [number[block[name]] for name in names.totals], dtype=np.int64)
    return found if names.groupings is None else np.concatenate([found, names.groupings.grouping + len(number) + 1])


def _notes(
    names: _Names, segments: Sequence[_Segment], rows_are_packages: bool, day_name: Callable[[int], str]
) -> list[str]:
    """Sentences for the plan: constraints that say nothing, or more than meets the eye."""
    notes: list[str] = []
    n_items = len(names.items)
    for segment in segments:
        days = f"days {day_name(segment.daily.first)} to {day_name(segment.daily.end - 1)}"
        items = segment.incidence[:n_items]
        if rows_are_packages and not segment.valid.any():
            notes.append(f"No package is on sale on {days}: every count is 0 there.")
        elif rows_are_packages:
            held = np.diff(items.indptr)
            idle = [item for item, number in names.items.items() if not held[number]]
            if idle:
                notes.append(f"No package of {days} holds {', '.join(idle)}: their counts are 0 there.")
            if not implied(items).shape[0]:
                notes.append(f"The packages of {days} span all items: they imply no constraint.")
        twins: dict[tuple[bytes, bytes], str] = {}
        ends, columns, counts = segment.incidence.indptr, segment.incidence.indices, segment.incidence.data
        # Of groupings many totals hold one item, which nobody wants to be told one by one.
        told = list(names.series.items())[: n_items + len(names.totals)] if names.totals else []
        for (name, number), begin, end in zip(told, ends, ends[1:], strict=False):
            twin = twins.setdefault((columns[begin:end].tobytes(), counts[begin:end].tobytes()), name)
            if twin != name and number >= n_items and end > begin:
                notes.append(f"The total {name} always equals {twin} on {days}.")
    redundant = sorted(set().union(*(segment.redundant for segment in segments)))
    notes.extend(f"{setting} follows from the other constraints on its days." for setting in redundant)
    return notes
