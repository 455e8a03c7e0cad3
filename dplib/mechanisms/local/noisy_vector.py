"""Noisy vectors in the local model: every user adds discrete Laplace noise to each coordinate of an integer vector.

Client. Coordinate by coordinate the user adds independent noise of mass proportional to e^(-|x| / b). Guarantee: two
vectors of the domain differ by at most D in the L1 norm, so any report's likelihood ratio is at most e^(D / b);
b = D / epsilon, and the report is epsilon-private.

Exactness: the noise is the difference of two geometric variables of ratio e^(-1/b). Bit i of a geometric variable is
Bernoulli(1 / (1 + e^(2^i / b))), independently of the others; bits are drawn up to 2^m >= 8 b, and the rest, another
geometric variable of ratio e^(-2^m / b), by its definition. Digits are certified; nothing is rounded or cut.

Cost: 2 bytes and a few ns for each of some 2 log2(8 b) bits a coordinate.

References:
    Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing privacy mechanisms. STOC 2009 (the noise).
    Duchi, Jordan, Wainwright: Minimax optimal procedures for locally private estimation. JASA 113, 2018 (why noise on
    whole vectors is far from what other reports allow).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import IntArray
from dplib.randomness.digits import ExpNegative, Logistic
from dplib.randomness.user_streams import UserStreams
from dplib.validate import at_least, exact_positive, positive, require

_BITS_BEYOND_SCALE = 3


@dataclass(frozen=True)
class NoisyVector:
    """What clients and server agree on.

    Attributes:
        l1_diameter: D, the largest L1 distance of two vectors that users may have.
        epsilon: privacy of one report, an exact fraction above 0.
    """

    l1_diameter: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        at_least("l1_diameter", self.l1_diameter, 1)
        exact_positive("epsilon", self.epsilon)

    @property
    def scale(self) -> Fraction:
        """Scale b of the noise on each coordinate."""
        return self.l1_diameter / Fraction(self.epsilon)

    def randomize(self, streams: UserStreams, vectors: IntArray) -> IntArray:
        """The reports of some users with vectors of shape (n, d), any two at most D apart; in the same shape."""
        fits = vectors.ndim == 2 and len(vectors) == len(streams) and vectors.dtype == np.int64
        require(fits, "vectors", "be one of integers a user", f"others, or {vectors.dtype}")
        noise = np.zeros_like(vectors)
        for coordinate in range(vectors.shape[1]):
            for sign in (1, -1):
                noise[:, coordinate] += sign * draw_geometric(streams.under(coordinate, sign), self.scale)
        return vectors + noise


def draw_geometric(streams: UserStreams, scale: Fraction) -> IntArray:
    """One variable a user with P[X >= t] = e^(-t / scale) for t = 0, 1, ...; shape (n,)."""
    bits = (positive("scale", scale).__ceil__() - 1).bit_length() + _BITS_BEYOND_SCALE
    drawn = np.zeros(len(streams), dtype=np.int64)
    for bit in range(bits):
        law = Logistic(Fraction(2**bit) / scale)
        drawn += streams.under("bit", bit).bernoulli_once(law).astype(np.int64) << bit
    beyond = ExpNegative(Fraction(2**bits) / scale)
    going = np.arange(len(streams))
    times = 0
    while len(going):
        going = going[streams.of(going).under("beyond", times).bernoulli_once(beyond)]
        drawn[going] += 1 << bits
        times += 1
    return drawn
