"""What a release measured and with which noise: the part of the spend that a reader of the release needs.

A `Measurement` describes one group of counts with one noise, such as a level of a tree. It holds the spend as an event,
so that accountants can be changed without touching a release, and the variance that estimators and error bars use.

References:
    Inusah, Kozubowski, "A discrete analogue of the Laplace distribution", J. Statist. Plann. Inference 136, 2006
    (variance ``2 q / (1 - q)^2`` with ``q = exp(-1 / b)``);
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020 (variance below
    ``sigma^2``, by Poisson summation closer than ``8 pi^2 sigma^4 exp(-2 pi^2 sigma^2)`` up to smaller terms).
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from dplib.privacy.events import DiscreteGaussianEvent, DiscreteLaplaceEvent


@dataclass(frozen=True)
class Measurement:
    """One group of integer counts and its noise.

    Attributes:
        event: the mechanism, its statistic, sensitivity and noise: what it spent.
    """

    event: DiscreteLaplaceEvent | DiscreteGaussianEvent

    @property
    def statistic(self) -> str:
        """What was measured."""
        return self.event.statistic

    @property
    def mechanism(self) -> str:
        """``discrete_laplace`` or ``discrete_gaussian``."""
        return "discrete_laplace" if isinstance(self.event, DiscreteLaplaceEvent) else "discrete_gaussian"

    @property
    def parameter(self) -> Fraction:
        """The sampler's parameter: ``b`` of discrete Laplace, ``sigma^2`` of discrete Gaussian noise."""
        return self.event.scale if isinstance(self.event, DiscreteLaplaceEvent) else self.event.sigma_squared

    @property
    def sensitivity(self) -> Fraction:
        """L1 sensitivity for discrete Laplace, squared L2 sensitivity for discrete Gaussian noise."""
        if isinstance(self.event, DiscreteLaplaceEvent):
            return self.event.l1_sensitivity
        return self.event.l2_sensitivity_squared

    @property
    def variance(self) -> float:
        """Variance of one noisy count, in squared counts."""
        if isinstance(self.event, DiscreteLaplaceEvent):
            return discrete_laplace_variance(self.event.scale)
        return discrete_gaussian_variance(self.event.sigma_squared)

    def to_dict(self) -> dict[str, str | float]:
        """Return the measurement for the manifest: fractions as exact text, the variance as a number."""
        return {**self.event.to_dict(), "variance": self.variance}


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
