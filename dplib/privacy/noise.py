"""Noise on whole numbers: which law, how wide, for which sensitivity; what it spends and how far it is off.

Discrete Laplace noise of scale b has mass proportional to ``exp(-|x| / b)``: counts whose vectors differ by at most D
in L1 between neighbours are (D / b)-private. Discrete Gaussian noise has mass proportional to ``exp(-x^2 / (2
sigma^2))``: with a squared L2 distance of at most D2 they are (D2 / (2 sigma^2))-zCDP. Samplers:
`dplib.mechanisms.tree_counts.SAMPLERS`; quantiles: `dplib.privacy.noise_quantile`.

References:
    Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", STOC 2009 (discrete Laplace);
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, theorem 4 (variance below
    ``sigma^2``, by Poisson summation closer than ``8 pi^2 sigma^4 exp(-2 pi^2 sigma^2)`` up to smaller terms);
    Inusah, Kozubowski, "A discrete analogue of the Laplace distribution", J. Statist. Plann. Inference 136, 2006
    (variance ``2 q / (1 - q)^2`` with ``q = exp(-1 / b)``).
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from dplib.privacy.budget import ZCDP, PureDP
from dplib.privacy.calibration import discrete_laplace_scale, gaussian_sigma_squared
from dplib.privacy.rounding import as_fraction, fraction_text
from dplib.validate import positive, require

SAMPLER_FORMAT = 1
"""Number of the bits-to-noise mapping; a change of any sampler or stream raises it, and it enters the noise key."""
MIN_NOISE, MAX_NOISE = Fraction(1, 32), Fraction(2**40)
"""Least and largest scale (Laplace) or sigma^2 (Gaussian): below, a count would be published as it is and variances
would lose their digits; above, noise would not fit 64 bits with room for sums."""
USEFUL_NOISE = "give noise with a {} from 1/32 to 2^40"
"""The rule, of the parameter's name."""


class Law(StrEnum):
    """The law of noise on whole numbers."""

    LAPLACE = "discrete_laplace"
    GAUSSIAN = "discrete_gaussian"

    @property
    def parameter_name(self) -> str:
        """What its parameter is called in sentences."""
        return "scale" if self is Law.LAPLACE else "sigma^2"

    @property
    def norm(self) -> str:
        """In which norm sensitivities count."""
        return "l1" if self is Law.LAPLACE else "l2_squared"

    @property
    def is_pure(self) -> bool:
        """Whether it spends epsilon alone."""
        return self is Law.LAPLACE

    @property
    def exponent(self) -> int:
        """A share s of a budget (epsilon or rho) has noise of a variance in proportion to ``s^-exponent``."""
        return 2 if self is Law.LAPLACE else 1

    def sensitivity(self, l1: int, l2_squared: int) -> int:
        """Of the two norms of what a unit adds the one that counts."""
        return l1 if self is Law.LAPLACE else l2_squared

    def parameter(self, sensitivity: Fraction, budget: Fraction) -> Fraction:
        """Exact parameter: ``sensitivity / epsilon``, or ``sensitivity / (2 rho)`` of a squared sensitivity."""
        return sensitivity / budget if self is Law.LAPLACE else sensitivity / (2 * budget)

    def variance(self, parameter: Fraction) -> float:
        """Of one draw, in squared counts."""
        return (discrete_laplace_variance if self is Law.LAPLACE else discrete_gaussian_variance)(parameter)


_KEYS = {Law.LAPLACE: ("l1_sensitivity", "scale"), Law.GAUSSIAN: ("l2_sensitivity_squared", "sigma_squared")}
"""Sensitivity and parameter in the manifest."""


