"""Standard errors of weights that are sums of a pruned tree's leaves: the variance of a linear estimator, exactly.

The noisy trees of `dplib.clustering.central.quadtree` and `tree_coreset` find weights in two sweeps. From below, a
node's own count and the sum of its children's totals are mixed: z = a y + (1 - a) (sum of the children's z). From the
root down, what m children lack of their parent's weight is divided evenly: h = z + (parent's h - sum of the z) / m. A
center's weight is the sum of h over its leaves: linear in the counts y, which have independent noise.

With g a center's share of the leaves below a node (1 or 0 at a leaf, the mean of the children's elsewhere), the
coefficient of a node's y is a b, where b = g - g(parent) + (1 - a(parent)) b(parent), and b = g at the root. The
variance is the sum of (a b)^2 times the variance of y. Not in it: that counts below 0 are cut, which hardly touches
large weights and lowers the error of small ones, and that noise decides which nodes are leaves.

Cost: O(nodes times centers).

References:
    Hay, Rastogi, Miklau, Suciu: Boosting the accuracy of differentially private histograms through consistency. VLDB
    2010, theorem 3 (both sweeps).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray

NOBODY = -1
_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class NodeErrors:
    """The nodes of one level, siblings next to each other; the first level is the root alone.

    Attributes:
        own: a, the share of a node's own count in its total; 1 where it has no children; shape (n,).
        variances: of the own counts, shape (n,).
        expanded: which nodes have children, the next level's siblings in this order; shape (n,).
        leaves: positions of the nodes that are leaves among all leaves, `NOBODY` elsewhere; shape (n,).
    """

    own: FloatArray
    variances: FloatArray
    expanded: BoolArray
    leaves: IntArray


def weight_variances(
    levels: Sequence[NodeErrors], labels: IntArray, n_centers: int, factors: FloatArray | None = None
) -> FloatArray:
    """Variances of the centers' weights, shape (k,).

    Args:
        levels: from the root down.
        labels: the center of each leaf, `NOBODY` for none, shape (m,).
        n_centers: k.
        factors: what each leaf's weight is multiplied by in the sums; 1 where absent; shape (m,).
    """
    most = max(1, _AT_ONCE // sum(len(level.own) for level in levels))
    factors = np.ones(len(labels)) if factors is None else factors
    parts = [_some(levels, labels, factors, np.arange(i, min(i + most, n_centers))) for i in range(0, n_centers, most)]
    return np.concatenate(parts)


def _some(levels: Sequence[NodeErrors], labels: IntArray, factors: FloatArray, centers: IntArray) -> FloatArray:
    of, times = np.append(labels, NOBODY), np.append(factors, 0.0)  # the last one is what `NOBODY` points at
    shares = [
        (of[level.leaves][:, np.newaxis] == centers) * times[level.leaves][:, np.newaxis].astype(np.float64)
        for level in levels
    ]
    for level, above, below in zip(levels[-2::-1], shares[-2::-1], shares[:0:-1], strict=True):
        families = int(level.expanded.sum())
        if families:
            above[level.expanded] = below.reshape(families, -1, len(centers)).mean(axis=1)
    moved, found = shares[0], np.zeros(len(centers))
    for number, level in enumerate(levels):
        found += (level.own**2 * level.variances) @ moved**2
        if not level.expanded.any():
            break
        inherited = (1 - level.own[level.expanded])[:, np.newaxis] * moved[level.expanded]
        inherited -= shares[number][level.expanded]
        children = shares[number + 1].reshape(len(inherited), -1, len(centers))
        moved = (children + inherited[:, np.newaxis]).reshape(-1, len(centers))
    return np.asarray(found)
