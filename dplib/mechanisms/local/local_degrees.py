"""Noisy degrees in the local model: each user adds noise to one number, the server adds the reports up.

Client. A user with degree d reports d + discrete Laplace noise of scale b. One entry more or less in the user's list
changes d by 1, so the report protects an entry with epsilon = 1 / b, and a whole list (cut to D entries) with D / b.

What protects a relationship? It stands in two lists. If every user counts all neighbours, both reports change:
2 / b. If each pair is counted by one end only (``one_end``: neighbours with a larger vertex number), 1 / b.

Server. The sum of n reports estimates the edges (twice the edges for both ends) without bias; its error grows with
sqrt(n), not with n: standard deviation sqrt(n v) (both ends: half of that) with the noise's variance v, near 2 b^2.
A central release of the edge count at the same epsilon has sqrt(v) alone.

Cost: one draw of noise a user, most of it for opening the user's own stream.

References:
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith: What can we learn privately? SIAM J. Comput. 40(3), 2011.
    Imola, Murakami, Chaudhuri: Locally differentially private analysis of graph statistics. USENIX Security 2021,
    section 4.1 (Laplace noise on degrees; one end of each pair).
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import numpy as np

from dplib.arrays import IntArray
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.privacy.noise import Law
from dplib.randomness.keyed import Key, KeyedStream
from dplib.validate import exact_positive, one_of


class Counting(StrEnum):
    """Who counts a relationship."""

    BOTH_ENDS = "both_ends"
    ONE_END = "one_end"


@dataclass(frozen=True)
class DegreeProtocol:
    """What clients and server agree on before any report is made.

    Attributes:
        epsilon: protection of one relationship, an exact fraction.
        counting: whether both ends of a pair count it or only the one with the smaller number.
    """

    epsilon: Fraction
    counting: Counting = Counting.ONE_END

    def __post_init__(self) -> None:
        exact_positive("epsilon", self.epsilon)
        object.__setattr__(self, "counting", Counting(one_of("counting", self.counting, list(Counting))))

    @property
    def counted(self) -> int:
        """How many reports count a relationship."""
        return 2 if self.counting is Counting.BOTH_ENDS else 1

    @cached_property
    def scale(self) -> Fraction:
        """Scale of each user's noise."""
        return self.counted / Fraction(self.epsilon)

    def true_degrees(self, n_vertices: int, source: IntArray, target: IntArray) -> IntArray:
        """What each user counts, for a simulation; shape (n_vertices,)."""
        first = np.bincount(np.minimum(source, target), minlength=n_vertices)
        if self.counting is Counting.ONE_END:
            return first.astype(np.int64)
        return (first + np.bincount(np.maximum(source, target), minlength=n_vertices)).astype(np.int64)


def report_degree(key: Key, user: int, degree: int, protocol: DegreeProtocol) -> int:
    """The report of one user; the same call gives the same report, so that nobody reports twice."""
    stream = KeyedStream(key, "degree report", protocol.counting.value, int(user))
    return int(degree) + int(draw_discrete_laplace(stream, protocol.scale, 1)[0])


def simulate_reports(key: Key, degrees: IntArray, protocol: DegreeProtocol) -> IntArray:
    """The reports of the users 0, 1, ... with these degrees; shape (n,)."""
    return np.array([report_degree(key, user, int(d), protocol) for user, d in enumerate(degrees)], dtype=np.int64)


def estimate_edges(reports: IntArray, protocol: DegreeProtocol) -> float:
    """Estimate the number of edges, without bias, from reports that clients made, one a user, shape (n,)."""
    return float(reports.sum()) / protocol.counted


def edges_variance(n_vertices: int, protocol: DegreeProtocol) -> float:
    """Variance of `estimate_edges` over the randomness of the reports, from public numbers."""
    return n_vertices * Law.LAPLACE.variance(protocol.scale) / protocol.counted**2
