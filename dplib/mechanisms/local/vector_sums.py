"""Sums of vectors by group in the local model: one randomized bit of each user, whatever the dimension.

Client. A user has a group v out of k and a vector x of length at most R. They draw a normal direction u and a row j of
a Hadamard matrix H of order K >= k, both independently of what they have, turn x into the vector X = x R / |x| or -X,
X with probability (1 + |x| / R) / 2, and report u, j and the bit

    sign(<u, X>) H[j, v],  flipped with probability 1 / (e^epsilon + 1).

Guarantee: (u, j) tells nothing, and given it the bit is randomized response: the likelihood ratio of two inputs is at
most e^epsilon, attained. No rounding of lengths, directions or products changes that: they decide which bit is
flipped, and the flip is exact. It is Duchi et al.'s mechanism for balls, told as a question: they report a point of the
half-sphere around X or of the opposite one, which is u with the sign of the bit.

Server. E[u sign(<u, X>)] = m X / R, m the mean magnitude of a coordinate of u. So with c = (e^epsilon + 1) /
(e^epsilon - 1), the sum of (c R / m) bit H[j, v] u over all users is without bias the sum of x over those of group v,
and each coordinate's variance is at most N (c R)^2 pi / 2, N all users: all d coordinates together pi/2 d N (c R)^2,
where asking for one random coordinate would give d^2 N (c R)^2. Groups and coordinates share one report.

Exactness of u: its coordinates are 65,536 normal quantiles rounded to 1/1024, chosen by 16 bits each that are part of
the report. For a vector along an axis the mean differs from that of a normal u by less than 1 part in 1,000.

Cost: client 2 bytes and one product a coordinate; server d additions a report and d transforms of length K.

References:
    Duchi, Jordan, Wainwright: Minimax optimal procedures for locally private estimation. JASA 113, 2018, section 4.2.3
    (vectors in a ball: a random half-sphere).
    Chang, Ghazi, Kumar, Manurangsi: Locally private k-means in one round. ICML 2021 (bucketized vector sums; there with
    Gaussian noise, here with one randomized bit, hence pure).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import pi, sqrt

import numpy as np
from scipy.special import ndtri

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.compiled import compiled
from dplib.mechanisms.local.frequency_oracle import require_counts
from dplib.mechanisms.local.hadamard_response import HadamardResponse, parity, walsh_hadamard
from dplib.randomness.digits import Logistic
from dplib.randomness.user_streams import UserStreams
from dplib.validate import at_least, between, exact_positive, require

_WORD_BITS = 16
_WORDS = 4  # of 16 bits in an integer
_STEP = 1 << 10
_LENGTH_STEPS = 1 << 16


@dataclass(frozen=True)
class VectorSums:
    """What clients and server agree on.

    Attributes:
        n_groups: k, at least 1.
        dimension: d of the vectors.
        norm_squared: R^2, the largest squared length of a vector of integers.
        epsilon: privacy of one report, an exact fraction above 0.
        length_steps: into how many steps lengths are rounded when a vector becomes X or -X.
    """

    n_groups: int
    dimension: int
    norm_squared: int
    epsilon: Fraction
    length_steps: int = _LENGTH_STEPS

    def __post_init__(self) -> None:
        at_least("n_groups", self.n_groups, 1)
        at_least("dimension", self.dimension, 1)
        between("norm_squared", self.norm_squared, 0, 1 << 48)
        exact_positive("epsilon", self.epsilon)
        between("length_steps", self.length_steps, 0, 1 << 31)

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return _WORD_BITS * self.dimension + self._rows.report_bits

    @property
    def width(self) -> int:
        """Integers in a report."""
        return 1 + -(-self.dimension // _WORDS)

    @property
    def deviation(self) -> float:
        """Largest standard deviation of one report in one coordinate of a sum."""
        return self._rows.contrast * sqrt(self.norm_squared * pi / 2)

    @property
    def order(self) -> int:
        """K, the order of the Hadamard matrix."""
        return self._rows.order

    @cached_property
    def _rows(self) -> HadamardResponse:
        # A Hadamard matrix has two columns at least; with one group the second is nobody's.
        return HadamardResponse(max(2, self.n_groups), self.epsilon)

    def randomize(self, streams: UserStreams, groups: IntArray, vectors: IntArray) -> IntArray:
        """The reports of some users; the same users, labels and inputs give the same reports.

        Args:
            streams: the users' randomness, under a label of this collection.
            groups: from 0 to k - 1, shape (n,).
            vectors: of squared length at most R^2, shape (n, d).

        Returns:
            2 j + bit, then the words of u, four of 16 bits in each integer; shape (n, width).
        """
        squared = self._require_inputs(streams, groups, vectors)
        words = streams.under("direction").uint64(self.width - 1)
        steps = streams.under("length").uniform_below(2 * self.length_steps) - self.length_steps
        turned = steps * sqrt(self.norm_squared) >= self.length_steps * np.sqrt(squared)
        rows = streams.under("row").uniform_below(self.order)
        flipped = streams.under("flip").bernoulli_once(Logistic(Fraction(self.epsilon)))
        reports = np.empty((len(vectors), self.width), dtype=np.int64)
        reports[:, 1:] = words.view(np.int64)
        bits = _below(reports, vectors, _quantiles()) ^ turned ^ parity(rows & groups) ^ flipped
        reports[:, 0] = 2 * rows + bits
        return reports

    def aggregate(self, reports: IntArray) -> IntArray:
        """Counts that merge by addition: the number of reports, then signed directions by row, shape (1 + K d,)."""
        fits = reports.ndim == 2 and reports.shape[1] == self.width and reports.dtype == np.int64
        require(fits, "reports", f"be {self.width} integers each", f"{reports.shape[1:]} of {reports.dtype}")
        first = reports[:, 0]
        inside = not len(first) or (int(first.min()) >= 0 and int(first.max()) < 2 * self.order)
        require(inside, "first integers of reports", f"lie from 0 to {2 * self.order - 1}", "one outside")
        sums = np.zeros((self.order, self.dimension), dtype=np.int64)
        _add_directions(reports, _quantiles(), sums)
        return np.concatenate([[len(reports)], sums.ravel()]).astype(np.int64)

    def estimate(self, counts: IntArray) -> FloatArray:
        """Estimate the sums of the vectors of each group from merged counts, shape (k, d)."""
        require_counts(counts, 1 + self.order * self.dimension)
        by_row, sums = counts[1:].reshape(self.order, self.dimension), np.empty((self.order, self.dimension))
        for axis in range(self.dimension):
            column = by_row[:, axis].copy()
            walsh_hadamard(column)
            sums[:, axis] = column
        scale = self._rows.contrast * sqrt(self.norm_squared) / float(np.abs(_quantiles()).mean())
        return np.asarray(sums[: self.n_groups] * scale)

    def _require_inputs(self, streams: UserStreams, groups: IntArray, vectors: IntArray) -> FloatArray:
        fits = vectors.shape == (len(streams), self.dimension) and vectors.dtype == np.int64
        require(fits, "vectors", f"be one of {self.dimension} integers a user", f"{vectors.shape} of {vectors.dtype}")
        require(groups.shape == (len(streams),), "groups", "be one a user", groups.shape)
        inside = not len(groups) or (int(groups.min()) >= 0 and int(groups.max()) < self.n_groups)
        require(inside, "groups", f"lie from 0 to {self.n_groups - 1}", "one outside")
        squared = (vectors.astype(np.float64) ** 2).sum(axis=1)
        # A client's programming error: with longer vectors sums would be biased; privacy does not depend on it.
        require(bool((squared <= self.norm_squared).all()), "vectors", "be no longer than agreed on", "a longer one")
        return np.asarray(squared)


@lru_cache(maxsize=1)
def _quantiles() -> IntArray:
    """Normal quantiles in steps of 1/1024, symmetric around 0, shape (65,536,)."""
    n = 1 << _WORD_BITS
    upper = np.rint(ndtri((np.arange(n // 2, n) + 0.5) / n) * _STEP).astype(np.int64)
    return np.concatenate([-upper[::-1], upper])


@compiled
def _below(reports: IntArray, vectors: IntArray, quantiles: IntArray) -> BoolArray:
    """Whether each vector lies on the negative side of its direction."""
    n, d = vectors.shape
    found = np.zeros(n, dtype=np.bool_)
    for i in range(n):
        product = 0
        for c in range(d):
            product += vectors[i, c] * quantiles[(reports[i, 1 + c // 4] >> (16 * (c % 4))) & 65535]
        found[i] = product < 0
    return found


@compiled
def _add_directions(reports: IntArray, quantiles: IntArray, sums: IntArray) -> None:
    """Add every report's signed direction to the sum of its row."""
    d = sums.shape[1]
    for i in range(len(reports)):
        row, negative = reports[i, 0] >> 1, reports[i, 0] & 1
        for c in range(d):
            value = quantiles[(reports[i, 1 + c // 4] >> (16 * (c % 4))) & 65535]
            sums[row, c] += -value if negative else value
