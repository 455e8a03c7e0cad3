"""What the life of a run asks of a job's design, and what follows from it: cost, currency, an account's terms."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeVar

from dplib.config.job_config import ReleaseSettings
from dplib.errors import ConfigError
from dplib.ledger.runs import Account, Terms
from dplib.privacy.budget import ApproxDP, Currency
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.events import AnyEvent, ApproxEvent, Event
from dplib.privacy.neighbors import Neighbors
from dplib.validate import require

DEFAULT_DELTA = Fraction(1, 10**6)
"""Delta at which totals of a budget without a delta are shown side by side."""


class JobDesign(Protocol):
    """A release before its rows: everything that the settings decide."""

    @property
    def config(self) -> ReleaseSettings:
        """The settings of the release: nothing of where things are, so that a design may go to executors."""

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the statistics and the noise besides the settings."""

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend, as JSON values."""

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        """What the release spends."""

    def public(self) -> dict[str, Any]:
        """The settings that a release states, from which its readers build the design again, as JSON values."""


AnyDesign = TypeVar("AnyDesign", bound=JobDesign)


def neighbors_of(design: JobDesign) -> Neighbors:
    """The neighbour relation."""
    return Neighbors(design.config.privacy.neighbors)


def delta_of(design: JobDesign) -> Fraction:
    """Delta at which the totals are shown."""
    return design.config.privacy.budget.delta or DEFAULT_DELTA


def cost_of(design: JobDesign, currency: Currency, account: Account | None = None) -> Fraction:
    """What the release takes from an account: the exact sum of its events.

    Of an approx account, with totals E of epsilon and D of delta, a release of (epsilon, delta) takes the larger of
    epsilon and ``delta E / D``: while these costs add up to at most E, so do the epsilons, and the deltas to at most D.

    Args:
        design: the design.
        currency: of the account.
        account: the account, for its totals; one that was made for this release alone where None.

    Raises:
        ConfigError: if the account's currency cannot pay for some event.
    """
    own = [event for event in design.events if isinstance(event, ApproxEvent)]
    others = [event for event in design.events if not isinstance(event, ApproxEvent)]
    if currency == Currency.APPROX:
        epsilon, delta = _epsilon_delta(design, own, others)
        rate = 0 if account is None or account.delta is None else account.total / account.delta
        return max(epsilon, delta * rate)
    names = ", ".join(event.statistic for event in own)
    rule = (
        f"be of an account in epsilon and delta (currency approx), since {names or 'no event'} has no {currency} cost"
    )
    require(not own, "dataset", rule, f"{design.config.dataset}, which counts {currency}")
    if currency == Currency.ZCDP:
        return sum((event.rho for event in others), Fraction(0))
    epsilons = [event.epsilon for event in others if event.epsilon is not None]
    require(
        len(epsilons) == len(others),
        "privacy.noise",
        f"be discrete_laplace, since the account of {design.config.dataset} counts pure epsilon",
        design.config.privacy.mechanism,
    )
    return sum(epsilons, Fraction(0))


def _epsilon_delta(design: JobDesign, own: Sequence[ApproxEvent], others: Sequence[Event]) -> tuple[Fraction, Fraction]:
    """Epsilon and delta of a release: sums, or its rho converted once at the budget's delta."""
    epsilons = [event.epsilon for event in others if event.epsilon is not None]
    if len(epsilons) == len(others):
        epsilon = sum((event.epsilon_at_delta for event in own), sum(epsilons, Fraction(0)))
        return epsilon, sum((event.delta for event in own), Fraction(0))
    rule = f"be discrete_laplace beside {', '.join(event.statistic for event in own)}, which has a delta of its own"
    require(not own, "privacy.noise", rule, design.config.privacy.mechanism)
    budget = design.config.privacy.budget.budget()
    if not isinstance(budget, ApproxDP):
        got = " and ".join(budget.to_dict())
        raise ConfigError("privacy.budget", "be epsilon, or epsilon with delta, of an approx account", got)
    return epsilon_from_rho(sum((event.rho for event in others), Fraction(0)), budget.delta), budget.delta


def natural_terms(design: JobDesign) -> Terms:
    """The terms that an account made for this design has: pure where every event is, approx where one has a delta."""
    if any(isinstance(event, ApproxEvent) for event in design.events):
        currency = Currency.APPROX
    else:
        gaussian = any(event.epsilon is None for event in design.events if not isinstance(event, ApproxEvent))
        currency = Currency.ZCDP if gaussian else Currency.PURE
    return Terms(currency, design.config.privacy.unit, neighbors_of(design))
