"""Weighted projection on scaled simplices, for many groups and columns at once.

For each group of rows and each column: minimise ``sum_i w_i (h_i - a_i)^2`` over ``h_i >= 0``,
``sum_i h_i = s``, and ``h_i = 0`` where entry i is not allowed. The solution is
``h_i = max(0, a_i - threshold / w_i)``; the threshold is found exactly by sorting the break points ``w_i a_i``.

Cost: O(k log k) a group of k rows, vectorised over groups of equal size and over columns.

Notation: ``a`` values, ``w`` weights, ``s`` the group's total.

References:
    Duchi, Shalev-Shwartz, Singer, Chandra, "Efficient projections onto the l1-ball for learning in high
    dimensions", ICML 2008, figure 1 (unit weights).
    Condat, "Fast projection onto the simplex and the l1 ball", Mathematical Programming 158, 2016, algorithm 1.
"""

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.errors import SolverError
from dplib.projection.segments import equal_sized_batches


def project_simplex(
    values: FloatArray,
    offsets: IntArray,
    totals: FloatArray | IntArray,
    weights: FloatArray | None = None,
    allowed: BoolArray | None = None,
) -> FloatArray:
    """Project each column of each group of rows on ``{h >= 0, sum h = total}``, shape (n_rows, n_columns).

    Args:
        values: finite, shape (n_rows, n_columns).
        offsets: first row of each group, shape (n_groups,), from 0, strictly increasing.
        totals: at least 0, shape (n_groups, n_columns).
        weights: above 0, shape (n_rows, n_columns); None for equal weights.
        allowed: entries that may differ from 0, shape (n_rows, n_columns); None for all.

    Raises:
        SolverError: if a total is negative, or above 0 where no entry of its group is allowed.
    """
    if (np.asarray(totals) < 0).any():
        raise SolverError("totals of a simplex", "be at least 0", "a negative one")
    projected = np.empty_like(values, dtype=np.float64)
    for groups, rows in equal_sized_batches(offsets, len(values)):
        projected[rows] = _project_batch(
            values[rows],
            np.asarray(totals[groups], dtype=np.float64),
            None if weights is None else 1.0 / weights[rows],
            None if allowed is None else allowed[rows],
        )
    return projected


def _project_batch(
    values: FloatArray, totals: FloatArray, inverse: FloatArray | None, allowed: BoolArray | None
) -> FloatArray:
    """Project along the middle axis of (groups, size, columns); ``inverse`` holds ``1 / w``."""
    if allowed is not None:
        reachable = allowed.any(axis=1)
        if (totals[~reachable] > 0).any():
            raise SolverError("a group with a total above 0", "have an allowed entry", "none")
        inverse = np.where(allowed, 1.0 if inverse is None else inverse, 0.0)
        values = np.where(allowed, values, 0.0)
    if values.shape[1] == 2:
        return _project_pair(values, totals, inverse)
    threshold = (
        _threshold_equal(values, totals) if inverse is None else _threshold_weighted(values, totals, inverse, allowed)
    )[:, None, :]
    if inverse is None:
        return np.maximum(values - threshold, 0.0)
    projected = np.maximum(values - threshold * inverse, 0.0)
    return projected if allowed is None else np.where(allowed, projected, 0.0)


def _project_pair(values: FloatArray, totals: FloatArray, inverse: FloatArray | None) -> FloatArray:
    """Groups of two, the common large case (binary trees): no sort is needed."""
    if inverse is None:
        share: FloatArray | float = 0.5
    else:
        spread = inverse.sum(axis=1)
        share = np.divide(inverse[:, 0], spread, out=np.zeros_like(spread), where=spread > 0)
    first = np.clip(values[:, 0] + share * (totals - values[:, 0] - values[:, 1]), 0.0, totals)
    if inverse is not None:
        # The second entry is not allowed: no arithmetic error may be left for it.
        first = np.where(share == 1.0, totals, first)
    return np.stack([first, totals - first], axis=1)


def _threshold_equal(values: FloatArray, totals: FloatArray) -> FloatArray:
    descending = -np.sort(-values, axis=1)
    candidates = np.cumsum(descending, axis=1)
    candidates -= totals[:, None, :]
    candidates /= np.arange(1, values.shape[1] + 1)[None, :, None]
    return _last_active(descending, candidates)


def _threshold_weighted(
    values: FloatArray, totals: FloatArray, inverse: FloatArray, allowed: BoolArray | None
) -> FloatArray:
    breaks = np.divide(values, inverse, out=np.full_like(values, -np.inf), where=inverse > 0)
    if allowed is not None:
        # A group without allowed entries: any finite threshold leaves it at 0.
        breaks[:, 0, :] = np.where(allowed.any(axis=1), breaks[:, 0, :], 0.0)
    order = np.argsort(-breaks, axis=1, kind="stable")
    sorted_inverse = np.take_along_axis(inverse, order, axis=1)
    candidates = np.cumsum(np.take_along_axis(values, order, axis=1), axis=1)
    candidates -= totals[:, None, :]
    spread = np.cumsum(sorted_inverse, axis=1)
    np.divide(candidates, spread, out=candidates, where=spread > 0)
    return _last_active(np.take_along_axis(breaks, order, axis=1), candidates)


def _last_active(breaks: FloatArray, candidates: FloatArray) -> FloatArray:
    """The candidate threshold at the last break point above it; the first entry is always active."""
    active = breaks > candidates
    active[:, 0, :] = True
    size = active.shape[1]
    last = size - 1 - np.argmax(active[:, ::-1, :], axis=1)
    return np.take_along_axis(candidates, last[:, None, :], axis=1)[:, 0, :]
