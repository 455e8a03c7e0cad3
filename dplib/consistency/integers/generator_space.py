"""Generators of all day constraints in one space: what integer tables are divided in.

Where a day's constraints come from packages or totals, its counts are ``v_t = G_t u_t`` with ``u_t`` a vector of
non-negative integers. Equal generators of different day constraints are one column here, so every node of the tree,
whatever days it holds, has ``v = G u`` with one matrix ``G``, and the day constraints only say which entries of ``u``
may differ from
0 on which days.

A generator that is a non-negative integer sum of others of its day (a meal beside its parts) adds no table and is
left out; that makes the generators of most day constraints linearly independent, and then ``u`` follows from ``v`` by
the weighted pseudo-inverse.

Notation: ``G`` of shape (n_series, n_generators); ``u`` generator counts; ``offered`` the entries of ``u`` that a
day's constraints have.

References:
    Giles, Pulleyblank, "Total dual integrality and integer polyhedra", Linear Algebra and its Applications 25,
    1979 (integral generators of a cone, section 2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.projection.integer_programme import has_integer_point

# Floats hold every integer below this exactly.
EXACT_FLOAT = 2**53


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

    matrix: IntArray
    bounds: IntArray
    columns: tuple[IntArray, ...]
    inverses: tuple[FloatArray, ...]
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
        numbers: dict[bytes, int] = {}
        columns, inverses = [], []
        independent = True
        for daily in day_constraints:
            if daily.generators is None:
                raise SolverError("day constraints", "have generators to be divided", "explicit equations")
            generators, full_rank = _irreducible(daily.generators.toarray())
            independent = independent and full_rank
            keys = [np.ascontiguousarray(column).tobytes() for column in generators.T]
            columns.append(np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64))
            inverses.append(_weighted_inverse(generators, weights))
        parts = [np.frombuffer(key, dtype=np.int64) for key in numbers]
        matrix = np.stack(parts, axis=1) if parts else np.zeros((day_constraints[0].n_series, 0), dtype=np.int64)
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
            counts[days, self.columns[daily]] = estimates[days[:, 0]] @ self.inverses[daily].T
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
        """Map generator counts to series, exactly: ``u -> G u``.

        Args:
            counts: shape (n, n_generators), at least 0.

        Returns:
            Shape (n, n_series).
        """
        largest = int(counts.max(initial=0)) * int(self.matrix.sum(axis=1).max(initial=0))
        if largest < EXACT_FLOAT:
            # Floating-point products are many times faster than integer ones, and exact below 2^53.
            return (counts.astype(np.float64) @ self.matrix.T.astype(np.float64)).astype(np.int64)
        return counts @ self.matrix.T


def _irreducible(generators: IntArray) -> tuple[IntArray, bool]:
    """Leave out zero columns, repeated ones and sums of others; and whether the rest is linearly independent."""
    kept = generators[:, generators.any(axis=0)].astype(np.int64)
    if not kept.size:
        return kept, True
    kept = np.unique(kept, axis=1)
    index = 0
    while np.linalg.matrix_rank(kept) < kept.shape[1]:
        if index == kept.shape[1]:
            return kept, False
        others = np.delete(kept, index, axis=1)
        if has_integer_point(others.astype(np.float64), kept[:, index].astype(np.float64)):
            kept = others
        else:
            index += 1
    return kept, True


def _weighted_inverse(generators: IntArray, weights: FloatArray | None) -> FloatArray:
    if not generators.size:
        return np.zeros(generators.T.shape)
    root = np.ones(len(generators)) if weights is None else np.sqrt(weights)
    inverse: FloatArray = np.linalg.pinv(root[:, None] * generators) * root[None, :]
    return inverse
