"""What the events of one release cost together, by four accountants side by side.

The four answer the same question, the epsilon of the whole release at one delta, and may be used for a release whose
events are fixed before its first draw. None understates: sums are exact, logarithms, roots and conversions to floats
are rounded up.

basic     Sum of the epsilons. An event without pure privacy enters with its conversion at an equal part of delta.
advanced  Kairouz, Oh, Viswanath, theorem 3.5, for events with different epsilons (heterogeneous).
zcdp      Sum of the rhos, converted once.
pld       Composed privacy loss distributions of the pure events, and zCDP for the Gaussian ones (`loss_distribution`).

A release with events that are private up to a delta of their own (`ApproxEvent`) has the basic total only: epsilons add
up, and so do the deltas. Such an event satisfies no zCDP and has no loss distribution that its two numbers tell.

References:
    Kairouz, Oh, Viswanath, "The composition theorem for differential privacy", ICML 2015, theorem 3.5;
    Bun, Steinke, "Concentrated differential privacy", TCC 2016, lemma 1.7 (zCDP adds up).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.events import AnyEvent, ApproxEvent, Event
from dplib.privacy.loss_distribution import mixed_loss_epsilon, pure_loss_epsilon
from dplib.privacy.rounding import exp_above, float_above, fraction_text, log_above, sqrt_above
from dplib.validate import between, require


@dataclass(frozen=True)
class Total:
    """The privacy of a whole release as one accountant sees it.

    Attributes:
        accountant: ``basic``, ``advanced``, ``zcdp`` or ``pld``.
        epsilon: rounded up.
        delta: rounded up; 0 where the claim is pure.
        exact: the exact sum behind the claim: of epsilons for ``basic`` over pure events, of rhos for ``zcdp``, else
            None. It is what an account of that currency is charged.
        note: how the number came about.
    """

    accountant: str
    epsilon: float
    delta: float
    exact: Fraction | None
    note: str

    def to_dict(self) -> dict[str, str | float | None]:
        """Return the total for the manifest; ``exact`` as text."""
        return vars(self) | {"exact": None if self.exact is None else fraction_text(self.exact)}


def totals(events: Sequence[AnyEvent], delta: Fraction) -> tuple[Total, ...]:
    """Return the privacy of ``events`` together at ``delta``: basic, advanced, zcdp and pld, in this order.

    Args:
        events: everything the release measures, fixed before its first draw; with events that have a delta of their own
            the result is the basic total alone, at the sum of these deltas.
        delta: strictly between 0 and 1.

    Raises:
        ConfigError: if events with a delta of their own stand beside Gaussian ones.
    """
    between("delta", delta, Fraction(0), Fraction(1))
    own = [event for event in events if isinstance(event, ApproxEvent)]
    others = [event for event in events if not isinstance(event, ApproxEvent)]
    if own:
        return (_approximate(own, others),)
    pure = tuple(event.epsilon for event in others if event.epsilon is not None)
    gaussian = tuple(event.rho for event in others if event.epsilon is None)
    return _all_four(pure, gaussian, sum((event.rho for event in others), Fraction(0)), delta)


def _approximate(own: Sequence[ApproxEvent], others: Sequence[Event]) -> Total:
    pure = [event.epsilon for event in others if event.epsilon is not None]
    rule = "be pure beside events with a delta of their own"
    require(len(pure) == len(others), "events", rule, "Gaussian noise")
    epsilon = sum((event.epsilon_at_delta for event in own), sum(pure, Fraction(0)))
    delta = sum((event.delta for event in own), Fraction(0))
    return Total("basic", float_above(epsilon), float_above(delta), None, "sum of the epsilons, sum of the deltas")


@lru_cache(maxsize=64)
def _all_four(
    pure: tuple[Fraction, ...], gaussian: tuple[Fraction, ...], rho: Fraction, delta: Fraction
) -> tuple[Total, ...]:
    """Of pure and of Gaussian events whose rhos add up to ``rho``.

    Worked out once in a process: plans, pages and manifests of one design state them again.
    """
    return (
        _basic(pure, gaussian, delta),
        _advanced(pure, gaussian, delta),
        _zcdp(rho, delta),
        _pld(pure, gaussian, delta),
    )


def _basic(pure: Sequence[Fraction], gaussian: Sequence[Fraction], delta: Fraction) -> Total:
    epsilon = sum(pure, Fraction(0))
    if not gaussian:
        return Total("basic", float_above(epsilon), 0.0, epsilon, "sum of the epsilons")
    epsilon += sum((epsilon_from_rho(rho, delta / len(gaussian)) for rho in gaussian), Fraction(0))
    note = "sum of the epsilons; each Gaussian event converted at an equal part of delta"
    return Total("basic", float_above(epsilon), float_above(delta), None, note)


def _advanced(pure: Sequence[Fraction], gaussian: Sequence[Fraction], delta: Fraction) -> Total:
    # Theorem 3.5 gives delta 1 - (1 - slack) prod(1 - delta_i), at most the slack plus all delta_i: at most delta.
    slack = delta / 2 if gaussian else delta
    epsilons = [*pure, *(epsilon_from_rho(rho, delta / (2 * len(gaussian))) for rho in gaussian)]
    plain = sum(epsilons, Fraction(0))
    squares = sum((epsilon**2 for epsilon in epsilons), Fraction(0))
    mean = sum((epsilon * _tanh_half_above(epsilon) for epsilon in epsilons), Fraction(0))
    spread = min(log_above(1 / slack), log_above(exp_above(Fraction(1)) + sqrt_above(squares) / slack))
    bound = mean + sqrt_above(2 * squares * spread)
    if bound < plain:
        note = "Kairouz, Oh, Viswanath 2015, theorem 3.5 (events may differ)"
    else:
        note = "theorem 3.5 of Kairouz, Oh, Viswanath 2015 gains nothing here (few or large events): its plain sum"
    if gaussian:
        note += "; half of delta converts the Gaussian events"
    return Total("advanced", float_above(min(bound, plain)), float_above(delta), None, note)


def _tanh_half_above(epsilon: Fraction) -> Fraction:
    # (e^x - 1) / (e^x + 1) grows with e^x; beyond 50 it is 1 to twenty digits.
    return 1 - 2 / (exp_above(epsilon) + 1) if epsilon < 50 else Fraction(1)


def _zcdp(rho: Fraction, delta: Fraction) -> Total:
    note = f"sum of the rhos, {float_above(rho):.6g}, converted once at delta"
    return Total("zcdp", float_above(epsilon_from_rho(rho, delta)), float_above(delta), rho, note)


def _pld(pure: Sequence[Fraction], gaussian: Sequence[Fraction], delta: Fraction) -> Total:
    if not gaussian:
        epsilon = pure_loss_epsilon(pure, delta)
        note = "loss distributions of the events' epsilons, optimal for pure events"
    else:
        epsilon = mixed_loss_epsilon(pure, sum(gaussian, Fraction(0)), delta)
        note = "loss distributions of the pure events' epsilons; Gaussian events are charged as zCDP"
    return Total("pld", epsilon, float_above(delta), None, note)
