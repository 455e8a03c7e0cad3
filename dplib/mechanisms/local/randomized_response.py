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

from fractions import Fraction
from functools import lru_cache
from math import exp, expm1

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.randomness.digits import Logistic
from dplib.randomness.integers import BernoulliTable, BitSource
from dplib.randomness.keyed import Key, KeyedStream
from dplib.validate import exact_positive, positive, require


def randomize_bits(stream: BitSource, bits: BoolArray, epsilon: Fraction) -> BoolArray:
    """Flip each bit, shape (n,), with probability 1 / (1 + e^epsilon), independently, from a person's own stream."""
    flips: BoolArray = _table(exact_positive("epsilon", epsilon)).draw(stream, len(bits))[0]
    return flips ^ bits


@lru_cache(maxsize=64)
def _table(epsilon: Fraction) -> BernoulliTable:
    return BernoulliTable.from_laws(Logistic(epsilon))


def report_later_neighbors(key: Key, user: int, neighbors: IntArray, n_vertices: int, epsilon: Fraction) -> BoolArray:
    """The report of one user: a randomized bit for each vertex after the user's own number.

    Neighbours before ``user`` report the pair themselves. Bits of the vertices user + 1, ..., n_vertices - 1.
    """
    require(0 <= user < n_vertices, "user", "be a declared vertex", user)
    bits = np.zeros(n_vertices - user - 1, dtype=np.bool_)
    later = neighbors[(neighbors > user) & (neighbors < n_vertices)]
    bits[later - user - 1] = True
    return randomize_bits(KeyedStream(key, "neighbor report", int(user)), bits, epsilon)


def reports_variance(n_reports: int, epsilon: Fraction) -> float:
    """Variance of the number of ones that is estimated from the reports, from public numbers."""
    exponent = -float(positive("epsilon", epsilon))
    return n_reports * exp(exponent) / expm1(exponent) ** 2
