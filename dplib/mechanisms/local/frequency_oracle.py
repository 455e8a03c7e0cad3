"""What all frequency oracles of the local model share: estimated counts and their variance.

A frequency oracle has a client and a server. The client turns one user's value v of a public domain 0 ... D - 1 into a
randomized report that is epsilon-private by itself. The server adds reports up into integers that can be merged across
partitions by addition, and estimates from them how many users have each value, without bias.

All oracles here say "report i supports value v" with probability p if v is the truth and q < p if it is not. With N
reports of which n_v have the value v, the count C_v of supporting reports gives (C_v - N q) / (p - q), of variance

    n_v p (1 - p) / (p - q)^2 + (N - n_v) q (1 - q) / (p - q)^2,

exactly: users draw independently of each other. The second term is what counts where no value dominates:

With E = e^epsilon:

| oracle | p | q | variance per report | report |
|---|---|---|---|---|
| generalized response | E / (E + D - 1) | 1 / (E + D - 1) | (E + D - 2) / (E - 1)^2 | log2 D bits |
| unary encoding | 1/2 | 1 / (E + 1) | 4 E / (E - 1)^2 | D bits |
| Hadamard response | E / (E + 1) | 1/2 | (E + 1)^2 / (E - 1)^2 | log2 D + 1 bits |
| local hashing, g buckets | E / (E + g - 1) | 1/g | (E + g - 1)^2 / ((g - 1) (E - 1)^2) | seed + log2 g bits |

References:
    Wang, Blocki, Li, Jha: Locally differentially private protocols for frequency estimation. USENIX Security 2017,
    theorem 2 (variance of "pure" protocols), section 4 and table 1.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.errors import ConfigError
from dplib.randomness.user_streams import UserStreams
from dplib.validate import at_least, between, exact_positive, require

MAX_VALUES = 1 << 24
"""The server holds an integer for each value."""


@dataclass(frozen=True, eq=False)
class FrequencyEstimate:
    """What the server learns about every value.

    Attributes:
        n_reports: N, public.
        counts: unbiased estimates of the number of users with each value; may be negative, shape (D,).
        variance: of the counts, by the exact law at the true counts' estimates cut to [0, N]; shape (D,).
    """

    n_reports: int
    counts: FloatArray
    variance: FloatArray

    @property
    def std_error(self) -> FloatArray:
        """Standard errors of the counts, shape (D,)."""
        return np.asarray(np.sqrt(self.variance))


@dataclass(frozen=True)
class SupportLaw:
    """With which probabilities a report supports a value.

    Attributes:
        p: if it is the user's value.
        q: if it is not.
    """

    p: float
    q: float

    def variance(self, n_reports: float, true_counts: FloatArray) -> FloatArray:
        """Exact variance of the estimated counts, where ``true_counts`` users of ``n_reports`` have the value."""
        true, other = self.p * (1 - self.p), self.q * (1 - self.q)
        return np.asarray((true_counts * true + (n_reports - true_counts) * other) / (self.p - self.q) ** 2)

    def estimate(self, n_reports: int, support: IntArray) -> FrequencyEstimate:
        """Estimate the counts, of how many of all reports support each value, shape (D,)."""
        counts = np.asarray((support - n_reports * self.q) / (self.p - self.q), dtype=np.float64)
        return FrequencyEstimate(n_reports, counts, self.variance(n_reports, np.clip(counts, 0, n_reports)))


@dataclass(frozen=True)
class FrequencyOracle:
    """What clients and server of an oracle agree on.

    Every oracle's ``randomize`` takes the streams of some users, under a label of this collection, and the truth, from
    0 to D - 1, shape (n,); the same users, labels and values give the same reports.

    Attributes:
        n_values: D, the size of the domain, from 2 to `most_values`.
        epsilon: privacy of one report, an exact fraction above 0.
    """

    n_values: int
    epsilon: Fraction
    most_values: ClassVar[int] = MAX_VALUES

    def __post_init__(self) -> None:
        between("n_values", self.n_values, 1, self.most_values + 1)
        exact_positive("epsilon", self.epsilon)

    @property
    def order(self) -> int:
        """K, the least power of 2 that is at least D."""
        return 1 << (self.n_values - 1).bit_length()


def require_answers(streams: UserStreams, values: IntArray, n_values: int) -> None:
    """Refuse anything but one value of the domain a user."""
    require(len(values) == len(streams), "values", "be one a user", "more or fewer")
    require_values(values, n_values)


def require_values(values: IntArray, n_values: int) -> None:
    """Refuse values outside the domain: a client's programming error, found before anything is reported."""
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ConfigError("values", "be a list of integers", f"{values.ndim} axes of {values.dtype}")
    # The message tells neither which value nor whose.
    inside = not len(values) or (int(values.min()) >= 0 and int(values.max()) < n_values)
    require(inside, "values", f"lie from 0 to {n_values - 1}", "one outside")


def require_counts(counts: IntArray, length: int) -> None:
    """Refuse aggregated reports of another domain."""
    fits = counts.shape == (length,) and counts.dtype == np.int64
    require(fits, "counts", f"be {length} integers of 64 bits", f"{counts.shape} of {counts.dtype}")
    at_least("number of reports", int(counts[0]), 0)
