"""A tree and budgets for the ranges that will be asked for (method ``workload_aware``).

Conclusion 3.5 of the thesis fits node budgets to a law of queries before least squares; least squares changes what is
good, and a tree that suits all ranges may suit these less. Here several trees are budgeted for the law, node by node
and level by level, and the one with the least exact error AFTER least squares under that law is taken; the default
method for uniform ranges and bins alone are among the candidates, so the choice is never worse than these. Nodes that
no query uses would get nothing: every bin keeps a small part of the budget, so that every range still has an answer
with a stated error.

It depends on the law and the number of bins only: no privacy cost, one answer per setting.

Cost: O(n_nodes) a candidate, some twenty of them.

References:
    The thesis on range-count histograms, chapter 3, conclusion 3.5 (budgets), section 3.3.2 (laws of queries).
    Li, Miklau, Hay, McGregor, Rastogi, "The matrix mechanism", VLDB Journal 24(6), 2015 (error as the objective).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import numpy as np

from dplib.estimates.range_estimates import mean_range_variance
from dplib.trees.budgets import (
    LawName,
    coverage_level_shares,
    exact_shares,
    non_uniform_budget_distribution,
    spread_level_shares,
)
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import RangeQueries, node_coverage_probabilities
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.strategies import TreeStrategy, blue, dwork

ARITIES = (2, 3, 4, 8, 16, 32)
_LEAF_FLOOR = 1 / 32
_DIGITS = 7


def workload_aware(n_bins: int, queries: RangeQueries, noise: LawName = "laplace") -> TreeStrategy:
    """The candidate with the least mean variance under a law of queries.

    Args:
        n_bins: number of bins.
        queries: their law.
        noise: which law the noise has.

    Returns:
        A strategy named ``workload_aware`` that measures every bin.
    """
    # One candidate at a time is held beside the best: with a million bins each takes some hundred megabytes.
    default = blue(n_bins, noise)
    candidates = _candidates(n_bins, queries, noise, default.tree)
    best = min(
        chain((default, dwork(n_bins, noise)), candidates), key=lambda strategy: mean_range_variance(strategy, queries)
    )
    return replace(best, name="workload_aware")


def _candidates(n_bins: int, queries: RangeQueries, noise: LawName, default: IntervalTree) -> Iterator[TreeStrategy]:
    regular = (kary_tree(n_bins, arity) for arity in ARITIES if arity <= max(n_bins, 2))
    for tree in chain(regular, (default,)):
        coverage = node_coverage_probabilities(tree, queries)
        by_node = non_uniform_budget_distribution(tree, coverage, noise)
        by_level = spread_level_shares(tree, coverage_level_shares(tree, coverage, noise))
        for shares in (by_node, by_level, (by_node + by_level) / 2):
            yield _with_floor(tree, shares, noise)


def _with_floor(
    tree: IntervalTree, shares: np.ndarray[tuple[int], np.dtype[np.float64]], noise: LawName
) -> TreeStrategy:
    """Give every bin its least share; all others give up as much in proportion."""
    floor = np.where(tree.child_count == 0, _LEAF_FLOOR, 0.0)
    if (shares < floor).any():
        shares = (1 - _LEAF_FLOOR) * shares + floor
    return TreeStrategy("candidate", tree, exact_shares(tree, shares, _DIGITS), noise)
