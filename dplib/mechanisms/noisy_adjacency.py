"""The noisy adjacency matrix, thresholded back to a simple graph, in time of the edges instead of the pairs.

What is released: an edge counts g steps and any other pair 0; to each of the N = n (n - 1) / 2 pairs discrete Laplace
noise of rate epsilon / g a step is added, and the pair is kept if the sum is at least an integer threshold theta >= 1.
(Noise of scale 1 / epsilon on a grid of 1 / g.) One edge changes one entry by g steps, so the matrix is epsilon-private
between edge neighbours (the D edges of a vertex: D epsilon), and thresholding is post-processing, if theta does not
look at the graph. Theta may come from a noisy edge count, which costs extra.

How it is drawn: the pairs are independent, and only whether they pass matters. With r = epsilon / g an edge passes with
probability P(Z >= theta - g), any other pair with P(Z >= theta) = e^(-r theta) / (1 + e^-r). So edges are kept one by
one, and the passing pairs among *all* pairs are found by jumping from one to the next: the gaps of independent trials
are geometric. Those that meet an edge are dropped, since the edge has its own draw. The result has exactly the law of
the dense matrix, and time and memory are of the order of edges and passing pairs.

Exactness: the gap's binary digits are independent (`dplib.mechanisms.discrete_laplace`), digit i being 1 with
probability s^(2^i) / (1 + s^(2^i)), s = 1 - P(Z >= theta); all these probabilities are compared by certified digits.

With g = 1, theta = 1 this is randomized response on every pair.

References:
    Nguyen, Imine, Rusinowitch: Differentially private publication of social graphs at linear cost. ASONAM 2015 (TmF:
    top-m filter; the passing zeros are drawn directly).
    Cormode, Procopiuc, Srivastava, Tran: Differentially private summaries for sparse data. ICDT 2012, section 3
    (filtering by a threshold without touching the zeros).
"""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dplib.arrays import IntArray
from dplib.randomness.digits import ExpNegative, Probability
from dplib.randomness.integers import BernoulliTable, BitSource
from dplib.validate import at_least, exact_positive, require

DEFAULT_STEPS = 64
MAX_N_VERTICES = 2**31  # so that pairs are numbered within 62 bits
_RARE = 4.0  # the tail of a gap is drawn where it goes on with probability below e^-4
_FIRST_GUARD = 32
MAX_EXPONENT = 32  # of epsilon threshold / steps: the mean gap stays below 2^47


@dataclass(frozen=True)
class NoiseAtLeast(Probability):
    """P(Z >= k) of discrete Laplace noise: e^(-rate k) / (1 + e^-rate) for k >= 0, and 1 - P(Z >= 1 - k) below."""

    rate: Fraction
    k: int

    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""
        if self.k < 0:
            return (1 << n) - 1 - NoiseAtLeast(self.rate, 1 - self.k).prefix(n)
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

    def __float__(self) -> float:
        if self.k < 0:
            return 1 - float(NoiseAtLeast(self.rate, 1 - self.k))
        return float(np.exp(-float(self.rate) * self.k) / (1 + np.exp(-float(self.rate))))


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
    """Noise and threshold: all that decides a pair.

    Attributes:
        epsilon: pure privacy of one edge, an exact fraction.
        threshold: theta, in steps, at least 1.
        steps: g, the steps that an edge counts.
    """

    epsilon: Fraction
    threshold: int = 1
    steps: int = 1

    def __post_init__(self) -> None:
        exact_positive("epsilon", self.epsilon)
        at_least("steps", self.steps, 1)
        at_least("threshold", self.threshold, 1)
        rule = f"keep epsilon threshold / steps at most {MAX_EXPONENT}, so that gaps fit 64 bits"
        require(self.rate * self.threshold <= MAX_EXPONENT, "threshold", rule, self.threshold)

    @property
    def rate(self) -> Fraction:
        """The noise's rate a step."""
        return Fraction(self.epsilon) / self.steps

    @property
    def edge_passes(self) -> NoiseAtLeast:
        """The probability that an edge is kept."""
        return NoiseAtLeast(self.rate, self.threshold - self.steps)

    @property
    def other_passes(self) -> NoiseAtLeast:
        """The probability that any other pair appears."""
        return NoiseAtLeast(self.rate, self.threshold)

    def expected(self, n_edges: float, n_pairs: int) -> tuple[float, float]:
        """Expected numbers of true and of false edges in the released graph."""
        return n_edges * float(self.edge_passes), (n_pairs - n_edges) * float(self.other_passes)


def threshold_for(noisy_edges: float, n_pairs: int, epsilon: Fraction, steps: int = DEFAULT_STEPS) -> ThresholdLaw:
    """The law with the smallest threshold at which no more edges are expected than a count that is already private.

    More steps hit the count more closely.
    """
    wanted = min(max(noisy_edges, 1.0), float(n_pairs))
    thresholds = range(1, max(1, int(MAX_EXPONENT * steps / Fraction(epsilon))) + 1)

    def few_enough(threshold: int) -> bool:
        return sum(ThresholdLaw(epsilon, threshold, steps).expected(wanted, n_pairs)) <= wanted

    place = bisect_left(thresholds, True, key=few_enough)
    return ThresholdLaw(epsilon, thresholds[min(place, len(thresholds) - 1)], steps)


def draw_noisy_adjacency(
    stream: BitSource, n_vertices: int, source: IntArray, target: IntArray, law: ThresholdLaw
) -> tuple[IntArray, IntArray]:
    """Draw the thresholded noisy graph of edges of shape (m,), every edge once, no loops.

    Returns:
        (source, target) of the released edges, source < target, in rising order: it tells nothing else.
    """
    require(0 <= n_vertices <= MAX_N_VERTICES, "number of vertices", "be at most 2^31", n_vertices)
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
        expected = (n_trials - last) * float(law)
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
    n_digits = max(1, int(np.ceil(np.log2(_RARE / float(law)))))
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
