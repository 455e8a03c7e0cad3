"""Accounts in epsilon and delta: what a release costs them, and who cannot pay for a delta."""

from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from dplib.errors import ConfigError
from dplib.ledger.runs import Account, Terms
from dplib.privacy.accountant import totals
from dplib.privacy.budget import ApproxDP, Currency, PureDP
from dplib.privacy.events import AnyEvent, ApproxEvent, BoundedRangeEvent, PureEvent
from dplib.privacy.neighbors import Neighbors
from dplib.privacy.noise import Law, Noise
from dplib.workflow.design import cost_of, natural_terms

MILLIONTH = Fraction(1, 10**6)
CUTS = ApproxEvent("cuts", Fraction(1, 2), MILLIONTH, "sampled")
CHOICE = PureEvent("choice", Fraction(1, 4))


@dataclass
class FakeDesign:
    events: tuple[AnyEvent, ...]
    budget: Any = field(default_factory=lambda: ApproxDP(Fraction(1), MILLIONTH))
    settings: dict[str, Any] = field(default_factory=dict)
    publish_settings: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> Any:
        budget = SimpleNamespace(budget=lambda: self.budget, delta=getattr(self.budget, "delta", None))
        privacy = SimpleNamespace(budget=budget, mechanism="discrete_gaussian", unit="edge", neighbors="edge")
        return SimpleNamespace(privacy=privacy, dataset="people")


def account(total: Fraction, delta: Fraction) -> Account:
    return Account("people", Terms(Currency.APPROX, "edge", Neighbors.EDGE), total, delta)


def test_the_cost_keeps_both_sums_below_their_totals() -> None:
    design = FakeDesign((CUTS, CHOICE))
    epsilon, delta = Fraction(3, 4), MILLIONTH
    for total, whole in ((Fraction(10), Fraction(1, 10**4)), (Fraction(3), Fraction(2, 10**6)), (Fraction(1), delta)):
        cost = cost_of(design, Currency.APPROX, account(total, whole))
        releases = total // cost
        assert releases * epsilon <= total
        assert releases * delta <= whole
        # Not more than needed: one of the two is used up in the same proportion.
        assert cost in (epsilon, delta * total / whole)


def test_gaussian_noise_costs_its_conversion() -> None:
    design = FakeDesign((Noise(Law.GAUSSIAN, Fraction(100), Fraction(1)).event("x"),))
    cost = cost_of(design, Currency.APPROX, account(Fraction(1), Fraction(1)))
    (zcdp,) = (each for each in totals(design.events, MILLIONTH) if each.accountant == "zcdp")
    assert float(cost) == pytest.approx(zcdp.epsilon)
    design.budget = PureDP(Fraction(1))
    with pytest.raises(ConfigError, match=r"^privacy.budget must be epsilon, or epsilon with delta"):
        cost_of(design, Currency.APPROX)


def test_gaussian_noise_cannot_stand_beside_a_delta_of_its_own() -> None:
    design = FakeDesign((CUTS, Noise(Law.GAUSSIAN, Fraction(100), Fraction(1)).event("x")))
    with pytest.raises(ConfigError, match=r"^privacy.noise must be discrete_laplace beside cuts"):
        cost_of(design, Currency.APPROX)


@pytest.mark.parametrize("currency", [Currency.PURE, Currency.ZCDP])
def test_other_accounts_refuse_a_delta(currency: Currency) -> None:
    with pytest.raises(ConfigError, match=r"^dataset must be of an account in epsilon and delta .*cuts has no"):
        cost_of(FakeDesign((CHOICE, CUTS)), currency)


def test_natural_terms_follow_the_events() -> None:
    gaussian = Noise(Law.GAUSSIAN, Fraction(1), Fraction(1)).event("x")
    found = [natural_terms(FakeDesign(each)).currency for each in ((CHOICE,), (CHOICE, gaussian), (CHOICE, CUTS))]
    assert found == [Currency.PURE, Currency.ZCDP, Currency.APPROX]


def test_totals_of_a_release_with_its_own_delta_are_sums() -> None:
    (basic,) = totals((CUTS, CHOICE, CUTS), Fraction(1, 10**9))
    assert (basic.accountant, basic.epsilon, basic.exact) == ("basic", 1.25, None)
    assert basic.delta >= 2 * MILLIONTH
    assert basic.delta == pytest.approx(2e-6, rel=1e-12)
    with pytest.raises(ConfigError, match="events must be pure"):
        totals((CUTS, Noise(Law.GAUSSIAN, Fraction(1), Fraction(1)).event("x")), MILLIONTH)


def test_an_exponential_mechanism_costs_a_quarter_of_pure_in_rho() -> None:
    event = BoundedRangeEvent("cut", Fraction(2))
    assert event.rho * 4 == PureEvent("cut", Fraction(2)).rho
    assert event.to_dict() == {"mechanism": "exponential", "statistic": "cut", "epsilon": "2"}
    with pytest.raises(ConfigError, match="delta must"):
        ApproxEvent("x", Fraction(1), Fraction(1), "x")
