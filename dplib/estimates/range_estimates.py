"""Expected errors of range counts by a strategy (LUE-DPTree, algorithm 3.8), exactly and before any data is read.

References:
    The thesis on range-count histograms, chapter 3, algorithm 3.8; equation 3.2 (raw error).
"""

import numpy as np

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.estimates.range_variance import RangeVariance
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
from dplib.trees.strategies import TreeStrategy


def mean_range_variance(
    strategy: TreeStrategy, queries: RangeQueries | None = None, variances: FloatArray | None = None
) -> float:
    """Mean variance of the queries of a law.

    Args:
        strategy: the strategy.
        queries: the law of the queries; None for all ranges, each as likely.
        variances: of the nodes' noise; None for those at epsilon = 1 or rho = 1/2.
    """
    noise = strategy.unit_variances if variances is None else variances
    asked = UniformRanges(strategy.tree.n_leaves) if queries is None else queries
    if not strategy.least_squares:
        return raw_mean_error(node_coverage_probabilities(strategy.tree, asked), noise)
    errors = RangeVariance(strategy.tree, noise)
    match asked:
        case UniformRanges():
            return errors.mean()
        case PrefixRanges():
            first = np.zeros(strategy.tree.n_leaves)
            first[0] = 1.0
            return errors.mean(first, np.ones(strategy.tree.n_leaves))
        case FixedLengthRanges(_, length):
            return errors.mean_of_length(length)
        case ProductRanges():
            return errors.mean(asked.starts, asked.ends)
        case ExplicitRanges():
            return float(errors.of(asked.lo, asked.hi) @ asked.weights / asked.denominator)
    raise ConfigError("queries", "be one of the laws of dplib.trees.coverage", type(asked).__name__)
