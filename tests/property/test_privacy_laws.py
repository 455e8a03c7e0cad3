"""Laws of the exact arithmetic of budgets, its bounds, conversions and accountants."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dplib.privacy.accountant import totals
from dplib.privacy.budget import (
    ZCDP,
    ApproxDP,
    Budget,
    PureDP,
)
from dplib.privacy.calibration import (
    discrete_laplace_scale,
    epsilon_from_rho,
    gaussian_sigma_squared,
    rho_from_approx,
    split,
)
from dplib.privacy.events import Event, PureEvent
from dplib.privacy.neighbors import group_privacy
from dplib.privacy.noise import Law, Noise, NoiseEvent
from dplib.privacy.rounding import (
    as_fraction,
    exp_above,
    float_above,
    float_below,
    fraction_text,
    log_above,
    log_below,
    round_down,
    round_up,
    sqrt_above,
)

FINE = Context(prec=120)
QUICK = settings(max_examples=20)
"""Of laws of exact fractions, which a wrong sign or term breaks in nearly every example."""
positives = st.fractions(min_value=Fraction(1, 10**6), max_value=10**4, max_denominator=10**7)
deltas = st.integers(1, 40).map(lambda exponent: Fraction(1, 10**exponent)) | st.fractions(
    min_value=Fraction(1, 10**5), max_value=Fraction(99, 100), max_denominator=10**6
)
pure_budgets = positives.map(PureDP)
concentrated_budgets = positives.map(ZCDP)
approximate_budgets = st.builds(ApproxDP, positives, deltas)
budgets: st.SearchStrategy[Budget] = pure_budgets | concentrated_budgets | approximate_budgets
# Multiples of 1/20, so that loss distributions are composed without rounding to a grid.
pure_events = st.integers(1, 30).map(lambda twentieths: PureEvent("pure", Fraction(twentieths, 20)))
gaussian_noise = st.builds(
    Noise,
    st.just(Law.GAUSSIAN),
    st.fractions(min_value=5, max_value=500, max_denominator=10),
    st.integers(1, 9).map(Fraction),
)
gaussian_events = st.builds(NoiseEvent, st.just("gaussian"), gaussian_noise)


def _fine(x: Fraction) -> Decimal:
    return FINE.divide(Decimal(x.numerator), Decimal(x.denominator))


@given(st.fractions())
def test_text_reads_back_exactly(x: Fraction) -> None:
    assert as_fraction("x", fraction_text(x)) == x


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_their_shortest_text(x: float) -> None:
    exact = as_fraction("x", x)
    assert float(exact) == x
    assert exact == Fraction(Decimal(repr(x)))


@given(budgets, st.lists(positives, min_size=1, max_size=6))
@QUICK
def test_shares_add_up_to_the_budget(budget: Budget, weights: list[Fraction]) -> None:
    shares = split(Fraction(1), weights)
    parts = [budget.scaled(share).to_dict() for share in shares]
    for key, whole in budget.to_dict().items():
        assert sum((as_fraction(key, part[key]) for part in parts), Fraction(0)) == as_fraction(key, whole)


@given(positives, st.lists(positives | st.just(Fraction(0)), min_size=1, max_size=8))
@QUICK
def test_split_is_exact_and_proportional(total: Fraction, weights: list[Fraction]) -> None:
    assume(any(weights))
    parts = split(total, weights)
    assert sum(parts) == total
    assert all(part * sum(weights) == total * weight for part, weight in zip(parts, weights, strict=True))


@given(positives)
@QUICK
def test_bounds_enclose_and_are_narrow(x: Fraction) -> None:
    log = Fraction(FINE.ln(_fine(x)))
    slack = Fraction(1, 10**50)
    assert log - slack < log_below(x) < log + slack
    assert log - slack < log_above(x) < log + slack
    assert log_below(x) < log_above(x)
    root = sqrt_above(x)
    assert x <= root**2 <= x * (1 + slack)
    power = min(x, Fraction(700))
    exact = Fraction(FINE.exp(_fine(power)))
    assert exact < exp_above(power) < exact * (1 + slack)


@given(st.fractions(min_value=-(10**30), max_value=10**30))
def test_rounding_goes_to_the_safe_side_by_less_than_one_unit(x: Fraction) -> None:
    above, below = float_above(x), float_below(x)
    assert Fraction(below) <= x <= Fraction(above)
    assert above in (below, math.nextafter(below, math.inf))
    assert round_down(x, 5) <= x <= round_up(x, 5)
    assert round_up(x, 5) - round_down(x, 5) <= abs(x) / 10**4
    assert round_up(round_up(x, 5), 5) == round_up(x, 5)


def test_floats_beyond_range_are_infinite() -> None:
    assert float_above(Fraction(10) ** 400) == math.inf
    assert float_below(Fraction(10) ** 400) < math.inf


@given(positives, positives, st.integers(1, 1000))
@QUICK
def test_calibrated_noise_costs_at_most_what_was_given(
    sensitivity: Fraction, budget: Fraction, max_denominator: int
) -> None:
    assert sensitivity / discrete_laplace_scale(sensitivity, budget) == budget
    assert sensitivity / (2 * gaussian_sigma_squared(sensitivity, budget)) == budget
    assert sensitivity / (2 * gaussian_sigma_squared(sensitivity, budget, max_denominator)) <= budget


@given(st.fractions(min_value=Fraction(1, 10**4), max_value=50, max_denominator=10**6), deltas)
@example(Fraction(1, 10**9), Fraction(1, 10**6))
@example(Fraction(1, 3), Fraction(1, 10**300))
@example(Fraction(10_000), Fraction(99, 100))
@settings(max_examples=25, deadline=None)
def test_conversions_are_inverse_and_never_generous(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_from_approx(epsilon, delta)
    assert rho > 0
    assert epsilon_from_rho(rho, delta) <= epsilon
    assert epsilon_from_rho(rho * (1 + Fraction(1, 10**8)), delta) > epsilon


@given(positives, positives, deltas)
@settings(max_examples=25, deadline=None)
def test_conversion_grows_with_rho_and_falls_with_delta(rho: Fraction, more: Fraction, delta: Fraction) -> None:
    last_digit = 1 + Fraction(1, 10**13)
    epsilon = epsilon_from_rho(rho, delta)
    assert epsilon <= epsilon_from_rho(rho + more, delta) * last_digit
    assert epsilon <= epsilon_from_rho(rho, delta / 2) * last_digit


@given(budgets, st.integers(1, 4), st.integers(1, 4))
@QUICK
def test_groups_of_groups_are_groups(budget: Budget, first: int, second: int) -> None:
    """Exactly for pure and concentrated budgets; up to the rounding of delta for approximate ones."""
    if isinstance(budget, ApproxDP):
        budget = ApproxDP(min(budget.epsilon, Fraction(1)), min(budget.delta, Fraction(1, 10**9)))
        at_once = group_privacy(budget, first * second)
        stepwise = group_privacy(group_privacy(budget, first), second)
        assert isinstance(at_once, ApproxDP)
        assert isinstance(stepwise, ApproxDP)
        assert at_once.epsilon == stepwise.epsilon
        assert float(at_once.delta) == pytest.approx(float(stepwise.delta), rel=1e-12)
    else:
        assert group_privacy(group_privacy(budget, first), second) == group_privacy(budget, first * second)


@given(st.lists(pure_events, min_size=1, max_size=12), deltas)
@settings(max_examples=12, deadline=None)
def test_the_optimal_composition_is_below_every_other_pure_claim(events: list[Event], delta: Fraction) -> None:
    basic, advanced, zcdp, pld = totals(events, delta)
    for other in (basic, advanced, zcdp):
        assert pld.epsilon <= other.epsilon * (1 + 1e-9) + 1e-12, other.accountant


@given(st.lists(pure_events, max_size=4), st.lists(gaussian_events, min_size=1, max_size=3), deltas)
@settings(max_examples=12, deadline=None)
def test_mixed_claims_lie_between_their_parts_and_their_sum(
    pure: list[Event], gaussian: list[Event], delta: Fraction
) -> None:
    together = totals([*pure, *gaussian], delta)[3].epsilon
    only_pure, only_gaussian = totals(pure, delta), totals(gaussian, delta)
    assert together >= max(only_pure[3].epsilon, only_gaussian[3].epsilon) * (1 - 1e-6) - 1e-9
    assert together <= only_pure[0].epsilon + only_gaussian[3].epsilon + 1e-12


@given(st.lists(pure_events | gaussian_events, min_size=1, max_size=6), deltas)
@settings(max_examples=12, deadline=None)
def test_order_does_not_matter(events: list[Event], delta: Fraction) -> None:
    turned = totals(events[::-1], delta)
    for before, after in zip(totals(events, delta), turned, strict=True):
        assert before.exact == after.exact
        assert before.epsilon == pytest.approx(after.epsilon, rel=1e-9, abs=1e-12)
