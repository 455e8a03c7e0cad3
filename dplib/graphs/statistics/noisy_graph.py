"""What a thresholded noisy graph says: edges of blocks of vertices and of pairs. Post-processing only.

A pair that is an edge appears with probability p1, any other with p0, independently, p0 < p1 known. Of N pairs with m
edges k appear: (k - N p0) / (p1 - p0) estimates m without bias, with variance (m p1 (1 - p1) + (N - m) p0 (1 - p0)) /
(p1 - p0)^2. Where p0 = 1 - p1 (randomized response) m drops out; elsewhere the estimate is put in for it.

Triangles, where every pair was randomized (p0 = 1 - p1). X = (bit - p0) / (p1 - p0) is the adjacency matrix plus
independent noise of mean 0 and variance s = p1 p0 / (p1 - p0)^2. A triangle multiplies three different pairs, so
tr(X^3) / 6 is unbiased. Its error is a sum of uncorrelated monomials in the noise: linear ones with the common
neighbours c of a pair as factor, quadratic ones with the third pair of a triple, cubic ones:

    variance = s sum c^2 + s^2 m (n - 2) + s^3 C(n, 3)

With the noisy matrix (X^2)_ij estimates c_ij, and sum (X^2)_ij^2 - 2 s m (n - 2) - s^2 C(n, 2) (n - 2) estimates sum
c^2, both without bias. Vertices that did not report leave the pairs that they own out; the estimate is scaled up by
the triples that were reported whole.

Cost: O(m) for blocks; O(n^2) space and three products of n x n matrices' time for triangles.

References:
    Warner: Randomized response. JASA 60(309), 1965.
    Clopper, Pearson: The use of confidence or fiducial limits. Biometrika 26(4), 1934 (intervals by inverting tests).
    Imola, Murakami, Chaudhuri: Locally differentially private analysis of graph statistics. USENIX Security 2021
    (triangles from randomized neighbour lists; the variance here is exact and of our own derivation).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.special import bdtr, bdtrc, gammaln, xlogy

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.graphs.simple_graph import SimpleGraph
from dplib.privacy.noise_quantile import Z95

EXACT_PAIRS = 1_000
"""Pairs of a block up to which its interval is of the exact law."""
TAIL = 0.025


@dataclass(frozen=True)
class Passing:
    """With which probability a pair appears.

    Attributes:
        edge: p1, of an edge.
        other: p0, of any other pair.
    """

    edge: float
    other: float

    @property
    def symmetric(self) -> bool:
        """Whether this is randomized response, so that no error depends on the graph."""
        return abs(self.edge + self.other - 1) < 1e-9

    def estimate(self, appearing: FloatArray, n_pairs: FloatArray) -> FloatArray:
        """Unbiased numbers of edges among ``n_pairs`` pairs of which this many appear; shapes alike."""
        return np.asarray((appearing - n_pairs * self.other) / (self.edge - self.other))

    def variance(self, n_edges: FloatArray, n_pairs: FloatArray) -> FloatArray:
        """Variance of `estimate` if there are ``n_edges`` edges; those out of range are moved into it."""
        edges = np.clip(n_edges, 0, n_pairs)
        own, others = self.edge * (1 - self.edge), self.other * (1 - self.other)
        return np.asarray((edges * own + (n_pairs - edges) * others) / (self.edge - self.other) ** 2)

    def interval(self, appearing: int, n_pairs: int) -> tuple[float, float]:
        """The 95 % interval of the number of edges among ``n_pairs`` pairs of which this many appear.

        It holds every number of edges under which neither this many pairs or more, nor this many or fewer, have a
        probability below 1/40: of the exact law up to `EXACT_PAIRS` pairs, of the normal law with its variance at
        that number of edges (score interval with a continuity correction) above. For small blocks, or where hardly
        a pair appears by chance, standard errors put in for the unknown truth would cover far too seldom.
        """
        least, most = -1, n_pairs + 1
        if n_pairs > EXACT_PAIRS:
            low = _bisect(lambda edges: self._score(appearing - 0.5, edges, n_pairs) <= Z95, least, n_pairs)
            high = _bisect(lambda edges: self._score(appearing + 0.5, edges, n_pairs) < -Z95, 0, most)
            return float(low), float(high - 1)
        low = _bisect(lambda edges: self._at_least(appearing, edges, n_pairs) > TAIL, least, n_pairs)
        high = _bisect(lambda edges: self._at_most(appearing, edges, n_pairs) <= TAIL, 0, most)
        return float(low), float(high - 1)

    def _score(self, appearing: float, edges: int, n_pairs: int) -> float:
        """How many standard deviations a number of pairs is above its mean."""
        mean = edges * self.edge + (n_pairs - edges) * self.other
        variance = edges * self.edge * (1 - self.edge) + (n_pairs - edges) * self.other * (1 - self.other)
        return float((appearing - mean) / max(variance, 1e-12) ** 0.5)

    def _at_most(self, appearing: int, edges: int, n_pairs: int) -> float:
        own = np.arange(edges + 1)
        left = appearing - own
        others = np.where(left < 0, 0.0, bdtr(np.clip(left, 0, n_pairs - edges), n_pairs - edges, self.other))
        return float(_binomial(own, edges, self.edge) @ others)

    def _at_least(self, appearing: int, edges: int, n_pairs: int) -> float:
        own = np.arange(edges + 1)
        left = appearing - own - 1
        others = np.where(left < 0, 1.0, bdtrc(np.clip(left, 0, n_pairs - edges), n_pairs - edges, self.other))
        return float(_binomial(own, edges, self.edge) @ others)

    @property
    def noise(self) -> float:
        """s, the variance of one pair's unbiased entry under randomized response."""
        return self.edge * self.other / (self.edge - self.other) ** 2


