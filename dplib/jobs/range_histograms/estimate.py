"""Post-processing: from one stored histogram to estimates, standard errors and integer counts of the bins.

Nothing here sees a row or draws noise. Standard errors depend on the settings only, except for ``adaptive``, where the
error of spreading a bucket's count over its bins depends on the data and is not stated.
"""

from dataclasses import dataclass, replace

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.consistency.answer_coefficients import range_coefficients
from dplib.consistency.integers.publication import plan_publication, publish_tables
from dplib.estimates.range_noise import RangeNoise
from dplib.estimates.range_publication import publish_range_counts
from dplib.estimates.range_variance import RangeVariance
from dplib.estimates.tree_blue_deep import tree_blue_deep
from dplib.jobs.range_histograms.design import Design
from dplib.privacy.noise_quantile import DrawLaw, Draws, grouped, half_width, half_widths, product_grouped
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


def estimate_sums(design: Design, noisy: FloatArray) -> BlockResults:
    """Least squares and integers over all histograms together, where groups add up.

    Args:
        design: the design.
        noisy: the measurement, shape (n_histograms, n_nodes); ignored where not measured.
    """
    assert design.sums is not None
    tree, constraints = design.strategy.tree, design.sums.constraints
    values = design.plan.values(np.ascontiguousarray(noisy.T))
    how = plan_publication(constraints.day_constraints)
    weights = design.measured.astype(np.float64)
    published = publish_tables(how, tree, values, constraints.day_constraints, weights)
    assert published is not None  # Totals of groups have generators.
    return BlockResults(np.arange(tree.n_nodes), values.T, published[tree.leaf_nodes].T)


