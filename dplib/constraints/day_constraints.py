"""The linear constraints that hold on each day of one date range.

For a day ``t`` of the range the vector ``v_t`` of the series' counts satisfies ``matrix @ v_t = rhs``. Where the
constraints come from packages or totals there is also a *generator* matrix ``G`` of non-negative integers with
``v_t = G u_t`` for a non-negative integer vector ``u_t`` (packages bought, or items sold): its column space is the
null space of ``matrix``, and it is what makes consistent integer tables easy to build.

Reference: Cai, Liu, Xiong, Ying, Wu, "Approximation method of multiple consistency constraint under differential
privacy", Journal on Communications 42(6), 2021, equation 13 (``matrix`` is the paper's ``B``).
"""

from dataclasses import dataclass

from dplib.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class DayConstraints:
    """Constraints of the days ``first <= t < end``.

    Attributes:
        first: first day of the range (0 is the first day of the domain).
        end: one past its last day.
        matrix: ``B``, shape (n_constraints, n_series), full row rank; (0, n_series) where nothing constrains.
        rhs: ``b``, shape (n_constraints,).
        generators: ``G``, non-negative integers, shape (n_series, n_generators); None where the constraints
            (explicit equations) have no such form.
        generator_names: one name a column of ``G``; names are equal across day constraints where the generator is.
    """

    first: int
    end: int
    matrix: FloatArray
    rhs: FloatArray
    generators: IntArray | None = None
    generator_names: tuple[str, ...] = ()

    @property
    def n_series(self) -> int:
        """Number of series that the constraints speak of."""
        return int(self.matrix.shape[1])

    @property
    def is_homogeneous(self) -> bool:
        """Whether every right-hand side is zero."""
        return not self.rhs.any()
