"""The thesis's own BLUE on an interval tree, by the coefficients (alpha, beta, c, d): a reference, not for use.

On the subtree of x let B be its first leaf. The estimate of x and the weighted sum of estimates on the path from x to
B are linear in the estimate of B (conclusion 3.8): h_x = beta_x h_B + d_x and g_x = alpha_x h_B + c_x. PA_BLUE finds
the coefficients from the leaves up, CRC the estimates from the root down.

The recursion subtracts large sums and divides along a chain of first leaves: it is exact in exact arithmetic, and
loses all digits where budgets on a tree of 2^20 bins differ by 1,000. `tree_blue` does not.

The order is the corrected one: children before parents; g~ of a node is the weighted sum of the noisy values on the
path to its first leaf; w is the child with Bound(w) = Bound(x).

Cost: O(n_nodes), no recursion.

References:
    The thesis on range-count histograms, chapter 3, conclusions 3.6-3.8, algorithms 3.6 (PA_BLUE) and 3.7 (CRC).
"""

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.trees.interval_tree import IntervalTree

Coefficients = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def parameter_adjust_blue(tree: IntervalTree, noisy: FloatArray, weights: FloatArray) -> Coefficients:
    """The coefficients (alpha, beta, c, d) of every node (PA_BLUE).

    Args:
        tree: the tree.
        noisy: noisy counts, shape (n_nodes,).
        weights: epsilon^2, or anything in proportion to one over the variance; above 0 at leaves, shape (n_nodes,).

    Returns:
        Four arrays of shape (n_nodes,).
    """
    alpha, beta, c, d = (np.zeros(tree.n_nodes) for _ in range(4))
    path_sums = _first_leaf_sums(tree.parent, tree.child_count, tree.child_start, noisy, weights)
    _coefficients(tree.child_count, tree.child_start, weights, path_sums, alpha, beta, c, d)
    return alpha, beta, c, d


def calculate_range_count(
    tree: IntervalTree, noisy: FloatArray, weights: FloatArray, coefficients: Coefficients
) -> FloatArray:
    """Estimates of all nodes (CRC).

    Args:
        tree: the tree.
        noisy: noisy counts, shape (n_nodes,).
        weights: as given to `parameter_adjust_blue`.
        coefficients: what that returned.

    Returns:
        Shape (n_nodes,).
    """
    path_sums = _first_leaf_sums(tree.parent, tree.child_count, tree.child_start, noisy, weights)
    return np.asarray(_estimates(tree.parent, noisy, weights, path_sums, *coefficients))


def thesis_blue(tree: IntervalTree, noisy: FloatArray, weights: FloatArray) -> FloatArray:
    """PA_BLUE and CRC, shape (n_nodes,)."""
    coefficients = parameter_adjust_blue(tree, noisy, weights)
    return calculate_range_count(tree, noisy, weights, coefficients)


@compiled
def _first_leaf_sums(
    parent: IntArray, n_children: IntArray, child_start: IntArray, noisy: FloatArray, weights: FloatArray
) -> FloatArray:
    sums = weights * noisy
    for node in range(len(parent) - 1, -1, -1):
        if n_children[node]:
            sums[node] += sums[child_start[node]]
    return sums


@compiled
def _coefficients(
    n_children: IntArray,
    child_start: IntArray,
    weights: FloatArray,
    path_sums: FloatArray,
    alpha: FloatArray,
    beta: FloatArray,
    c: FloatArray,
    d: FloatArray,
) -> None:
    for node in range(len(weights) - 1, -1, -1):
        if n_children[node] == 0:
            alpha[node], beta[node] = weights[node], 1.0
            continue
        w = child_start[node]
        for y in range(w, w + n_children[node]):
            slope = beta[y] / alpha[y]
            beta[node] += slope * alpha[w]
            d[node] += slope * (path_sums[y] - path_sums[w] - c[y] + c[w]) + d[y]
        alpha[node] = alpha[w] + weights[node] * beta[node]
        c[node] = c[w] + weights[node] * d[node]


@compiled
def _estimates(
    parent: IntArray,
    noisy: FloatArray,
    weights: FloatArray,
    path_sums: FloatArray,
    alpha: FloatArray,
    beta: FloatArray,
    c: FloatArray,
    d: FloatArray,
) -> FloatArray:
    estimates, noisy_above, estimated_above = np.empty(len(parent)), np.zeros(len(parent)), np.zeros(len(parent))
    for node in range(len(parent)):
        if node:
            up = parent[node]
            noisy_above[node] = noisy_above[up] + weights[up] * noisy[up]
            estimated_above[node] = estimated_above[up] + weights[up] * estimates[up]
        remaining = noisy_above[node] + path_sums[node] - estimated_above[node] - c[node]
        estimates[node] = beta[node] * remaining / alpha[node] + d[node]
    return estimates