def _binomial(counts: IntArray, draws: int, chance: float) -> FloatArray:
    """Probabilities of the counts under a binomial law."""
    ways = gammaln(draws + 1) - gammaln(counts + 1) - gammaln(draws - counts + 1)
    return np.asarray(np.exp(ways + xlogy(counts, chance) + xlogy(draws - counts, 1 - chance)))


def _bisect(holds: Callable[[int], bool], below: int, above: int) -> int:
    """The least whole number above ``below`` from which a monotone condition holds; ``above`` where none does."""
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if holds(middle) else (middle, above)
    return above


def block_pairs(sizes: IntArray) -> IntArray:
    """Pairs of vertices inside each block and between every two, in the order of `block_names`."""
    first, second = np.triu_indices(len(sizes))
    return np.where(first == second, sizes[first] * (sizes[first] - 1) // 2, sizes[first] * sizes[second])


def count_in_blocks(graph: SimpleGraph, block_of: IntArray, n_blocks: int) -> IntArray:
    """Edges of a graph inside each block and between every two, in the order of `numpy.triu_indices`.

    ``block_of`` is -1 for vertices in none. Shape (n_blocks (n_blocks + 1) / 2,).
    """
    ends = np.sort(np.stack([block_of[graph.source], block_of[graph.target]]), axis=0)
    low, high = ends[:, ends[0] >= 0]
    key = low * n_blocks - low * (low - 1) // 2 + high - low
    return np.bincount(key, minlength=n_blocks * (n_blocks + 1) // 2).astype(np.int64)


def triangle_variance(n: int, n_edges: float, squared_common: float, noise: float) -> float:
    """Variance of `estimate_triangles` without non-respondents; see the module's text.

    ``squared_common`` is the sum over all pairs of their squared number of common neighbours, ``noise`` is s.
    """
    return noise * squared_common + noise**2 * n_edges * max(0, n - 2) + noise**3 * comb(n, 3)


def estimate_triangles(ones: SimpleGraph, passing: Passing, non_respondents: BoolArray) -> tuple[float, float]:
    """Estimate the triangles behind randomized bits.

    Args:
        ones: the pairs whose bit is 1.
        passing: probabilities of the bits; symmetric.
        non_respondents: vertices whose bits, of the pairs with later vertices, are not there, shape (n,).

    Returns:
        The estimate and the square of its standard error, which is itself estimated.
    """
    n = ones.n_vertices
    entries = np.zeros((n, n))
    entries[ones.source, ones.target] = 1
    entries = (entries - passing.other) / (passing.edge - passing.other)
    entries[non_respondents] = 0
    entries = np.triu(entries, 1)
    n_edges = float(entries.sum())
    entries += entries.T
    common = entries @ entries
    np.fill_diagonal(common, 0)
    squared = float((common**2).sum()) / 2
    found = float((entries * common).sum()) / 6
    squared_common = squared - 2 * passing.noise * n_edges * (n - 2) - passing.noise**2 * comb(n, 2) * (n - 2)
    variance = triangle_variance(n, max(0.0, n_edges), max(0.0, squared_common), passing.noise)
    # A triple's first vertex owns two of its pairs, its second one: i < j < k needs reports of i and j.
    told = (~non_respondents).astype(np.int64)
    before = np.cumsum(told) - told
    whole = int((told * before * (n - 1 - np.arange(n))).sum())
    scale = comb(n, 3) / whole if whole else 0.0
    return found * scale, variance * scale**2
