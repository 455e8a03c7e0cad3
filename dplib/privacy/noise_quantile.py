"""The half width of a 95 % interval of an answer: the quantile of the very law of its noise, not the normal one.

An answer is a weighted sum of independent draws, ``E = sum_i c_i Z_i``, each discrete Laplace or discrete Gaussian. Its
law follows from the settings alone, so its quantile may be published. ``1.96`` standard errors would hold the truth in
93.7 of 100 cases where one Laplace draw decides (its quantile is ``ln(20) / sqrt(2) = 2.12`` standard errors), in 92.7
at scale 1, and in fewer yet where the steps of smaller scales fall badly.

*Equal coefficients* ``c``: E lies on the multiples of c. The probabilities are the Fourier coefficients of the product
of the characteristic functions, exact up to arithmetic; the half width is the least multiple that holds 95 %.

*Other coefficients*: the characteristic function of E, times that of a normal variable of 1/300 of its standard
deviation, is turned into probabilities on a fine grid; where steps of the law are wide against that, the half width is
raised by three of these deviations, so that no step is cut. The `MAX_GROUPS` groups of draws with the largest fourth
cumulants enter exactly, the rest as a normal variable of its variance (its own fourth cumulant is less than that of any
group kept).

*Many draws*: where no draw decides and the fourth cumulant is small against the squared variance, the normal quantile
is right to 0.05 % of coverage and is used.

Guarantee: coverage of at least 95 %, and at most what the width of the law's steps forces more (tests: 95 to 95.5 %
where steps are narrow). Cost: milliseconds a new law; answers with the same law are remembered.

Notation: ``q = e^(-1/b)``; ``c`` coefficients; ``v`` variances; excess kurtosis ``sum c^4 k4 / (sum c^2 v)^2``.

References:
    Inusah, Kozubowski, "A discrete analogue of the Laplace distribution", J. Statist. Plann. Inference 136, 2006.
    Davies, "Numerical inversion of a characteristic function", Biometrika 60(2), 1973 (period and step of the grid).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.polynomial.chebyshev import chebval

from dplib.arrays import FloatArray, IntArray
from dplib.privacy.noise import Law, Noise

LEVEL = 0.95
Z95 = 1.959963984540054
"""Half width of a 95 % interval of normal noise, in standard errors."""
_LAPLACE95 = math.log(20) / math.sqrt(2)
"""The same of one wide Laplace draw: a sum of such draws has a smaller one (found over all sums of the tests)."""
MAX_GROUPS = 48
"""Kinds of draws that enter an answer's law exactly."""
MAX_EXACT = 12
"""Points of a chart whose half widths are worked out."""
_FEW_DRAWS, _MANY_DRAWS = 8, 64
_SMALL = 1e-3
_DIGITS = 9
_PERIOD = 32.0
_STEPS = 1 << 14
_SMOOTHING = 1 / 300
_FINE = 60.0
_WIDE_LATTICE = 4_000.0
_STILL = 0.999
"""Probability of no noise from which the rest, however far out, is left to the last part of a thousandth."""
_LOST = -120.0
"""Of a logarithm: 1e-52, which adds nothing to a probability in double precision."""


