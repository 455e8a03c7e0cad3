"""Exact discrete Laplace noise: P(k) = tanh(1/(2b)) e^(-|k|/b) for every integer k, scale b rational.

Adding it to a vector of integers with L1 sensitivity D gives (D/b)-differential privacy (Ghosh, Roughgarden,
Sundararajan 2009). The draw is exact: no floating-point number takes part and every tie is resolved, so the
statistical distance tau is 0 and the guarantee stays pure. It holds against readers who cannot tell the keyed stream
from random bits (see `dplib.randomness.keyed`).

The draw is the difference of two geometric variables, P(G = g) = (1 - q) q^g with q = e^(-1/b):

- the binary digits of G are independent, digit i being 1 with probability q^(2^i) / (1 + q^(2^i)), because
  q^g is the product of q^(2^i) over the digits of g that are 1;
- the digits from position I on form floor(G / 2^I), which is geometric with ratio q^(2^I): it is drawn by counting
  successes of Bernoulli(e^(-2^I/b)) before the first failure, so the endless tail is exact too. I is the first
  position with 2^I >= 4b, hence successes are rare (below e^-4) and cost little.

Cost: about 2 (log2 b + 3.5) comparisons of 16 bits a draw (times: `scripts.bench.noise`).

References:
    Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing privacy mechanisms. STOC 2009.
    Balcer, Vadhan: Differential privacy on finite computers. ITCS 2018 (why exact; bits of the geometric variable).
    Mironov: On significance of the least significant bits for differential privacy. CCS 2012.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.randomness.digits import ExpNegative, Logistic, Probability
from dplib.randomness.integers import BernoulliTable, BitSource
from dplib.validate import at_least, exact, require

MIN_SCALE, MAX_SCALE = Fraction(1, 2**100), 2**40
_RARE = 4  # the tail is drawn where its success has probability below e^-4
_CHUNK = 16384  # draws at a time; fits the cache. Part of the sampler format: another value gives other noise
_FEW = 1000  # numbers that one product makes faster than a loop over their digits
_PLACES = 1 << np.arange(62)


def draw_discrete_laplace(stream: BitSource, scale: Fraction, size: int) -> IntArray:
    """Draw independent discrete Laplace variables of scale b from 2^-100 to 2^40, exactly, shape (size,).

    At the largest scale a draw beyond 62 bits has probability below e^(-2^21).

    Raises:
        ConfigError: if the scale is out of range or no exact number.
    """
    _require_scale(scale)
    at_least("size", size, 0)
    drawn = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        part = drawn[start : start + _CHUNK]
        both = draw_geometric(stream, scale, 2 * len(part))
        np.subtract(both[: len(part)], both[len(part) :], out=part)
    return drawn


def _require_scale(scale: Fraction) -> None:
    in_range = isinstance(scale, int | Fraction) and _in_range(scale.numerator, scale.denominator)
    # The words are made where they are needed: a call may draw one variable.
    if not in_range:
        exact("scale", scale)
        require(in_range, "scale", "lie between 2^-100 and 2^40, so that noise fits 64 bits", scale)


def _in_range(numerator: int, denominator: int) -> bool:
    return denominator <= numerator * MIN_SCALE.denominator and numerator <= MAX_SCALE * denominator


@lru_cache(maxsize=4096)
def _digit_laws(scale: Fraction) -> tuple[BernoulliTable, BernoulliTable]:
    """The laws of the digits of a geometric variable with that of the tail's first step; the tail's law alone."""
    digits: list[Probability] = []
    power = Fraction(1)
    while power < _RARE * scale:
        digits.append(Logistic(power / scale))
        power *= 2
    tail = ExpNegative(power / scale)
    return BernoulliTable.from_laws(*digits, tail), BernoulliTable.from_laws(tail)


def draw_geometric(stream: BitSource, scale: Fraction, size: int) -> IntArray:
    """Draw geometric variables, P(g) proportional to e^(-g / scale) for g >= 0, exactly, in one piece; shape (size,).

    The integer part of an exponential variable of mean ``scale`` has this law.
    """
    laws, tail_law = _digit_laws(scale)
    digits = laws.draw(stream, size)
    n_digits = len(digits) - 1
    drawn = _numbers(digits[:n_digits])
    (going_on,) = digits[-1].nonzero()
    while len(going_on):
        drawn[going_on] += 1 << n_digits
        going_on = going_on[tail_law.draw(stream, len(going_on))[0]]
    return drawn


def _numbers(digits: BoolArray) -> IntArray:
    """The integers of binary digits, the lowest first, shape (n_digits, size)."""
    n_digits, size = digits.shape
    if size < _FEW:
        return np.asarray(_PLACES[:n_digits] @ digits)
    drawn = np.zeros(size, dtype=np.int64)
    for low in range(0, n_digits, 8):
        # Eight digits at a time, since arithmetic on bytes is the fastest.
        octet = np.zeros(size, dtype=np.uint8)
        for digit in range(min(low + 8, n_digits) - 1, low - 1, -1):
            octet += octet
            octet |= digits[digit].view(np.uint8)
        drawn |= octet.astype(np.int64) << low
    return drawn


def discrete_laplace_probability(k: npt.ArrayLike, scale: Fraction) -> FloatArray:
    """The probability of each integer of ``k``, in the shape of ``k``."""
    _require_scale(scale)
    rate = float(1 / Fraction(scale))
    return np.asarray(np.tanh(rate / 2) * np.exp(-rate * np.abs(np.asarray(k, dtype=np.float64))))
