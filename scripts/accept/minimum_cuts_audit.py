"""Exact audits of the releases about minimum cuts: hockey-stick divergences over all small neighbours.

Every mechanism over more than a million neighbouring pairs of graphs with 3 to 6 vertices (the padding over 100,000),
among them all graphs of 6 vertices with unit weights, connected or not; below its claim at W = 1 and W = 3. The laws
and the sums are those of `tests.support.cut_audit` and `tests.support.cut_sampler_audit`; that the same audits fail
where a belief is false, and at rejected releases, is tested on smaller families (`tests.statistical.test_cut_audit`).
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan, plan_cut_sampler
from dplib.privacy.budget import ApproxDP, PureDP
from scripts.accept.claims import Check, Result
from tests.statistical.test_cut_audit import sampler_plan
from tests.support import cut_audit, cut_sampler_audit
from tests.support.cut_audit import ONE, SCALED, Audit, Neighbours, neighbouring
from tests.support.cut_mechanism_laws import graphs

ENOUGH = 100_000
GRIDS = ((3, range(9)), (4, range(5)), (5, range(3)), (6, range(2)))
"""Vertices, and the weights that every pair takes."""


@cache
def families(cap: int) -> list[Neighbours]:
    """All graphs of the grids and some of 6 vertices with heavier pairs, moved by every step from 1 to the cap."""
    heavier = np.random.default_rng(6).integers(0, 9, (100, 15))
    parts = [*((n, graphs(n, weights)) for n, weights in GRIDS), (6, heavier)]
    return [neighbouring(n, weights, step) for n, weights in parts for step in range(1, cap + 1)]


def below(found: Audit, cap: int, more: str = "", enough: int = ENOUGH) -> Result:
    """A claim that no divergence exceeds what is promised, over enough neighbours."""
    claim = f"{found.mechanism}, W = {cap}{more}: divergence at epsilon {found.epsilon:.4g}"
    target = f"<= {found.delta:.3g}, {enough:,} pairs or more"
    return Result(claim, target, f"{found.worst:.3g} over {found.pairs:,}", found.holds and found.pairs >= enough)


def scaled_mechanisms_stay_below_their_claims() -> Iterator[Result]:
    """Value, synthetic graph, peeling, chosen cut with its weight, soft count; and the number of minimum cuts."""
    for audit, cap in product(SCALED.values(), (1, 3)):
        yield below(audit(families(cap), cap, None), cap)
    # Its unconditional sensitivity holds for any W.
    yield below(cut_audit.number(families(3), ONE), 3)
    yield below(cut_audit.processed_synthetic(ONE), 1, ", after clipping", enough=81)


def oneshot_stays_below_its_claim() -> Iterator[Result]:
    """Oneshot Laplace inside the conditions of its theorem."""
    for budget in (PureDP(ONE), ApproxDP(Fraction(1, 5), Fraction(1, 20))):
        yield below(cut_audit.oneshot(families(1), budget, 1), 1)
    whole_steps = [family for family in families(3) if family.step == 3 and len(family.before) < 6_000]
    yield below(cut_audit.oneshot(whole_steps, PureDP(ONE), 3), 3)


def around(plan: SamplerPlan) -> list[Neighbours]:
    """Families on both sides of the smallest minimum cut and of the gate."""
    n, width = plan.n_vertices, range({4: 4, 5: 3, 6: 2}[plan.n_vertices])
    bases = range(plan.lowest // (n - 1) - 1, plan.gate // (n - 1) + 2, len(width) - 1)
    return [neighbouring(n, base + graphs(n, width), step) for base, step in product(bases, {1, plan.weight_cap})]


def sampler_stays_below_its_claim() -> Iterator[Result]:
    """The whole release with its refusal and its truncation: one draw, two draws, with noisy weights."""
    for n, draws, cap, values in ((6, 1, 1, 0), (6, 1, 3, 0), (6, 1, 1, 1), (5, 2, 1, 0)):
        plan = sampler_plan(n, draws, cap, Fraction(values, 2))
        found = cut_sampler_audit.sampler(around(plan), plan)
        yield below(found, cap, f", {draws} drawn of {n} vertices{' with weights' if values else ''}")


def sampler_with_concentrated_draws_stays_below_its_claim() -> Iterator[Result]:
    """The same where the draws are charged as zCDP, and the weights' noise is Gaussian."""
    for draws, values in ((2, 0), (1, 1)):
        plan = plan_cut_sampler(4, draws, ApproxDP(ONE, Fraction(1, 10)), values_share=Fraction(values, 2))
        assert plan.draws_delta > 0
        found = cut_sampler_audit.sampler(around(plan), plan)
        yield below(found, 1, f", zCDP, {draws} drawn of 4 vertices{' with weights' if values else ''}")


def padding_stays_below_its_claim() -> Iterator[Result]:
    """The whole release where weak graphs are padded; graphs keep their labels, as the cycle is public."""
    some = [(n, graphs(n, weights)) for n, weights in ((3, range(12)), (4, range(4)), (5, range(2)))]
    some.append((6, np.random.default_rng(2).integers(0, 3, (60, 15))))
    some.append((4, np.random.default_rng(3).integers(0, 4, (10_000, 6))))
    results = [cut_sampler_audit.padded_sampler(n, weights, padding_plan(n, 1)) for n, weights in some]
    whole = replace(results[0], pairs=sum(part.pairs for part in results), worst=max(part.worst for part in results))
    yield below(whole, 1)
    yield below(cut_sampler_audit.padded_sampler(4, graphs(4, range(3)), padding_plan(4, 3)), 3, enough=4_374)


def padding_plan(n: int, cap: int) -> SamplerPlan:
    """A plan with a short cycle."""
    return plan_cut_sampler(n, 1, ApproxDP(Fraction(6), Fraction(1, 20)), cap, when_small="pad")


CHECKS: tuple[Check, ...] = (
    scaled_mechanisms_stay_below_their_claims,
    oneshot_stays_below_its_claim,
    sampler_stays_below_its_claim,
    sampler_with_concentrated_draws_stays_below_its_claim,
    padding_stays_below_its_claim,
)
