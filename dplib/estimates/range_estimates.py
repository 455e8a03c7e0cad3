"""From counts to estimates by a strategy (LUE-DPTree, algorithm 3.8): node counts, one measurement, least squares.

The measurement is an argument: this package draws no noise. Whatever it is called with, it is called once, and
everything after it is post-processing.

References:
    The thesis on range-count histograms, chapter 3, algorithm 3.8; equation 3.2 (raw error).
"""

from typing import Protocol

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.errors import ConfigError
from dplib.estimates.range_variance import RangeVariance
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.trees.coverage import (
    ExplicitRanges,
    FixedLengthRanges,
    PrefixRanges,
    ProductRanges,
    RangeQueries,
    UniformRanges,
    node_coverage_probabilities,
    raw_mean_error,
)
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.strategies import TreeStrategy


class MeasureNodes(Protocol):
    """A mechanism for the nodes of a tree, such as `dplib.mechanisms.node_counts.NodeMechanism`."""

    def __call__(self, tree: IntervalTree, counts: IntArray, shares: IntArray) -> IntArray:
        """Noisy counts of the nodes; not measured where the share is 0."""

    def variances(self, shares: IntArray) -> FloatArray:
        """Their noise variances, ``inf`` where the share is 0."""


def estimate_range_counts(strategy: TreeStrategy, true_counts: IntArray, measure: MeasureNodes) -> FloatArray:
    """Measure a histogram and estimate the count of every node.

    Args:
        strategy: tree, shares, and whether least squares follow.
        true_counts: exact counts of the bins, int64, shape (n_leaves,).
        measure: the mechanism.

    Returns:
        Estimated counts of the nodes, shape (n_nodes,); consistent if least squares follow.
    """
    node_counts = strategy.tree.sums(true_counts).astype(np.int64)
    noisy = measure(strategy.tree, node_counts, strategy.shares).astype(np.float64)
    if not strategy.least_squares:
        return noisy
    return tree_blue_deep(strategy.tree, noisy[:, None], measure.variances(strategy.shares)[:, None])[:, 0]


def mean_range_variance(strategy: TreeStrategy, variances: FloatArray | None = None) -> float:
    """Mean variance of all ranges, before any data is read.

    Args:
        strategy: the strategy.
        variances: of the nodes' noise; None for those at epsilon = 1 or rho = 1/2.
    """
    noise = strategy.unit_variances if variances is None else variances
    if strategy.least_squares:
        return RangeVariance(strategy.tree, noise).mean()
    return _raw_error(strategy.tree, noise, UniformRanges(strategy.tree.n_leaves))


def mean_variance_of_length(strategy: TreeStrategy, length: int, variances: FloatArray | None = None) -> float:
    """Mean variance of the ranges of one length; arguments as in `mean_range_variance`."""
    noise = strategy.unit_variances if variances is None else variances
    if strategy.least_squares:
        return RangeVariance(strategy.tree, noise).mean_of_length(length)
    return _raw_error(strategy.tree, noise, FixedLengthRanges(strategy.tree.n_leaves, length))


def mean_variance_under(strategy: TreeStrategy, queries: RangeQueries, variances: FloatArray | None = None) -> float:
    """Mean variance of the queries of a law, exactly.

    Args:
        strategy: the strategy.
        queries: the law of the queries.
        variances: as in `mean_range_variance`.
    """
    noise = strategy.unit_variances if variances is None else variances
    if not strategy.least_squares:
        return _raw_error(strategy.tree, noise, queries)
    errors = RangeVariance(strategy.tree, noise)
    match queries:
        case UniformRanges():
            return errors.mean()
        case PrefixRanges():
            first = np.zeros(strategy.tree.n_leaves)
            first[0] = 1.0
            return errors.mean(first, np.ones(strategy.tree.n_leaves))
        case FixedLengthRanges(_, length):
            return errors.mean_of_length(length)
        case ProductRanges():
            return errors.mean(queries.starts, queries.ends)
        case ExplicitRanges():
            return float(errors.of(queries.lo, queries.hi) @ queries.weights / queries.denominator)
    raise ConfigError("queries", "be one of the laws of dplib.trees.coverage", type(queries).__name__)


def _raw_error(tree: IntervalTree, noise: FloatArray, queries: RangeQueries) -> float:
    return raw_mean_error(node_coverage_probabilities(tree, queries), noise)
