"""The linear constraints that hold on each day of one date range.

For a day ``t`` of the range the vector ``v_t`` of the series' counts satisfies ``matrix @ v_t = rhs``. Where the
constraints come from packages or totals there is also a *generator* matrix ``G`` of non-negative integers with
``v_t = G u_t`` for a non-negative integer vector ``u_t`` (packages bought, or items sold): its column space is the
null space of ``matrix``, and it is what makes consistent integer tables easy to build.

Reference: Cai, Liu, Xiong, Ying, Wu, "Approximation method of multiple consistency constraint under differential
privacy", Journal on Communications 42(6), 2021, equation 13 (``matrix`` is the paper's ``B``).
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from dplib.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    SparseFloat: TypeAlias = csr_array[np.float64, tuple[int, int]]
    SparseInt: TypeAlias = csr_array[np.int64, tuple[int, int]]
else:
    # Older scipy has no parameters at run time.
    SparseFloat = SparseInt = csr_array


@dataclass(frozen=True, eq=False)
class DayConstraints:
    """Constraints of the days ``first <= t < end``.

    Attributes:
        first: first day of the range (0 is the first day of the domain).
        end: one past its last day.
        matrix: ``B``, shape (n_constraints, n_series), full row rank; (0, n_series) where nothing constrains. Dense
            arrays are taken too and become sparse.
        rhs: ``b``, shape (n_constraints,).
        generators: ``G``, non-negative integers, shape (n_series, n_generators); None where the constraints
            (explicit equations) have no such form.
        generator_names: one name a column of ``G``; names are equal across day constraints where the generator is.
    """

    first: int
    end: int
    matrix: SparseFloat
    rhs: FloatArray
    generators: SparseInt | None = None
    generator_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", sparse(self.matrix, np.float64))
        if self.generators is not None:
            object.__setattr__(self, "generators", sparse(self.generators, np.int64))

    @property
    def n_constraints(self) -> int:
        """Number of equations of a day."""
        return int(self.matrix.shape[0])

    @property
    def n_series(self) -> int:
        """Number of series that the constraints speak of."""
        return int(self.matrix.shape[1])

    @property
    def is_homogeneous(self) -> bool:
        """Whether every right-hand side is zero."""
        return not self.rhs.any()

    def between(self, first: int, end: int) -> "DayConstraints":
        """The very same matrices on other days."""
        made = copy(self)
        for name, day in (("first", first), ("end", end)):
            object.__setattr__(made, name, day)
        return made

    @property
    def homogeneous(self) -> "DayConstraints":
        """The same with 0 on every right-hand side."""
        return self if self.is_homogeneous else replace(self, rhs=np.zeros_like(self.rhs))

    @classmethod
    def free(cls, n_days: int, n_series: int) -> "DayConstraints":
        """No constraint on any day."""
        return cls(0, n_days, csr_array((0, n_series)), np.zeros(0))


class PartlyAbsent(DayConstraints):
    """Days on which some items do not exist: ``count = 0`` beside what holds on days on which all do.

    Matrices are made of the others' when they are asked for: of thousands of such periods each holds its items alone.

    Args:
        first: first day.
        end: one past the last.
        whole: what holds where all exist, without public values; rows are items.
        absent: numbers of the items that do not, sorted, at least one.
    """

    whole: DayConstraints
    absent: IntArray

    def __init__(self, first: int, end: int, whole: DayConstraints, absent: IntArray) -> None:
        for name, value in (("first", first), ("end", end), ("whole", whole), ("absent", absent)):
            object.__setattr__(self, name, value)

    @property
    def matrix(self) -> SparseFloat:
        """Those of all days over the items that exist, then a row for each other item, which no other row speaks of."""
        known, exists = self.whole.matrix, np.ones(self.n_series, dtype=bool)
        exists[self.absent] = False
        kept = exists[known.indices]
        ends = np.concatenate([[0], np.cumsum(kept)])[known.indptr]
        own = ends[-1] + np.arange(1, len(self.absent) + 1)
        parts = (known.data[kept], np.ones(len(self.absent))), (known.indices[kept], self.absent), (ends, own)
        data, indices, indptr = (np.concatenate(part) for part in parts)
        return csr_array((data, indices, indptr), shape=(self.n_constraints, self.n_series))

    @property
    def rhs(self) -> FloatArray:
        """All 0."""
        return np.zeros(self.n_constraints)

    @property
    def _kept(self) -> IntArray:
        """Columns of the generators of items that exist; an item's row has its own column alone."""
        known = self.whole.generators
        assert known is not None
        return np.delete(np.arange(known.shape[1]), known.indices[known.indptr[self.absent]])

    @property
    def generators(self) -> SparseInt | None:
        """Without the columns of absent items."""
        known = self.whole.generators
        return None if known is None else sparse(known[:, self._kept], np.int64)

    @property
    def generator_names(self) -> tuple[str, ...]:
        """Of the columns that are left."""
        return tuple(self.whole.generator_names[column] for column in self._kept.tolist())

    @property
    def n_constraints(self) -> int:
        """Number of equations of a day."""
        return self.whole.n_constraints + len(self.absent)

    @property
    def n_series(self) -> int:
        """Number of series that the constraints speak of."""
        return self.whole.n_series

    @property
    def is_homogeneous(self) -> bool:
        """Always."""
        return True


def sparse(matrix: Any, kind: npt.DTypeLike) -> Any:
    """A matrix in rows of its non-zero entries, sorted by column."""
    found = csr_array(matrix, dtype=kind)
    if not found.has_canonical_format or not found.data.all():
        found = found.copy()
        found.sum_duplicates()
        found.eliminate_zeros()
    return found


def equal(one: SparseFloat | SparseInt, other: SparseFloat | SparseInt) -> bool:
    """Whether two matrices that `sparse` made have the same entries."""
    return one.shape == other.shape and all(
        np.array_equal(getattr(one, part), getattr(other, part)) for part in ("indptr", "indices", "data")
    )
