"""The ladder mechanism: an integer near the true count, with noise as wide as the graph at hand needs; pure epsilon.

Rung 0 is the true count f; rung t >= 1 the I_{t-1} integers on each side that follow rung t - 1. An integer on rung t
is drawn with probability proportional to e^(-epsilon t / 2): the exponential mechanism with quality -t.

Privacy. For neighbours G, G' let k lie on rung t of G, so |k - f| <= I_0 + ... + I_{t-1}. Then |k - f'| <= |k - f| +
I_0' <= I_0' + I_1' + ... + I_t', because I_s <= I'_{s+1} and |f - f'| is at most the local sensitivity I_0': k lies on
a rung of at most t + 1 of G'. So the quality has sensitivity 1 and the release is epsilon-private. Rungs of width 0 do
no harm. As for every exponential mechanism the log-ratio of two neighbours lies in an interval of length epsilon, so
one draw is (epsilon^2 / 8)-zCDP (Cesar and Rogers 2021; `dplib.privacy.events.BoundedRangeEvent`): rho pays for twice
the epsilon that it pays of other pure mechanisms.

The draw is exact. Total weight and partial sums are enclosed by integers rounded outwards, the tail beyond the last
rung looked at by 2 cap q^{M+1} / (1 - q), q = e^(-epsilon/2); a uniform real is compared with them as far as its first
64 bits decide, and with more digits and more rungs where they do not (once in 2^60 draws or so). No floating-point
number takes part. Scale, rungs and error depend on the graph: none of them may be released.

Cost: about 140 / epsilon rungs, a microsecond each; then microseconds a draw.

References:
    Zhang, Cormode, Procopiuc, Srivastava, Xiao: Private release of graph statistics using ladder functions. SIGMOD
    2015, algorithm 1, theorem 4.2.
    McSherry, Talwar: Mechanism design via differential privacy. FOCS 2007.
    Cesar, Rogers: Bounding, concentrating, and truncating: unifying privacy loss composition for data analytics. ALT
    2021.
"""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.randomness.digits import ExpNegative
from dplib.randomness.integers import BitSource, uniform_below
from dplib.validate import at_least, exact, require

MIN_EPSILON = Fraction(1, 1000)
MAX_EPSILON = Fraction(1000)
MAX_VALUE = 2**62  # values beyond are cut to it, which is post-processing
_WORD = 64
_GUARD = 64
_FLOAT_REACH = 60.0  # error formulas look at rungs of weight above e^-60


class Ladder(Protocol):
    """A ladder function, as `dplib.graphs.statistics.ladder_rungs` makes them."""

    @property
    def largest(self) -> int:
        """The cap, a public number."""

    def widths(self, first: int, count: int, /) -> IntArray:
        """I_t for ``first <= t < first + count``; never falling, and above 0 from some t on unless the cap is 0."""


def draw_ladder(stream: BitSource, true_count: int, ladder: Ladder, epsilon: Fraction, size: int = 1) -> IntArray:
    """Draw from the ladder mechanism of a graph, exactly, shape (size,); each draw costs epsilon, from 1/1000 to 1000.

    Draws may be negative.
    """
    _require_epsilon(epsilon)
    at_least("size", size, 0)
    enclosure = _enclose(ladder, epsilon, _WORD)
    drawn = np.empty(size, dtype=np.int64)
    for index in range(size):
        rung = _draw_rung(stream, ladder, epsilon, enclosure)
        value = true_count + _draw_on_rung(stream, ladder, rung)
        drawn[index] = max(-MAX_VALUE, min(MAX_VALUE, value))
    return drawn


def _require_epsilon(epsilon: Fraction) -> None:
    in_range = MIN_EPSILON <= exact("epsilon", epsilon) <= MAX_EPSILON
    require(in_range, "epsilon", "lie between 1/1000 and 1000", epsilon)


@dataclass(frozen=True)
class _Enclosure:
    """Integers below and above the weight of the rungs up to each one, and of all rungs together."""

    low: list[int]
    high: list[int]
    total_low: int
    total_high: int


