"""The best linear unbiased estimate (BLUE) of consistent counts on a tree: two passes, any tree, any variances.

Each series is its own problem. Upwards, every node combines the sum of its children's estimates with its own
measurement; downwards, what a node's final value differs from that sum is shared out by variance:

    up:    V = S (1 - K),  z = Sz + K (y - Sz),  K = S / (S + R),   S = sum of children's V, Sz = sum of their z
    down:  h_c = z_c + (V_c / S) (h_x - Sz)

R is the variance of the node's own measurement; ``R = inf`` (not measured) gives K = 0. A subtree that nothing measures
is *diffuse* (V infinite): its parent's measurement passes through, and the difference downwards goes to it alone.
Two diffuse children of one node, or a diffuse root, cannot be told apart: the problem is not identifiable.

The variances depend on settings only (`tree_gains`); `upward` and `downward` touch the counts. Both cut at any level:
a block sends the mean of its root AFTER the root's own measurement; `TreeGains.top` takes such means as the values of
its leaves; `downward` takes the final value of a block's root.

Guarantee: equal to weighted least squares; stable for weight ratios where the one-formula recursions lose all digits.
Cost: O(n_nodes) a series, a few vectorised operations a level.

References: M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the accuracy of differentially private histograms through
consistency", PVLDB 3(1), 2010, theorem 3 (complete trees, equal variances); G. Cormode, C. Procopiuc, D. Srivastava,
E. Shen, T. Yu, "Differentially private spatial decompositions", ICDE 2012, section 5 (budgets by level); K. Chou,
A. Willsky, A. Benveniste, "Multiscale recursive estimation, data fusion, and regularization", IEEE TAC 39(3), 1994.
"""

from dataclasses import dataclass, replace

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.trees.interval_tree import IntervalTree


@dataclass(frozen=True, eq=False)
class TreeGains:
    """All that the passes need besides the counts; a function of the tree and the variances.

    Arrays have shape (n_nodes, k): k = n_series, or 1 where all series share the variances.

    Attributes:
        tree: the tree.
        before: variance of the sum of the children's estimates (S), diffuse children left out; 0 at leaves.
        after: variance of a node's estimate from its subtree, own measurement included (V); 0 where diffuse.
        diffuse: whether nothing measures the subtree's sum.
        own: weight K of a node's own measurement; at leaves 1, or 0 where not measured.
        share: part of its parent's difference that a node takes on the way down; 1 at the root.
        identifiable: whether every node's value is determined, shape (k,).
    """

    tree: IntervalTree
    before: FloatArray
    after: FloatArray
    diffuse: BoolArray
    own: FloatArray
    share: FloatArray
    identifiable: BoolArray

    def top(self, level: int) -> "TreeGains":
        """Gains of the levels ``0..level``, whose leaves take the means of blocks (or bins) as their values."""
        tree = self.tree.top(level)
        stop = tree.n_nodes
        own = self.own[:stop].copy()
        own[tree.level_slice(level)] = 1.0
        return replace(
            self,
            tree=tree,
            before=self.before[:stop],
            after=self.after[:stop],
            diffuse=self.diffuse[:stop],
            own=own,
            share=self.share[:stop],
        )

    def block(self, root: int) -> tuple["TreeGains", IntArray]:
        """Gains of the subtree below ``root``, and the numbers of its nodes in the whole tree."""
        tree, nodes = self.tree.subtree(root)
        gains = replace(
            self,
            tree=tree,
            before=self.before[nodes],
            after=self.after[nodes],
            diffuse=self.diffuse[nodes],
            own=self.own[nodes],
            share=self.share[nodes],
        )
        return gains, nodes


def tree_gains(tree: IntervalTree, variance: FloatArray) -> TreeGains:
    """Variances and weights of both passes.

    Args:
        tree: the tree.
        variance: of the nodes' own measurements, shape (n_nodes, k), above 0, ``inf`` where not measured, 0 at a root
            whose count is known.

    Returns:
        The gains.
    """
    measured = np.isfinite(variance)
    own = measured.astype(np.float64)
    after = np.where(measured, variance, 0.0)
    diffuse = ~measured
    before, share = np.zeros_like(after), np.ones_like(after)
    identifiable = np.ones(after.shape[1], dtype=bool)
    for inner, children, offsets in tree.levels_up:
        total = np.add.reduceat(after[children], offsets, axis=0)
        n_diffuse = np.add.reduceat(diffuse[children].astype(np.int64), offsets, axis=0)
        identifiable &= (n_diffuse <= 1).all(axis=0)
        known = measured[inner]
        noise = np.where(known, variance[inner], 1.0)
        weight = np.where(known, np.where(n_diffuse > 0, 1.0, total / (total + noise)), 0.0)
        before[inner], own[inner] = total, weight
        after[inner] = np.where(known, weight * noise, np.where(n_diffuse > 0, 0.0, total))
        diffuse[inner] = ~known & (n_diffuse > 0)
        rank = np.repeat(np.arange(len(inner)), tree.child_count[inner])
        split = np.where(diffuse[children], 1.0 / np.maximum(n_diffuse[rank], 1), 0.0)
        share[children] = np.where(n_diffuse[rank] > 0, split, after[children] / np.where(total > 0, total, 1.0)[rank])
    identifiable &= ~diffuse[0]
    return TreeGains(tree, before, after, diffuse, own, share, identifiable)


def upward(gains: TreeGains, noisy: FloatArray) -> FloatArray:
    """The bottom-up pass.

    Args:
        gains: of the tree, a top or a block.
        noisy: shape (n_nodes, n_series), finite; values of weight 0 do not matter. For a top, the leaves hold means.

    Returns:
        Each node's mean from its own subtree, its own measurement included, shape (n_nodes, n_series).
    """
    means = gains.own * noisy
    for inner, children, offsets in gains.tree.levels_up:
        total = np.add.reduceat(means[children], offsets, axis=0)
        means[inner] += (1.0 - gains.own[inner]) * total
    return means


def downward(gains: TreeGains, means: FloatArray, root_value: FloatArray | None = None) -> FloatArray:
    """The top-down pass.

    Args:
        gains: as given to `upward`.
        means: what `upward` returned.
        root_value: final value of the root, shape (n_series,); None where the root is the whole tree's.

    Returns:
        Final values, shape (n_nodes, n_series): each parent is the sum of its children.
    """
    values = means.copy()
    if root_value is not None:
        values[0] = root_value
    tree = gains.tree
    for inner, children, offsets in reversed(tree.levels_up):
        difference = values[inner] - np.add.reduceat(means[children], offsets, axis=0)
        spread = np.repeat(difference, tree.child_count[inner], axis=0)
        values[children] += gains.share[children] * spread
    return values
