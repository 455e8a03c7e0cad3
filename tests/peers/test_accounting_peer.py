"""The accountants against the composition, conversions and noise distributions of independent libraries."""

import math
from fractions import Fraction

import numpy as np
import opendp.prelude as opendp
import pytest
from dp_accounting.pld import privacy_loss_distribution as peer
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
from scipy import stats

from dplib.privacy.accountant import Total, totals
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.events import PureEvent
from dplib.privacy.noise import Law, Noise, NoiseEvent

DELTA = Fraction(1, 10**6)


def _claims(events: list[NoiseEvent] | list[NoiseEvent] | list[PureEvent]) -> dict[str, Total]:
    return {total.accountant: total for total in totals(events, DELTA)}


@pytest.mark.parametrize("twentieths", [[2] * 30, [1, 2, 3, 4, 5, 6], [20], [7, 7, 9], [1] * 60])
def test_pure_events_compose_as_the_peer_composes_them(twentieths: list[int]) -> None:
    ours = _claims([PureEvent("x", Fraction(n, 20)) for n in twentieths])["pld"].epsilon
    composed = peer.identity(1e-4)
    for n in twentieths:
        # Slightly below the multiple of the interval, so that the peer's rounding up lands on the multiple itself.
        event = DifferentialPrivacyParameters(n / 20 - 1e-9, 0.0)
        composed = composed.compose(peer.from_privacy_parameters(event, 1e-4))
    assert ours == pytest.approx(composed.get_epsilon_for_delta(float(DELTA)), rel=2e-3)


@pytest.mark.parametrize(("n_events", "epsilon"), [(10, 0.25), (40, 0.1), (200, 0.05)])
def test_equal_pure_events_reach_the_binomial_optimum(n_events: int, epsilon: float) -> None:
    """Repeated randomized response: the loss is ``(2 K - n) epsilon`` with ``K`` binomial, so delta is a finite sum."""
    claim = _claims([PureEvent("x", Fraction(str(epsilon)))] * n_events)["pld"].epsilon
    truths = np.arange(n_events + 1)
    masses = stats.binom.pmf(truths, n_events, 1 / (1 + math.exp(-epsilon)))
    losses = (2 * truths - n_events) * epsilon

    def delta(at: float) -> float:
        return float((masses * np.maximum(-np.expm1(at - losses), 0)).sum())

    assert delta(claim) <= float(DELTA)
    assert delta(claim * (1 - 1e-6)) > float(DELTA)


@pytest.mark.parametrize(("scale", "sensitivity", "repeats"), [(10, 1, 20), (10, 2, 20), (3, 2, 4), (40, 3, 60)])
def test_single_laplace_counts_never_cost_more_than_claimed(scale: int, sensitivity: int, repeats: int) -> None:
    claims = _claims([Noise(Law.LAPLACE, Fraction(scale), Fraction(sensitivity)).event("count")] * repeats)
    optimistic = peer.from_discrete_laplace_mechanism(1 / scale, sensitivity, pessimistic_estimate=False)
    true_epsilon = optimistic.self_compose(repeats).get_epsilon_for_delta(float(DELTA))
    for claim in claims.values():
        assert claim.epsilon >= true_epsilon * (1 - 1e-6), claim
    halved = _claims([Noise(Law.LAPLACE, Fraction(scale), Fraction(sensitivity, 2)).event("count")] * repeats)
    assert halved["pld"].epsilon < true_epsilon


@pytest.mark.parametrize(("sigma", "sensitivity", "repeats"), [(5, 1, 1), (10, 2, 10), (40, 3, 30)])
def test_single_gaussian_counts_never_cost_more_than_claimed(sigma: int, sensitivity: int, repeats: int) -> None:
    events = [Noise(Law.GAUSSIAN, Fraction(sigma**2), Fraction(sensitivity**2)).event("count")] * repeats
    optimistic = peer.from_discrete_gaussian_mechanism(sigma, sensitivity, pessimistic_estimate=False)
    true_epsilon = optimistic.self_compose(repeats).get_epsilon_for_delta(float(DELTA))
    claims = _claims(events)
    for claim in claims.values():
        assert claim.epsilon >= true_epsilon, claim
    assert claims["zcdp"].epsilon <= 1.2 * true_epsilon
    halved = [Noise(Law.GAUSSIAN, Fraction(sigma**2), Fraction(sensitivity**2, 4)).event("count")] * repeats
    assert _claims(halved)["zcdp"].epsilon < true_epsilon


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 5.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 1e-2])
def test_the_conversion_is_the_best_order_of_the_peers(rho: float, delta: float) -> None:
    orders = 1 + np.geomspace(1e-2, 1e5, 20_001)
    theirs, _ = compute_epsilon(orders, orders * rho, delta)
    ours = float(epsilon_from_rho(Fraction(str(rho)), Fraction(str(delta))))
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert ours <= theirs * (1 + 1e-12)


@pytest.mark.parametrize(("scale", "delta"), [(5.0, 1e-6), (1.0, 1e-9), (50.0, 1e-3)])
def test_another_librarys_conversion_agrees(scale: float, delta: float) -> None:
    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.l2_distance(T=int)
    gaussian = opendp.m.make_gaussian(*space, scale=scale)
    theirs = opendp.c.make_zCDP_to_approxDP(gaussian).map(1).epsilon(delta)
    event = Noise(Law.GAUSSIAN, Fraction(str(scale)) ** 2, Fraction(1)).event("count")
    assert float(epsilon_from_rho(event.rho, Fraction(str(delta)))) == pytest.approx(theirs, rel=1e-6)
