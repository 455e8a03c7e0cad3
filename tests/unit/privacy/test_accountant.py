import json
import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from dplib.errors import ConfigError
from dplib.privacy.accountant import Total, totals
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.events import Event, PureEvent
from dplib.privacy.noise import Law, Noise
from tests.support.oracles import discrete_gaussian_pmf, discrete_laplace_pmf, true_delta

DELTA = Fraction(1, 1000)
# One unit moves the only count of the first statistic by 2, or the two counts of the second by 2 together in L1.
SHIFTS = [[first, *second] for first in (2, -2) for second in ([2, 0], [0, -2], [1, 1], [1, -1])]
REACH = 36


def _laplace(sensitivity: int) -> list[Event]:
    return [
        Noise(Law.LAPLACE, Fraction(3), Fraction(sensitivity)).event("total"),
        Noise(Law.LAPLACE, Fraction(5, 2), Fraction(sensitivity)).event("parts"),
    ]


def _gaussian(sensitivity: int) -> list[Event]:
    return [
        Noise(Law.GAUSSIAN, Fraction(20), Fraction(sensitivity**2)).event("total"),
        Noise(Law.GAUSSIAN, Fraction(16), Fraction(sensitivity**2)).event("parts"),
    ]


def _mixed(sensitivity: int) -> list[Event]:
    return [_gaussian(sensitivity)[0], _laplace(sensitivity)[1]]


NOISES = {
    "laplace": (_laplace, [discrete_laplace_pmf(3.0), *[discrete_laplace_pmf(2.5)] * 2]),
    "gaussian": (_gaussian, [discrete_gaussian_pmf(20.0), *[discrete_gaussian_pmf(16.0)] * 2]),
    "mixed": (_mixed, [discrete_gaussian_pmf(20.0), *[discrete_laplace_pmf(2.5)] * 2]),
}


def _excess(total: Total, noise: str, shifts: Sequence[Sequence[int]] = SHIFTS) -> float:
    """How far the true divergence at the claimed epsilon lies above the claimed delta."""
    return true_delta(NOISES[noise][1], shifts, total.epsilon, REACH) - total.delta


@pytest.mark.parametrize("noise", list(NOISES))
def test_no_claim_is_below_the_truth(noise: str) -> None:
    for total in totals(NOISES[noise][0](2), DELTA):
        assert _excess(total, noise) <= 1e-14, total


@pytest.mark.parametrize("noise", list(NOISES))
def test_half_the_sensitivity_is_caught(noise: str) -> None:
    for total in totals(NOISES[noise][0](1), DELTA):
        # The zCDP claim for two pure events is so loose that even half of the sensitivity stays above the truth.
        if (noise, total.accountant) != ("laplace", "zcdp"):
            assert _excess(total, noise) > 3 * float(DELTA), total


def test_order_and_exact_charges() -> None:
    events = [*_laplace(2), PureEvent("choice", Fraction(1, 10))]
    basic, advanced, zcdp, pld = totals(events, DELTA)
    assert [total.accountant for total in (basic, advanced, zcdp, pld)] == ["basic", "advanced", "zcdp", "pld"]
    assert basic.exact == sum((event.epsilon for event in events if event.epsilon is not None), Fraction(0))
    assert basic.delta == 0.0
    assert Fraction(basic.epsilon) >= basic.exact
    assert zcdp.exact == sum(event.rho for event in events)
    assert advanced.exact is None
    assert pld.exact is None
    assert Fraction(pld.delta) >= DELTA


def test_nothing_measured_costs_nothing() -> None:
    assert [total.epsilon for total in totals([], DELTA)] == [0.0] * 4


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1)])
def test_delta_lies_between_zero_and_one(delta: Fraction) -> None:
    with pytest.raises(ConfigError, match="delta must lie strictly between 0 and 1"):
        totals(_laplace(1), delta)


def test_many_small_events_gain_from_the_sharper_theorems() -> None:
    basic, advanced, zcdp, pld = totals([PureEvent("round", Fraction(1, 100))] * 1000, Fraction(1, 10**6))
    assert pld.epsilon < zcdp.epsilon < advanced.epsilon < basic.epsilon / 4
    assert "gains nothing" not in advanced.note


def test_a_few_events_are_told_that_advanced_composition_gains_nothing() -> None:
    basic, advanced, _, _ = totals(_laplace(2), Fraction(1, 10**6))
    assert advanced.epsilon == basic.epsilon
    assert "gains nothing" in advanced.note


def test_gaussian_events_are_charged_as_zcdp_and_converted_once() -> None:
    basic, _, zcdp, pld = totals(_gaussian(2), DELTA)
    rho = Fraction(4, 40) + Fraction(4, 32)
    assert zcdp.exact == rho
    assert Fraction(zcdp.epsilon) >= epsilon_from_rho(rho, DELTA)
    assert pld.epsilon == zcdp.epsilon < basic.epsilon
    assert basic.exact is None


def test_delta_is_shared_among_gaussian_events_and_the_theorem() -> None:
    """Sums to delta: equal parts in basic; half to the events and half to theorem 3.5, here in floats, in advanced."""
    n_events = 400
    basic, advanced, _, _ = totals([Noise(Law.GAUSSIAN, Fraction(5000), Fraction(1)).event("x")] * n_events, DELTA)
    rho, delta = Fraction(1, 10000), float(DELTA)
    assert basic.epsilon == pytest.approx(n_events * float(epsilon_from_rho(rho, DELTA / n_events)), rel=1e-12)
    each = float(epsilon_from_rho(rho, DELTA / (2 * n_events)))
    squares = n_events * each**2
    spread = min(math.log(2 / delta), math.log(math.e + math.sqrt(squares) / (delta / 2)))
    theorem = n_events * each * math.tanh(each / 2) + math.sqrt(2 * squares * spread)
    assert theorem < n_events * each
    assert advanced.epsilon == pytest.approx(theorem, rel=1e-12)


def test_mixed_events_are_cheaper_together_than_apart() -> None:
    basic, _, zcdp, pld = totals(_mixed(2), DELTA)
    assert pld.epsilon < min(basic.epsilon, zcdp.epsilon)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(500)])
def test_extreme_budgets_stay_finite_and_ordered(epsilon: Fraction) -> None:
    for delta in (Fraction(1, 10**300), Fraction(99, 100)):
        basic, advanced, zcdp, pld = totals([PureEvent("x", epsilon)] * 3, delta)
        assert all(math.isfinite(total.epsilon) for total in (basic, advanced, zcdp, pld))
        assert pld.epsilon <= basic.epsilon
        assert advanced.epsilon <= basic.epsilon


def test_totals_are_fit_for_json() -> None:
    for total in totals(_mixed(1), DELTA):
        assert json.loads(json.dumps(total.to_dict(), allow_nan=False))["accountant"] == total.accountant
