"""Turn packages, totals and equations into day constraints, incidence and sensitivity, by exact arithmetic.

On a day with row types ``j`` (packages on sale, or items) and incidence ``A`` every possible vector of counts is
``v = G u`` with ``G = A`` restricted to the types on sale and ``u`` the non-negative row counts. Hence the constraints
that always hold are the left null space of G: ``B G = 0``, a basis of which is found over the rationals (the paper's
equation 13 is one such B). The sensitivity follows from the same matrix: one row adds ``||A e_j||_1`` to a tree level.

Cost: rational elimination on the non-zeros; 248 items with totals take milliseconds.

Reference: Cai, Liu, Xiong, Ying, Wu, "Approximation method of multiple consistency constraint under differential
privacy", Journal on Communications 42(6), 2021, equation 13 (corrected: the sensitivity is the largest package's, not
the number of items).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import TypeVar

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.constraints import checks
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.exact import dense, dense_divisor, echelon, null_space, primitive
from dplib.constraints.resolved import ResolvedConstraints, linked, same_constraints
from dplib.constraints.specs import Equation, Package, Total
from dplib.validate import at_least, integer_norms

Spec = TypeVar("Spec", Package, Total, Equation)


@dataclass
class _Names:
    """Public names and their numbers."""

    items: dict[str, int]
    totals: tuple[str, ...]
    row_types: tuple[str, ...]
    series: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.series = {name: number for number, name in enumerate((*self.items, *self.totals))}


@dataclass(frozen=True, eq=False)
class _Segment:
    """Day constraints with what one row adds on its days."""

    daily: DayConstraints
    incidence: IntArray
    valid: tuple[bool, ...]
    redundant: frozenset[str]

    def agrees(self, other: "_Segment") -> bool:
        return (
            self.valid == other.valid
            and np.array_equal(self.incidence, other.incidence)
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

    Returns:
        The resolved constraints.

    Raises:
        ConfigError: naming the setting that is wrong, contradictory, or false of the rows.
    """
    at_least("n_days", n_days, 1)
    packages = [_complete(each, f"{checks.PACKAGES}.{each.name}", n_days) for each in packages]
    totals = [_complete(each, f"{checks.TOTALS}.{each.name}", n_days) for each in totals]
    equations = [_complete(each, f"{checks.EQUATIONS}[{n}]", n_days) for n, each in enumerate(equations)]
    _check(items, n_days, packages, totals, equations, rows_are_packages)
    row_types = tuple(dict.fromkeys(package.name for package in packages)) if rows_are_packages else tuple(items)
    total_names = tuple(dict.fromkeys(total.name for total in totals))
    names = _Names({item: number for number, item in enumerate(items)}, total_names, row_types)
    specs: list[Package | Total | Equation] = [*packages]
    specs += [*totals, *equations]
    ends = sorted({0, n_days} | {day for spec in specs for day in (spec.first, spec.end or 0)})
    labels = _generator_names(packages) if rows_are_packages else None
    segments: list[_Segment] = []
    for first, end in pairwise(ends):
        segment = _segment(names, first, end, packages, totals, equations, labels)
        if segments and segments[-1].agrees(segment):
            merged = replace(segments[-1].daily, end=end)
            segments[-1] = replace(segments[-1], daily=merged, redundant=segments[-1].redundant | segment.redundant)
        else:
            segments.append(segment)
    measured_totals = {total.name: total.measured for total in totals}
    measured = np.array([True] * len(items) + [measured_totals[name] for name in total_names])
    return _assemble(names, segments, measured, rows_are_packages, day_name)


def _complete(spec: Spec, setting: str, n_days: int) -> Spec:
    return replace(spec, end=n_days if spec.end is None else spec.end, setting=spec.setting or setting)


def _check(
    items: Sequence[str],
    n_days: int,
    packages: Sequence[Package],
    totals: Sequence[Total],
    equations: Sequence[Equation],
    rows_are_packages: bool,
) -> None:
    checks.check_items(items)
    checks.check_packages(packages, items, rows_are_packages)
    checks.check_totals(totals, items)
    checks.check_equations(equations, [*items, *(total.name for total in totals)])
    specs: list[Package | Total | Equation] = [*packages, *totals, *equations]
    for spec in specs:
        checks.check_range(spec.setting, spec.first, spec.end or 0, n_days)
    checks.check_no_overlap((each.name, each.first, each.end or 0, each.setting) for each in packages)
    checks.check_no_overlap((each.name, each.first, each.end or 0, each.setting) for each in totals)


def _generator_names(packages: Sequence[Package]) -> dict[int, str]:
    """A name for each package such that equal names mean equal contents."""
    versions: dict[str, list[dict[str, int]]] = {}
    labels: dict[int, str] = {}
    for number, package in enumerate(packages):
        known = versions.setdefault(package.name, [])
        contents = dict(package.contents)
        if contents not in known:
            known.append(contents)
        version = known.index(contents)
        labels[number] = package.name if version == 0 else f"{package.name} ({version + 1})"
    return labels


