"""Exact discrete Gaussian noise: P(k) proportional to e^(-k^2 / (2 sigma^2)) for every integer k, sigma^2 rational.

Adding it to a vector of integers with L2 sensitivity D gives (D^2 / (2 sigma^2))-zCDP (Canonne, Kamath, Steinke 2020,
theorem 14 for vectors). The draw is exact, tau = 0; it holds against readers who cannot tell the keyed stream from
random bits (see `dplib.randomness.keyed`).

The draw is their rejection (algorithm 3): with t = floor(sigma) + 1, propose Y from the discrete Laplace law of
scale t and accept with probability e^(-g), g = (|Y| - sigma^2/t)^2 / (2 sigma^2). The acceptance compares a uniform
real U with e^(-g). The first 32 bits of U against e^(-g) in floating point decide nearly always: they count only
where they differ by more than 2^-33, a thousand times and more the error of the floating-point value. The few others,
one in 2^31, are decided by the certified digits of e^(-g) at the exact rational g, with as many bits of U as it takes.

Why 2^-33 is safe: with u = 2^-53, d = |Y| - sigma^2/t has an error below 2u max(|Y|, sigma^2/t). Where |d| <= 10 sigma,
max(|Y|, sigma^2/t) <= 11 sigma because sigma^2/t <= sigma, and g has an error below 500u. Elsewhere e^(-g) itself is
below e^-50. The exponential function of any C library is right to 2^-45; the sum stays below 2^-43.

Cost: about 1.3 proposals of the discrete Laplace law and one exponential each (times: `scripts.bench.noise`).

References:
    Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy. NeurIPS 2020, algorithm 3, theorem 14.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.randomness.digits import ExpNegative
from dplib.randomness.integers import BitSource, resolve_ties
from dplib.validate import at_least, exact, require

MIN_SIGMA_SQUARED, MAX_SIGMA_SQUARED = Fraction(1, 2**100), 2**78
_WORD = 32
_MARGIN = 0.5  # in units of 2^-32
_CHUNK = 16384  # proposals at a time; part of the sampler format
_SMOOTH = 4  # from this sigma^2 on, sums over the integers equal the integrals to within e^(-2 pi^2 4) < 1e-34


def draw_discrete_gaussian(stream: BitSource, sigma_squared: Fraction, size: int) -> IntArray:
    """Draw independent discrete Gaussian variables of sigma^2 from 2^-100 to 2^78, exactly, shape (size,).

    Raises:
        ConfigError: if the parameter is out of range or no exact number.
    """
    at_least("size", size, 0)
    acceptance = _acceptance(exact("sigma_squared", sigma_squared))
    drawn = np.empty(size, dtype=np.int64)
    filled = 0
    while filled < size:
        wanted = size - filled
        proposals = draw_discrete_laplace(stream, acceptance.scale, min(_CHUNK, wanted + wanted // 2 + 16))
        kept = proposals[_accept(stream, np.abs(proposals), acceptance)][:wanted]
        drawn[filled : filled + len(kept)] = kept
        filled += len(kept)
    return drawn


def _require_parameter(sigma_squared: Fraction) -> None:
    in_range = MIN_SIGMA_SQUARED <= exact("sigma_squared", sigma_squared) <= MAX_SIGMA_SQUARED
    require(in_range, "sigma_squared", "lie between 2^-100 and 2^78, so that noise fits 64 bits", sigma_squared)


def _proposal_scale(sigma_squared: Fraction) -> int:
    return isqrt(sigma_squared.numerator // sigma_squared.denominator) + 1


class _Acceptance(NamedTuple):
    """What a proposal meets: t, then sigma^2 and sigma^2 / t, exactly, then sigma^2 / t and -1 / (2 sigma^2) nearly."""

    scale: Fraction
    sigma_squared: Fraction
    centre: Fraction
    near_centre: float
    rate: float


@lru_cache(maxsize=1024)
def _acceptance(sigma_squared: Fraction) -> _Acceptance:
    """Checked and worked out once for each parameter: a call may draw one variable."""
    _require_parameter(sigma_squared)
    scale = Fraction(_proposal_scale(sigma_squared))
    centre = sigma_squared / scale
    return _Acceptance(scale, sigma_squared, centre, float(centre), -0.5 / float(sigma_squared))


def _accept(stream: BitSource, magnitudes: IntArray, acceptance: _Acceptance) -> BoolArray:
    """Draw Bernoulli(e^(-g)) for each magnitude |Y|, exactly; shape (len(magnitudes),)."""
    words = stream.uint32(len(magnitudes))
    # U lies in [words, words + 1) * 2^-32; excess is words - 2^32 e^(-g). In place: the passes are the cost.
    excess = magnitudes - acceptance.near_centre
    excess *= excess
    excess *= acceptance.rate
    np.exp(excess, out=excess)
    excess *= -(2.0**_WORD)
    excess += words
    excess += 0.5
    accepted: BoolArray = excess < 0
    for index in np.flatnonzero(np.abs(excess, out=excess) < 0.5 + _MARGIN):
        law = ExpNegative((int(magnitudes[index]) - acceptance.centre) ** 2 / (2 * acceptance.sigma_squared))
        word, threshold = int(words[index]), law.prefix(_WORD)
        accepted[index] = word < threshold or (word == threshold and resolve_ties(stream, law, _WORD, 1)[0])
    return accepted


def discrete_gaussian_probability(k: npt.ArrayLike, sigma_squared: Fraction) -> FloatArray:
    """The probability of each integer of ``k``, in the shape of ``k``."""
    _require_parameter(sigma_squared)
    square = float(sigma_squared)
    total = np.sqrt(2 * np.pi * square) if sigma_squared >= _SMOOTH else _sum_of_weights(square)
    return np.asarray(np.exp(-(np.asarray(k, dtype=np.float64) ** 2) / (2 * square)) / total)


def _sum_of_weights(square: float) -> float:
    """Of all integers of weight above 1e-300 for a sigma^2 below `_SMOOTH`."""
    return float(np.exp(-(np.arange(-80.0, 81.0) ** 2) / (2 * square)).sum())
