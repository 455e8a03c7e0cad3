"""Data-adaptive range counts for sparse data: a private partition into buckets, then a tree of counts on the buckets.

Where many neighbouring bins have nearly equal counts, one noisy count for all of them, spread evenly, beats a noisy
count each. The partition is a pruning of a fixed tree over the bins: for every inner node the *cost* of making it one
bucket is the least sum of absolute deviations from a constant, cost(x) = min_c sum_j |x_j - c|, an integer. Noise is
added to every cost, a public penalty a bucket is added, and the pruning of least noisy sum is taken bottom up. Part of
the budget pays for the choice, the rest for the counts. It wins on sparse or piecewise constant data and on small
budgets, loses on rich data, and its error depends on the data: never the default, and its error is not announced.

Privacy. Neighbours differ by at most D in one bin i.

1. *The cost has sensitivity D.* For every constant c, sum_j |x_j - c| changes by at most D; so does its minimum over c.
2. *The choice is epsilon_1-private with discrete Laplace noise of scale 2 D / epsilon_1 on every node, bins included.*
   Let P be a pruning and b its one bucket that holds bin i. Fix the noise of all nodes but b. P is chosen exactly if
   every node of P is kept and no node above P is. Nodes that do not hold i give the same answer for both neighbours;
   those that hold i and bear on P are b and its ancestors:
   - b is kept if cost_b + noise_b <= S, the least noisy sum below b. Every sum below b has exactly one bucket that
     holds i, so S changes by at most D, and so does cost_b: the bound on noise_b moves by at most 2 D;
   - an ancestor a is not kept if cost_a + noise_a > cost_b + noise_b + (the rest of P below a, which does not hold
     i): the bound on noise_b moves by at most 2 D again.
   So P is chosen exactly if noise_b stays below the least of some bounds. Costs, noise and penalty are integers, hence
   the least bound moves by an integer of at most 2 D, which changes the probability by a factor of at most
   e^(2 D / scale) = e^epsilon_1. A bin without noise would break this: the ancestors' own noises would have to carry
   the shift, one by one, and the loss would grow with the depth.
3. The counts are measured with epsilon_2 given the partition; the parts compose to epsilon_1 + epsilon_2. The partition
   may be published.

The proof needs add/remove or replace within one bin (D the change of that bin); replace-one moves two bins: double.

Cost: O(n log n) per level of the tree for the costs (sorting), O(n) for the choice.

References:
    Li, Hay, Miklau, Wang, "A data- and workload-aware algorithm for range queries under differential privacy" (DAWA),
    PVLDB 7(5), 2014 (two stages, costs of buckets). Median costs (half the sensitivity, integers), the pruning of a
    tree and the proof above are this project's.
"""

from collections.abc import Callable
from fractions import Fraction
from math import ceil

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.trees.complete import kary_tree
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import positive, require

DrawLaplace = Callable[[Fraction, int], IntArray]
"""Called as ``draw(scale, size)``: exact discrete Laplace noise, shape (size,)."""

PARTITION_SHARE = Fraction(3, 20)
_FANOUT = 4


def partition_penalty(for_choice: Fraction, for_counts: Fraction, sensitivity: int = 1) -> int:
    """What a bucket costs: the mean deviation of its noisy count and the scale of the noise on its cost, rounded up."""
    return ceil(sensitivity / for_counts + 2 * sensitivity / for_choice)


def private_partition(
    true_counts: IntArray, epsilon: Fraction, penalty: int, draw: DrawLaplace, sensitivity: int = 1
) -> IntArray:
    """Choose buckets by an epsilon-private pruning of the 4-ary tree over the bins.

    Args:
        true_counts: exact counts, int64, shape (n_bins,).
        epsilon: budget of the choice.
        penalty: public cost of a bucket, in counts.
        draw: noise, called once.
        sensitivity: change of one bin by one privacy unit (D).

    Returns:
        First bin of each bucket, with the number of bins appended.
    """
    tree = kary_tree(len(true_counts), _FANOUT)
    noise = draw(partition_noise_scale(epsilon, sensitivity), tree.n_nodes)
    require(noise.shape == (tree.n_nodes,), "draw", "return one value a node", noise.shape)
    noisy_costs = bucket_costs(tree, true_counts) + noise
    chosen = best_pruning(tree, noisy_costs[:, None], penalty)[:, 0]
    return np.append(np.sort(tree.lo[chosen]), len(true_counts)).astype(np.int64)


def partition_noise_scale(epsilon: Fraction, sensitivity: int = 1) -> Fraction:
    """Scale 2 D / epsilon of the noise on every cost."""
    return 2 * sensitivity / positive("epsilon", epsilon)


def bucket_costs(tree: IntervalTree, true_counts: IntArray) -> IntArray:
    """Least sum of absolute deviations from a constant over the bins of each node.

    Args:
        tree: over the bins.
        true_counts: int64, their absolute values summing to less than 2^62, shape (n_leaves,).

    Returns:
        Exact integers, shape (n_nodes,); 0 for single bins.
    """
    costs = np.zeros(tree.n_nodes, dtype=np.int64)
    bins = np.arange(tree.n_leaves)
    for level in range(tree.n_levels - 1):
        nodes = np.arange(tree.level_start[level], tree.level_start[level + 1])
        nodes = nodes[tree.child_count[nodes] > 0]
        # Leaves above the last level leave gaps between the nodes of a level.
        owner = np.searchsorted(tree.lo[nodes], bins, side="right") - 1
        inside = (owner >= 0) & (bins < tree.hi[nodes[np.maximum(owner, 0)]])
        owned, values = owner[inside], true_counts[inside]
        ordered = values[np.lexsort((values, owned))]
        size = tree.hi[nodes] - tree.lo[nodes]
        start = np.cumsum(size) - size
        sums = np.append(0, np.cumsum(ordered))
        # The sum of deviations from a median is that of the upper half minus that of the lower half.
        half = size // 2
        upper = sums[start + size] - sums[start + size - half]
        costs[nodes] = upper - (sums[start + half] - sums[start])
    return costs


def best_pruning(tree: IntervalTree, noisy_costs: IntArray, penalty: int) -> BoolArray:
    """The pruning of least sum of noisy costs and penalties, in integers; ties go to the larger bucket.

    Args:
        tree: the tree.
        noisy_costs: int64, one column a trial, shape (n_nodes, n_trials).
        penalty: of every bucket.

    Returns:
        Which nodes are buckets, shape (n_nodes, n_trials).
    """
    best = noisy_costs + np.int64(penalty)
    kept = np.ones(best.shape, dtype=bool)
    for inner, children, offsets in tree.levels_up:
        below = np.add.reduceat(best[children], offsets, axis=0)
        kept[inner] = best[inner] <= below
        best[inner] = np.minimum(best[inner], below)
    open_ = np.ones(best.shape, dtype=bool)
    for level in range(1, tree.n_levels):
        here = tree.level_slice(level)
        above = tree.parent[here]
        open_[here] = open_[above] & ~kept[above]
    return open_ & kept
