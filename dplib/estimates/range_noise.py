"""Exact variance of range answers whose noise has other variances than least squares weigh by.

Least squares on a tree weigh by ``w``; the noise of the nodes has variances ``v``. A subtree that a range covers, or
misses, enters an answer through its own estimate ``z`` alone, so its coefficients are a multiple of those of ``z`` and
add the square of it times ``A``, the variance of z under v. What is left is the path to a range's ends: with a_p the
share of a partly covered node p in the best prediction of its part of the range (`range_variance`), alpha the weight of
its children's sum in z, and k the coefficient of z in the answer, from the root down with k = a,

    o = k alpha - a_p:   children inside 1 + o, outside o, partly covered a_c + o,   own count k (1 - alpha).

Guarantee: equal to the squared coefficients of `dplib.consistency.answer_coefficients` under v; with v = w, to
`range_variance`. Cost: O(n_nodes) to prepare, O(depth) a range.

References: as for `dplib.estimates.range_variance`.
"""

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.estimates.range_variance import RangeVariance
from dplib.trees.interval_tree import IntervalTree


class RangeNoise:
    """Variances of all ranges for one tree, the variances that least squares weigh by, and those of the noise.

    Args:
        tree: the tree.
        weights: variances that are weighed by, as `RangeVariance` takes them, shape (n_nodes,).
        noise: variances of the nodes' noise, ``inf`` where not measured, shape (n_nodes,).
    """

    def __init__(self, tree: IntervalTree, weights: FloatArray, noise: FloatArray) -> None:
        known = RangeVariance(tree, weights)
        self._tree, self._weighed = tree, (known.after, known.before, known.left)
        own = np.where(np.isfinite(noise), noise, 0.0)
        self._noise = (*_prepare(tree.parent, weights, known.before, own), own)

    def of(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Variance of the answers to the ranges of bins ``[lo, hi)``, shape (m,)."""
        tree = self._tree
        ends = tree.leaf_nodes[lo], tree.leaf_nodes[hi - 1]
        return np.asarray(_variances(tree.parent, tree.level, *ends, *self._weighed, *self._noise))

    def nodes(self, nodes: IntArray) -> FloatArray:
        """Variance of the estimates of some nodes, shape (m,)."""
        return self.of(self._tree.lo[nodes], self._tree.hi[nodes])


@compiled
def _prepare(
    parent: IntArray, weights: FloatArray, before: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Alpha and A of every node, the sum of A over its siblings before it, and that over its children."""
    n_nodes = len(parent)
    alpha, own, left, sums = np.zeros(n_nodes), np.empty(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes)
    for node in range(n_nodes - 1, -1, -1):
        if before[node] > 0:
            alpha[node] = weights[node] / (weights[node] + before[node]) if np.isfinite(weights[node]) else 1.0
        own[node] = alpha[node] ** 2 * sums[node] + (1.0 - alpha[node]) ** 2 * noise[node]
        if node:
            sums[parent[node]] += own[node]
    for node in range(2, n_nodes):
        if parent[node] == parent[node - 1]:
            left[node] = left[node - 1] + own[node - 1]
    return alpha, own, left, sums


@compiled
def _variances(
    parent: IntArray,
    level: IntArray,
    first: IntArray,
    last: IntArray,
    after: FloatArray,
    before: FloatArray,
    left: FloatArray,
    alpha: FloatArray,
    own: FloatArray,
    own_left: FloatArray,
    own_sums: FloatArray,
    noise: FloatArray,
) -> FloatArray:
    found = np.zeros(len(first))
    size = level.max() + 1
    # Nodes with their shares a: from the first bin, and from the last one, up to below where they meet; from there up.
    path, share = np.empty((3, size), np.int64), np.empty((3, size))
    for query in range(len(first)):
        i, j, n, m = first[query], last[query], 0, 0
        path[0, 0], share[0, 0], path[1, 0], share[1, 0] = i, 1.0, j, 1.0
        while i != j and parent[i] != parent[j]:
            if level[i] >= level[j]:
                up = parent[i]
                part = before[up] - left[i] - after[i] + share[0, n] * after[i]
                n, i = n + 1, up
                path[0, n], share[0, n] = up, part / before[up]
            else:
                up = parent[j]
                part = left[j] + share[1, m] * after[j]
                m, j = m + 1, up
                path[1, m], share[1, m] = up, part / before[up]
        top, node, a = 0, i, 1.0
        if i != j:
            node = parent[i]
            a = left[j] - left[i] - after[i] + share[0, n] * after[i] + share[1, m] * after[j]
            a /= before[node]
        path[2, 0], share[2, 0] = node, a
        while node:
            a, node, top = a * after[node] / before[parent[node]], parent[node], top + 1
            path[2, top], share[2, top] = node, a
        k, total = share[2, top], 0.0
        for step in range(top, 0, -1):
            node, below = path[2, step], path[2, step - 1]
            o = k * alpha[node] - share[2, step]
            total += o * o * (own_sums[node] - own[below]) + (k * (1.0 - alpha[node])) ** 2 * noise[node]
            k = share[2, step - 1] + o
        node = path[2, 0]
        if i == j:
            found[query] = total + k * k * own[node]
            continue
        o = k * alpha[node] - share[2, 0]
        between = own_left[j] - own_left[i] - own[i]
        total += (1.0 + o) ** 2 * between + (k * (1.0 - alpha[node])) ** 2 * noise[node]
        total += o * o * (own_sums[node] - between - own[i] - own[j])
        for side in range(2):
            steps = n if side == 0 else m
            own_path, own_share = path[side, : steps + 1], share[side, : steps + 1]
            total += _side(side == 0, own_path, own_share, o, alpha, own, own_left, own_sums, noise)
        found[query] = total
    return found


@compiled
def _side(
    is_first: bool,
    path: IntArray,
    share: FloatArray,
    outside_of: float,
    alpha: FloatArray,
    own: FloatArray,
    own_left: FloatArray,
    own_sums: FloatArray,
    noise: FloatArray,
) -> float:
    """What the nodes below the meeting one add on the side of the first bin, or of the last."""
    total, k = 0.0, share[-1] + outside_of
    for step in range(len(path) - 1, 0, -1):
        node, below = path[step], path[step - 1]
        inner = k * alpha[node] - share[step]
        before_it = own_left[below]
        behind = own_sums[node] - before_it - own[below]
        inside, outside = (behind, before_it) if is_first else (before_it, behind)
        total += (1.0 + inner) ** 2 * inside + inner * inner * outside
        total += (k * (1.0 - alpha[node])) ** 2 * noise[node]
        k = share[step - 1] + inner
    return float(total + k * k * own[path[0]])
