"""Exact audits of the releases about minimum cuts: hockey-stick divergences over all small neighbours.

Every mechanism over more than a million neighbouring pairs of graphs with 2 to 6 vertices (the padding over 100,000),
among them all graphs of 6 vertices with unit weights, connected or not; below its claim at W = 1 and W = 3. Every
release that is refused, above it. Every mechanism again with a belief that is false, which must be caught. The laws and
the sums are those of `tests.support.cut_audit`, `tests.support.cut_sampler_audit` and
`tests.support.cut_rejected_releases`.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan, plan_cut_sampler
from dplib.mechanisms.cuts.cut_statistics import count_sensitivity
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP
from scripts.accept.claims import Check, Result
from tests.support import cut_audit, cut_rejected_releases, cut_sampler_audit
from tests.support.cut_audit import Audit, Neighbours, neighbouring
from tests.support.cut_mechanism_laws import graphs

ONE = Fraction(1)
CAPS = (1, 3)
ENOUGH = 100_000
GRIDS = ((2, range(20)), (3, range(9)), (4, range(5)), (5, range(3)), (6, range(2)))
"""Vertices, and the weights that every pair takes."""


@cache
def families(cap: int) -> list[Neighbours]:
    """All graphs of the grids and some of 6 vertices with heavier pairs, moved by every step from 1 to the cap."""
    heavier = np.random.default_rng(6).integers(0, 9, (100, 15))
    parts = [*((n, graphs(n, weights)) for n, weights in GRIDS), (6, heavier)]
    return [neighbouring(n, weights, step) for n, weights in parts for step in range(1, cap + 1)]


def with_choice(cap: int) -> list[Neighbours]:
    """The families with more than one cut."""
    return [family for family in families(cap) if family.n > 2]


def below(found: Audit, cap: int, more: str = "") -> Result:
    """A claim that no divergence exceeds what is promised, over enough neighbours."""
    claim = f"{found.mechanism}, W = {cap}{more}: divergence at epsilon {found.epsilon:.4g}"
    target = f"<= {found.delta:.3g}, {ENOUGH:,} pairs or more"
    return Result(claim, target, f"{found.worst:.3g} over {found.pairs:,}", found.holds and found.pairs >= ENOUGH)


def caught(found: Audit, belief: str) -> Result:
    """A claim that the audit sees a false belief."""
    claim = f"{found.mechanism} with {belief}: the audit fails"
    return Result(claim, f"> {found.delta:.3g}", f"{found.worst:.3g}", not found.holds)


AUDITS: tuple[Callable[[list[Neighbours], int, int | None], Audit], ...] = (
    lambda found, cap, believed: cut_audit.value(found, ONE, cap, believed),
    lambda found, cap, believed: cut_audit.synthetic(found, ONE, cap, believed),
    lambda found, cap, believed: cut_audit.peeling(found, PureDP(ONE), cap, believed),
    lambda found, cap, believed: cut_audit.peeling(found, ZCDP(Fraction(1, 2)), cap, believed),
    lambda found, cap, believed: cut_audit.measured(found, PureDP(ONE), cap, believed),
    lambda found, cap, believed: cut_audit.measured(found, ZCDP(ONE), cap, believed),
    lambda found, cap, believed: cut_audit.soft_count(found, Fraction(1, 2), ONE, cap, believed),
)
"""Audits of mechanisms whose noise scales with W."""


def scaled_mechanisms_stay_below_their_claims() -> Iterator[Result]:
    """Value, synthetic graph, peeling, chosen cut with its weight, soft count."""
    for audit in AUDITS:
        for cap in CAPS:
            yield below(audit(with_choice(cap), cap, None), cap)
    made = cut_audit.processed_synthetic(ONE)
    claim = f"{made.mechanism}, after clipping: divergence at epsilon 1 over {made.pairs} pairs"
    yield Result(claim, "<= 0", f"{made.worst:.3g}", made.holds)


def oneshot_stays_below_its_claim() -> Iterator[Result]:
    """Oneshot Laplace inside the conditions of its theorem."""
    for budget in (PureDP(ONE), ApproxDP(Fraction(1, 5), Fraction(1, 20))):
        yield below(cut_audit.oneshot(with_choice(1), budget, 1), 1)
    whole_steps = [family for family in with_choice(3) if family.step == 3 and len(family.before) < 6_000]
    yield below(cut_audit.oneshot(whole_steps, PureDP(ONE), 3), 3)


def number_stays_below_its_claim() -> Iterator[Result]:
    """The number of minimum cuts with its unconditional sensitivity, which holds for any W."""
    yield below(cut_audit.number(with_choice(3), ONE), 3)


def sampler_plan(n: int, draws: int, cap: int, values: Fraction) -> SamplerPlan:
    """A plan whose smallest minimum cut small graphs reach."""
    shares = (Fraction(1, 2), Fraction(1, 20), Fraction(9, 20))
    budget = ApproxDP(Fraction(4), Fraction(1, 100))
    return plan_cut_sampler(n, draws, budget, cap, shares=shares, values_share=values)


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
    results = []
    for n, weights in ((3, range(12)), (4, range(4)), (5, range(2))):
        results.append(cut_sampler_audit.padded_sampler(n, graphs(n, weights), padding_plan(n, 1)))
    six = np.random.default_rng(2).integers(0, 3, (60, 15))
    results.append(cut_sampler_audit.padded_sampler(6, six, padding_plan(6, 1)))
    random = np.random.default_rng(3).integers(0, 4, (10_000, 6))
    results.append(cut_sampler_audit.padded_sampler(4, random, padding_plan(4, 1)))
    whole = replace(results[0], pairs=sum(part.pairs for part in results), worst=max(part.worst for part in results))
    yield below(whole, 1)
    some = cut_sampler_audit.padded_sampler(4, graphs(4, range(3)), padding_plan(4, 3))
    claim = f"{some.mechanism}, W = 3: divergence at epsilon {some.epsilon:.4g}"
    yield Result(claim, f"<= {some.delta:.3g}", f"{some.worst:.3g} over {some.pairs:,}", some.holds)


def padding_plan(n: int, cap: int) -> SamplerPlan:
    """A plan with a short cycle."""
    return plan_cut_sampler(n, 1, ApproxDP(Fraction(6), Fraction(1, 20)), cap, when_small="pad")


def false_beliefs_are_caught() -> Iterator[Result]:
    """The same audits where the mechanism believes something false of the data."""
    few = [family for family in with_choice(3) if len(family.before) < 5_000]
    for audit in AUDITS:
        yield caught(audit(few, 3, 1), "W = 1 where it is 3")
    small = [family for family in with_choice(1) if family.n < 5]
    yield caught(cut_audit.oneshot(small, PureDP(ONE), 1, Fraction(1, 4)), "a quarter of the noise")
    approx = ApproxDP(Fraction(1, 5), Fraction(1, 20))
    yield caught(cut_audit.oneshot(small, approx, 1, Fraction(1, 100)), "a hundredth of the noise")
    three = [family for family in with_choice(1) if family.n == 3]
    yield caught(cut_audit.number(three, ONE, count_sensitivity(3) - 8), "8 steps less of sensitivity")
    plan = sampler_plan(5, 1, 1, Fraction(0))
    near = around(plan)
    yield caught(cut_sampler_audit.sampler(near, plan, bound=0), "draws from the minimum cuts alone")
    for changed in (replace(plan, draw_epsilon=4 * plan.draw_epsilon), replace(plan, gate_failure=Fraction(1, 2))):
        belief = "draws at four times the rate" if changed.gate_failure < Fraction(1, 2) else "an open gate"
        yield caught(cut_sampler_audit.sampler(near, changed, claimed=plan), belief)
    some = graphs(4, range(2))
    yield caught(
        cut_sampler_audit.padded_sampler(4, some, padding_plan(4, 1), Fraction(1, 8)), "an eighth of the sensitivity"
    )


def refused_releases_exceed_their_claims() -> Iterator[Result]:
    """What is refused by name, at the pairs that the refusals name."""
    audits = (
        cut_rejected_releases.scale_one_count(10),
        cut_rejected_releases.found_candidates(with_choice(1)),
        cut_rejected_releases.padded_top_k(),
        cut_rejected_releases.exact_number_as_k(with_choice(1)),
    )
    for found in audits:
        claim = f"refused {found.mechanism}: divergence at epsilon {found.epsilon:g} over {found.pairs:,} pairs"
        yield Result(claim, "> 0.01", f"{found.worst:.3g}", found.worst > 0.01)
    here, there = cut_rejected_releases.padded_candidates()
    claim = "refused padded_top_k: chance that a cut is a candidate, on two neighbours"
    yield Result(claim, ">= 0.97 and <= 1e-4", f"{here:.3g} and {there:.2g}", here >= 0.97 and there <= 1e-4)


CHECKS: tuple[Check, ...] = (
    scaled_mechanisms_stay_below_their_claims,
    oneshot_stays_below_its_claim,
    number_stays_below_its_claim,
    sampler_stays_below_its_claim,
    sampler_with_concentrated_draws_stays_below_its_claim,
    padding_stays_below_its_claim,
    false_beliefs_are_caught,
    refused_releases_exceed_their_claims,
)
