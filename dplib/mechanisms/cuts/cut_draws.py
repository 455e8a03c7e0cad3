"""Exact draws from the cuts of a graph up to a bound, P(S) proportional to e^(-r w(S)), from a list or without one.

`ListedCuts` draws from a list. `WeighedCuts` draws from *entries* (`Entries`): groups of entries that stand for cuts,
each cut counted by one entry, with a number of places a group that is only an upper bound of its weight. A draw chooses
a place of all groups uniformly, finds its entry, and keeps it with a chance that corrects what the bounds distorted;
else it starts anew. An entry j is proposed with some chance ``p_j`` and kept with ``c_j e^(-r (w_j - Phi))``, where
``p_j c_j`` is the same for all entries (the promise of `Entries`; Phi is the minimum cut value). So what is kept has a
chance proportional to ``e^(-r w_j)``: the law is exact, however loose the bounds are; only time depends on them.
Entries that count for no cut are dropped, whatever their weight.

Draws that are proposed together are kept in the order in which they were proposed, so that how many there were in a
batch has no influence on the first that are kept.

Exactness: the chance ``c e^(-x)``, with rational c and x, is compared with a uniform real bit by bit; its digits are
certified (`ScaledExponential`). No floating-point number takes part.

References: von Neumann: Various techniques used in connection with random digits. NBS Applied Math. Series 12, 1951
(rejection).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

import numpy as np

from dplib.arrays import IntArray, WordArray
from dplib.mechanisms.exponential import draw_exponential, draw_weighted
from dplib.randomness.digits import ExpNegative, Probability
from dplib.randomness.integers import BernoulliTable, BitSource, uniform_below
from dplib.validate import at_least, positive, require

_MIN_BATCH, _MAX_BATCH = 16, 4096
_STEP_BITS = 128
_FINE = 6  # bounds of e^(-r gap) are at most a factor e^(2^-6) apart, or a unit of weight


class CutSource(Protocol):
    """The cuts of a graph up to a bound."""

    def draw(self, stream: BitSource, size: int, /) -> tuple[IntArray, WordArray]:
        """Independent draws at the source's rate: weights (size,), packed sides (size, n_words).

        Vertex v is bit ``v % 64`` of word ``v // 64``; vertex 0 is in no side. Nothing may fail.
        """


@dataclass(frozen=True, eq=False)
class ListedCuts:
    """A list of all of them, in any order.

    Attributes:
        weights: shape (n_cuts,), at least one.
        packed: sides without vertex 0, shape (n_cuts, n_words).
        rate: r.
    """

    weights: IntArray
    packed: WordArray
    rate: Fraction

    def draw(self, stream: BitSource, size: int, /) -> tuple[IntArray, WordArray]:
        """See `CutSource`; the cuts are sorted first, so that their order does not show."""
        weights, packed = sorted_cuts(self.weights, self.packed)
        drawn = draw_exponential(stream, weights, self.rate, size)
        return weights[drawn], packed[drawn]


def sorted_cuts(weights: IntArray, packed: WordArray) -> tuple[IntArray, WordArray]:
    """The cuts in the order of their packed sides, last word first."""
    require(len(weights) == len(packed), "cuts", "have a side for each weight", "other shapes")
    order = np.lexsort(packed.T)
    return weights[order], packed[order]


class Entry(Protocol):
    """A proposed entry."""

    @property
    def value(self) -> int:
        """w, of the cut it stands for."""

    @property
    def chance(self) -> tuple[int, int]:
        """c, as numerator and denominator."""


E = TypeVar("E", bound=Entry)


class Entries(Protocol[E]):
    """Weighed entries; see the module.

    Attributes:
        totals: the number of places of each group.
    """

    totals: Sequence[int]

    def propose(self, group: int, places: IntArray, below: Callable[[int], int], /) -> Sequence[E]:
        """The entries at places of a group; ``below(b)`` draws uniformly from 0 to b - 1."""

    def packed(self, entry: E, /) -> WordArray | None:
        """The packed side without vertex 0 of the cut that an entry counts for, shape (n_words,); None for others."""


@dataclass(frozen=True, eq=False)
class WeighedCuts(Generic[E]):
    """Entries that stand for all of them.

    Attributes:
        entries: see `Entries`.
        least: Phi.
        rate: r.
    """

    entries: Entries[E]
    least: int
    rate: Fraction

    def draw(self, stream: BitSource, size: int, /) -> tuple[IntArray, WordArray]:
        """See `CutSource`."""
        weights: list[int] = []
        packed: list[WordArray] = []
        proposed, wanted = 0, size
        while wanted > 0:
            # As many as the share kept so far asks for, and some more.
            batch = -(-3 * wanted * (proposed + 1) // (2 * len(weights) + 1))
            batch = min(max(batch, _MIN_BATCH), _MAX_BATCH)
            for weight, words in self._batch(stream, batch):
                weights.append(weight)
                packed.append(words)
            proposed, wanted = proposed + batch, size - len(weights)
        return np.array(weights[:size], dtype=np.int64), np.stack(packed[:size])

    def _batch(self, stream: BitSource, size: int) -> list[tuple[int, WordArray]]:
        """What is kept of ``size`` proposals, in the order in which they were proposed."""
        filled = [group for group, total in enumerate(self.entries.totals) if total]
        totals = [self.entries.totals[group] for group in filled]
        chosen = draw_weighted(stream, [0] * len(filled), totals, Fraction(1), size)
        kept: list[tuple[int, WordArray] | None] = [None] * size
        for place in np.unique(chosen).tolist():
            numbers = np.flatnonzero(chosen == place)
            places = uniform_below(stream, totals[place], len(numbers))
            entries = self.entries.propose(filled[place], places, lambda below: int(uniform_below(stream, below, 1)[0]))
            for number, entry in zip(numbers.tolist(), entries, strict=True):
                words = self.entries.packed(entry)
                if words is None:
                    continue
                kept_by = _acceptance(*entry.chance, self.rate * (entry.value - self.least))
                if kept_by.draw(stream, 1)[0, 0]:
                    kept[number] = entry.value, words
        return [each for each in kept if each is not None]


@dataclass(frozen=True)
class ScaledExponential(Probability):
    """The probability ``numerator / denominator e^-x`` of a rational ``x >= 0``, which must be at most 1."""

    numerator: int
    denominator: int
    x: Fraction

    def __post_init__(self) -> None:
        at_least("numerator", self.numerator, 0)
        at_least("denominator", self.denominator, 1)
        at_least("x", self.x, Fraction(0))

    def prefix(self, n: int) -> int:
        """The integer floor(p 2^n)."""
        if self.x == 0:
            return (self.numerator << n) // self.denominator
        more = max(32, self.numerator.bit_length() - self.denominator.bit_length() + 32)
        while True:
            digits = ExpNegative(self.x).prefix(n + more) * self.numerator
            low, high = (digits >> more) // self.denominator, (digits + self.numerator >> more) // self.denominator
            if low == high:
                return low
            more *= 2


@lru_cache(maxsize=4096)
def _acceptance(numerator: int, denominator: int, x: Fraction) -> BernoulliTable:
    """Kept, since the cuts near the minimum are proposed again and again."""
    return BernoulliTable.from_laws(ScaledExponential(numerator, denominator, x))


def decay_table(rate: Fraction, reach: int, n_positions: int) -> tuple[IntArray, int, int]:
    """Upper bounds of ``e^(-rate gap)`` for gaps from 0 to ``reach``.

    Args:
        rate: r, above 0.
        reach: the largest gap of interest, at least 0.
        n_positions: this many masses of 1, in each of the rows, must add up to less than 2^63.

    Returns:
        ``table``, ``shift`` and ``bits``: an upper bound of ``e^(-rate gap) 2^bits`` is ``table[gap >> shift]``.
    """
    positive("rate", rate)
    at_least("reach", reach, 0)
    bits = max(0, min(28, 62 - 2 * n_positions.bit_length()))
    shift = max(0, (1 / rate).__floor__().bit_length() - 1 - _FINE)
    step = ExpNegative(rate * (1 << shift)).prefix(_STEP_BITS) + 1
    table, bound = [], 1 << _STEP_BITS
    for _ in range((reach >> shift) + 1):
        table.append(-(-bound >> (_STEP_BITS - bits)))
        bound = -((-bound * step) >> _STEP_BITS)
    return np.array(table, dtype=np.int64), shift, bits
