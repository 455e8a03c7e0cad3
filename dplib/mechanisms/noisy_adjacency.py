"""The noisy adjacency matrix, thresholded back to a simple graph, in time of the edges instead of the pairs.

What is released: to each of the N = n (n - 1) / 2 pairs, 1 for an edge and 0 else, discrete Laplace noise of rate r is
added (e^(-r |k|)), and the pair is kept if the sum is at least an integer threshold theta >= 1. One edge changes one
entry by 1, so the matrix is r-private between edge neighbours (D edges of a vertex: D r), and thresholding is
post-processing, if theta does not look at the graph. Theta may come from a noisy edge count, which costs extra.

How it is drawn: the pairs are independent, and only whether they pass matters. An edge passes with probability
P(Z >= theta - 1), any other pair with P(Z >= theta) = e^(-r theta) / (1 + e^-r). So edges are kept one by one, and the
passing pairs among *all* pairs are found by jumping from one to the next: the gaps of independent trials are geometric.
Those that meet an edge are dropped, since the edge has its own draw. The result has exactly the law of the dense
matrix, and time and memory are of the order of edges and passing pairs.

Exactness: the gap's binary digits are independent (`dplib.mechanisms.discrete_laplace`), digit i being 1 with
probability s^(2^i) / (1 + s^(2^i)), s = 1 - P(Z >= theta); all these probabilities are compared by certified digits.

theta = 1 is randomized response on every pair.

References:
    Nguyen, Imine, Rusinowitch: Differentially private publication of social graphs at linear cost. ASONAM 2015 (TmF:
    top-m filter; the passing zeros are drawn directly).
    Cormode, Procopiuc, Srivastava, Tran: Differentially private summaries for sparse data. ICDT 2012, section 3
    (filtering by a threshold without touching the zeros).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dplib.randomness.digits import ExpNegative, Probability
from dplib.randomness.integers import BernoulliTable, BitSource
from dplib.validate import at_least, positive, require

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LARGEST_N_VERTICES = 2**31  # so that pairs are numbered within 62 bits
_RARE = 4.0  # the tail of a gap is drawn where it goes on with probability below e^-4
_FIRST_GUARD = 32
_MOST_EXPONENT = 32.0  # the mean gap stays below 2^47


@dataclass(frozen=True)
class NoiseAtLeast(Probability):
    """P(Z >= k) = e^(-rate k) / (1 + e^-rate) of discrete Laplace noise, for k >= 0."""

    rate: Fraction
    k: int

    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""
        guard = _FIRST_GUARD
        while True:
            bits = n + guard
            top = ExpNegative(self.rate * self.k).prefix(bits)
            q = ExpNegative(self.rate).prefix(bits)
            low = (top << n) // ((1 << bits) + q + 1)
            high = ((top + 1) << n) // ((1 << bits) + q)
            if low == high:
                # e^rate is transcendental, so p 2^n is no integer and this is reached.
                return low
            guard *= 2


@dataclass(frozen=True)
class _MissPower(Probability):
    """s^m / (plus + s^m) with s = 1 - p and m = 2^doublings: a digit of a gap (plus 1), or one more step (plus 0)."""

    p: NoiseAtLeast
    doublings: int
    digit: bool

    def prefix(self, n: int) -> int:
        """The integer floor of this probability times 2^n."""
        guard = _FIRST_GUARD + self.doublings
        while True:
            bits = n + guard
            one = 1 << bits
            hit = self.p.prefix(bits)
            low, high = one - hit - 1, one - hit
            for _ in range(self.doublings):
                low, high = low * low >> bits, -(-high * high >> bits)
            least = (low << n) // (one + low) if self.digit else low >> guard
            most = (high << n) // (one + high) if self.digit else high >> guard
            if least == most:
                return least
            guard *= 2


@dataclass(frozen=True)
class ThresholdLaw:
    """Noise rate and threshold: all that decides a pair.

    Attributes:
        rate: r, an exact fraction; epsilon for one edge.
        threshold: theta, at least 1.
    """

    rate: Fraction
    threshold: int = 1

    def __post_init__(self) -> None:
        require(isinstance(self.rate, int | Fraction), "rate", "be an exact fraction", type(self.rate).__name__)
        positive("rate", Fraction(self.rate))
        at_least("threshold", self.threshold, 1)
        rule = f"keep rate times threshold at most {_MOST_EXPONENT:g}, so that gaps fit 64 bits"
        require(float(self.rate * self.threshold) <= _MOST_EXPONENT, "threshold", rule, self.threshold)

    @property
    def edge_passes(self) -> NoiseAtLeast:
        """The probability that an edge is kept."""
        return NoiseAtLeast(Fraction(self.rate), self.threshold - 1)

    @property
    def other_passes(self) -> NoiseAtLeast:
        """The probability that any other pair appears."""
        return NoiseAtLeast(Fraction(self.rate), self.threshold)

    def expected(self, n_edges: float, n_pairs: int) -> tuple[float, float]:
        """Expected numbers of true and of false edges in the released graph."""
        return n_edges * _value(self.edge_passes), (n_pairs - n_edges) * _value(self.other_passes)


def _value(law: NoiseAtLeast) -> float:
    return float(np.exp(-float(law.rate) * law.k) / (1 + np.exp(-float(law.rate))))


def threshold_for(noisy_edges: float, n_pairs: int, rate: Fraction) -> int:
    """The smallest threshold at which no more edges are expected than the noisy count.

    Args:
        noisy_edges: an edge count that is already private.
        n_pairs: all pairs.
        rate: the noise's rate.
    """
    wanted = min(max(noisy_edges, 1.0), float(n_pairs))
    largest = int(_MOST_EXPONENT / float(rate))
    for threshold in range(1, largest):
        if sum(ThresholdLaw(rate, threshold).expected(wanted, n_pairs)) <= wanted:
            return threshold
    return max(1, largest)


def draw_noisy_adjacency(
    stream: BitSource, n_vertices: int, source: IntArray, target: IntArray, law: ThresholdLaw
) -> tuple[IntArray, IntArray]:
    """Draw the thresholded noisy graph.

    Args:
        stream: where the bits come from.
        n_vertices: n, the declared vertices.
        source: one end of each edge, every edge once, no loops, shape (m,).
        target: the other end.
        law: rate and threshold.

    Returns:
        (source, target) of the released edges, source < target, in rising order: it tells nothing else.
    """
    require(0 <= n_vertices <= LARGEST_N_VERTICES, "number of vertices", "be at most 2^31", n_vertices)
    edges = np.sort(pair_numbers(n_vertices, np.minimum(source, target), np.maximum(source, target)))
    kept = edges[_one_law(law.edge_passes).draw(stream, len(edges))[0]]
    passing = _draw_passing(stream, law.other_passes, n_vertices * (n_vertices - 1) // 2)
    added = passing[~np.isin(passing, edges, assume_unique=True)]
    return pairs_of_numbers(n_vertices, np.sort(np.concatenate([kept, added])))


def pair_numbers(n_vertices: int, low: IntArray, high: IntArray) -> IntArray:
    """Number the pairs low < high row by row from 0; shape (m,)."""
    return np.asarray(low * (2 * n_vertices - low - 1) // 2 + high - low - 1)


def pairs_of_numbers(n_vertices: int, number: IntArray) -> tuple[IntArray, IntArray]:
    """The pairs (low, high) of their numbers, shapes (m,)."""
    # Counted from the last pair the rows have lengths 1, 2, 3, ...: row r begins at r (r + 1) / 2.
    left = n_vertices * (n_vertices - 1) // 2 - 1 - number
    row = ((np.sqrt(8.0 * left + 1) - 1) / 2).astype(np.int64)
    row += (row + 1) * (row + 2) // 2 <= left  # the square root may be off by one
    row -= row * (row + 1) // 2 > left
    low = n_vertices - 2 - row
    return low, n_vertices - 1 - (left - row * (row + 1) // 2)


def _draw_passing(stream: BitSource, law: NoiseAtLeast, n_trials: int) -> IntArray:
    """Positions of the successes among independent trials, in rising order."""
    digits, going_on = _gap_laws(law)
    found = []
    last = -1
    while last < n_trials:
        expected = (n_trials - last) * _value(law)
        size = min(1 << 20, int(expected + 4 * expected**0.5) + 16)
        places = last + np.cumsum(1 + _draw_gaps(stream, digits, going_on, size))
        found.append(places[places < n_trials])
        last = int(places[-1])
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


@lru_cache(maxsize=64)
def _one_law(law: NoiseAtLeast) -> BernoulliTable:
    return BernoulliTable.from_laws(law)


@lru_cache(maxsize=64)
def _gap_laws(law: NoiseAtLeast) -> tuple[BernoulliTable, BernoulliTable]:
    """The digits of a gap; whether its tail, counted in steps of the next power of two, goes on."""
    n_digits = max(1, int(np.ceil(np.log2(_RARE / _value(law)))))
    digits = BernoulliTable.from_laws(*(_MissPower(law, i, True) for i in range(n_digits)))
    return digits, BernoulliTable.from_laws(_MissPower(law, n_digits, False))


def _draw_gaps(stream: BitSource, digits: BernoulliTable, going_on: BernoulliTable, size: int) -> IntArray:
    """Numbers of failures before a success, independent, shape (size,)."""
    gaps = np.zeros(size, dtype=np.int64)
    for place, bits in enumerate(digits.draw(stream, size)):
        gaps += bits.astype(np.int64) << place
    more = np.arange(size)
    while len(more):
        more = more[going_on.draw(stream, len(more))[0]]
        gaps[more] += 1 << len(digits.laws)
    return gaps