def _segment(
    names: _Names,
    first: int,
    end: int,
    packages: Sequence[Package],
    totals: Sequence[Total],
    equations: Sequence[Equation],
    labels: dict[int, str] | None,
) -> _Segment:
    """Resolve days on which nothing changes."""
    incidence = np.zeros((len(names.series), len(names.row_types)), dtype=np.int64)
    column_label = dict(enumerate(names.row_types)) if labels is None else {}
    if labels is None:
        incidence[: len(names.items)] = np.eye(len(names.items), dtype=np.int64)
    else:
        column = {name: number for number, name in enumerate(names.row_types)}
        for number, package in enumerate(packages):
            if package.first <= first < (package.end or 0):
                j = column[package.name]
                column_label[j] = labels[number]
                for item, count in package.contents.items():
                    incidence[names.items[item], j] = count
    on = {total.name: total for total in totals if total.first <= first < (total.end or 0)}
    for name in on:
        rows = checks.expand_total(name, on, names.items)
        incidence[names.series[name]] = incidence[rows].sum(axis=0)
    types = sorted(column_label)
    generators = incidence[:, types]
    columns = [{int(s): int(generators[s, j]) for s in np.flatnonzero(generators[:, j])} for j in range(len(types))]
    matrix = dense(null_space(columns, len(names.series)), len(names.series))
    active = [each for each in equations if each.first <= first < (each.end or 0)]
    extra, values, redundant = _invariants(names, active, generators, [names.row_types[j] for j in types])
    daily = DayConstraints(
        first=first,
        end=end,
        matrix=np.concatenate([matrix, extra]),
        rhs=np.concatenate([np.zeros(len(matrix)), values]),
        generators=None if len(extra) else generators,
        generator_names=() if len(extra) else tuple(column_label[j] for j in types),
    )
    return _Segment(daily, incidence, tuple(j in column_label for j in range(len(names.row_types))), redundant)


def _invariants(
    names: _Names, active: Sequence[Equation], generators: IntArray, types: Sequence[str]
) -> tuple[FloatArray, FloatArray, frozenset[str]]:
    """Rows that equations add to B, their right-hand sides, and the settings of redundant equations."""
    width = generators.shape[1]
    seen: list[dict[int, Fraction]] = []
    rows: list[dict[int, int]] = []
    values: list[float] = []
    redundant: set[str] = set()
    for equation in active:
        row = {names.series[name]: Fraction(value) for name, value in equation.coefficients.items() if value}
        effect: dict[int, Fraction] = {}
        for j in range(width):
            value = sum((factor * int(generators[s, j]) for s, factor in row.items()), Fraction(0))
            if value:
                effect[j] = value
        checks.check_consistent(equation.setting, not effect and equation.value != 0)
        checks.check_holds_of_rows(equation, types[min(effect)] if effect else None)
        right = {width: Fraction(equation.value)} if equation.value else {}
        before, after = echelon(seen, last=width), echelon([*seen, effect | right], last=width)
        checks.check_consistent(equation.setting, width in after)
        if len(before) == len(after):
            redundant.add(equation.setting)
            continue
        seen.append(effect | right)
        whole = primitive(row)
        pivot = min(whole)
        rows.append(whole)
        values.append(float(Fraction(equation.value) * whole[pivot] / row[pivot] / dense_divisor(whole)))
    return dense(rows, len(names.series)), np.array(values, dtype=np.float64), frozenset(redundant)


def _assemble(
    names: _Names,
    segments: Sequence[_Segment],
    measured: BoolArray,
    rows_are_packages: bool,
    day_name: Callable[[int], str],
) -> ResolvedConstraints:
    touched = [segment.incidence[measured] for segment in segments]
    matrices = [segment.daily.matrix for segment in segments]
    generators = [s.daily.generators.T for s in segments if s.daily.generators is not None]
    row_l1, row_l2_squared = _row_norms(touched)
    return ResolvedConstraints(
        series=tuple(names.series),
        n_items=len(names.items),
        measured=measured,
        row_types=names.row_types,
        day_constraints=tuple(segment.daily for segment in segments),
        incidence=tuple(segment.incidence for segment in segments),
        valid=np.array([segment.valid for segment in segments], dtype=bool),
        row_l1=row_l1,
        row_l2_squared=row_l2_squared,
        components=linked(matrices, len(names.series)),
        generator_components=linked([*matrices, *generators], len(names.series)),
        has_invariants=any(segment.daily.generators is None for segment in segments),
        notes=tuple(_notes(names, segments, rows_are_packages, day_name)),
    )


def _row_norms(touched: Sequence[IntArray]) -> tuple[int, int]:
    """Largest L1 and squared L2 norm of a column, by Python's integers: no setting is large enough to wrap around."""
    columns = [[int(count) for count in column[column != 0]] for counts in touched for column in counts.T]
    l1 = max((sum(column) for column in columns), default=0)
    return integer_norms("norms of a row", l1, max((sum(x * x for x in column) for column in columns), default=0))


def _notes(
    names: _Names, segments: Sequence[_Segment], rows_are_packages: bool, day_name: Callable[[int], str]
) -> list[str]:
    """Sentences for the plan: constraints that say nothing, or more than meets the eye."""
    notes: list[str] = []
    n_items = len(names.items)
    for segment in segments:
        days = f"days {day_name(segment.daily.first)} to {day_name(segment.daily.end - 1)}"
        items = segment.incidence[:n_items]
        if rows_are_packages and not any(segment.valid):
            notes.append(f"No package is on sale on {days}: every count is 0 there.")
        elif rows_are_packages:
            idle = [item for item, number in names.items.items() if not items[number].any()]
            if idle:
                notes.append(f"No package of {days} holds {', '.join(idle)}: their counts are 0 there.")
            free = [{int(s): int(row[s]) for s in np.flatnonzero(row)} for row in items.T]
            if not null_space(free, n_items):
                notes.append(f"The packages of {days} span all items: they imply no constraint.")
        twins: dict[bytes, str] = {}
        for name, number in names.series.items():
            row = segment.incidence[number]
            twin = twins.setdefault(row.tobytes(), name)
            if twin != name and number >= n_items and row.any():
                notes.append(f"The total {name} always equals {twin} on {days}.")
    redundant = sorted(set().union(*(segment.redundant for segment in segments)))
    notes.extend(f"{setting} follows from the other constraints on its days." for setting in redundant)
    return notes