@dataclass(frozen=True, order=True)
class DrawLaw:
    """The law of one draw.

    Attributes:
        mechanism: ``discrete_laplace``, ``discrete_gaussian``, or ``normal`` for what many small draws add up to.
        parameter: scale b, sigma^2, or the variance.
    """

    mechanism: str
    parameter: float

    @classmethod
    def of(cls, noise: Noise) -> "DrawLaw":
        """The law of one draw of a release's noise."""
        return cls(noise.law.value, float(noise.parameter))

    @property
    def variance(self) -> float:
        """Of one draw."""
        if self.mechanism == "normal":
            return self.parameter
        return Law(self.mechanism).variance(Fraction(self.parameter))

    @property
    def _is_normal(self) -> bool:
        return self.mechanism == "normal" or self.parameter >= _SPREAD

    @property
    def fourth_cumulant(self) -> float:
        """Of one draw; 0 of Gaussian noise that is wide against the integers."""
        if self.mechanism == Law.LAPLACE:
            return 3 * self.variance**2 + self.variance
        if self._is_normal:
            return 0.0
        values, mass = _gaussian_masses(self.parameter)
        return float((mass * values**4).sum() - 3 * (mass * values**2).sum() ** 2)

    @property
    def log_still(self) -> float:
        """Logarithm of the probability that a draw is 0; minus infinity of a law that is, or is like, a normal one."""
        if self.mechanism == Law.LAPLACE:
            return math.log(math.tanh(1 / (2 * self.parameter)))
        if self._is_normal:
            return -math.inf
        values, mass = _gaussian_masses(self.parameter)
        return math.log(mass[values == 0].item())

    def log_characteristic(self, at: FloatArray) -> FloatArray:
        """Logarithm of ``E cos(t Z)``, which is above 0; the shape of ``at``."""
        if self.mechanism == Law.LAPLACE:
            gap = -math.expm1(-1 / self.parameter)
            ratio = 4 * math.exp(-1 / self.parameter) / gap**2
            return np.asarray(-np.log1p(ratio * np.sin(at / 2) ** 2))
        if self.mechanism == "normal":
            return np.asarray(-self.parameter * at**2 / 2)
        if not self._is_normal:
            values, mass = _gaussian_masses(self.parameter)
            # Both sides are alike, and what is far out adds nothing: a page asks for this of thousands of draws.
            # Cosines of multiples of t are the Chebyshev polynomials of the cosine of t.
            ahead = mass[(values > 0) & (mass > 1e-20)]
            found = chebval(np.cos(at), np.concatenate([mass[values == 0], 2 * ahead]))
            return np.asarray(np.log(np.maximum(found, 1e-300)))
        folded = np.remainder(at + np.pi, 2 * np.pi) - np.pi
        return np.asarray(-self.parameter * folded**2 / 2)


_SPREAD = 4.0
"""From this sigma^2 on discrete Gaussian noise has the moments of the normal law to 1e-16 (Poisson summation)."""


def _gaussian_masses(sigma_squared: float) -> tuple[FloatArray, FloatArray]:
    values = np.arange(-27.0, 28.0)
    mass = np.exp(-(values**2) / (2 * sigma_squared))
    return values, mass / mass.sum()


@dataclass(frozen=True)
class Draws:
    """Draws of one law that enter an answer with one coefficient up to its sign.

    Attributes:
        law: of each.
        coefficient: above 0.
        count: how many.
    """

    law: DrawLaw
    coefficient: float
    count: float

    @property
    def variance(self) -> float:
        """What they add to the answer's variance."""
        return self.count * self.coefficient**2 * self.law.variance

    @property
    def fourth(self) -> float:
        """What they add to its fourth cumulant."""
        return self.count * self.coefficient**4 * self.law.fourth_cumulant


def std_error(draws: Sequence[Draws]) -> float:
    """Standard error of an answer, in its own units."""
    return math.sqrt(math.fsum(each.variance for each in draws))


def one_draw(law: DrawLaw) -> tuple[Draws, ...]:
    """An answer that is one draw."""
    return (Draws(law, 1.0, 1.0),)


def grouped(
    coefficients: FloatArray, laws: Sequence[DrawLaw], place: IntArray, times: FloatArray | None = None
) -> tuple[Draws, ...]:
    """The draws of an answer with equal ones together; very small ones add up to a normal variable.

    Args:
        coefficients: one a draw, any sign, shape (m,).
        laws: the laws there are.
        place: which law each draw has, shape (m,).
        times: how often each stands, shape (m,); once where None.
    """
    size = np.abs(coefficients)
    largest = float(size.max(initial=0.0))
    if largest == 0.0:
        return ()
    often = np.ones(len(size)) if times is None else times
    variance = np.array([law.variance for law in laws])[place] * size**2
    small = variance < _SMALL**2 * float((often * variance).sum())
    rounded = np.round(size / largest, _DIGITS)
    rest = float((often * variance)[small & (rounded > 0)].sum())
    kept = np.flatnonzero(~small)
    # Which law in the whole part, the coefficient in the rest: one number sorts by both.
    keys, first, own = np.unique(2.0 * place[kept] + rounded[kept], return_index=True, return_inverse=True)
    counts = np.bincount(own.reshape(-1), often[kept], minlength=len(keys))
    found = [
        Draws(laws[int(place[kept[at]])], float(rounded[kept[at]]) * largest, float(count))
        for at, count in zip(first.tolist(), counts.tolist(), strict=True)
    ]
    return (*found, Draws(DrawLaw("normal", rest / largest**2), largest, 1.0)) if rest > 0 else tuple(found)


