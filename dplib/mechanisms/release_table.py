"""Which keys are released: a table of probabilities by weight, and one exact comparison of integers a key.

Every unit gives each of its d keys the same integer weight, which depends on d alone; the weights of a key add up to W,
and the key is released with probability ``odds[W] / 2^62``. How a table is private: `dplib.mechanisms.renyi_selection`,
`dplib.mechanisms.truncated_geometric`, `dplib.mechanisms.noisy_threshold`.

Guarantee of the draw: U is uniform on 62 bits, keyed BLAKE2b of (W, key) under a sub-key of the round, assumed to be a
pseudorandom function; the key is released where ``U < odds[W]``, so the probability is exactly that of the table. A
retry repeats its decisions; another weight, round or ledger entry never shares one.

Cost: a hash a key, about a microsecond.

Reference: RFC 7693 (BLAKE2, whose keyed mode is a pseudorandom function).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from hashlib import blake2b
from typing import Protocol

import numpy as np

from dplib.arrays import BoolArray, IntArray
from dplib.randomness.keyed import Key, derive_key

ODDS_BITS = 62
ONE = 1 << ODDS_BITS
"""Probability 1 in units of 2^-62."""
SELECTION_FORMAT = 1
"""Raised when equal settings, keys and weights would come to give other decisions."""


class Selector(Protocol):
    """One round's decisions."""

    @property
    def weights(self) -> tuple[int, ...]:
        """What a unit of d keys adds to each of them, at place d - 1."""

    def odds_of(self, weight: int) -> int:
        """How likely a key of this weight is released, in units of 2^-62."""

    def release(self, uniforms: IntArray, weights: IntArray) -> tuple[BoolArray, IntArray | None]:
        """Decide on keys of these weights, shape (n,): which are released, and noisy weights if there are any."""


@dataclass(frozen=True, eq=False)
class ReleaseTable:
    """Probabilities by weight.

    Attributes:
        weights: what a unit of d keys adds to each of them, at place d - 1; not increasing.
        odds: shape (n,), in units of 2^-62, not decreasing; the last one holds for all larger weights too.
    """

    weights: tuple[int, ...]
    odds: IntArray

    def odds_of(self, weight: int) -> int:
        """How likely a key of this weight is released, in units of 2^-62."""
        return int(self.odds[min(weight, len(self.odds) - 1)])

    def release(self, uniforms: IntArray, weights: IntArray) -> tuple[BoolArray, None]:
        """Decide on keys of these weights, shape (n,)."""
        released: BoolArray = uniforms < self.odds[np.minimum(weights, len(self.odds) - 1)]
        return released, None


def draw_uniforms(key: Key, number: int, keys: Iterable[bytes], weights: IntArray) -> IntArray:
    """Uniform integers below 2^62 for one round, shape (n,); the same for the same key and weight.

    Args:
        key: of this ledger entry and its settings; at least 32 bytes.
        number: of the round, which no other draw under the key shares.
        keys: the keys' bytes.
        weights: their exact weights, shape (n,).
    """
    own = derive_key(key, "key selection", number)
    # Weights have a fixed length and come first, so that different pairs are different messages.
    packed = np.ascontiguousarray(weights, "<i8").tobytes()
    rows = enumerate(keys)
    drawn = b"".join(blake2b(packed[8 * i : 8 * i + 8] + text, key=own, digest_size=8).digest() for i, text in rows)
    return (np.frombuffer(drawn, "<u8") >> np.uint64(64 - ODDS_BITS)).astype(np.int64)


def release_probability(rounds: Iterable[Selector], n_units: int, n_keys: int) -> Fraction:
    """How likely a key is released in any round which ``n_units`` units hold, each with ``n_keys`` keys."""
    kept = Fraction(1)
    for each in rounds:
        kept *= 1 - Fraction(each.odds_of(n_units * each.weights[n_keys - 1]), ONE)
    return 1 - kept


def units_needed(rounds: Iterable[Selector], n_keys: int, probability: Fraction) -> int:
    """The least number of units of ``n_keys`` keys each that have a key of theirs released this likely."""
    chosen = tuple(rounds)
    high = 1
    while release_probability(chosen, high, n_keys) < probability:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if release_probability(chosen, middle, n_keys) >= probability else (middle, high)
    return high
