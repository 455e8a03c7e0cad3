"""Weighted projection onto an affine set ``{x : M x = b}``: the paper's general solution with unequal variances.

Minimise ``(x - y)^T W (x - y)`` subject to ``M x = b``, W diagonal with the inverse variances. With finite variances

    x = y + W^-1 M^T (M W^-1 M^T)^+ (b - M y),

theorem 1 being the case W = I (the unweighted projection is wrong for unequal variances). A weight of 0 (infinite
variance, not measured) has no W^-1; then with N a basis of the null space of M and p any solution of M p = b,

    x = p + N (N^T W N)^+ N^T W (y - p).

Cost: O(m^2 n + m^3) for finite variances with m constraints on n unknowns, O(n^3) otherwise; dense.

References: Cai, Liu, Xiong, Ying, Wu, Journal on Communications 42(6), 2021, theorem 1 and equation 7; A. Bjorck,
"Numerical Methods for Least Squares Problems", SIAM 1996, sections 5.1.2 (null space) and 5.1.4 (weights).
"""

from dataclasses import dataclass

import numpy as np
import scipy

from dplib.arrays import FloatArray
from dplib.constraints.day_constraints import DayConstraints


@dataclass(frozen=True, eq=False)
class AffineProjector:
    """The map ``x -> matrix @ x + offset``.

    Attributes:
        matrix: shape (n, n).
        offset: shape (n,); for a right-hand side of the days' sum it scales with the number of days.
        identifiable: whether the projection is unique (with unmeasured entries it may not be; then it is one of the
            solutions).
    """

    matrix: FloatArray
    offset: FloatArray
    identifiable: bool = True

    def __call__(self, values: FloatArray, days: FloatArray | float = 1.0) -> FloatArray:
        """Project each row of ``values``.

        Args:
            values: shape (..., n).
            days: how many days each row sums (its right-hand side is that many times b), shape (..., ) or a number.

        Returns:
            Shape (..., n).
        """
        projected = values @ self.matrix.T
        if self.offset.any():
            projected += np.asarray(days)[..., None] * self.offset
        return projected


def null_basis(matrix: FloatArray) -> FloatArray:
    """An orthonormal basis of the null space, shape (n, n - rank); rows are scaled to length 1 first."""
    n = matrix.shape[1]
    if not len(matrix):
        return np.eye(n)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    basis: FloatArray = scipy.linalg.null_space(matrix / np.where(lengths > 0, lengths, 1.0), rcond=1e-10)
    return basis


def span_basis(daily: DayConstraints) -> FloatArray:
    """An orthonormal basis of the vectors that meet a day's constraints with right-hand side 0.

    It is taken from the generators where there are any: their integers are smaller than those of the constraints.

    Returns:
        Shape (n_series, dimension).
    """
    if daily.generators is None:
        return null_basis(daily.matrix.toarray())
    generators = daily.generators.toarray().astype(np.float64)
    if not generators.size:
        return np.zeros((daily.n_series, 0))
    # By numpy, which every command has loaded: scipy.linalg takes a tenth of a query's time to load.
    scaled = generators / np.maximum(np.linalg.norm(generators, axis=0), 1e-300)
    left, singular, _ = np.linalg.svd(scaled, full_matrices=False)
    basis: FloatArray = left[:, singular > 1e-10 * singular.max(initial=0.0)]
    return basis


def particular(daily: DayConstraints) -> FloatArray:
    """The shortest vector with ``matrix @ v = rhs``, shape (n_series,)."""
    if daily.is_homogeneous:
        return np.zeros(daily.n_series)
    matrix = daily.matrix.toarray()
    lengths = np.linalg.norm(matrix, axis=1)
    solution: FloatArray = np.linalg.lstsq(matrix / lengths[:, None], daily.rhs / lengths, rcond=None)[0]
    return solution


def projector(daily: DayConstraints, variance: FloatArray) -> AffineProjector:
    """The weighted projection of one day's counts onto its constraints.

    Args:
        daily: the constraints.
        variance: shape (n_series,), above 0, ``inf`` where not measured.

    Returns:
        The projector; unmeasured entries of what it is given do not matter but must be finite.
    """
    if not daily.n_constraints:
        return AffineProjector(np.eye(daily.n_series), np.zeros(daily.n_series), bool(np.isfinite(variance).all()))
    basis, start = span_basis(daily), particular(daily)
    weight = np.where(np.isfinite(variance), 1.0 / variance, 0.0)
    covariance, identifiable = weighted_covariance(basis, weight)
    matrix = covariance * weight
    return AffineProjector(matrix, start - matrix @ start, identifiable)


def weighted_covariance(basis: FloatArray, weight: FloatArray) -> tuple[FloatArray, bool]:
    """Covariance ``N (N^T W N)^+ N^T`` of the weighted least-squares estimate in the span of N, orthonormal, (n, d).

    W are inverse variances, shape (n,). Shape (n, n), and whether ``N^T W N`` has full rank.
    """
    if not basis.shape[1]:
        return np.zeros((len(basis), len(basis))), True
    scaled = basis * np.sqrt(weight)[:, None]
    # Equilibrate, so that the rank does not hang on the scale of the variances.
    lengths = np.linalg.norm(scaled, axis=0)
    lengths[lengths == 0] = 1.0
    _, singular, right = np.linalg.svd(scaled / lengths, full_matrices=False)
    good = singular > 1e-10 * max(float(singular.max(initial=0.0)), 1e-300)
    half = basis / lengths @ (right[good].T / singular[good])
    return half @ half.T, bool(good.sum() == basis.shape[1])


def project(values: FloatArray, variance: FloatArray, matrix: FloatArray, rhs: FloatArray) -> FloatArray:
    """Project one vector: theorem 1 with weights.

    Args:
        values: y, shape (n,); entries of infinite variance are ignored.
        variance: shape (n,), above 0 or ``inf``.
        matrix: M, shape (m, n); rows may depend on each other.
        rhs: b, shape (m,).

    Returns:
        x, shape (n,): the shortest of the solutions where unmeasured entries leave a choice.
    """
    known = np.isfinite(variance)
    start = np.where(known, values, 0.0)
    if not len(matrix):
        return start
    if known.all():
        spread = variance[:, None] * matrix.T
        return start + spread @ solve_symmetric(matrix @ spread, rhs - matrix @ start)
    basis = null_basis(matrix)
    origin = np.linalg.lstsq(matrix, rhs, rcond=None)[0]
    root = np.where(known, 1.0 / np.sqrt(variance), 0.0)
    coordinates = np.linalg.lstsq(basis * root[:, None], root * (start - origin), rcond=1e-12)[0]
    solution: FloatArray = origin + basis @ coordinates
    return solution


def solve_symmetric(matrix: FloatArray, rhs: FloatArray) -> FloatArray:
    """Solve with a positive semidefinite matrix: Cholesky, or the pseudo-inverse where it has no full rank."""
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    scaled = matrix / scale / scale[:, None]
    try:
        factor = scipy.linalg.cho_factor(scaled, lower=True)
        if np.diagonal(factor[0]).min() > 1e-7:
            solution: FloatArray = scipy.linalg.cho_solve(factor, rhs / scale) / scale
            return solution
    except scipy.linalg.LinAlgError:
        pass  # A dependent row: the pseudo-inverse takes it.
    inverse = scipy.linalg.pinvh(scaled, rtol=1e-12)
    return np.asarray(inverse @ (rhs / scale) / scale, dtype=np.float64)
