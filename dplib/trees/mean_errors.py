"""Exact mean errors of padded and of evenly split trees in O(sum of radices), for any number of bins.

A padded tree (`dplib.trees.shapes`) is the full tree over ``radices[0] * radices[1] * ...`` bins with the bins that do
not exist cut off: all nodes of a level are equal but the last, which may be short. A tree of n bins that is split
evenly has nodes of floor(n / K) and of floor(n / K) + 1 bins on a level, K being the product of the radices above. So
every level has two rows of moments (`range_moments`), whatever the number of bins, and the mean variance over all
ranges after least squares costs a few microseconds at n = 2^20. Searches over radices and budgets stand on it.

References:
    As for `range_moments`.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import as_written, compiled
from dplib.trees.complete import require_radices
from dplib.trees.range_moments import N_COLUMNS, combine_moments, leaf_moments, total_of_root
from dplib.validate import require

FEW_CHILDREN = 500
"""Children of all levels' nodes, up to which a tree costs less in Python than loading what compiles."""


def padded_mean_error(n_bins: int, radices: Sequence[int], variances: npt.ArrayLike) -> float:
    """Mean variance of all ``n (n + 1) / 2`` range sums after least squares on a padded tree.

    Args:
        n_bins: number of bins.
        radices: children of a full node of each level from the root down, with a product of at least ``n_bins``. No
            level is left out, also where all its nodes have a single child.
        variances: of the nodes of each level, above 0, ``inf`` where not measured, shape (len(radices) + 1,).

    Raises:
        ConfigError: if the bins are not measured, or the radices do not reach them or reach beyond 2^63.
    """
    require_radices(n_bins, radices)
    require(prod(radices) < 1 << 63, "radices", "have a product below 2^63", prod(radices))
    noise = np.asarray(variances, dtype=np.float64)
    require(len(noise) == len(radices) + 1, "variances", "have one entry a level", len(noise))
    require(bool(np.isfinite(noise[-1])), "variances", "be finite for bins", noise[-1])
    with as_written(sum(radices) <= FEW_CHILDREN):
        total = _padded_total(n_bins, np.array(radices, dtype=np.int64), noise)
    return float(total) / (n_bins * (n_bins + 1) / 2)


@compiled
def _padded_total(n_bins: int, radices: IntArray, variances: FloatArray) -> float:
    """Sum of the variances of all ranges: two rows a level, of full nodes and of the last node."""
    widest = 1
    for radix in radices:
        widest = max(widest, radix)
    children = np.empty((widest, N_COLUMNS))
    full, last = np.empty(N_COLUMNS), np.empty(N_COLUMNS)
    leaf_moments(full, variances[-1], 1.0, 1.0)
    leaf_moments(last, variances[-1], 1.0, 1.0)
    width = 1
    for level in range(len(radices) - 1, -1, -1):
        rest = n_bins - (n_bins - 1) // (width * radices[level]) * (width * radices[level])
        of_last = (rest - 1) // width + 1
        for child in range(of_last - 1):
            children[child] = full
        children[of_last - 1] = last
        combine_moments(children[:of_last], variances[level], last)
        for child in range(radices[level]):
            children[child] = full
        combine_moments(children[: radices[level]], variances[level], full)
        width *= radices[level]
    return float(total_of_root(last))


@compiled
def even_total(n_bins: int, radices: IntArray, variances: FloatArray, single: FloatArray) -> float:
    """Sum of the variances of all ranges on a mixed-radix tree that is split evenly; nothing is checked.

    Args:
        n_bins: number of bins.
        radices: as for `mixed_radix_tree`.
        variances: of the nodes of each level, above 0, ``inf`` where not measured, shape (len(radices) + 1,).
        single: of the nodes of each level that hold a single bin, finite, same shape; they are leaves, and on an inner
            level they may have a budget of their own.
    """
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