class Errors:
    """Exact errors of the least-squares estimates, from settings alone; none for ``adaptive``.

    An answer is a sum over nodes and histograms whose coefficients are a tree's times those of one node's histograms;
    its variance is the sum over the columns of the one's squares, weighted by the column's noise, times the other's.
    """

    def __init__(self, design: Design) -> None:
        self._design, tree, column_of = design, design.strategy.tree, design.column_of
        self._trees: list[RangeVariance | RangeNoise] = []
        self._outer: dict[tuple[int, int], FloatArray] = {}
        if design.sums is not None:
            # A column that is not measured has coefficients of 0 whatever its noise.
            noise = np.where(np.isfinite(design.noise_variance), design.noise_variance, 0.0)
            self._trees = [RangeNoise(tree, design.weights, each) for each in noise]
            self._squares = design.plan.series.squares(column_of, design.n_columns)
        elif not design.adaptive:
            self._trees = [RangeVariance(tree, design.variance)]
            self._squares = np.ones((1, len(design.series)))

    @property
    def stated(self) -> bool:
        """Whether errors are known."""
        return bool(self._trees)

    @property
    def laws(self) -> set[DrawLaw]:
        """The laws of the noise."""
        design, shares = self._design, distinct_shares(self._design.strategy.shares)[0]
        budgets = [design.counts_budget(column) for column in range(design.n_columns)]
        return {
            _law(design, share, column)
            for column, budget in enumerate(budgets)
            for share in shares
            if share > 0 and budget > 0
        }

    def squares(self, series: int) -> FloatArray:
        """Sums of the squared coefficients of one histogram's estimate on a node, by column, shape (n_columns,)."""
        return np.asarray(self._squares[:, series])

    def nodes(self, nodes: IntArray, series: IntArray) -> FloatArray:
        """Standard errors of nodes of histograms, NaN where not stated, shape (n_series, n_nodes)."""
        if not self.stated:
            return np.full((len(series), len(nodes)), np.nan)
        return self._errors([each.nodes(nodes) for each in self._trees], series)

    def by_series(self, lo: IntArray, hi: IntArray, series: IntArray) -> FloatArray:
        """Standard errors of ranges of bins ``[lo, hi)`` of histograms, NaN where not stated, shape (n_series, m)."""
        if not self.stated:
            return np.full((len(series), len(lo)), np.nan)
        return self._errors([each.of(lo, hi) for each in self._trees], series)

    def _errors(self, by_column: list[FloatArray], series: IntArray) -> FloatArray:
        found: FloatArray = self._squares[:, series].T @ np.array(by_column)
        return np.asarray(np.sqrt(np.maximum(found, 0.0)), dtype=np.float64)

    def mean_squares(self, lo: IntArray, hi: IntArray, weights: FloatArray) -> FloatArray:
        """Weighted mean variance of some ranges, by histogram, shape (n_histograms,)."""
        return np.asarray(self._squares.T @ np.array([each.of(lo, hi) @ weights for each in self._trees]))

    def ranges(self, lo: IntArray, hi: IntArray, series: int = 0) -> FloatArray:
        """Standard errors of ranges of one histogram, shape (m,)."""
        return np.asarray(self.by_series(lo, hi, np.array([series]))[0])

    def half_widths(self, lo: IntArray, hi: IntArray, series: int = 0) -> FloatArray:
        """Half widths of the 95 % intervals of the ranges ``[lo, hi)``, NaN where none is stated.

        Exact for up to `MAX_EXACT` kinds of ranges (`dplib.privacy.noise_quantile.half_widths`).
        """
        one = np.array([series])
        found = self.ranges(lo, hi, series)
        return half_widths(found, lambda at: self.sum_half_width(int(lo[at]), int(hi[at]), one))

    def whole_half_widths(self, series: IntArray) -> FloatArray:
        """Half widths of the 95 % intervals of histograms' totals over all bins, shape (n_series,)."""
        n_bins = self._design.bins.n_bins
        found = self.by_series(np.zeros(1, dtype=np.int64), np.array([n_bins]), series)[:, 0]
        return half_widths(found, lambda at: self.sum_half_width(0, n_bins, series[at : at + 1]))

    def std_errors(self, lo: int, hi: int, series: IntArray) -> FloatArray:
        """Standard errors of histograms over the bins ``[lo, hi)``, shape (n_series,)."""
        return np.asarray(self.by_series(np.array([lo]), np.array([hi]), series)[:, 0])

    def sum_std_error(self, lo: int, hi: int, series: IntArray) -> float:
        """Standard error of a sum of histograms over the bins ``[lo, hi)``, covariances included; NaN if unstated."""
        if not self.stated:
            return float("nan")
        squares = np.bincount(self._design.column_of, self._joined(series) ** 2, self._design.n_columns)
        trees = np.array([each.of(np.array([lo]), np.array([hi]))[0] for each in self._trees])
        return float(np.sqrt(max(squares @ trees, 0.0)))

    def sum_half_width(self, lo: int, hi: int, series: IntArray) -> float:
        """Half width of its 95 % interval."""
        return half_width(self.sum_draws(lo, hi, series)) if self.stated else float("nan")

    def sum_draws(self, lo: int, hi: int, series: IntArray) -> list[Draws]:
        """What the noise of the sum is made of, where errors are stated."""
        design = self._design
        if design.sums is None:
            draws = range_draws(design, design.strategy, design.variance, lo, hi)
            return [replace(each, count=each.count * len(series)) for each in draws]
        if (lo, hi) not in self._outer:
            self._outer[lo, hi] = range_coefficients(design.strategy.tree, design.weights, lo, hi)
        outer, inner = self._outer[lo, hi], self._joined(series)
        found: list[Draws] = []
        for column in np.unique(design.column_of[inner != 0]).tolist():
            own = inner[design.column_of == column]
            drawn, laws, place = _node_laws(design, design.strategy, outer, column)
            found.extend(product_grouped(outer[drawn], laws, place, own))
        return found

    def _joined(self, series: IntArray) -> FloatArray:
        """Coefficients of the histograms of one node in a sum of some, shape (n_histograms,)."""
        weights = np.bincount(series, minlength=len(self._design.series)).astype(np.float64)
        return np.asarray(weights if self._design.sums is None else self._design.plan.series.coefficients(weights))


def _node_laws(
    design: Design, strategy: TreeStrategy, coefficients: FloatArray, column: int
) -> tuple[IntArray, list[DrawLaw], IntArray]:
    """The nodes that draw noise and have a coefficient, the laws of a column's noise there, and the place of each's."""
    drawn = np.flatnonzero((coefficients != 0) & (strategy.shares > 0))
    shares, place = distinct_shares(strategy.shares[drawn])
    return drawn, [_law(design, share, column) for share in shares], place


def _law(design: Design, share: int, column: int) -> DrawLaw:
    """Of the noise of a column's nodes with this share."""
    return DrawLaw(design.config.privacy.mechanism.value, float(design.noise_parameter(int(share), column)))


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
    drawn, laws, place = _node_laws(design, strategy, coefficients, 0)
    return grouped(coefficients[drawn], laws, place)


def length_variance(strategy: TreeStrategy, variance: FloatArray, length: int, n_starts: int = 2048) -> float:
    """Mean variance of the ranges of one length after least squares, over at most ``n_starts`` first bins."""
    last = strategy.tree.n_leaves - length
    starts = np.unique(np.linspace(0, last, min(last + 1, n_starts)).astype(np.int64))
    return float(RangeVariance(strategy.tree, variance).of(starts, starts + length).mean())
