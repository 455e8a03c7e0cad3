"""What a mechanism spent: one frozen value per mechanism, apart from the accountants that interpret it.

An event holds the mechanism's public parameters as fractions. ``epsilon`` is its pure privacy, None where it has none;
``rho`` its zero-concentrated privacy, ``epsilon^2 / 2`` for pure events. Events of one release refer to the same
neighbours and are paid one after the other; they never claim to touch different units. That of noise on whole numbers:
`dplib.privacy.noise`.

References:
    Bun, Steinke, "Concentrated differential privacy", TCC 2016, proposition 1.4;
    Dong, Durfee, Rogers, "Optimal differential privacy composition for exponential mechanisms", ICML 2020 (bounded
    range); Cesar, Rogers, "Bounding, concentrating, and truncating", ALT 2021 (its zero-concentrated privacy).
"""

from dataclasses import dataclass
from fractions import Fraction

from dplib.privacy.noise import NoiseEvent
from dplib.privacy.rounding import as_fraction, fraction_text
from dplib.validate import between, positive


def _keep_positive(event: object, *names: str) -> None:
    for name in names:
        object.__setattr__(event, name, positive(name, as_fraction(name, getattr(event, name))))


@dataclass(frozen=True)
class PureEvent:
    """Any other mechanism with pure privacy: randomized response, noise of smooth sensitivity, ...

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


@dataclass(frozen=True)
class BoundedRangeEvent(PureEvent):
    """One exponential mechanism: between neighbours the log ratio of two outputs' probabilities varies by ``epsilon``.

    Between neighbours the losses of all candidates move by amounts in one interval; where it has length W, the rate is
    ``epsilon / W``. W is twice the sensitivity, or once where a unit moves all losses in one direction (monotone). The
    ladder mechanism is one: its loss is the rung, its W is 2. The log ratio f lies in an interval of length epsilon
    that holds 0, since both distributions sum to 1: pure epsilon. Under the neighbour's distribution e^f has mean 1, so
    by Hoeffding's lemma for f and its tilted laws the Rényi divergence of order alpha is at most ``alpha epsilon^2 /
    8``: a quarter of what pure epsilon implies.

    Attributes:
        statistic: what was chosen.
        epsilon: the range, and its pure privacy.
        mechanism: its name in the manifest.
    """

    mechanism: str = "exponential"

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated privacy."""
        return self.epsilon**2 / 8


@dataclass(frozen=True)
class ConcentratedEvent:
    """Any other mechanism with zero-concentrated privacy: Gaussian questions that depend on noisy answers before them.

    Whatever parameters such questions choose, their rhos add up as long as the sum is capped beforehand (Whitehouse,
    Ramdas, Rogers, Wu, "Fully-adaptive composition in differential privacy", ICML 2023, theorem 1).

    Attributes:
        statistic: what was measured.
        rho_cap: the most that all questions together spend.
        mechanism: its name in the manifest.
    """

    statistic: str
    rho_cap: Fraction
    mechanism: str

    def __post_init__(self) -> None:
        _keep_positive(self, "rho_cap")

    @property
    def epsilon(self) -> None:
        """No pure privacy."""
        return

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated privacy."""
        return self.rho_cap

    def to_dict(self) -> dict[str, str]:
        """Return the event as exact text, for the manifest."""
        return {"mechanism": self.mechanism, "statistic": self.statistic, "rho": fraction_text(self.rho)}


@dataclass(frozen=True)
class ApproxEvent:
    """A mechanism that is private up to a delta, for every pair of neighbours: no pure privacy, and none in rho.

    Attributes:
        statistic: what was measured or chosen.
        epsilon_at_delta: its epsilon at ``delta``.
        delta: below 1.
        mechanism: its name in the manifest.
    """

    statistic: str
    epsilon_at_delta: Fraction
    delta: Fraction
    mechanism: str

    def __post_init__(self) -> None:
        _keep_positive(self, "epsilon_at_delta", "delta")
        between("delta", self.delta, Fraction(0), Fraction(1))

    def to_dict(self) -> dict[str, str]:
        """Return the event as exact text, for the manifest."""
        return {
            "mechanism": self.mechanism,
            "statistic": self.statistic,
            "epsilon": fraction_text(self.epsilon_at_delta),
            "delta": fraction_text(self.delta),
        }


Event = NoiseEvent | PureEvent | ConcentratedEvent
AnyEvent = Event | ApproxEvent
