"""How often each node of an interval tree is used to answer a range query (CNCP), for several laws of the queries.

A query is answered by the fewest nodes that partition it, so a node is used where the query contains the node but not
its parent: p_x = F(lo_x, hi_x) - F(lo_parent, hi_parent), F being the probability that the query contains an interval
(equation 3.4; for uniform queries equations 3.5 and property 3.1). The root's p is F of the whole range.

Uniform, prefix and fixed-length laws count in exact integers: F is ``containing`` over ``denominator`` queries, and
n (n + 1) / 2 and every numerator fit 64 bits below n = 2^31 bins.

Cost: O(n_nodes) a law; m explicit queries O((m + n_nodes) log n).

Notation: bins 0 .. n - 1, intervals ``[lo, hi)``.

References:
    The thesis on range-count histograms, chapter 3, algorithm 3.2 (CNCP), equations 3.1, 3.4, 3.5, property 3.1.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.trees.interval_tree import IntervalTree
from dplib.validate import at_least, require

MAX_BINS = (1 << 31) - 1


class RangeQueries(Protocol):
    """A law of range queries."""

    def containing(self, lo: IntArray, hi: IntArray) -> IntArray | FloatArray:
        """Number (or weight) of the queries that contain each interval ``[lo, hi)``."""

    @property
    def denominator(self) -> int | float:
        """Number (or weight) of all queries."""


@dataclass(frozen=True)
class UniformRanges:
    """All n (n + 1) / 2 ranges, equally likely."""

    n_bins: int

    def __post_init__(self) -> None:
        require(1 <= self.n_bins <= MAX_BINS, "n_bins", f"lie between 1 and {MAX_BINS}", self.n_bins)

    @property
    def denominator(self) -> int:
        """Number of ranges."""
        return self.n_bins * (self.n_bins + 1) // 2

    def containing(self, lo: IntArray, hi: IntArray) -> IntArray:
        """Number of the ranges that contain each interval."""
        return (lo + 1) * (self.n_bins - hi + 1)


@dataclass(frozen=True)
class PrefixRanges:
    """The n ranges that begin with the first bin, equally likely."""

    n_bins: int

    def __post_init__(self) -> None:
        require(1 <= self.n_bins <= MAX_BINS, "n_bins", f"lie between 1 and {MAX_BINS}", self.n_bins)

    @property
    def denominator(self) -> int:
        """Number of ranges."""
        return self.n_bins

    def containing(self, lo: IntArray, hi: IntArray) -> IntArray:
        """Number of the ranges that contain each interval."""
        return self.n_bins - hi + 1


@dataclass(frozen=True)
class FixedLengthRanges:
    """The n - length + 1 ranges of one length, equally likely."""

    n_bins: int
    length: int

    def __post_init__(self) -> None:
        require(1 <= self.n_bins <= MAX_BINS, "n_bins", f"lie between 1 and {MAX_BINS}", self.n_bins)
        require(1 <= self.length <= self.n_bins, "length", f"lie between 1 and {self.n_bins}", self.length)

    @property
    def denominator(self) -> int:
        """Number of ranges."""
        return self.n_bins - self.length + 1

    def containing(self, lo: IntArray, hi: IntArray) -> IntArray:
        """Number of the ranges that contain each interval."""
        first, last = np.maximum(hi - self.length, 0), np.minimum(lo, self.n_bins - self.length)
        counts: IntArray = np.maximum(last - first + 1, 0)
        return counts


class ProductRanges:
    """Ranges from bin f to bin g >= f with probability in proportion to ``starts[f] * ends[g]``.

    Args:
        starts: weights of the first bin, at least 0, shape (n_bins,).
        ends: weights of the last bin, at least 0, shape (n_bins,).

    Raises:
        ConfigError: if no range has a positive weight.
    """

    def __init__(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> None:
        self.starts, self.ends = np.asarray(starts, dtype=np.float64), np.asarray(ends, dtype=np.float64)
        require(self.starts.shape == self.ends.shape, "ends", "have the length of starts", self.ends.shape)
        good = all(bool(np.isfinite(w).all() and (w >= 0).all()) for w in (self.starts, self.ends))
        require(good, "weights", "be finite and at least 0", "others")
        self._up_to = np.cumsum(self.starts)
        self._from = np.append(np.cumsum(self.ends[::-1])[::-1], 0.0)
        self._total = float(self._up_to @ self.ends)
        require(self._total > 0, "weights", "leave a range with a positive weight", self._total)

    @property
    def denominator(self) -> float:
        """Weight of all ranges."""
        return self._total

    def containing(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Weight of the ranges that contain each interval."""
        return np.asarray(self._up_to[lo] * self._from[hi - 1])


