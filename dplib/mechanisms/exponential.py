"""The exponential mechanism over integer losses, drawn exactly: P(j) proportional to m_j e^(-r s_j).

Losses ``s`` are integers (smaller is better), multiplicities ``m`` positive integers (how many candidates share an
entry), the rate ``r`` an exact fraction. The set of candidates must be fixed before the data are looked at.

Guarantee. Let one privacy unit move every loss by at most D. With ``r = epsilon / (2 D)`` one draw is epsilon-private;
where all losses move in the same direction (`monotone`: adding an edge never lowers a cut), ``r = epsilon / D`` is.
Proof: for neighbours with losses s and s', ``ln P(j) - ln P'(j) = r (s'_j - s_j) + ln(Z' / Z)``. The first term lies
in an interval of length 2 r D (monotone: r D), which is epsilon; ``ln(Z' / Z)`` is minus the logarithm of the mean of
e^(r (s' - s)) under P', hence minus a point of the same interval. So the whole is at most epsilon in absolute value,
and as a function of j its range is at most epsilon (*bounded range*). Bounded range epsilon implies
(epsilon^2 / 8)-zCDP, a quarter of what pure epsilon implies (`exponential_rho`). An entry of multiplicity m stands for
m candidates of one loss, so the statement is about the candidates; which of them is drawn is uniform.

Which neighbours. Only the length of the interval counts. A loss that is a sum over rows of numbers from 0 to L is
monotone when a row is *added or removed*: the moves lie in [0, L] or in [-L, 0], r = epsilon / L. When a row is
*replaced* it is not: the moves are differences of two such numbers, in [-L, L], r = epsilon / (2 L). Between graphs,
one edge more or less, or all edges of one vertex, is monotone where each edge can only add.

Exactness. A draw inverts the distribution function at a uniform real U that is revealed in words of 64 bits.
The values F_g of the distribution function are enclosed between certified integers (all roundings outwards); a word
decides unless it meets an enclosure, then both U and the enclosures get 64 more bits. No floating-point number takes
part, ties in the losses are drawn as uniform integers, so the statistical distance is 0 and a pure claim stays pure.
The loop ends with probability 1, since the enclosures shrink to points and U is continuous. As everywhere, it holds
against readers who cannot tell the keyed stream from random bits.

Cost: one pass or sort of the losses, some 6 microseconds a different loss within ``200 / r`` of the least, a pass for
each different loss drawn.

References:
    McSherry, Talwar: Mechanism design via differential privacy. FOCS 2007.
    Durfee, Rogers: Practical differentially private top-k selection with pay-what-you-get composition. NeurIPS 2019,
    section 4 (bounded range, monotone losses).
    Cesar, Rogers: Bounding, concentrating, and truncating: unifying privacy loss composition for data analytics.
    ALT 2021 (bounded range epsilon implies epsilon^2 / 8 of zCDP).
    Ilvento: Implementing the exponential mechanism with base-2 differential privacy. CCS 2020 (why exact).
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import floor

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray, WordArray
from dplib.randomness.digits import ExpNegative
from dplib.randomness.integers import BitSource, uniform_below
from dplib.validate import at_least, exact_positive, positive, require

_WORD = 64
_GUARD = 64  # digits beyond the words read: an enclosure is met once in 2^60 draws or so
_MAX_WORD = (1 << _WORD) - 1


def exponential_rate(epsilon: Fraction, sensitivity: Fraction, *, monotone: bool) -> Fraction:
    """The rate r that makes one draw epsilon-private: ``epsilon / D`` for monotone losses, else ``epsilon / (2 D)``."""
    rate = positive("epsilon", epsilon) / positive("sensitivity", sensitivity)
    return rate if monotone else rate / 2


def draw_exponential(stream: BitSource, losses: IntArray, rate: Fraction, size: int = 1) -> IntArray:
    """Draw candidates of these losses, int64, independently, with replacement; their positions, shape (size,).

    Raises:
        ConfigError: if there is no candidate, or the losses or the rate are no exact numbers.
    """
    _require_losses(losses)
    distinct, times = count_losses(losses)
    groups = draw_weighted(stream, distinct.tolist(), times.tolist(), rate, size)
    drawn = np.empty(size, dtype=np.int64)
    for group in np.unique(groups).tolist():
        here = np.flatnonzero(groups == group)
        members = np.flatnonzero(losses == distinct[group])
        drawn[here] = members[uniform_below(stream, len(members), len(here))]
    return drawn


def count_losses(losses: IntArray) -> tuple[IntArray, IntArray]:
    """The different losses in increasing order, and how many candidates have each."""
    low, high = int(losses.min()), int(losses.max())
    if high - low > 4 * len(losses):
        distinct, times = np.unique(losses, return_counts=True)
        return distinct, times.astype(np.int64)
    # Eight million cuts have a few thousand different values: counting them beats sorting.
    times = np.bincount(losses - low)
    present = np.flatnonzero(times)
    return present + low, times[present].astype(np.int64)


def draw_weighted(
    stream: BitSource, losses: Sequence[int], multiplicities: Sequence[int], rate: Fraction, size: int = 1
) -> IntArray:
    """Draw entries independently, entry g standing for ``multiplicities[g]`` candidates of loss ``losses[g]``.

    Losses do not decrease; multiplicities are integers above 0 of any size.

    Returns:
        Positions of the drawn entries, shape (size,); which of the entry's candidates is left to the caller.

    Raises:
        ConfigError: if there is no entry, or the numbers are others.
    """
    _require_entries(losses, multiplicities, rate)
    at_least("size", size, 0)
    words = stream.uint64(size)
    low, high = _thresholds(losses, multiplicities, rate, _WORD)
    # U >= F_g surely where the word is above the upper end, surely not where it is below the lower end.
    surely = np.searchsorted(_clipped(high), words, side="left")
    possibly = np.searchsorted(_clipped(low), words, side="right")
    drawn = surely.astype(np.int64)
    for tie in np.flatnonzero(surely != possibly):
        drawn[tie] = _resolve(stream, losses, multiplicities, rate, int(words[tie]))
    return drawn


def exponential_probability(losses: npt.ArrayLike, rate: Fraction, multiplicities: npt.ArrayLike = 1) -> FloatArray:
    """The probability of each entry in floating point, along the last axis of ``losses``; for plans and tests."""
    exponents = -float(rate) * np.asarray(losses, dtype=np.float64)
    weights = np.asarray(multiplicities) * np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _resolve(stream: BitSource, losses: Sequence[int], multiplicities: Sequence[int], rate: Fraction, word: int) -> int:
    """Read more words until U lies in no enclosure; the position of its entry."""
    bits = _WORD
    while True:
        bits += _WORD
        word = word << _WORD | int(stream.uint64(1)[0])
        low, high = _thresholds(losses, multiplicities, rate, bits)
        surely = sum(end < word for end in high)
        if surely == sum(end <= word for end in low):
            return surely


def _thresholds(
    losses: Sequence[int], multiplicities: Sequence[int], rate: Fraction, bits: int
) -> tuple[list[int], list[int]]:
    """Integers around F_g 2^bits for all entries but the last, whose F is 1: floors of a lower and an upper bound.

    Entries of negligible weight have one enclosure in common, at the end: a word in it calls for more bits, and with
    more bits fewer entries are negligible. So eight million different losses cost no more than the few that count.
    """
    many = sum(multiplicities).bit_length()
    negligible = bits + _GUARD + many
    near = bisect_right(losses, losses[0] + floor(Fraction(negligible) / rate))
    low, high = _weights(losses[:near], multiplicities[:near], rate, bits + _GUARD + many)
    low_sum, high_sum = list(accumulate(low)), list(accumulate(high))
    # Entries further away hold less than e^(-negligible) each, hence all together less than 2^(many - negligible).
    beyond = (high[0] // multiplicities[0] >> negligible - many) + 1 if near < len(losses) else 0
    below, above = [], []
    for low_part, high_part in zip(low_sum, high_sum, strict=True):
        # F = part / (part + rest) grows with the part and falls with the rest.
        below.append((low_part << bits) // (low_part + high_sum[-1] - high_part + beyond))
        above.append((high_part << bits) // (high_part + low_sum[-1] - low_part))
    if near == len(losses):
        return below[:-1], above[:-1]
    # All values of F further away lie between the last one and 1.
    return [*below, below[-1]], [*above, 1 << bits]


def _weights(
    losses: Sequence[int], multiplicities: Sequence[int], rate: Fraction, bits: int
) -> tuple[list[int], list[int]]:
    """Integers around ``m_g e^(-r (s_g - s_0)) 2^bits``, by multiplying from loss to loss."""
    bits += len(losses).bit_length()
    factors: dict[int, tuple[int, int]] = {0: (1 << bits, 1 << bits)}
    low = high = 1 << bits
    lows, highs = [], []
    before = losses[0]
    for loss, times in zip(losses, multiplicities, strict=True):
        gap, before = loss - before, loss
        if gap not in factors:
            digits = _exp_digits(rate, gap, bits)
            factors[gap] = (digits, digits + 1)
        low_factor, high_factor = factors[gap]
        low = low * low_factor >> bits
        high = -(-high * high_factor >> bits)
        lows.append(times * low)
        highs.append(times * high)
    return lows, highs


@lru_cache(maxsize=1024)
def _exp_digits(rate: Fraction, gap: int, bits: int) -> int:
    """Floor of ``e^(-rate gap) 2^bits``; kept, since successive draws ask for the same gaps."""
    return ExpNegative(rate * gap).prefix(bits)


def _clipped(ends: Sequence[int]) -> WordArray:
    """Ends as words; 2^64 means a bound of 1, which no word is above, as none is above the largest word."""
    return np.array([min(end, _MAX_WORD) for end in ends], dtype=np.uint64)


def _require_losses(losses: IntArray) -> None:
    fits = losses.dtype == np.int64 and losses.ndim == 1 and len(losses) > 0
    require(fits, "losses", "be 64-bit integers, one a candidate", f"{losses.dtype} of {losses.ndim} dimensions")


def _require_entries(losses: Sequence[int], multiplicities: Sequence[int], rate: Fraction) -> None:
    exact_positive("rate", rate)
    require(len(losses) > 0, "losses", "hold at least one entry", "none")
    require(len(multiplicities) == len(losses), "multiplicities", "be as many as the losses", "another number")
    require(min(multiplicities) > 0, "multiplicities", "be above 0", "one that is not")
    ordered = all(one <= other for one, other in pairwise(losses))
    require(ordered, "losses", "not decrease", "a smaller one after a larger one")
