"""Exact integer and Bernoulli draws from a keyed stream, vectorised.

A Bernoulli(p) draw is the comparison U < p with a uniform real U that is revealed lazily: a first word of 16 bits
decides unless it equals the leading digits of p; then further words of 64 bits are read until one differs. No digit
of p is rounded, so the law is exact (statistical distance 0), and a tie costs a few microseconds once in 65,536
draws.

Cost: a few nanoseconds a draw beside the ties.

References:
    Knuth, Yao: The complexity of nonuniform random number generation. Algorithms and Complexity, 1976 (lazy bits).
    Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy. NeurIPS 2020, section 5.1
    (exact Bernoulli(e^-x); here by digits of e^-x, not by their von Neumann loop).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, IntArray, Word32Array, WordArray
from dplib.randomness.digits import ExpNegative, Probability
from dplib.validate import at_least, between

_WORD = 16
_TIE_WORD = 64
_TIE_MASK = (1 << _TIE_WORD) - 1


class BitSource(Protocol):
    """What the samplers read: independent uniform words, as `dplib.randomness.keyed.KeyedStream` gives them."""

    def uint16(self, size: int, /) -> npt.NDArray[np.uint16]:
        """The next ``size`` words of 16 bits."""

    def uint32(self, size: int, /) -> Word32Array:
        """The next ``size`` words of 32 bits."""

    def uint64(self, size: int, /) -> WordArray:
        """The next ``size`` words of 64 bits."""


@dataclass(frozen=True, eq=False)
class BernoulliTable:
    """Independent Bernoulli laws, one a row, with the digits that decide nearly every draw.

    Attributes:
        laws: the probabilities.
        first: their first 16 digits, 0 for probability 1, shape (n_laws, 1).
        second: their next 64 digits, shape (n_laws,).
        sure: where the probability is 1, shape (n_laws,).
        any_sure: whether it is anywhere.
    """

    laws: tuple[Probability, ...]
    first: npt.NDArray[np.uint16]
    second: WordArray
    sure: BoolArray
    any_sure: bool

    @classmethod
    def from_laws(cls, *laws: Probability) -> Self:
        """Compute the digits; some 50 microseconds a law."""
        prefixes = [law.prefix(_WORD + _TIE_WORD) for law in laws]
        first = np.array([prefix >> _TIE_WORD for prefix in prefixes], dtype=np.uint32)
        # 2^16, the first digits of probability 1, does not fit a word.
        sure = first == 1 << _WORD
        return cls(
            laws=laws,
            first=np.where(sure, 0, first).astype(np.uint16)[:, np.newaxis],
            second=np.array([prefix & _TIE_MASK for prefix in prefixes], dtype=np.uint64),
            sure=sure,
            any_sure=bool(sure.any()),
        )

    def draw(self, stream: BitSource, size: int) -> BoolArray:
        """Draw ``size`` independent variables of each law, shape (n_laws, size)."""
        at_least("size", size, 0)
        words = stream.uint16(len(self.laws) * size).reshape(len(self.laws), size)
        drawn: BoolArray = words < self.first
        (tied,) = (words == self.first).ravel().nonzero()
        if len(tied):
            row, column = np.divmod(tied, size)
            second, more = self.second[row], stream.uint64(len(tied))
            drawn[row, column] = more < second
            for tie in np.flatnonzero(more == second):
                law = self.laws[row[tie]]
                drawn[row[tie], column[tie]] = resolve_ties(stream, law, _WORD + _TIE_WORD, 1)[0]
        if self.any_sure:
            drawn[self.sure] = True
        return drawn


def uniform_below(stream: BitSource, bound: int, size: int) -> IntArray:
    """Draw uniform integers ``0 <= k < bound``, at most 2^63, by rejection from words of 64 bits, shape (size,)."""
    between("bound", bound, 0, 2**63 + 1)
    at_least("size", size, 0)
    accepted = 2**64 // bound * bound  # the words below it fall into `bound` classes of equal size
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        words = stream.uint64(size - filled)
        if accepted < 2**64:
            words = words[words < np.uint64(accepted)]
        drawn[filled : filled + len(words)] = words % np.uint64(bound)
        filled += len(words)
    return drawn


def bernoulli_exp(stream: BitSource, gamma: Fraction, size: int) -> BoolArray:
    """Draw Bernoulli(e^-gamma) for a rational gamma >= 0, shape (size,)."""
    drawn: BoolArray = BernoulliTable.from_laws(ExpNegative(gamma)).draw(stream, size)[0]
    return drawn


def resolve_ties(stream: BitSource, probability: Probability, known: int, size: int) -> BoolArray:
    """Decide U < p for uniform reals U whose first ``known`` bits are those of p, shape (size,)."""
    drawn = np.zeros(size, dtype=np.bool_)
    open_draws = np.arange(size)
    while len(open_draws):
        known += _TIE_WORD
        threshold = np.uint64(probability.prefix(known) & _TIE_MASK)
        words = stream.uint64(len(open_draws))
        drawn[open_draws] = words < threshold
        open_draws = open_draws[words == threshold]
    return drawn