@dataclass(frozen=True)
class Noise:
    """Noise on every number of a vector.

    Attributes:
        law: which.
        parameter: scale b of discrete Laplace, sigma^2 of discrete Gaussian noise.
        sensitivity: largest L1 distance of the vectors of two neighbours, or largest squared L2 distance.
    """

    law: Law
    parameter: Fraction
    sensitivity: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", Law(self.law))
        for name, key in zip(("sensitivity", "parameter"), _KEYS[self.law], strict=True):
            object.__setattr__(self, name, positive(key, as_fraction(key, getattr(self, name))))

    @classmethod
    def within(
        cls, budget: PureDP | ZCDP, l1: int | Fraction, l2_squared: int | Fraction, max_denominator: int | None = None
    ) -> "Noise":
        """The least noise that a budget pays for, Laplace for epsilon, Gaussian for rho; sigma^2 is rounded up."""
        if isinstance(budget, PureDP):
            return cls(Law.LAPLACE, discrete_laplace_scale(Fraction(l1), budget.epsilon), Fraction(l1))
        square = Fraction(l2_squared)
        return cls(Law.GAUSSIAN, gaussian_sigma_squared(square, budget.rho, max_denominator), square)

    @property
    def variance(self) -> float:
        """Variance of the noise on one number, in squared counts."""
        return self.law.variance(self.parameter)

    def event(self, statistic: str) -> "NoiseEvent":
        """What it spends on the numbers of a statistic."""
        return NoiseEvent(statistic, self)


@dataclass(frozen=True)
class NoiseEvent:
    """Whole numbers with noise on every one.

    Attributes:
        statistic: what was measured.
        noise: law, parameter and sensitivity.
    """

    statistic: str
    noise: Noise

    @property
    def epsilon(self) -> Fraction | None:
        """Pure privacy: the sensitivity over the scale; Gaussian noise has none."""
        return self.noise.sensitivity / self.noise.parameter if self.noise.law is Law.LAPLACE else None

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated privacy."""
        epsilon = self.epsilon
        return self.noise.sensitivity / (2 * self.noise.parameter) if epsilon is None else epsilon**2 / 2

    def to_dict(self) -> dict[str, str]:
        """Return the event as exact text, for the manifest."""
        sensitivity, parameter = _KEYS[self.noise.law]
        epsilon = self.epsilon
        return {
            "mechanism": self.noise.law.value,
            "statistic": self.statistic,
            sensitivity: fraction_text(self.noise.sensitivity),
            parameter: fraction_text(self.noise.parameter),
            "rho" if epsilon is None else "epsilon": fraction_text(self.rho if epsilon is None else epsilon),
        }


def discrete_laplace_variance(scale: Fraction) -> float:
    """Return ``2 q / (1 - q)^2`` with ``q = exp(-1 / scale)``, without cancellation at large scales."""
    inverse = float(1 / scale)
    return 2 * math.exp(-inverse) / math.expm1(-inverse) ** 2


def discrete_gaussian_variance(sigma_squared: Fraction) -> float:
    """Return the variance of noise with mass proportional to ``exp(-x^2 / (2 sigma_squared))`` on the integers.

    At ``sigma_squared`` of 4 and above it equals ``sigma_squared`` to 1e-30; below, twelve standard deviations are
    summed, which leaves out less than 1e-30 of the mass.
    """
    value = float(sigma_squared)
    if value >= 4:
        return value
    masses = [(x, math.exp(-x * x / (2 * value))) for x in range(1, 27)]
    return 2 * math.fsum(x * x * mass for x, mass in masses) / (1 + 2 * math.fsum(mass for _, mass in masses))


def require_useful_noise(name: str, parameter: Fraction) -> None:
    """Refuse a budget whose noise is too small or too large to be drawn and used.

    Args:
        name: of the parameter: ``scale`` or ``sigma^2``.
        parameter: its value.

    Raises:
        ConfigError: naming `privacy.budget`.
    """
    rule = USEFUL_NOISE.format(name)
    in_range = MIN_NOISE <= parameter <= MAX_NOISE
    require(in_range, "privacy.budget", rule, f"a {name} of {parameter.numerator / parameter.denominator:.3g}")
