"""Independent answers that tests compare the library with: brute force, dense algebra, exact enumeration."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy import linalg

from dplib.arrays import FloatArray
from dplib.consistency.problem import ConsistencyProblem

Pmf = Callable[[FloatArray], FloatArray]


# --- noise masses and the divergence of noisy counts ---


def discrete_laplace_pmf(scale: float) -> Pmf:
    """Mass of discrete Laplace noise on the integers, by its closed form."""
    q = np.exp(-1.0 / scale)
    return lambda x: (1 - q) / (1 + q) * q ** np.abs(x)


def discrete_gaussian_pmf(sigma_squared: float) -> Pmf:
    """Mass of discrete Gaussian noise on the integers, normalised by summation."""
    far = int(np.ceil(40 * np.sqrt(sigma_squared))) + 2
    total = np.exp(-(np.arange(-far, far + 1.0) ** 2) / (2 * sigma_squared)).sum()
    return lambda x: np.exp(-(x**2) / (2 * sigma_squared)) / total


def joint_masses(noises: Sequence[Pmf], shift: Sequence[int], reach: int) -> FloatArray:
    """Joint mass of ``shift + noise`` on the cube of outcomes from ``-reach`` to ``reach``, flat."""
    outcomes = np.arange(-reach, reach + 1.0)
    joint = np.ones(1)
    for noise, moved in zip(noises, shift, strict=True):
        joint = np.multiply.outer(joint, noise(outcomes - moved)).ravel()
    return joint


def hockey_stick(p: FloatArray, q: FloatArray, epsilon: float) -> float:
    """``sum max(0, p - e^epsilon q)``: the smallest delta; a lower bound of it where outcomes were left out."""
    return float(np.maximum(p - np.exp(epsilon) * q, 0.0).sum())


def true_delta(noises: Sequence[Pmf], shifts: Sequence[Sequence[int]], epsilon: float, reach: int) -> float:
    """Largest divergence at ``epsilon`` between unmoved counts and counts moved by one of ``shifts``."""
    still = joint_masses(noises, [0] * len(noises), reach)
    return max(hockey_stick(still, joint_masses(noises, shift, reach), epsilon) for shift in shifts)


# --- constrained least squares on a tree, through an explicit basis of the days' counts ---


def dense_system(
    problem: ConsistencyProblem,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Node values as ``offset + design @ u``, u free, rows in (node, series) order; and days as rows of a basis.

    Returns:
        (design, offset, basis): shapes (n_nodes * c, d), (n_nodes * c,), (n_days * c, d).
    """
    tree, c = problem.tree, problem.n_series
    bases, origins = [], []
    for daily in problem.day_constraints:
        basis = linalg.null_space(daily.matrix.toarray()) if daily.n_constraints else np.eye(c)
        origin = np.linalg.pinv(daily.matrix.toarray()) @ daily.rhs if daily.n_constraints else np.zeros(c)
        bases += [basis] * (daily.end - daily.first)
        origins += [origin] * (daily.end - daily.first)
    days = linalg.block_diag(*bases)
    if days.shape[0] != tree.n_leaves * c:
        # block_diag drops nothing, but a block without columns counts as one row of shape (1, 0).
        raise AssertionError("day constraints without any free direction need their own treatment")
    covers = np.array(
        [[lo <= day < hi for day in range(tree.n_leaves)] for lo, hi in zip(tree.lo, tree.hi, strict=True)]
    )
    sums = np.kron(covers.astype(float), np.eye(c))
    return sums @ days, sums @ np.concatenate(origins), days


def dense_estimate(problem: ConsistencyProblem) -> FloatArray:
    """The weighted least-squares estimate, shape (n_nodes, n_series)."""
    design, offset, _ = dense_system(problem)
    variance = np.asarray(problem.variance).ravel()
    known = np.isfinite(variance)
    root = 1 / np.sqrt(variance[known])
    target = root * (problem.noisy.ravel()[known] - offset[known])
    free = linalg.lstsq(design[known] * root[:, None], target, lapack_driver="gelsy")[0]
    return (offset + design @ free).reshape(problem.noisy.shape)


def dense_day_covariance(problem: ConsistencyProblem) -> FloatArray:
    """Covariance of the days' estimates, shape (n_days * c, n_days * c)."""
    design, _, days = dense_system(problem)
    variance = np.asarray(problem.variance).ravel()
    known = np.isfinite(variance)
    information = (design[known] / variance[known, None]).T @ design[known]
    return np.asarray(days @ np.linalg.inv(information) @ days.T)


def is_determined(problem: ConsistencyProblem) -> bool:
    """Whether the measured values determine every count."""
    design, _, _ = dense_system(problem)
    known = np.isfinite(np.asarray(problem.variance).ravel())
    return bool(np.linalg.matrix_rank(design[known], tol=1e-8) == design.shape[1])


def range_rows(n_days: int, n_series: int, lo: int, hi: int) -> FloatArray:
    """Rows that sum the days ``lo <= t < hi`` of each series, shape (c, n_days * c)."""
    inside = (np.arange(n_days) >= lo) & (np.arange(n_days) < hi)
    return np.kron(inside.astype(float), np.eye(n_series))
