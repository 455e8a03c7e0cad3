"""A tree and shares of its levels for several kinds of ranges that will be asked for (``queries`` of range histograms).

A question is a law of ranges with a weight; its value is the logarithm of its ranges' root mean square error, and the
tree is the one with the least weighted mean of the values: a geometric mean of errors, which needs no unit. Candidates
are regular trees of several arities, bins alone, and the default tree of uniform ranges; the levels of the two that
are best at shares by coverage are divided anew (`dplib.consistency.best_shares`). Exact errors after least squares
decide, from settings alone.

Cost: O(n_nodes) an evaluation, some hundreds of them a tree; above `MAX_SEARCHED` bins shares by coverage stand.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from dplib.arrays import FloatArray
from dplib.consistency.best_shares import best_shares, each_row
from dplib.estimates.range_estimates import mean_range_variance
from dplib.trees.budgets import (
    LawName,
    coverage_level_shares,
    exact_level_shares,
    law_of,
    spread_level_shares,
    unit_variance,
)
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import RangeQueries, node_coverage_probabilities
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.strategies import TreeStrategy, blue

ARITIES = (2, 3, 4, 6, 8, 12, 16, 32)
MAX_SEARCHED = 1 << 13
REFINED = 2
FEW_SETS = 4
"""Sets of measured levels up to which all are starts; of more, levels are dropped one by one."""
Asked = Sequence[tuple[float, RangeQueries]]
"""Weights and laws of questions."""


def question_value(strategy: TreeStrategy, asked: Asked, variance: FloatArray | None = None) -> float:
    """Weighted mean logarithm of the questions' mean variances; a question without an error is no part of it."""
    found = [mean_range_variance(strategy, law, variance) for _, law in asked]
    total = sum(weight for weight, _ in asked)
    return sum(weight * float(np.log(each)) for (weight, _), each in zip(asked, found, strict=True) if each > 0) / total


def question_tree(n_bins: int, asked: Asked, noise: LawName) -> TreeStrategy:
    """The strategy with the least value.

    Args:
        n_bins: number of bins.
        asked: the questions, at least one.
        noise: which law the noise has.

    Returns:
        A strategy named ``questions`` that measures every bin; where it is searched for, equal questions share one.
    """
    if n_bins > MAX_SEARCHED:
        return _question_tree(n_bins, tuple(asked), noise)
    return _searched(n_bins, tuple(asked), noise)


def _question_tree(n_bins: int, asked: Asked, noise: LawName) -> TreeStrategy:
    arities = dict.fromkeys(min(arity, n_bins) for arity in (*ARITIES, n_bins) if n_bins > 1)
    trees = [*(kary_tree(n_bins, arity) for arity in arities), blue(n_bins, noise).tree]
    if n_bins > MAX_SEARCHED:
        trees = [tree for tree in trees if tree.n_levels > 2] or trees
    starts = [_by_coverage(tree, asked, noise) for tree in trees]
    order = sorted(range(len(trees)), key=lambda number: question_value(starts[number], asked))
    found = [starts[order[0]]]
    if n_bins <= MAX_SEARCHED:
        found += [_refined(trees[number], asked, noise) for number in order[:REFINED]]
    return min(found, key=lambda strategy: question_value(strategy, asked))


_searched = lru_cache(maxsize=16)(_question_tree)
"""The same, searched for once in a process: a plan, its run and each of what is tried before it ask again."""


def _strategy(tree: IntervalTree, shares: FloatArray, noise: LawName) -> TreeStrategy:
    return TreeStrategy("questions", tree, exact_level_shares(tree, shares), noise)


def _by_coverage(tree: IntervalTree, asked: Asked, noise: LawName) -> TreeStrategy:
    coverage = sum(weight * node_coverage_probabilities(tree, law) for weight, law in asked)
    shares = coverage_level_shares(tree, np.asarray(coverage, dtype=np.float64), noise)
    least = np.zeros(tree.n_levels)
    least[-1] = 1.0
    # Bins that no question uses keep a part, so that every range has an answer.
    return _strategy(tree, (31 * shares + least) / 32, noise)


def _refined(tree: IntervalTree, asked: Asked, noise: LawName) -> TreeStrategy:
    law = law_of(noise)

    def value(levels: FloatArray) -> float:
        shares = np.where(np.isfinite(levels), levels ** (-1.0 / law.exponent), 0.0)
        node = unit_variance(spread_level_shares(tree, shares / shares.sum()), noise)
        return question_value(TreeStrategy("questions", tree, np.empty(0, dtype=np.int64), noise), asked, node)

    found = best_shares(each_row(value), law, np.ones(tree.n_levels), most=FEW_SETS)
    return _strategy(tree, np.array([float(share) for share in found]), noise)
