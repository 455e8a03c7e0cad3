"""Whole methods for range counts, as the job composes them from the library: counts, one measurement, least squares."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.adaptive_partition import PARTITION_SHARE, DrawLaplace, partition_penalty, private_partition
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.trees.strategies import TreeStrategy, blue


def estimate_range_counts(strategy: TreeStrategy, true_counts: IntArray, measure: NodeMechanism) -> FloatArray:
    """Estimated counts of the nodes (LUE-DPTree, algorithm 3.8); consistent if least squares follow."""
    node_counts = strategy.tree.sums(true_counts).astype(np.int64)
    noisy = measure(strategy.tree, node_counts, strategy.shares).astype(np.float64)
    if not strategy.least_squares:
        return noisy
    return tree_blue_deep(strategy.tree, noisy[:, None], measure.variances(strategy.shares)[:, None])[:, 0]


def adaptive_histogram(
    true_counts: IntArray, epsilon: Fraction, draw: DrawLaplace, measure_with: Callable[[Fraction], NodeMechanism]
) -> FloatArray:
    """Choose buckets, measure a tree of counts on them, and spread each bucket's count evenly over its bins."""
    for_choice, for_counts = epsilon * PARTITION_SHARE, epsilon * (1 - PARTITION_SHARE)
    edges = private_partition(true_counts, for_choice, partition_penalty(for_choice, for_counts), draw)
    strategy = blue(len(edges) - 1)
    estimates = estimate_range_counts(strategy, np.add.reduceat(true_counts, edges[:-1]), measure_with(for_counts))
    widths = np.diff(edges)
    return np.repeat(estimates[strategy.tree.leaf_nodes] / widths, widths)
