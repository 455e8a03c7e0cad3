"""Privelet: range counts from a noisy Haar wavelet transform.

The transform holds the total and, for every node of the complete binary tree, the difference between its left and its
right half. Privelet's weighted coefficients are exactly these integers: one record changes the total and one
difference a level by 1, so with h = log2 N levels each gets 1 / (h + 1) of the budget. There are as many numbers as
bins, hence nothing to reconcile: the inverse is the estimate. Here are its errors, which plans compare with.

A range's answer weights the difference of a node of size s by (g(hi) - g(lo)) / s, g being the triangle that rises by
1 a bin over the left half and falls over the right one, so all errors have closed forms. Bins are padded with empty
ones to a power of two.

Cost: O(n); errors O(n log n).

References:
    Xiao, Wang, Gehrke, "Differential privacy via wavelet transforms", IEEE Transactions on Knowledge and Data
    Engineering 23(8), 2011 (Privelet).
"""

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.trees.budgets import LawName, unit_variance
from dplib.validate import at_least


def haar_levels(n_bins: int) -> int:
    """h, the number of levels of differences."""
    at_least("n_bins", n_bins, 1)
    return (n_bins - 1).bit_length()


def haar_unit_variance(n_bins: int, noise: LawName = "laplace") -> float:
    """Noise variance of each coefficient at epsilon = 1 or rho = 1/2."""
    return float(unit_variance(1.0 / (haar_levels(n_bins) + 1), noise))


def haar_mean_error(n_bins: int, noise: LawName = "laplace") -> float:
    """Mean variance of all ranges at unit budget."""
    n_cuts, total = n_bins + 1.0, 0.0
    for triangle in _triangles(n_bins):
        # Pairs of cuts: sum of (g(hi) - g(lo))^2 over all pairs, node by node (g is 0 outside its node).
        squares, sums = triangle
        total += float((n_cuts * squares - sums**2).sum())
    return haar_unit_variance(n_bins, noise) * total / (n_bins * (n_bins + 1) / 2)


def _triangles(n_bins: int) -> list[tuple[FloatArray, FloatArray]]:
    """For the total and each level: sums over cuts of (g / s)^2 and of g / s, one entry a node."""
    size = 1 << haar_levels(n_bins)
    cuts = np.arange(n_bins + 1, dtype=np.float64)
    found = [(np.array([((cuts / size) ** 2).sum()]), np.array([(cuts / size).sum()]))]
    while size > 1:
        height = _heights(np.arange(n_bins), size)
        first = np.arange(0, n_bins, size)
        # The last cut belongs to the last node; where a node is full it is 0 there.
        last = _heights(np.array([n_bins]), size)[0]
        squares, sums = np.add.reduceat(height**2, first), np.add.reduceat(height, first)
        squares[-1] += last**2
        sums[-1] += last
        found.append((squares, sums))
        size //= 2
    return found


def _heights(cuts: IntArray, size: int) -> FloatArray:
    inside = cuts % size
    return np.asarray(np.minimum(inside, size - inside) / size)


def haar_range_variances(n_bins: int, lo: npt.ArrayLike, hi: npt.ArrayLike, noise: LawName = "laplace") -> FloatArray:
    """Variance of the answers to ranges ``[lo, hi)`` at unit budget, shape (m,)."""
    low, high = np.atleast_1d(np.asarray(lo, dtype=np.int64)), np.atleast_1d(np.asarray(hi, dtype=np.int64))
    size = 1 << haar_levels(n_bins)
    factor = ((high - low) / size) ** 2
    while size > 1:
        left, right = _heights(low, size), _heights(high, size)
        # Cuts on a boundary have height 0 in both neighbours, so the node they are counted in does not matter.
        together = low // size == high // size
        factor += np.where(together, (right - left) ** 2, left**2 + right**2)
        size //= 2
    return haar_unit_variance(n_bins, noise) * factor
