"""Optimised unary encoding (OUE): a report of one bit for each value of the domain.

Client. The bit of the user's own value is 1 with probability 1/2, every other bit with probability q = 1 / (e^epsilon
+ 1), independently. Guarantee: two inputs v, w change the law of two bits only; the likelihood ratio of a report is at
most (1/2) / q at bit v times (1 - q) / (1/2) at bit w = (1 - q) / q = e^epsilon, attained. Bits are compared with the
certified digits of q: no rounding.

Server. Adds the bits up. Variance per report 4 e^epsilon / (e^epsilon - 1)^2 where no value dominates, whatever the
size of the domain: the least of all unary encodings. The price is a report of D bits: for some thousands of values.

Cost: one Bernoulli draw a bit for the client, one addition a bit for the server.

References:
    Wang, Blocki, Li, Jha: Locally differentially private protocols for frequency estimation. USENIX Security 2017,
    section 4.3 (OUE).
    Erlingsson, Pihur, Korolova: RAPPOR. CCS 2014 (unary encoding with equal flips).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from dplib.arrays import ByteArray, IntArray, WordArray
from dplib.compiled import compiled
from dplib.mechanisms.local.frequency_oracle import (
    FrequencyEstimate,
    FrequencyOracle,
    SupportLaw,
    require_answers,
    require_counts,
)
from dplib.randomness.digits import Logistic
from dplib.randomness.user_streams import UserStreams
from dplib.validate import require

_PLANES = 8  # bit planes of the counters: 255 reports are added before they are emptied


@dataclass(frozen=True)
class UnaryEncoding(FrequencyOracle):
    """What clients and server agree on; D is `n_values`, as many bits a report has."""

    most_values = 1 << 16

    @property
    def law(self) -> SupportLaw:
        """Probabilities of support."""
        small = exp(-float(self.epsilon))
        return SupportLaw(0.5, small / (1 + small))

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return self.n_values

    def randomize(self, streams: UserStreams, values: IntArray) -> ByteArray:
        """The reports of some users: packed bits, shape (n, 8 ceil(D/64)).

        Bit j of byte i is value 8 i + j; whole words of 64 bits, the rest 0.
        """
        require_answers(streams, values, self.n_values)
        reports = np.zeros((len(values), 8 * -(-self.n_values // 64)), dtype=np.uint8)
        n_bytes = -(-self.n_values // 8)
        own = (streams.under("own bit").uint64(1)[:, 0] & np.uint64(1)).astype(np.bool_)  # a fair coin is one bit
        for rows, bits in streams.under("bits").bernoulli(Logistic(Fraction(self.epsilon)), self.n_values):
            bits[np.arange(len(bits)), values[rows]] = own[rows]
            reports[rows, :n_bytes] = np.packbits(bits, axis=1, bitorder="little")
        return reports

    def aggregate(self, reports: ByteArray) -> IntArray:
        """Counts that merge by addition: the number of reports, then the ones at each value, shape (D + 1,)."""
        width = 8 * -(-self.n_values // 64)
        fits = reports.ndim == 2 and reports.shape[1] == width and reports.dtype == np.uint8
        require(fits, "reports", f"be {width} bytes each", f"{reports.shape[1:]} of {reports.dtype}")
        ones = _count_ones(np.ascontiguousarray(reports).view("<u8"))[: self.n_values]
        return np.concatenate([[len(reports)], ones]).astype(np.int64)

    def estimate(self, counts: IntArray) -> FrequencyEstimate:
        """Estimate how many users have each value from merged counts."""
        require_counts(counts, self.n_values + 1)
        return self.law.estimate(int(counts[0]), counts[1:])


@compiled
def _count_ones(words: WordArray) -> IntArray:
    """Ones in each of the 64 columns of every word column: binary counters of 64 columns at once in bit planes."""
    n, width = words.shape
    total = np.zeros(64 * width, dtype=np.int64)
    planes = np.zeros((_PLANES, width), dtype=np.uint64)
    most = (1 << _PLANES) - 1
    for start in range(0, n, most):
        planes[:] = 0
        for row in range(start, min(start + most, n)):
            for column in range(width):
                carry = words[row, column]
                plane = 0
                while carry != 0:
                    carried = planes[plane, column] & carry
                    planes[plane, column] ^= carry
                    carry = carried
                    plane += 1
        for plane in range(_PLANES):
            for column in range(width):
                for bit in range(64):
                    total[64 * column + bit] += ((planes[plane, column] >> np.uint64(bit)) & np.uint64(1)) << plane
    return total
