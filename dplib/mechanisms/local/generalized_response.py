"""Generalized (k-ary) randomized response: the true value with odds e^epsilon against each other value.

Client. A user of value v reports v with probability p = e^epsilon / (e^epsilon + k - 1) and each other value with
probability q = 1 / (e^epsilon + k - 1). Guarantee: any two inputs give any report with a ratio of at most p / q =
e^epsilon, attained. The lie is decided by the certified digits of (k - 1) / (k - 1 + e^epsilon), the other value is an
exact uniform integer: no rounding anywhere.

Best oracle for small domains (k below about 3 e^epsilon + 2); its variance grows with k. Cost: a few ns a user.

References:
    Warner: Randomized response: a survey technique for eliminating evasive answer bias. JASA 60(309), 1965 (k = 2).
    Kairouz, Oh, Viswanath: Extremal mechanisms for local differential privacy. JMLR 17, 2016, section 4.
    Wang, Blocki, Li, Jha: Locally differentially private protocols for frequency estimation. USENIX Security 2017
    ("direct encoding").
"""

from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np

from dplib.arrays import IntArray
from dplib.mechanisms.local.frequency_oracle import (
    FrequencyEstimate,
    FrequencyOracle,
    SupportLaw,
    require_answers,
    require_counts,
    require_values,
)
from dplib.randomness.digits import Odds
from dplib.randomness.user_streams import UserStreams


@dataclass(frozen=True)
class GeneralizedResponse(FrequencyOracle):
    """What clients and server agree on; k is `n_values`."""

    @property
    def law(self) -> SupportLaw:
        """Probabilities of support."""
        # In e^-epsilon, which cannot overflow.
        small = exp(-float(self.epsilon))
        rest = 1 + (self.n_values - 1) * small
        return SupportLaw(1 / rest, small / rest)

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return (self.n_values - 1).bit_length()

    def randomize(self, streams: UserStreams, values: IntArray) -> IntArray:
        """The reports of some users: values, shape (n,)."""
        require_answers(streams, values, self.n_values)
        lies = streams.under("lie").bernoulli_once(Odds(self.n_values - 1, Fraction(self.epsilon)))
        further = streams.under("other").uniform_below(self.n_values - 1) + 1
        return np.asarray(np.where(lies, (values + further) % self.n_values, values))

    def aggregate(self, reports: IntArray) -> IntArray:
        """Counts that merge by addition: the number of reports, then the reports of each value, shape (k + 1,)."""
        require_values(reports, self.n_values)
        return np.concatenate([[len(reports)], np.bincount(reports, minlength=self.n_values)]).astype(np.int64)

    def estimate(self, counts: IntArray) -> FrequencyEstimate:
        """Estimate how many users have each value from merged counts."""
        require_counts(counts, self.n_values + 1)
        return self.law.estimate(int(counts[0]), counts[1:])