def _enclose(ladder: Ladder, epsilon: Fraction, digits: int) -> _Enclosure:
    """Sum the weights until the rungs left out weigh less than 2^-digits of the rest."""
    # Products lose less than one unit each; 2^_GUARD of them are never met.
    bits = digits + 2 * _GUARD
    q_low = ExpNegative(epsilon / 2).prefix(bits)
    q_high = q_low + 1
    one = 1 << bits
    low, high = [one], [one]
    power_low = power_high = one
    chunk = 256
    while True:
        for width in ladder.widths(len(low) - 1, chunk).tolist():
            power_low = power_low * q_low >> bits
            power_high = -(-power_high * q_high >> bits)
            low.append(low[-1] + 2 * width * power_low)
            high.append(high[-1] + 2 * width * power_high)
        tail = -(-2 * ladder.largest * power_high * q_high // (one - q_high))
        if tail << digits < low[-1]:
            return _Enclosure(low, high, low[-1], high[-1] + tail)
        chunk = len(low)


def _draw_rung(stream: BitSource, ladder: Ladder, epsilon: Fraction, enclosure: _Enclosure) -> int:
    """The rung t whose part of the total weight holds a uniform real."""
    digits = _WORD
    word = int(stream.uint64(1)[0])
    while True:
        # U lies in [word, word + 1) / 2^digits.
        rung = bisect_right(enclosure.high, word * enclosure.total_low >> digits)
        starts = rung == 0 or enclosure.high[rung - 1] << digits <= word * enclosure.total_low
        inside = starts and rung < len(enclosure.low)
        if inside and (word + 1) * enclosure.total_high <= enclosure.low[rung] << digits:
            return rung
        digits += _WORD
        word = word << _WORD | int(stream.uint64(1)[0])
        enclosure = _enclose(ladder, epsilon, digits)


def _draw_on_rung(stream: BitSource, ladder: Ladder, rung: int) -> int:
    """One of the integers of a rung, as a distance with its sign."""
    if rung == 0:
        return 0
    widths = ladder.widths(0, rung)
    width = int(widths[-1])
    side, place = divmod(int(uniform_below(stream, 2 * width, 1)[0]), width)
    # By Python's integers: a hundred thousand rungs of 2^53 leave 64 bits.
    distance: int = sum(widths[:-1].tolist()) + place + 1
    return distance if side else -distance


def ladder_probability(distance: npt.ArrayLike, ladder: Ladder, epsilon: Fraction) -> FloatArray:
    """The probability of each integer at a distance (with either sign) from the true count, in the distance's shape."""
    widths, weights = _float_rungs(ladder, epsilon)
    ends = np.concatenate([[0], np.cumsum(widths)])
    rung = np.searchsorted(ends, np.abs(np.asarray(distance)), side="left")
    total = 1 + float((2 * widths * weights[1:]).sum())
    return np.asarray(np.where(rung < len(weights), weights[np.minimum(rung, len(weights) - 1)], 0.0) / total)


def ladder_mean_error(ladder: Ladder, epsilon: Fraction) -> float:
    """Expected distance between the draw and the true count.

    For a plan, ``ladder`` is made from an assumed degree, never from the graph.
    """
    widths, weights = _float_rungs(ladder, epsilon)
    masses = 2 * widths * weights[1:]
    middle = np.cumsum(widths) - widths + (widths + 1) / 2
    return float((masses * middle).sum() / (1 + masses.sum()))


def _float_rungs(ladder: Ladder, epsilon: Fraction) -> tuple[FloatArray, FloatArray]:
    """Widths of the rungs 1, 2, ..., and e^(-epsilon t / 2) for the rungs 0, 1, ..."""
    _require_epsilon(epsilon)
    rate = float(epsilon) / 2
    count = int((_FLOAT_REACH + np.log(2.0 * ladder.largest + 2)) / rate) + 2
    return ladder.widths(0, count).astype(np.float64), np.exp(-rate * np.arange(count + 1))
