"""Generators of all day constraints in one space: what integer tables are divided in.

Where a day's constraints come from packages or totals, its counts are ``v_t = G_t u_t`` with ``u_t`` a vector of
non-negative integers. Equal generators of different day constraints are one column here, so every node of the tree,
whatever days it holds, has ``v = G u`` with one matrix ``G``, and the day constraints only say which entries of ``u``
may differ from
0 on which days.

A generator that is a non-negative integer sum of others of its day (a meal beside its parts) adds no table and is
left out; that makes the generators of most day constraints linearly independent, and then ``u`` follows from ``v`` by
the weighted pseudo-inverse. Where each generator has a series of its own (items do), ``u`` is read off these: nothing
is inverted, and all matrices stay sparse.

Notation: ``G`` of shape (n_series, n_generators); ``u`` generator counts; ``offered`` the entries of ``u`` that a
day's constraints have.

References:
    Giles, Pulleyblank, "Total dual integrality and integer polyhedra", Linear Algebra and its Applications 25,
    1979 (integral generators of a cone, section 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.sparse import csr_array, hstack

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.constraints.day_constraints import DayConstraints, SparseFloat, SparseInt, sparse
from dplib.errors import SolverError
from dplib.projection.integer_programme import has_integer_point

FEW = 64
"""Generators up to which dense linear algebra is the quicker one."""


@dataclass(frozen=True, eq=False)
class GeneratorSpace:
    """The generators of consecutive day constraints.

    Attributes:
        matrix: ``G``, non-negative integers, shape (n_series, n_generators).
        bounds: first day of each of the day constraints, and the end of the last one.
        columns: for each of the day constraints its columns of ``matrix``.
        inverses: for each of the day constraints the weighted pseudo-inverse, shape (its generators, n_series).
        independent: whether the generators of all day constraints are linearly independent.
    """

    matrix: SparseInt
    bounds: IntArray
    columns: tuple[IntArray, ...]
    inverses: tuple[FloatArray | SparseFloat, ...]
    independent: bool

    @classmethod
    def from_day_constraints(
        cls, day_constraints: Sequence[DayConstraints], weights: FloatArray | None = None
    ) -> "GeneratorSpace":
        """Collect the generators of consecutive day constraints.

        Args:
            day_constraints: consecutive, sorted, each with generators.
            weights: weight of each series (one over its variance), shape (n_series,); equal where absent.

        Raises:
            SolverError: if some have no generators.
        """
        numbers: dict[tuple[bytes, bytes], int] = {}
        new: list[SparseInt] = []
        columns, inverses = [], []
        independent = True
        for daily in day_constraints:
            if daily.generators is None:
                raise SolverError("day constraints", "have generators to be divided", "explicit equations")
            generators, full_rank = _irreducible(daily)
            independent = independent and full_rank
            own = np.empty(generators.shape[1], dtype=np.int64)
            for place, (rows, values) in enumerate(_columns(generators)):
                own[place] = numbers.setdefault((rows.tobytes(), values.tobytes()), len(numbers))
            fresh = own >= sum(part.shape[1] for part in new)
            new.append(generators[:, fresh])
            columns.append(own)
            inverses.append(_left_inverse(generators, weights, full_rank))
        matrix: SparseInt = sparse(hstack(new), np.int64)
        bounds = np.array([daily.first for daily in day_constraints] + [day_constraints[-1].end], dtype=np.int64)
        return cls(matrix, bounds, tuple(columns), tuple(inverses), independent)

    @property
    def n_generators(self) -> int:
        """Number of different generators."""
        return int(self.matrix.shape[1])

    def targets(self, estimates: FloatArray, first_day: int = 0) -> FloatArray:
        """Generator counts of consecutive days, from the estimates of those days.

        Args:
            estimates: of the days from ``first_day`` on, shape (n_days, n_series).
            first_day: the day of the first row.

        Returns:
            Real and perhaps negative, shape (n_days, n_generators); 0 where a generator is not offered.
        """
        counts = np.zeros((len(estimates), self.n_generators))
        for daily, days in self._days_by_constraints(first_day, len(estimates)):
            counts[days, self.columns[daily]] = np.asarray(estimates[days[:, 0]] @ self.inverses[daily].T)
        return counts

    def offered(self, first_day: int, n_days: int) -> BoolArray:
        """Which generators each day has, shape (n_days, n_generators); from settings alone."""
        offered = np.zeros((n_days, self.n_generators), dtype=np.bool_)
        for daily, days in self._days_by_constraints(first_day, n_days):
            offered[days, self.columns[daily]] = True
        return offered

    def _days_by_constraints(self, first_day: int, n_days: int) -> list[tuple[int, IntArray]]:
        daily = np.searchsorted(self.bounds, np.arange(first_day, first_day + n_days), side="right") - 1
        numbers = np.unique(daily)
        return [(int(number), np.flatnonzero(daily == number)[:, None]) for number in numbers]

    def series_counts(self, counts: IntArray) -> IntArray:
        """Map generator counts to series, exactly: ``u -> G u``, shape (n, n_series).

        Args:
            counts: shape (n, n_generators), at least 0.
        """
        return np.asarray(counts @ self.matrix.T, dtype=np.int64)


def _columns(matrix: SparseInt) -> list[tuple[IntArray, IntArray]]:
    """Rows and values of each column's entries."""
    turned = matrix.T.tocsr()
    rows, values = turned.indices.astype(np.int64), turned.data
    ends = zip(turned.indptr[:-1].tolist(), turned.indptr[1:].tolist(), strict=True)
    return [(rows[begin:end], values[begin:end]) for begin, end in ends]


