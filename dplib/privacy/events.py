"""What a mechanism spent: one frozen value per mechanism, apart from the accountants that interpret it.

An event holds the mechanism's public parameters as fractions. ``epsilon`` is its pure privacy, None where it has none;
``rho`` its zero-concentrated privacy, ``epsilon^2 / 2`` for pure events. Events of one release refer to the same
neighbours and are paid one after the other; they never claim to touch different units.

References:
    Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy mechanisms", STOC 2009 (discrete Laplace);
    Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, theorem 4;
    Bun, Steinke, "Concentrated differential privacy", TCC 2016, proposition 1.4.
"""

from dataclasses import dataclass
from fractions import Fraction

from dplib.privacy.rounding import as_fraction, fraction_text
from dplib.validate import positive


def _keep_positive(event: object, *names: str) -> None:
    for name in names:
        object.__setattr__(event, name, positive(name, as_fraction(name, getattr(event, name))))


@dataclass(frozen=True)
class DiscreteLaplaceEvent:
    """Integer counts with noise of mass proportional to ``exp(-|x| / scale)`` on every count.

    Attributes:
        statistic: what was measured.
        l1_sensitivity: largest L1 distance between the count vectors of two neighbours.
        scale: ``b``, in counts.
    """

    statistic: str
    l1_sensitivity: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        _keep_positive(self, "l1_sensitivity", "scale")

    @property
    def epsilon(self) -> Fraction:
        """Pure privacy: the sensitivity over the scale."""
        return self.l1_sensitivity / self.scale

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated privacy."""
        return self.epsilon**2 / 2

    def to_dict(self) -> dict[str, str]:
        """Return the event as exact text, for the manifest."""
        return {
            "mechanism": "discrete_laplace",
            "statistic": self.statistic,
            "l1_sensitivity": fraction_text(self.l1_sensitivity),
            "scale": fraction_text(self.scale),
            "epsilon": fraction_text(self.epsilon),
        }


@dataclass(frozen=True)
class DiscreteGaussianEvent:
    """Integer counts with noise of mass proportional to ``exp(-x^2 / (2 sigma_squared))`` on every count.

    Attributes:
        statistic: what was measured.
        l2_sensitivity_squared: largest squared L2 distance between the count vectors of two neighbours.
        sigma_squared: in squared counts.
    """

    statistic: str
    l2_sensitivity_squared: Fraction
    sigma_squared: Fraction

    def __post_init__(self) -> None:
        _keep_positive(self, "l2_sensitivity_squared", "sigma_squared")

    @property
    def epsilon(self) -> None:
        """Gaussian noise has no pure privacy."""
        return

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated privacy: the squared sensitivity over twice ``sigma_squared``."""
        return self.l2_sensitivity_squared / (2 * self.sigma_squared)

    def to_dict(self) -> dict[str, str]:
        """Return the event as exact text, for the manifest."""
        return {
            "mechanism": "discrete_gaussian",
            "statistic": self.statistic,
            "l2_sensitivity_squared": fraction_text(self.l2_sensitivity_squared),
            "sigma_squared": fraction_text(self.sigma_squared),
            "rho": fraction_text(self.rho),
        }


@dataclass(frozen=True)
class PureEvent:
    """Any other mechanism with pure privacy: exponential mechanism, randomized response, ...

    Attributes:
        statistic: what was measured or chosen.
        epsilon: its pure privacy.
        mechanism: its name in the manifest.
    """

    statistic: str
    epsilon: Fraction
    mechanism: str = "pure"

    def __post_init__(self) -> None:
        _keep_positive(self, "epsilon")

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated privacy."""
        return self.epsilon**2 / 2

    def to_dict(self) -> dict[str, str]:
        """Return the event as exact text, for the manifest."""
        return {"mechanism": self.mechanism, "statistic": self.statistic, "epsilon": fraction_text(self.epsilon)}


Event = DiscreteLaplaceEvent | DiscreteGaussianEvent | PureEvent
