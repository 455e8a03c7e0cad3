"""The linear constraints that hold on each day of one date range.

For a day ``t`` of the range the vector ``v_t`` of the series' counts satisfies ``matrix @ v_t = rhs``. Where the
constraints come from packages or totals there is also a *generator* matrix ``G`` of non-negative integers with
``v_t = G u_t`` for a non-negative integer vector ``u_t`` (packages bought, or items sold): its column space is the
null space of ``matrix``, and it is what makes consistent integer tables easy to build.

Reference: Cai, Liu, Xiong, Ying, Wu, "Approximation method of multiple consistency constraint under differential
privacy", Journal on Communications 42(6), 2021, equation 13 (``matrix`` is the paper's ``B``).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from dplib.arrays import FloatArray

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

    @classmethod
    def free(cls, n_days: int, n_series: int) -> "DayConstraints":
        """No constraint on any day."""
        return cls(0, n_days, csr_array((0, n_series)), np.zeros(0))


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
