"""Exact mean error of evenly split trees in O(sum of radices), for any number of bins.

A mixed-radix tree over n bins has at most two kinds of node on a level, those of floor(n / K) and of floor(n / K) + 1
bins, K being the product of the radices above. All nodes of one kind have the same moments (`range_moments`), so the
mean variance over all ranges after least squares costs a few microseconds at n = 2^20. Searches over radices and
budgets stand on it.

Notation: K_l = radices[0] ... radices[l - 1]; a level's *small* nodes have n // K_l bins, its *large* ones one more.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.trees.complete import require_radices
from dplib.trees.range_moments import N_COLUMNS, combine_moments, leaf_moments, total_of_root
from dplib.validate import require


def even_mean_error(
    n_bins: int, radices: Sequence[int], variances: npt.ArrayLike, single_variances: npt.ArrayLike
) -> float:
    """Mean variance of all ``n (n + 1) / 2`` range sums after least squares on a mixed-radix tree.

    Args:
        n_bins: number of bins.
        radices: as for `mixed_radix_tree`.
        variances: of the nodes of each level, above 0, ``inf`` where not measured, shape (len(radices) + 1,).
        single_variances: of the nodes of each level that hold a single bin, finite, same shape; they are leaves, and
            on an inner level they may have a budget of their own.

    Raises:
        ConfigError: if a bin is not measured or the radices do not reach the bins.
    """
    require_radices(n_bins, radices)
    inner = np.asarray(variances, dtype=np.float64)
    single = np.asarray(single_variances, dtype=np.float64)
    require(len(inner) == len(single) == len(radices) + 1, "variances", "have one entry a level", len(inner))
    require(bool(np.isfinite(single[-1])), "variances", "be finite for bins", single[-1])
    total = even_total(n_bins, np.array(radices, dtype=np.int64), inner, single)
    return float(total) / (n_bins * (n_bins + 1) / 2)


@compiled
def even_total(n_bins: int, radices: IntArray, variances: FloatArray, single: FloatArray) -> float:
    """Sum of the variances of all ranges; arguments as arrays, unchecked."""
    widest = 1
    for radix in radices:
        widest = max(widest, radix)
    children = np.empty((widest, N_COLUMNS))
    depth = len(radices)
    below, here = np.empty((2, N_COLUMNS)), np.empty((2, N_COLUMNS))
    product = 1.0
    small = np.empty(depth + 1, dtype=np.int64)
    for level in range(depth + 1):
        small[level] = int(n_bins // product)
        if level < depth:
            product *= radices[level]
    for level in range(depth, -1, -1):
        for kind in range(2):
            size = small[level] + kind
            if size == 1 or level == depth:
                leaf_moments(here[kind], single[level], 1.0, 1.0)
            elif size > 1:
                count = min(radices[level], size)
                extra = size - count * (size // count)
                for child in range(count):
                    child_size = size // count + (1 if child < extra else 0)
                    children[child] = below[child_size - small[level + 1]]
                combine_moments(children[:count], variances[level], here[kind])
        below, here = here, below
    return float(total_of_root(below[0]))
