"""Taking series that are never measured out of a day's equations, exactly and sparsely.

Each such series u is what one equation r says: ``x_u = (b_r - sum of the others) / B_ru``; put into the other equations
that hold u, it leaves equations over the measured series alone, and u a sum of these. For totals that are not measured
nothing has to be put anywhere, since each stands in its own equation only.

Cost: the non-zeros of the equations that hold an unmeasured series, and what eliminating fills in.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.constraints.day_constraints import DayConstraints, SparseFloat, sparse

_Row = dict[int, float]


@dataclass(frozen=True, eq=False)
class Elimination:
    """Equations over the measured series, and all series in terms of these.

    Attributes:
        rows: shape (n_equations, n_measured).
        rhs: shape (n_equations,).
        measured: numbers of the measured series, shape (n_measured,).
        expansion: the series are ``expansion @ measured + shift``, shape (n_series, n_measured).
        shift: shape (n_series,).
        determined: whether the equations say what every unmeasured series is.
    """

    rows: SparseFloat
    rhs: FloatArray
    measured: IntArray
    expansion: SparseFloat
    shift: FloatArray
    determined: bool


def eliminate(daily: DayConstraints, known: BoolArray) -> Elimination:
    """Take out the series that are not ``known``, shape (n_series,)."""
    matrix, measured = daily.matrix, np.flatnonzero(known)
    rhs = np.array(daily.rhs, dtype=np.float64)
    touching = np.unique(np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[~known[matrix.indices]])
    rows = {int(r): _row(matrix, int(r)) for r in touching}
    holding: dict[int, set[int]] = {int(column): set() for column in np.flatnonzero(~known)}
    for r, row in rows.items():
        for column in row.keys() & holding.keys():
            holding[column].add(r)
    pivots: dict[int, int] = {}
    taken: set[int] = set()
    for column, found in holding.items():
        free = found - taken
        if free:
            pivots[column] = _pivot(rows, rhs, holding, column, min(free, key=lambda r: (len(rows[r]), r)))
            taken.add(pivots[column])
    left = np.setdiff1d(np.arange(matrix.shape[0]), list(taken))
    changed = [r for r in left.tolist() if r in rows]
    place = np.zeros(daily.n_series, dtype=np.int64)
    place[measured] = np.arange(len(measured))
    kept: SparseFloat = matrix[left][:, measured]
    if changed:
        kept = _replaced(kept, np.searchsorted(left, changed), [rows[r] for r in changed], place)
    own = {column: {s: -value for s, value in rows[r].items() if s != column} for column, r in pivots.items()}
    shift = np.zeros(daily.n_series)
    shift[list(pivots)] = rhs[list(pivots.values())]
    determined = len(pivots) == len(holding)
    return Elimination(kept, rhs[left], measured, _expansion(measured, own, place, daily.n_series), shift, determined)


def _row(matrix: SparseFloat, r: int) -> _Row:
    part = slice(int(matrix.indptr[r]), int(matrix.indptr[r + 1]))
    return dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))


def _pivot(rows: dict[int, _Row], rhs: FloatArray, holding: dict[int, set[int]], column: int, pivot: int) -> int:
    """Solve an equation for a column and put it into the others that hold it."""
    scale = rows[pivot][column]
    rows[pivot] = {each: value / scale for each, value in rows[pivot].items()}
    rhs[pivot] /= scale
    for r in sorted(holding[column] - {pivot}):
        row, factor = rows[r], rows[r][column]
        for each, value in rows[pivot].items():
            row[each] = row.get(each, 0.0) - factor * value
            if each in holding:
                (holding[each].add if row[each] else holding[each].discard)(r)
        rows[r] = {each: value for each, value in row.items() if value and each != column}
        rhs[r] -= factor * rhs[pivot]
    holding[column] = {pivot}
    return pivot


def _replaced(kept: SparseFloat, numbers: IntArray, rows: Iterable[_Row], place: IntArray) -> SparseFloat:
    """A matrix with some of its rows changed."""
    mask = np.ones(kept.shape[0])
    mask[numbers] = 0.0
    parts = [(n, int(place[s]), v) for n, row in zip(numbers.tolist(), rows, strict=True) for s, v in row.items()]
    entries = np.array(parts, dtype=np.float64).reshape(-1, 3)
    ends = entries[:, 0].astype(np.int64), entries[:, 1].astype(np.int64)
    found: SparseFloat = sparse(mask[:, None] * kept + csr_array((entries[:, 2], ends), shape=kept.shape), np.float64)
    return found


def _expansion(measured: IntArray, own: dict[int, _Row], place: IntArray, n_series: int) -> SparseFloat:
    rows, columns, values = [measured], [np.arange(len(measured))], [np.ones(len(measured))]
    for column, row in own.items():
        rows.append(np.full(len(row), column))
        columns.append(place[np.fromiter(row, np.int64, len(row))])
        values.append(np.fromiter(row.values(), np.float64, len(row)))
    ends = np.concatenate(rows), np.concatenate(columns)
    found: SparseFloat = sparse(csr_array((np.concatenate(values), ends), shape=(n_series, len(measured))), np.float64)
    return found
