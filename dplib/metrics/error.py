"""Errors against the true counts: for experiments and rehearsals only, never for a release.

References: Cai, Liu, Xiong, Ying, Wu, Journal on Communications 42(6), 2021, equation 15.
"""

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray


def err_s(estimated: FloatArray, true: FloatArray) -> float:
    """Root of the mean square error over all nodes and series (equation 15), in counts; shape (n_nodes, n_series)."""
    return float(np.sqrt(np.mean((estimated - true) ** 2)))


def range_sums(leaf_values: FloatArray, lo: npt.ArrayLike, hi: npt.ArrayLike) -> FloatArray:
    """Sums over ranges of days [lo, hi), shape (m,) each, of leaf values of shape (n_days, n_series): (m, n_series)."""
    zero = np.zeros((1, leaf_values.shape[1]), dtype=leaf_values.dtype)
    running = np.concatenate([zero, np.cumsum(leaf_values, axis=0)])
    return np.asarray(running[np.asarray(hi)] - running[np.asarray(lo)], dtype=np.float64)
