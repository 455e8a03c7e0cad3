"""Noisy counts as weights: at least 0 and adding up to their total, without the bias of cutting negative ones to 0.

Cutting alone adds half the mean noise to every empty cell, which over thousands of cells outweighs small clusters. The
nearest non-negative vector with the right sum subtracts one number from all and cuts at 0.

References:
    Duchi, Shalev-Shwartz, Singer, Chandra: Efficient projections onto the l1-ball for learning in high dimensions.
    ICML 2008, figure 1.
"""

import numpy as np

from dplib.arrays import FloatArray


def nearest_weights(noisy: FloatArray, totals: FloatArray) -> FloatArray:
    """The nearest non-negative rows, (m, c), with given sums, (m,); rows of a sum of at most 0 become zeros."""
    totals = np.maximum(totals, 0.0)[:, np.newaxis]
    falling = -np.sort(-noisy, axis=1)
    excess = (np.cumsum(falling, axis=1) - totals) / np.arange(1, noisy.shape[1] + 1)
    last = np.maximum((falling > excess).sum(axis=1, keepdims=True), 1) - 1
    cut = np.take_along_axis(excess, last, axis=1)
    return np.where(totals > 0, np.maximum(noisy - cut, 0.0), 0.0)
