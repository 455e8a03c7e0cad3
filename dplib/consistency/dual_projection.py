"""The weighted projection of one node's series in dual form: by equations, never by pairs of series.

With ``B x = b`` on the measured series, V their variances and ``M = B V B^T``,

    x = y + V B^T M^-1 (b - B y),      Cov x = V - V B^T M^-1 B V,

and an answer ``a^T x`` has the coefficients ``a - B^T M^-1 B V a``. B is sparse; M has the size of the number of
equations (totals), not of series (`dual_matrix`). A series that is never measured is taken out of the equations first:
one of them says what it is, ``x_u = (b_r - sum of the others) / B_ru``, and its errors are those of that sum.

Guarantee: equal to the dense projection. Cost: that of `dual_matrix`, and the non-zeros of B a node; a variance costs
the square of the number of equations that its series stands in.

References: A. Bjorck, "Numerical Methods for Least Squares Problems", SIAM 1996, section 5.1.2; Cai, Liu, Xiong, Ying,
Wu, Journal on Communications 42(6), 2021, theorem 1 (with weights).
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.dual_matrix import DualMatrix
from dplib.consistency.elimination import eliminate
from dplib.constraints.day_constraints import DayConstraints, SparseFloat

_KINDS = 256
"""Answers whose coefficients are worked out at once, matrix-free."""


@dataclass(frozen=True, eq=False)
class DualProjection:
    """The projection of one node's series.

    Attributes:
        dual: M of the equations that are left, over the measured series.
        rhs: b of these equations, scaled as their rows.
        measured: numbers of the measured series, shape (n_measured,).
        expansion: the series in terms of the measured ones, shape (n_series, n_measured).
        shift: what is added to that, shape (n_series,).
        identifiable: whether every series is determined.
    """

    dual: DualMatrix
    rhs: FloatArray
    measured: IntArray
    expansion: SparseFloat
    shift: FloatArray
    identifiable: bool = True

    @classmethod
    def of(cls, daily: DayConstraints, variance: FloatArray, max_dense: int | None = None) -> "DualProjection":
        """Take unmeasured series out of the equations and scale these.

        Args:
            daily: the constraints.
            variance: shape (n_series,), above 0, ``inf`` where not measured.
            max_dense: `dual_matrix.MAX_DENSE` where None.
        """
        left = eliminate(daily, np.isfinite(variance))
        own = variance[left.measured]
        scale = np.sqrt(np.asarray((left.rows**2) @ own))
        scaled: SparseFloat = csr_array(diags_array(1.0 / scale) @ left.rows)
        dual = DualMatrix.of(scaled, own, max_dense)
        return cls(dual, left.rhs / scale, left.measured, left.expansion, left.shift, left.determined)

    @property
    def n_series(self) -> int:
        """Number of series."""
        return int(self.expansion.shape[0])

    def __call__(self, values: FloatArray) -> FloatArray:
        """Project rows, all right-hand sides being 0, shape (n, n_series).

        Args:
            values: shape (n, n_series); entries of unmeasured series do not matter but must be finite.
        """
        moved = values[:, self.measured]
        multipliers = self.dual.solve(np.asarray(moved @ self.dual.rows.T, dtype=np.float64).T)
        moved -= np.asarray(multipliers.T @ self.dual.rows, dtype=np.float64) * self.dual.variance
        found = np.empty(values.shape)
        found[:, self.measured] = moved
        open_ = self._unmeasured
        if len(open_):
            found[:, open_] = np.asarray(self.expansion[open_] @ moved.T).T
        return found

    @property
    def _unmeasured(self) -> IntArray:
        left = np.ones(self.n_series, dtype=bool)
        left[self.measured] = False
        return np.flatnonzero(left)

    def origin(self) -> FloatArray:
        """What 0 is projected to with the constraints' right-hand sides, shape (n_series,)."""
        moved = np.asarray(self.dual.rows.T @ self.dual.solve(self.rhs[:, None])[:, 0]) * self.dual.variance
        return np.asarray(self.expansion @ moved + self.shift, dtype=np.float64)

    def coefficients(self, answer: FloatArray) -> FloatArray:
        """With which coefficient each noisy count enters ``sum of answer * x``; both of shape (n_series,)."""
        found = np.zeros(self.n_series)
        found[self.measured] = self._coefficients(csr_array(np.asarray(self.expansion.T @ answer)[None, :]))[0]
        return found

    def _coefficients(self, answers: SparseFloat) -> FloatArray:
        """The same for answers over the measured series, shape (k, n_measured)."""
        left: SparseFloat = csr_array((answers * self.dual.variance[None, :]) @ self.dual.rows.T)
        multipliers = self.dual.solve(left.toarray().T)
        return np.asarray(answers.toarray() - np.asarray(self.dual.rows.T @ multipliers).T, dtype=np.float64)

    def variances(self, series: IntArray | None = None) -> FloatArray:
        """Variances of some series (all where None), shape (k,)."""
        answers = self.expansion if series is None else self.expansion[series]
        if not self.dual.is_dense:
            return self._by_kind(answers, self.dual.variance[:, None])[:, 0]
        plain = np.asarray((answers**2) @ self.dual.variance)
        left: SparseFloat = csr_array((answers * self.dual.variance[None, :]) @ self.dual.rows.T)
        return np.maximum(plain - self.dual.inverse.forms(left, left), 0.0)

    def squares(self, column: IntArray, n_columns: int, series: IntArray | None = None) -> FloatArray:
        """Sums of the squared coefficients of some series over the noisy series of each column, shape (n_columns, k).

        Args:
            column: of each series, shape (n_series,).
            n_columns: number of columns.
            series: whose coefficients; all where None.
        """
        answers = self.expansion if series is None else self.expansion[series]
        own = column[self.measured]
        if not self.dual.is_dense:
            return self._by_kind(answers, (own[:, None] == np.arange(n_columns)).astype(np.float64)).T
        rows, inverse = self.dual.rows, self.dual.inverse
        left: SparseFloat = csr_array((answers * self.dual.variance[None, :]) @ rows.T)
        found = np.empty((n_columns, answers.shape[0]))
        for number in range(n_columns):
            chosen = (own == number).astype(np.float64)
            part = csr_array((answers * chosen[None, :]) @ rows.T)
            middle = csr_array((rows * chosen[None, :]) @ rows.T)
            plain = np.asarray((answers**2) @ chosen) - 2.0 * inverse.forms(part, left)
            found[number] = plain + self.dual.between(middle).forms(left, left)
        return np.maximum(found, 0.0)

    def _by_kind(self, answers: SparseFloat, weights: FloatArray) -> FloatArray:
        """``sum of coefficient^2 * weight`` by solving for each kind of answer, shape (k, columns of weights)."""
        first, own = self._kinds(answers)
        found = np.empty((len(first), weights.shape[1]))
        for start in range(0, len(first), _KINDS):
            part = slice(start, start + _KINDS)
            found[part] = self._coefficients(answers[first[part]]) ** 2 @ weights
        return found[own]

    def _kinds(self, answers: SparseFloat) -> tuple[IntArray, IntArray]:
        """One answer of each kind (equal variances, in the same equations), and the kind of each."""
        plain = np.asarray((answers**2) @ self.dual.variance)
        left = csr_array((answers * self.dual.variance[None, :]) @ self.dual.rows.T)
        left.sort_indices()
        known: dict[tuple[float, bytes, bytes], int] = {}
        own = np.empty(answers.shape[0], dtype=np.int64)
        first: list[int] = []
        single = np.diff(answers.indptr) == 1
        for row, (begin, end) in enumerate(zip(left.indptr[:-1].tolist(), left.indptr[1:].tolist(), strict=True)):
            # Sums of several series are a kind each.
            mark = plain[row] if single[row] else -1.0 - row
            key = (float(mark), left.indices[begin:end].tobytes(), left.data[begin:end].tobytes())
            own[row] = known.setdefault(key, len(known))
            if own[row] == len(first):
                first.append(row)
        return np.array(first, dtype=np.int64), own
