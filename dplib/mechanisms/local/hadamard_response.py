"""Hadamard response: one randomized bit of one row of a Hadamard matrix, whatever the size of the domain.

Client. Let H be the Hadamard matrix of order K, the least power of 2 that is at least D: H[j, v] = (-1)^<j, v>, with
the inner product of the binary digits. The user draws j uniformly, independently of the value, and reports j with the
bit <j, v>, flipped with probability 1 / (e^epsilon + 1). Guarantee: j tells nothing, the bit is randomized response:
the likelihood ratio of two inputs is 1 or e^epsilon.

Server. The sum S_j of reported signs in each row; a fast Walsh-Hadamard transform gives all D estimates in K log2 K
additions. A report contributes z = +-c, c = (e^epsilon + 1) / (e^epsilon - 1), with mean 1 at the user's own value and
0 elsewhere; so the variance of an estimate is N c^2 - n_v exactly, n_v the number of users at v.

Cost: a row and a bit a user; O(K log K) for the server after one addition a report.

References:
    Bassily, Smith: Local, private, efficient protocols for succinct histograms. STOC 2015 (one bit of a random row).
    Apple Differential Privacy Team: Learning with privacy at scale. 2017 (Hadamard count mean sketch).
    Acharya, Sun, Zhang: Hadamard response. AISTATS 2019. At epsilon <= 1 the one-bit form here is within a constant.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import tanh

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.compiled import compiled
from dplib.mechanisms.local.frequency_oracle import (
    FrequencyEstimate,
    FrequencyOracle,
    require_answers,
    require_counts,
    require_values,
)
from dplib.randomness.digits import Logistic
from dplib.randomness.user_streams import UserStreams


@dataclass(frozen=True)
class HadamardResponse(FrequencyOracle):
    """What clients and server agree on."""

    @property
    def contrast(self) -> float:
        """Size c = (e^epsilon + 1) / (e^epsilon - 1) of one unbiased contribution."""
        return 1 / tanh(float(self.epsilon) / 2)

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return self.order.bit_length()

    def randomize(self, streams: UserStreams, values: IntArray) -> IntArray:
        """The reports of some users: 2 j + bit for the row j, shape (n,)."""
        require_answers(streams, values, self.n_values)
        rows = streams.under("row").uniform_below(self.order)
        bits = parity(rows & values) ^ streams.under("flip").bernoulli_once(Logistic(Fraction(self.epsilon)))
        return np.asarray(2 * rows + bits)

    def aggregate(self, reports: IntArray) -> IntArray:
        """Counts that merge by addition: the number of reports, then the sum of signs in each row, shape (K + 1,)."""
        require_values(reports, 2 * self.order)
        pairs = np.bincount(reports, minlength=2 * self.order).reshape(-1, 2)
        return np.concatenate([[len(reports)], pairs[:, 0] - pairs[:, 1]]).astype(np.int64)

    def estimate(self, counts: IntArray) -> FrequencyEstimate:
        """Estimate how many users have each value from merged counts."""
        require_counts(counts, self.order + 1)
        transformed, n_reports = counts[1:].copy(), int(counts[0])
        walsh_hadamard(transformed)
        found = np.asarray(transformed[: self.n_values] * self.contrast)
        return FrequencyEstimate(n_reports, found, self.variance(n_reports, np.clip(found, 0, n_reports)))

    def variance(self, n_reports: float, true_counts: FloatArray) -> FloatArray:
        """Exact variance of the estimated counts, where ``true_counts`` users have the value."""
        return np.asarray(n_reports * self.contrast**2 - true_counts)


def parity(words: IntArray) -> BoolArray:
    """Parity of the number of ones of each non-negative integer, same shape."""
    return np.asarray(np.bitwise_count(words) & 1, dtype=np.bool_)


@compiled
def walsh_hadamard(values: IntArray) -> None:
    """Multiply by the Hadamard matrix in place; the length must be a power of 2."""
    half = 1
    while half < len(values):
        for start in range(0, len(values), 2 * half):
            for place in range(start, start + half):
                first, second = values[place], values[place + half]
                values[place], values[place + half] = first + second, first - second
        half *= 2