def _irreducible(daily: DayConstraints) -> tuple[SparseInt, bool]:
    """Leave out zero columns, repeated ones and sums of others; and whether the rest is linearly independent."""
    assert daily.generators is not None
    # In the order of the columns as vectors: where two differ first, the one with the larger entry comes later.
    keys: dict[tuple[int, ...], int] = {}
    for number, (rows, values) in enumerate(_columns(daily.generators)):
        if len(rows):
            keys.setdefault(tuple(np.stack([-rows, values], axis=1).reshape(-1).tolist()), number)
    kept: SparseInt = sparse(daily.generators[:, [keys[key] for key in sorted(keys)]], np.int64)
    if _own_rows(kept) is not None:
        return kept, True
    few = kept.shape[1] <= FEW
    rank = int(np.linalg.matrix_rank(kept.toarray())) if few else daily.n_series - daily.n_constraints
    index = 0
    while rank < kept.shape[1]:
        if index == kept.shape[1]:
            return kept, False
        others = kept[:, np.arange(kept.shape[1]) != index]
        dense = others.toarray().astype(np.float64), kept[:, [index]].toarray()[:, 0].astype(np.float64)
        if has_integer_point(*dense):
            kept = others
        else:
            index += 1
    return kept, True


def _own_rows(generators: SparseInt) -> IntArray | None:
    """A series for each generator that no other one touches, shape (n_generators,); None if some have none."""
    alone = np.flatnonzero(np.diff(generators.indptr) == 1)
    owners = generators.indices[generators.indptr[alone]]
    found = np.full(generators.shape[1], -1)
    found[owners[::-1]] = alone[::-1]
    return found.astype(np.int64) if (found >= 0).all() else None


def _left_inverse(generators: SparseInt, weights: FloatArray | None, independent: bool) -> FloatArray | SparseFloat:
    own = _own_rows(generators) if generators.shape[1] > FEW else None
    if own is not None:
        values = 1.0 / np.asarray(generators[own, np.arange(len(own))], dtype=np.float64)
        return csr_array((values, (np.arange(len(own)), own)), shape=generators.T.shape)
    if not generators.shape[1]:
        return np.zeros(generators.T.shape)
    root = np.ones(generators.shape[0]) if weights is None else np.sqrt(weights)
    scaled = root[:, None] * generators.toarray()
    if independent and generators.shape[1] > FEW:
        solved: FloatArray = scipy.linalg.solve(scaled.T @ scaled, scaled.T, assume_a="pos") * root[None, :]
        return solved
    inverse: FloatArray = np.linalg.pinv(scaled) * root[None, :]
    return inverse
