"""Noise as wide as the smooth sensitivity of the data at hand: Cauchy noise, rounded to integers; pure epsilon.

With a ladder function I_t (see `dplib.mechanisms.ladder`) the *smooth sensitivity* S = max_t I_t e^(-beta t) is at
least the local sensitivity and changes by at most a factor e^beta between neighbours. The release is the integer
nearest to f + s Z with s = S / (epsilon - beta) and Z standard Cauchy.

Privacy. The density at y is proportional to s / (s^2 + (y - f)^2). Its logarithm changes with f at a rate of 2 |y - f|
/ (s^2 + (y - f)^2) <= 1 / s, and with ln s at a rate of ((y - f)^2 - s^2) / ((y - f)^2 + s^2), between -1 and 1.
Neighbours differ by at most S in f and by beta in ln s: (epsilon - beta) + beta = epsilon. Rounding is post-processing.
(Nissim, Raskhodnikova and Smith bound both rates more coarsely and take beta = epsilon / 6 with s = 6 S / epsilon, five
times the noise. beta = epsilon / 6 is kept here.)

The draw is exact: Z = X / Y for a point (X, Y) uniform in the upper half of the unit disk, its coordinates revealed 64
bits at a time; S is enclosed by certified digits of e^(-beta t). Bits are added until the enclosing rectangle lies
inside or outside the disk and gives one integer. No floating-point number decides anything.

The noise has no mean and no variance; half of the errors are below s, 95 % below 12.7 s. s depends on the graph: it
must not be released.

Cost: tens of microseconds a draw, and one pass over I_t up to some ln(cap) / beta.

References:
    Nissim, Raskhodnikova, Smith: Smooth sensitivity and sampling in private data analysis. STOC 2007, definition 2.1,
    lemma 2.5 (admissible noise), example 1 (Cauchy).
    von Neumann: Various techniques used in connection with random digits. 1951 (ratios of uniform variables).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.ladder import Ladder
from dplib.randomness.digits import ExpNegative
from dplib.randomness.integers import BitSource
from dplib.validate import at_least, between, exact

MAX_VALUE = 2**62  # values beyond are cut to it, which is post-processing
_WORD = 64
_CLOSE = 1e-9  # relative; far above the error of the floating-point values compared with it


@dataclass(frozen=True)
class SmoothSensitivity:
    """max_t I_t e^(-beta t), known to any precision.

    Attributes:
        peaks: the (t, I_t) that can be the largest: one, or a few that floating-point numbers cannot tell apart.
        beta: the rate.
    """

    peaks: tuple[tuple[int, int], ...]
    beta: Fraction

    @classmethod
    def of(cls, ladder: Ladder, beta: Fraction) -> "SmoothSensitivity":
        """Find the peaks of the ladder function of one graph."""
        between("beta", exact("beta", beta), Fraction(1, 10**6), Fraction(10**6))
        if ladder.largest == 0:
            return cls(((0, 0),), beta)
        count = int(np.log(ladder.largest + 1.0) / float(beta)) + 2
        while True:
            widths = ladder.widths(0, count)
            with np.errstate(divide="ignore"):
                heights = np.log(widths) - float(beta) * np.arange(count)
            # Beyond, not even the cap comes near what was found. Where all was 0 so far, it goes on: without noise a
            # graph would be told from its neighbours, whose I_t are not 0.
            if np.log(ladder.largest) - float(beta) * count < heights.max() - _CLOSE:
                break
            count *= 2
        near = np.flatnonzero(heights >= heights.max() - _CLOSE)
        # Of equal widths the first is the largest.
        first = {int(widths[t]): int(t) for t in near[::-1]}
        return cls(tuple((t, width) for width, t in first.items()), beta)

    def enclose(self, digits: int) -> tuple[int, int]:
        """Integers ``low <= S 2^digits <= high``."""
        prefixes = [(width, ExpNegative(self.beta * t).prefix(digits), t) for t, width in self.peaks]
        low = max(width * prefix for width, prefix, _ in prefixes)
        return low, max(width * (prefix + (t > 0)) for width, prefix, t in prefixes)

    def __float__(self) -> float:
        return max(width * float(np.exp(-float(self.beta) * t)) for t, width in self.peaks)


def smoothing_rate(epsilon: Fraction) -> Fraction:
    """Beta, the share of epsilon that pays for the change of the scale: one sixth."""
    return between("epsilon", exact("epsilon", epsilon), Fraction(1, 10**5), Fraction(10**5)) / 6


def draw_smooth_cauchy(
    stream: BitSource, true_count: int, ladder: Ladder, epsilon: Fraction, size: int = 1
) -> IntArray:
    """Draw the count with smooth-sensitivity Cauchy noise, exactly, shape (size,); each draw costs epsilon.

    ``true_count`` is f, ``ladder`` I_t of the same graph. Draws may be negative.
    """
    beta = smoothing_rate(epsilon)
    at_least("size", size, 0)
    smooth = SmoothSensitivity.of(ladder, beta)
    drawn = [true_count + _draw_rounded_cauchy(stream, smooth, epsilon - beta) for _ in range(size)]
    return np.array([max(-MAX_VALUE, min(MAX_VALUE, value)) for value in drawn], dtype=np.int64)


def _draw_rounded_cauchy(stream: BitSource, smooth: SmoothSensitivity, alpha: Fraction) -> int:
    """The integer nearest to Z S / alpha."""
    while True:
        digits = _WORD
        x, y, sign = (int(word) for word in stream.uint64(3))
        while True:
            # |X| lies in [x, x + 1) / 2^digits, and Y in the same way.
            edge = 1 << 2 * digits
            if x * x + y * y >= edge:
                break
            if (x + 1) ** 2 + (y + 1) ** 2 <= edge and y > 0:
                low, high = smooth.enclose(digits)
                # |Z| S / alpha + 1/2, as the floor of a fraction rounded down and one rounded up.
                least = _nearest(low * x, alpha, (y + 1) << digits)
                most = _nearest(high * (x + 1), alpha, y << digits)
                if least == most:
                    return least if sign & 1 else -least
            digits += _WORD
            more_x, more_y = (int(word) for word in stream.uint64(2))
            x, y = x << _WORD | more_x, y << _WORD | more_y


def _nearest(numerator: int, alpha: Fraction, denominator: int) -> int:
    """Floor of numerator / (alpha denominator) + 1/2."""
    above, below = numerator * alpha.denominator, denominator * alpha.numerator
    return (2 * above + below) // (2 * below)


def smooth_cauchy_quantile(ladder: Ladder, epsilon: Fraction, share: float) -> float:
    """The error that a ``share`` of the draws stays below: s tan(pi share / 2).

    For a plan, ``ladder`` is made from an assumed degree, never from the graph.
    """
    beta = smoothing_rate(epsilon)
    between("share", share, 0.0, 1.0)
    scale = float(SmoothSensitivity.of(ladder, beta)) / float(epsilon - beta)
    return scale * float(np.tan(np.pi * share / 2))


def smooth_cauchy_probability(distance: npt.ArrayLike, smooth: SmoothSensitivity, alpha: Fraction) -> FloatArray:
    """The probability of each integer at a distance from the true count, in the distance's shape."""
    scale = float(smooth) / float(alpha)
    k = np.asarray(distance, dtype=np.float64)
    if scale == 0:
        return np.asarray(k == 0, dtype=np.float64)
    return np.asarray((np.arctan((k + 0.5) / scale) - np.arctan((k - 0.5) / scale)) / np.pi)
