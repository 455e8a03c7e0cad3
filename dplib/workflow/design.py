"""What the life of a run asks of a job's design, and what follows from it: cost, currency, an account's terms."""

from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from dplib.config.sections import JobConfig
from dplib.privacy.budget import Currency
from dplib.privacy.events import Event
from dplib.privacy.neighbors import Neighbors
from dplib.release.runs import Terms
from dplib.validate import require

DEFAULT_DELTA = Fraction(1, 10**6)
"""Delta at which totals of a budget without a delta are shown side by side."""


LEAST_NOISE, MOST_NOISE = Fraction(1, 32), Fraction(2**40)
"""Least and largest scale (Laplace) or sigma^2 (Gaussian): below, a count would be published as it is and variances
would lose their digits; above, noise would not fit 64 bits with room for sums."""


class JobDesign(Protocol):
    """A release before its rows: everything that the settings decide."""

    @property
    def config(self) -> JobConfig:
        """The checked configuration."""

    @property
    def settings(self) -> dict[str, Any]:
        """The resolved measurement settings: what decides the statistics and the noise, as JSON values."""

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend, as JSON values."""

    @property
    def events(self) -> tuple[Event, ...]:
        """What the release spends."""


AnyDesign = TypeVar("AnyDesign", bound=JobDesign)


def neighbors_of(design: JobDesign) -> Neighbors:
    """The neighbour relation."""
    return Neighbors(design.config.privacy.neighbors)


def delta_of(design: JobDesign) -> Fraction:
    """Delta at which the totals are shown."""
    return design.config.privacy.budget.delta or DEFAULT_DELTA


def cost_of(design: JobDesign, currency: Currency) -> Fraction:
    """What the release takes from an account: the exact sum of its events.

    Raises:
        ConfigError: if the account is pure and some event has no pure epsilon.
    """
    if currency == Currency.ZCDP:
        return sum((event.rho for event in design.events), Fraction(0))
    epsilons = [event.epsilon for event in design.events if event.epsilon is not None]
    require(
        len(epsilons) == len(design.events),
        "privacy.noise",
        f"be discrete_laplace, since the account of {design.config.dataset} counts pure epsilon",
        design.config.privacy.mechanism,
    )
    return sum(epsilons, Fraction(0))


def for_tasks(design: AnyDesign) -> AnyDesign:
    """The design as Spark's tasks get it: without addresses and reader's options, which may hold passwords."""
    source = design.config.input.model_copy(update={"options": {}})
    config = design.config.model_copy(update={"ledger": "", "secret": "", "input": source})
    return replace(design, config=config, settings={})  # type: ignore[type-var]  # every design is a dataclass


def require_useful_noise(name: str, parameter: Fraction) -> None:
    """Refuse a budget whose noise is too small or too large to be drawn and used.

    Args:
        name: of the parameter: ``scale`` or ``sigma^2``.
        parameter: its value.

    Raises:
        ConfigError: naming `privacy.budget`.
    """
    rule = f"give noise with a {name} from 1/32 to 2^40"
    in_range = LEAST_NOISE <= parameter <= MOST_NOISE
    require(in_range, "privacy.budget", rule, f"a {name} of {parameter.numerator / parameter.denominator:.3g}")


def natural_terms(design: JobDesign) -> Terms:
    """The terms that an account made for this design has: pure where every event is."""
    pure = all(event.epsilon is not None for event in design.events)
    return Terms(Currency.PURE if pure else Currency.ZCDP, design.config.privacy.unit, neighbors_of(design))
