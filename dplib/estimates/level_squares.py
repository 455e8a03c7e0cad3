"""What each level's noise adds to the variance of a node's estimate: sums of squared coefficients by level.

After least squares with weights ``1 / v_level`` a node's estimate is a sum of noisy counts with coefficients. If the
noise of level l has the variance w_l, whatever the weights, the estimate's variance is ``sum over l of w_l T_l``, T_l
the sum of the squared coefficients of the level's nodes. Upwards, with a the weight of the children's sum in a node's
value from below,

    U = a^2 sum U_c + (1 - a)^2 e_level,

and downwards a node is k z + (what comes from outside its subtree), z its value from below and O the squares outside:

    k_c = 1 + g_c (k a - 1),    O_c = g_c^2 ((k a - 1)^2 sum of siblings' U + (k (1 - a))^2 e_level + O),
    T = k^2 U + O,

g_c the part of its parent's difference that a child takes.

Cost: O(n_nodes n_levels), a few array operations a level.

References: as for `dplib.estimates.range_variance`.
"""

import numpy as np

from dplib.arrays import FloatArray
from dplib.trees.interval_tree import IntervalTree


def level_squares(tree: IntervalTree, level_variance: FloatArray) -> FloatArray:
    """Sums of squared coefficients of every node's estimate, shape (n_nodes, n_levels).

    Args:
        tree: all leaves on the last level.
        level_variance: by which least squares weigh, inf where a level is not measured, finite for the last one, shape
            (n_levels,).
    """
    n_nodes, n_levels = tree.n_nodes, tree.n_levels
    squares, sums = np.zeros((n_nodes, n_levels)), np.zeros((n_nodes, n_levels))
    below, up, weight = np.zeros(n_nodes), np.empty(n_nodes), np.zeros(n_nodes)
    leaves = tree.level_slice(n_levels - 1)
    squares[leaves, -1], up[leaves] = 1.0, level_variance[-1]
    for level in range(n_levels - 2, -1, -1):
        here, children = tree.level_slice(level), tree.level_slice(level + 1)
        first, own = tree.child_start[here] - children.start, level_variance[level]
        below[here] = np.add.reduceat(up[children], first)
        sums[here] = np.add.reduceat(squares[children], first, axis=0)
        weight[here] = 1.0 if np.isinf(own) else own / (own + below[here])
        up[here] = below[here] * weight[here]
        squares[here] = weight[here, None] ** 2 * sums[here]
        squares[here, level] += (1.0 - weight[here]) ** 2
    factor, outside = np.ones(n_nodes), np.zeros((n_nodes, n_levels))
    for level in range(1, n_levels):
        here = tree.level_slice(level)
        above = tree.parent[here]
        gain, turned = up[here] / below[above], factor[above] * weight[above] - 1.0
        factor[here] = 1.0 + gain * turned
        around = outside[above] + turned[:, None] ** 2 * (sums[above] - squares[here])
        around[:, level - 1] += (factor[above] * (1.0 - weight[above])) ** 2
        outside[here] = gain[:, None] ** 2 * around
    return np.asarray(factor[:, None] ** 2 * squares + outside)
