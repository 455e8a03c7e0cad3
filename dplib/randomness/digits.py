"""Probabilities as certified binary digits: floor(p 2^n) for any n, by integer arithmetic only.

A Bernoulli(p) draw compares a uniform real U, revealed a word at a time, with p. It is exact if the digits of p are:
``prefix(n)`` returns floor(p 2^n) with certainty. For e^-x, 1/(1 + e^x) and m/(m + e^x), x rational, both ends of an
enclosure of e^x are computed with integers rounded outwards, and the precision grows until both ends give the same
digits. This ends because e^x is irrational for rational x other than 0 (Lindemann 1882), so p 2^n is never an integer.

Cost: tens of microseconds for 100 digits; prefixes are cached by the callers that repeat them.

References:
    Ziv: Fast evaluation of elementary mathematical functions with correctly rounded last bit. ACM TOMS 17(3), 1991.
    Brent, Zimmermann: Modern Computer Arithmetic. Cambridge, 2010, section 4.3 (argument reduction).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from dplib.validate import at_least, positive

_ARGUMENT_BITS = 8  # the series runs on an argument below 2^-8
_FIRST_GUARD_BITS = 32


class Probability(ABC):
    """A real number in [0, 1] whose binary digits can be had to any length."""

    @abstractmethod
    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""


@dataclass(frozen=True)
class ExpNegative(Probability):
    """The probability e^-x of a rational ``x >= 0``."""

    x: Fraction

    def __post_init__(self) -> None:
        at_least("x", self.x, Fraction(0))

    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""
        if self.x == 0:
            return 1 << n
        return _reciprocal_prefix(self.x, 0, n)


@dataclass(frozen=True)
class Logistic(Probability):
    """The probability 1 / (1 + e^x) = e^-x / (1 + e^-x) of a rational ``x >= 0``."""

    x: Fraction

    def __post_init__(self) -> None:
        at_least("x", self.x, Fraction(0))

    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""
        if self.x == 0:
            return (1 << n) // 2
        return _reciprocal_prefix(self.x, 1, n)


@dataclass(frozen=True)
class Odds(Probability):
    """The probability m / (m + e^x) of any of m others against one of weight e^x; ``m >= 1``, rational ``x > 0``."""

    m: int
    x: Fraction

    def __post_init__(self) -> None:
        at_least("m", self.m, 1)
        positive("x", self.x)

    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""
        return _reciprocal_prefix(self.x, self.m, n, self.m)


def _reciprocal_prefix(x: Fraction, plus: int, n: int, times: int = 1) -> int:
    """Floor of times 2^n / (plus + e^x), for rational x > 0."""
    if x >= n + times.bit_length():
        # times e^-x < times 2^-(n + bits) < 2^-n; this also keeps the cost of a huge x bounded.
        return 0
    guard = _FIRST_GUARD_BITS
    while True:
        bits = n + guard
        low, high = _exp_enclosure(x, bits)
        shift, one = bits + n, plus << bits
        least, most = (times << shift) // (one + high), (times << shift) // (one + low)
        if least == most:
            return least
        guard *= 2


def _exp_enclosure(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers ``low <= e^x 2^bits <= high`` for rational x >= 0, close together."""
    # e^x = (e^(x / 2^halvings))^(2^halvings), with an argument below 2^-_ARGUMENT_BITS.
    halvings = max(0, (x.numerator // x.denominator).bit_length() + _ARGUMENT_BITS)
    work = bits + 2 * halvings
    low_y = (x.numerator << work) // (x.denominator << halvings)
    high_y = low_y + 1
    low, low_term = 1 << work, 1 << work
    high, high_term = 1 << work, 1 << work
    k = 0
    while high_term > 1:
        k += 1
        low_term = (low_term * low_y >> work) // k
        high_term = -(-high_term * high_y // (k << work))
        low += low_term
        high += high_term
    # The terms left out are each less than half the one before: together below the last one kept.
    high += high_term
    for _ in range(halvings):
        low = low * low >> work
        high = -(-high * high >> work)
    extra = work - bits
    return low >> extra, -(-high >> extra)