def product_grouped(
    outer: FloatArray, laws: Sequence[DrawLaw], place: IntArray, inner: FloatArray
) -> tuple[Draws, ...]:
    """The draws where coefficients are the products of one of ``outer``, shape (m,), and one of ``inner``, shape (k,).

    ``place`` is which law the draws of each entry of ``outer`` have, shape (m,).
    """
    rows, row_place, row_times = _kinds(outer, place)
    columns, _, column_times = _kinds(inner, np.zeros(len(inner), dtype=np.int64))
    products, times = np.outer(rows, columns).reshape(-1), np.outer(row_times, column_times).reshape(-1)
    return grouped(products, laws, np.repeat(row_place, len(columns)), times)


def _kinds(coefficients: FloatArray, place: IntArray) -> tuple[FloatArray, IntArray, FloatArray]:
    """Distinct coefficients, up to their sign, with their laws and how often each stands."""
    size = np.abs(coefficients)
    largest = float(size.max(initial=0.0)) or 1.0
    keys = 2.0 * place + np.round(size / largest, _DIGITS)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return size[first], place[first], counts.astype(np.float64)


def half_width(draws: Sequence[Draws]) -> float:
    """The half width of the 95 % interval of an answer with this noise, in its own units; 0 without noise."""
    kept = sorted((each for each in draws if each.variance > 0), key=lambda each: (-each.coefficient, each.law))
    if not kept:
        return 0.0
    unit = kept[0].coefficient
    # Answers that differ by a factor share one law: of the largest coefficient, the factor is taken out.
    scaled = tuple((each.law, round(each.coefficient / unit, _DIGITS), each.count) for each in kept)
    return unit * _unit_half_width(scaled)


def factor95(laws: Iterable[DrawLaw]) -> float:
    """Standard errors to each side of a 95 % interval of any weighted sum of draws, where its law is too much work.

    Where the noise is narrow against the steps of whole numbers, these decide: it is the most that sums of equal draws
    of a law need. Over the weights of the tests at least 94.5 % are covered.

    Args:
        laws: of the draws, of variances above 0.
    """
    return max(map(_equal_draws_factor, laws), default=Z95)


@lru_cache(maxsize=4096)
def _equal_draws_factor(law: DrawLaw) -> float:
    least = _LAPLACE95 if law.mechanism == Law.LAPLACE else Z95
    if law.variance > _FINE**2:
        return least
    # Up to a sum whose own noise is no longer narrow.
    most = max(_FEW_DRAWS, 4 / law.variance)
    counts = np.unique(np.round(np.geomspace(1, most, _MANY_DRAWS))).tolist()
    sums = [(Draws(law, 1.0, count),) for count in counts]
    return max(least, *(half_width(each) / std_error(each) for each in sums))


def half_widths(std_errors: FloatArray, exact: Callable[[int], float], most: int = MAX_EXACT) -> FloatArray:
    """Half widths of many answers of one kind, such as the points of a chart: exact ones for some of them.

    Answers of one standard error have one law. Of the others, in the order of their standard errors, at most ``most``
    are worked out; one between two of these gets the larger multiple of its standard error.

    Args:
        std_errors: of the answers, NaN where not stated, shape (m,).
        exact: from the number of an answer to its half width.
        most: how many are worked out.

    Returns:
        Shape (m,), NaN in the same case.
    """
    stated = np.flatnonzero(np.nan_to_num(std_errors) > 0)
    found = np.where(std_errors == 0, 0.0, np.nan)
    if len(stated) == 0:
        return found
    kinds, first, own = np.unique(np.round(np.log(std_errors[stated]), 6), return_index=True, return_inverse=True)
    chosen = np.unique(np.linspace(0, len(kinds) - 1, min(len(kinds), most)).astype(np.int64))
    numbers = stated[first[chosen]]
    factors = np.array([exact(int(number)) / std_errors[number] for number in numbers])
    after = np.searchsorted(chosen, np.arange(len(kinds)))
    before = np.searchsorted(chosen, np.arange(len(kinds)), side="right") - 1
    found[stated] = np.maximum(factors[after], factors[before])[own.reshape(-1)] * std_errors[stated]
    return found


