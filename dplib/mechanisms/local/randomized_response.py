"""Binary randomized response: each bit is told truly with probability e^epsilon / (1 + e^epsilon), else flipped.

Each bit is epsilon-private by itself: the two probabilities of any report differ by a factor e^epsilon. In the local
model a person randomizes bits before anyone else sees them. The flips are drawn by the certified digits of 1 / (1 +
e^epsilon), without any rounding.

Neighbour lists. For a graph each pair {i, j}, i < j, is reported by i alone: then one relationship is in one report,
and epsilon protects it. If both ends reported it, the same relationship would cost 2 epsilon.

The server needs only the number of ones among the reports. With N reports, n1 ones and q = 1 / (1 + e^epsilon), the
estimate (n1 - N q) / (1 - 2q) of the true ones is unbiased with variance N e^epsilon / (e^epsilon - 1)^2, whatever the
truth: it grows with all *pairs*, not with the edges.

Cost: 2 bytes of the stream a bit.

References:
    Warner: Randomized response: a survey technique for eliminating evasive answer bias. JASA 60(309), 1965.
    Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith: What can we learn privately? SIAM J. Comput. 40(3), 2011 (the
    local model).
    Qin, Yu, Yang, Khalil, Xiao, Ren: Generating synthetic decentralized social graphs with local differential privacy.
    CCS 2017 (neighbour lists under edge-local privacy).
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import exp, expm1

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.randomness.digits import Logistic
from dplib.randomness.integers import BernoulliTable, BitSource
from dplib.randomness.keyed import Key, KeyedStream
from dplib.validate import at_least, positive, require

_CHUNK = 1 << 22


@dataclass(frozen=True)
class CountEstimate:
    """What the server learns.

    Attributes:
        estimate: unbiased.
        variance: of the estimate, over the randomness of the reports.
    """

    estimate: float
    variance: float


def randomize_bits(stream: BitSource, bits: BoolArray, epsilon: Fraction) -> BoolArray:
    """Flip each bit with probability 1 / (1 + e^epsilon), independently.

    Args:
        stream: where the randomness comes from; a person's own.
        bits: the truth, shape (n,).
        epsilon: privacy of each bit, an exact fraction above 0.

    Returns:
        Shape (n,).
    """
    flips: BoolArray = _flip_law(epsilon).draw(stream, len(bits))[0]
    return flips ^ bits


def _flip_law(epsilon: Fraction) -> BernoulliTable:
    require(isinstance(epsilon, int | Fraction), "epsilon", "be an exact fraction", type(epsilon).__name__)
    return _table(positive("epsilon", Fraction(epsilon)))


@lru_cache(maxsize=64)
def _table(epsilon: Fraction) -> BernoulliTable:
    return BernoulliTable.from_laws(Logistic(epsilon))


def report_later_neighbors(key: Key, user: int, neighbors: IntArray, n_vertices: int, epsilon: Fraction) -> BoolArray:
    """The report of one user: a randomized bit for each vertex after the user's own number.

    Args:
        key: the key of this collection, on the user's device or of the simulation; the same call gives the same report.
        user: the user's vertex, from 0 to n_vertices - 1.
        neighbors: vertices that the user is connected to; those before ``user`` report the pair themselves.
        n_vertices: the declared number of vertices.
        epsilon: privacy of each relationship.

    Returns:
        Bits of the vertices user + 1, ..., n_vertices - 1.
    """
    require(0 <= user < n_vertices, "user", "be a declared vertex", user)
    bits = np.zeros(n_vertices - user - 1, dtype=np.bool_)
    later = neighbors[(neighbors > user) & (neighbors < n_vertices)]
    bits[later - user - 1] = True
    return randomize_bits(KeyedStream(key, "neighbor report", int(user)), bits, epsilon)


def draw_reported_ones(stream: BitSource, n_edges: int, n_pairs: int, epsilon: Fraction) -> int:
    """The number of ones in all neighbour reports together: a simulation without the lists; exact, O(n_pairs) bits."""
    at_least("number of pairs", n_pairs, n_edges)
    law = _flip_law(epsilon)
    flipped = [_count_successes(stream, law, count) for count in (n_edges, n_pairs - n_edges)]
    return n_edges - flipped[0] + flipped[1]


def _count_successes(stream: BitSource, law: BernoulliTable, size: int) -> int:
    parts = (min(_CHUNK, size - start) for start in range(0, size, _CHUNK))
    return sum(int(np.count_nonzero(law.draw(stream, part))) for part in parts)


def estimate_ones(reported_ones: int, n_reports: int, epsilon: Fraction) -> CountEstimate:
    """Estimate how many of the true bits are ones.

    Args:
        reported_ones: ones among the reports.
        n_reports: all reports, a public number.
        epsilon: what the reports were made with.
    """
    # With u = e^-epsilon, 1 / (1 - 2q) = (1 + u) / (1 - u) and q / (1 - 2q) = u / (1 - u); e^epsilon might overflow.
    u, rest = _odds(epsilon)
    estimate = reported_ones * (1 + u) / rest - n_reports * u / rest
    return CountEstimate(estimate, reports_variance(n_reports, epsilon))


def reports_variance(n_reports: int, epsilon: Fraction) -> float:
    """The variance N e^epsilon / (e^epsilon - 1)^2 of `estimate_ones`, from public numbers."""
    u, rest = _odds(epsilon)
    return n_reports * u / rest**2


def _odds(epsilon: Fraction) -> tuple[float, float]:
    """``u = e^-epsilon`` and ``1 - u``."""
    exponent = -float(positive("epsilon", epsilon))
    return exp(exponent), -expm1(exponent)
