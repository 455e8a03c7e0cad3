"""Exact audits of the cut mechanisms over small families of neighbours; each must fail where a belief is false.

The whole families run in `scripts.accept.minimum_cuts_audit`.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dplib.mechanisms import exponential
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan, plan_cut_sampler
from dplib.mechanisms.exponential import count_losses
from dplib.privacy.budget import ApproxDP, PureDP
from tests.support import cut_audit, cut_rejected_releases, cut_sampler_audit
from tests.support.cut_audit import ONE, SCALED, Neighbours, neighbouring
from tests.support.cut_mechanism_laws import all_cuts, graphs, softmin


@cache
def families(cap: int) -> list[Neighbours]:
    """Graphs of 3 to 6 vertices, disconnected ones among them, moved by the whole cap."""
    parts = ((3, graphs(3, range(4))), (4, graphs(4, range(3))), (5, graphs(5, range(2))))
    unit = np.random.default_rng(3).integers(0, 2, (50, 15))
    every = [neighbouring(n, weights, cap) for n, weights in (*parts, (6, unit))]
    assert all((family.before.min(axis=1) == 0).any() for family in every)
    return every


@pytest.mark.parametrize("mechanism", SCALED)
def test_stays_below_its_claim_and_a_smaller_cap_is_caught(mechanism: str) -> None:
    for cap in (1, 3):
        audit = SCALED[mechanism](families(cap), cap, None)
        assert audit.holds, audit
    assert not SCALED[mechanism](families(3), 3, 1).holds


def test_oneshot_stays_below_its_claim_and_too_little_noise_is_caught() -> None:
    few = [family for family in families(1) if family.n < 6]
    for budget in (PureDP(ONE), ApproxDP(Fraction(1, 5), Fraction(1, 20))):
        assert cut_audit.oneshot(few, budget, 1).holds
    assert not cut_audit.oneshot(few, PureDP(ONE), 1, Fraction(1, 4)).holds
    assert not cut_audit.oneshot(few, ApproxDP(Fraction(1, 5), Fraction(1, 20)), 1, Fraction(1, 100)).holds


def test_number_of_minimum_cuts_stays_below_its_claim_for_all_steps_and_a_smaller_sensitivity_is_caught() -> None:
    assert cut_audit.number(families(3), ONE).holds
    three = [family for family in families(1) if family.n == 3]
    assert not cut_audit.number(three, ONE, cut_audit.count_sensitivity(3) - 8).holds


def sampler_plan(n: int, draws: int, cap: int, values: Fraction = Fraction(0)) -> SamplerPlan:
    """A plan whose smallest minimum cut lies within reach of small graphs."""
    shares = (Fraction(1, 2), Fraction(1, 20), Fraction(9, 20))
    return plan_cut_sampler(n, draws, ApproxDP(Fraction(4), Fraction(1, 100)), cap, shares=shares, values_share=values)


@pytest.mark.parametrize(
    ("n", "draws", "cap", "values"), [(5, 1, 1, Fraction(0)), (4, 2, 3, Fraction(0)), (5, 1, 3, Fraction(1, 2))]
)
def test_sampler_stays_below_its_claim_and_a_smaller_bound_is_caught(
    n: int, draws: int, cap: int, values: Fraction
) -> None:
    plan = sampler_plan(n, draws, cap, values)
    least, most = plan.lowest // (n - 1), plan.gate // (n - 1) + 2
    around = [neighbouring(n, b + graphs(n, range(2)), cap) for b in range(least - 1, most)]
    assert min(family.before.min() for family in around) < plan.lowest < plan.gate < around[-1].before.min()
    assert cut_sampler_audit.sampler(around, plan).holds
    assert not cut_sampler_audit.sampler(around, plan, bound=0).holds
    broken = replace(plan, draw_epsilon=4 * plan.draw_epsilon), replace(plan, value_epsilon=4 * plan.value_epsilon)
    for other in broken:
        assert not cut_sampler_audit.sampler(around, other, claimed=plan).holds


def test_padding_stays_below_its_claim_and_a_smaller_sensitivity_is_caught() -> None:
    plan = plan_cut_sampler(4, 1, ApproxDP(Fraction(6), Fraction(1, 20)), when_small="pad")
    some = np.random.default_rng(8).integers(0, 5, (60, 6))
    audit = cut_sampler_audit.padded_sampler(4, some, plan)
    assert audit.holds
    assert audit.worst > 0
    assert not cut_sampler_audit.padded_sampler(4, some, plan, Fraction(1, 8)).holds


def test_what_is_made_of_a_synthetic_graph_discloses_no_more() -> None:
    assert cut_audit.processed_synthetic(Fraction(3, 2), 15).holds


def test_a_pair_without_noise_is_caught() -> None:
    """Noise on present pairs only would tell which they are."""
    noise = cut_audit.laplace_ranges(np.array([1]), np.array([0]), 1.0)[0]
    absent = np.array([[1.0, 0.0]])  # all at k <= 0
    assert cut_audit.hockey(noise, absent, 1.0) > 0.5


def test_draws_invert_the_law_that_is_audited() -> None:
    """The code's own distribution function, to 64 digits, is the law of the audits."""
    rate = Fraction(7, 10)
    for row in all_cuts(5, np.random.default_rng(5).integers(0, 9, (40, 10))):
        losses, times = count_losses(row)
        ends = [0, *exponential._thresholds(losses.tolist(), times.tolist(), rate, 64)[0], 2**64]
        shares = np.diff(np.array([float(end) for end in ends])) / 2.0**64
        law = [softmin(row[None], float(rate))[0][row == loss].sum() for loss in losses]
        assert shares == pytest.approx(law, abs=1e-12)


def test_refused_releases_exceed_their_claims() -> None:
    for audit in (
        cut_rejected_releases.scale_one_count(10),
        cut_rejected_releases.found_candidates(families(1)),
        cut_rejected_releases.exact_number_as_k(families(1)),
        cut_rejected_releases.padded_top_k(),
    ):
        assert not audit.holds
        assert audit.worst > 0.01
    assert cut_rejected_releases.scale_one_count(9).holds
    chance = cut_rejected_releases.padded_candidates()
    assert chance[0] == pytest.approx(0.978, abs=2e-3)
    assert chance[1] < 1e-4