@lru_cache(maxsize=4096)
def _unit_half_width(scaled: tuple[tuple[DrawLaw, float, float], ...]) -> float:
    """The half width where the largest coefficient is 1."""
    draws = [Draws(*each) for each in scaled]
    deviation = std_error(draws)
    excess = sum(each.fourth for each in draws) / deviation**4
    if all(each.coefficient == 1.0 for each in draws) and deviation < _WIDE_LATTICE:
        return _lattice_half_width(draws, deviation, excess)
    narrow = deviation > _FINE
    if narrow and excess < 0.005:
        return Z95 * deviation
    return _smooth_half_width(draws, deviation, excess, narrow)


def _lattice_half_width(draws: list[Draws], deviation: float, excess: float) -> float:
    """The least integer k with P(|E| <= k) of at least 95 %."""
    reach = deviation * _PERIOD * (1 + min(excess, 90.0) / 6) + 64
    size = 1 << math.ceil(math.log2(reach))
    at = np.asarray(2 * np.pi * np.arange(size // 2 + 1) / size, dtype=np.float64)
    mass = np.fft.irfft(np.exp(_log_characteristic(draws, at)), size)
    inside = mass[0] + np.concatenate([[0.0], np.cumsum(2 * mass[1 : size // 2])])
    return float(np.searchsorted(inside, LEVEL - 1e-9))


def _smooth_half_width(draws: list[Draws], deviation: float, excess: float, narrow: bool) -> float:
    """The quantile of the law with a hair of normal noise, raised by three hairs where the law has wide steps."""
    kept = sorted(draws, key=lambda each: -each.fourth)
    rest = sum(each.variance for each in kept[MAX_GROUPS:])
    hair = deviation * _SMOOTHING
    still = math.exp(math.fsum(each.count * each.law.log_still for each in draws))
    if still > _STILL:
        # Hardly ever any noise: the hair alone decides, and the grid that such a law needs is the longest.
        return hair * (3 + NormalDist().inv_cdf((1 + LEVEL / still) / 2))
    wider = 1 << max(0, math.ceil(math.log2(1 + min(excess, 90.0) / 6)))
    period, size = deviation * _PERIOD * wider, _STEPS * wider
    at = np.asarray(2 * np.pi * np.arange(size // 2 + 1) / period, dtype=np.float64)
    log = _log_characteristic(kept[:MAX_GROUPS], at) - (rest + hair**2) * at**2 / 2
    mass = np.fft.irfft(np.exp(log), size)
    # Each step of the grid holds the mass around it, half of the middle one on either side.
    inside = mass[0] + np.concatenate([[0.0], np.cumsum(2 * mass[1 : size // 2])])
    step = int(np.searchsorted(inside, LEVEL))
    below = inside[step - 1] if step else 0.0
    part = (LEVEL - below) / max(inside[step] - below, 1e-300)
    found = (step - 0.5 + part) * period / size
    return float(max(found, 0.0) + (0.0 if narrow else 3 * hair))


def _log_characteristic(draws: Sequence[Draws], at: FloatArray) -> FloatArray:
    """Logarithm of the characteristic function of the sum; what is below `_LOST` may be any smaller number."""
    total, kept = np.zeros(len(at)), np.arange(len(at))
    for each in draws:
        own = total[kept] + each.count * each.law.log_characteristic(each.coefficient * at[kept])
        total[kept] = own
        # Every draw makes it smaller: of many, only few points need the last ones.
        kept = kept[own > _LOST]
    return total