class ExplicitRanges:
    """A list of queries ``[lo, hi)`` with weights.

    Args:
        n_bins: number of bins.
        lo: first bins, shape (m,).
        hi: one past the last bins, shape (m,).
        weights: at least 0, shape (m,); None for ones.

    Raises:
        ConfigError: if a query is empty or leaves the bins, or no weight is positive.
    """

    def __init__(self, n_bins: int, lo: npt.ArrayLike, hi: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> None:
        self.n_bins = at_least("n_bins", n_bins, 1)
        self.lo, self.hi = np.asarray(lo, dtype=np.int64), np.asarray(hi, dtype=np.int64)
        given = np.ones(len(self.lo)) if weights is None else np.asarray(weights, dtype=np.float64)
        require(self.lo.shape == self.hi.shape == given.shape, "queries", "have equally many parts", given.shape)
        inside = bool(((self.lo >= 0) & (self.lo < self.hi) & (self.hi <= n_bins)).all())
        require(inside, "queries", f"be non-empty ranges of bins 0 to {n_bins - 1}", "another")
        positive = bool(np.isfinite(given).all() and (given >= 0).all() and given.sum() > 0)
        require(positive, "weights", "be at least 0, one of them above", "others")
        self.weights = given

    @property
    def denominator(self) -> float:
        """Weight of all queries."""
        return float(self.weights.sum())

    def containing(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Weight of the queries that contain each interval."""
        queries, nodes = np.argsort(self.lo, kind="stable"), np.argsort(lo, kind="stable")
        found = np.empty(len(lo))
        _count_containing(
            self.n_bins, self.lo[queries], self.hi[queries], self.weights[queries], lo[nodes], hi[nodes], nodes, found
        )
        return found


@compiled
def _count_containing(
    n_bins: int,
    query_lo: IntArray,
    query_hi: IntArray,
    weights: FloatArray,
    lo: IntArray,
    hi: IntArray,
    order: IntArray,
    found: FloatArray,
) -> None:
    """Sweep over first bins; a Fenwick tree over n - hi holds the queries that have begun."""
    tree = np.zeros(n_bins + 1)
    done = 0
    for node in range(len(lo)):
        while done < len(query_lo) and query_lo[done] <= lo[node]:
            place = n_bins - query_hi[done] + 1
            while place <= n_bins:
                tree[place] += weights[done]
                place += place & -place
            done += 1
        place, total = n_bins - hi[node] + 1, 0.0
        while place > 0:
            total += tree[place]
            place -= place & -place
        found[order[node]] = total


def covering_queries(tree: IntervalTree, queries: RangeQueries) -> IntArray | FloatArray:
    """Number (or weight) of the queries that use each node; exact integers for laws that count.

    Args:
        tree: over the bins of the queries.
        queries: their law.

    Returns:
        Shape (n_nodes,).
    """
    containing = queries.containing(tree.lo, tree.hi)
    covering = containing - np.where(tree.parent >= 0, containing[tree.parent], 0)
    # Differences of rounded sums may fall just below 0.
    return np.maximum(covering, 0)


def node_coverage_probabilities(tree: IntervalTree, queries: RangeQueries) -> FloatArray:
    """Probability p_x that a random query uses each node (CNCP), shape (n_nodes,)."""
    return np.asarray(covering_queries(tree, queries) / queries.denominator)


def raw_mean_error(coverage: FloatArray, variance: FloatArray) -> float:
    """Mean variance of the queries' answers before least squares: sum of p_x Var_x (equation 3.6).

    Args:
        coverage: p, shape (n_nodes,).
        variance: of the nodes' noise, shape (n_nodes,); may be inf where p is 0.
    """
    used = coverage > 0
    return float(coverage[used] @ variance[used])
