"""Post-processing: from one stored histogram to estimates, standard errors and integer counts of the bins.

Nothing here sees a row or draws noise. Standard errors depend on the settings only, except for ``adaptive``, where the
error of spreading a bucket's count over its bins depends on the data and is not stated.
"""

from dataclasses import dataclass, replace

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.answer_coefficients import range_coefficients
from dplib.estimates.range_publication import publish_range_counts
from dplib.estimates.range_variance import RangeVariance
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.jobs.range_histograms.design import Design
from dplib.privacy.noise_quantile import DrawLaw, Draws, grouped, half_width, half_widths
from dplib.trees.budgets import distinct_shares
from dplib.trees.strategies import TreeStrategy


@dataclass(frozen=True, eq=False)
class BlockResults:
    """What post-processing made of a run of groups.

    Attributes:
        nodes: nodes of the tree that have estimates, shape (m,): all, or the bins where buckets were chosen.
        estimates: shape (n_groups, m).
        counts: non-negative integers of the bins, shape (n_groups, n_bins).
    """

    nodes: IntArray
    estimates: FloatArray
    counts: IntArray


def estimate_block(design: Design, noisy: FloatArray) -> BlockResults:
    """Least squares and integers for every group of a block.

    Args:
        design: the design.
        noisy: the measurement, shape (n_groups, n_nodes); ignored where not measured.
    """
    tree = design.strategy.tree
    values = tree_blue_deep(tree, np.ascontiguousarray(noisy.T), design.variance[:, None])
    totals = noisy[:, 0].astype(np.int64) if design.total_is_public else None
    published = publish_range_counts(tree, values, design.variance, totals)
    return BlockResults(np.arange(tree.n_nodes), values.T, published[tree.leaf_nodes].T)


def estimate_buckets(design: Design, buckets: list[tuple[IntArray, FloatArray]]) -> BlockResults:
    """The same where buckets were chosen: each bucket's count is spread evenly over its bins.

    Args:
        design: the design.
        buckets: edges and noisy counts of the nodes of the tree over the buckets, one a group.
    """
    tree = design.strategy.tree
    estimates = np.empty((len(buckets), tree.n_leaves))
    counts = np.empty((len(buckets), tree.n_leaves), dtype=np.int64)
    for group, (edges, noisy) in enumerate(buckets):
        strategy = design.bucket_strategy(len(edges) - 1)
        variance = design.node_variance(strategy)
        values = tree_blue_deep(strategy.tree, noisy[:, None], variance[:, None])
        widths = np.diff(edges)
        estimates[group] = np.repeat(values[strategy.tree.leaf_nodes, 0] / widths, widths)
        published = publish_range_counts(strategy.tree, values, variance)[strategy.tree.leaf_nodes]
        counts[group] = _spread(published[:, 0], edges)
    return BlockResults(tree.leaf_nodes, estimates, counts)


def _spread(totals: IntArray, edges: IntArray) -> IntArray:
    """Whole numbers of the bins of each bucket that sum to its total and lie evenly: every run of bins is within 1."""
    widths = np.diff(edges)
    before = np.arange(edges[-1]) - np.repeat(edges[:-1], widths)
    width, rest = np.repeat(widths, widths), np.repeat(totals % widths, widths)
    middle = width // 2
    units = ((before + 1) * rest + middle) // width - (before * rest + middle) // width
    return np.asarray(np.repeat(totals // widths, widths) + units, dtype=np.int64)


class Errors:
    """Exact errors of the least-squares estimates, from settings alone; none for ``adaptive``."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._variance = None if design.adaptive else RangeVariance(design.strategy.tree, design.variance)

    def nodes(self, nodes: IntArray) -> FloatArray:
        """Standard error of the given nodes, NaN where it is not stated."""
        if self._variance is None:
            return np.full(len(nodes), np.nan)
        return np.sqrt(np.maximum(self._variance.final[nodes], 0.0))

    def ranges(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Standard error of the ranges of bins ``[lo, hi)``, NaN where it is not stated."""
        if self._variance is None:
            return np.full(len(lo), np.nan)
        return np.sqrt(np.maximum(self._variance.of(lo, hi), 0.0))

    def half_widths(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Half widths of the 95 % intervals of the ranges ``[lo, hi)``, NaN where none is stated.

        Exact for up to `MAX_EXACT` kinds of ranges (`dplib.privacy.noise_quantile.half_widths`).
        """
        return half_widths(self.ranges(lo, hi), lambda at: self._half_width(int(lo[at]), int(hi[at])))

    def sum_error(self, lo: int, hi: int, n_groups: int) -> float:
        """Standard error of the sum of some groups' counts of the bins ``[lo, hi)``, NaN where it is not stated."""
        return float(np.sqrt(n_groups) * self.ranges(np.array([lo]), np.array([hi]))[0])

    def sum_half_width(self, lo: int, hi: int, n_groups: int) -> float:
        """Half width of its 95 % interval: groups have independent noise of the same laws."""
        if self._variance is None:
            return float("nan")
        draws = range_draws(self._design, self._design.strategy, self._design.variance, lo, hi)
        return half_width([replace(each, count=each.count * n_groups) for each in draws])

    def _half_width(self, lo: int, hi: int) -> float:
        return self.sum_half_width(lo, hi, 1)


def range_draws(design: Design, strategy: TreeStrategy, variance: FloatArray, lo: int, hi: int) -> tuple[Draws, ...]:
    """What the noise of the range ``[lo, hi)`` is made of after least squares on one tree.

    Args:
        design: the design.
        strategy: the tree with its shares of the budget.
        variance: of the nodes' noise, shape (n_nodes,).
        lo: first bin.
        hi: one past the last.
    """
    coefficients = range_coefficients(strategy.tree, variance, lo, hi)
    drawn = np.flatnonzero(coefficients)
    shares, place = distinct_shares(strategy.shares[drawn])
    laws = [DrawLaw(f"discrete_{design.noise}", design.noise_parameter(int(share))) for share in shares]
    return grouped(coefficients[drawn], laws, place)


def length_variance(strategy: TreeStrategy, variance: FloatArray, length: int, n_starts: int = 2048) -> float:
    """Mean variance of the ranges of one length after least squares, over at most ``n_starts`` first bins."""
    last = strategy.tree.n_leaves - length
    starts = np.unique(np.linspace(0, last, min(last + 1, n_starts)).astype(np.int64))
    return float(RangeVariance(strategy.tree, variance).of(starts, starts + length).mean())
