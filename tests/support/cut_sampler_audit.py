"""Exact audits of the cut sampler's whole release: noisy value, refusal or padding, drawn cuts, their noisy weights."""

from fractions import Fraction
from math import comb

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.mechanisms.cuts.cut_sampler import cycle_weight
from dplib.mechanisms.cuts.cut_sampler_plan import SamplerPlan
from dplib.mechanisms.exponential import exponential_probability, exponential_rate
from tests.support.cut_audit import Audit, Neighbours, chunks, fallback, hockey, laplace_ranges, noise_laws, worst_of
from tests.support.cut_mechanism_laws import all_cuts, all_sides, softmin


def sampler_law(cuts: IntArray, plan: SamplerPlan, bound: int | None = None) -> FloatArray:
    """The law of one drawn cut for each row: truncated at the plan's bound, a fixed cut where the graph is weak.

    ``bound`` replaces the plan's by so much above the minimum: 0 draws from the minimum cuts alone.
    """
    least = cuts.min(axis=-1)
    strong = least >= plan.lowest
    reach = {int(v): plan.bound(int(v)) if bound is None else int(v) + bound for v in np.unique(least[strong])}
    bounds = np.array([reach.get(int(v), 0) for v in least.ravel()]).reshape(least.shape)
    law = np.where(cuts <= bounds[..., None], softmin(cuts, float(plan.rate)), 0)
    law = np.where(strong[..., None], law, np.arange(cuts.shape[-1]) == fallback(cuts.shape[-1]))
    return np.asarray(law / law.sum(axis=-1, keepdims=True))


def sampler(
    families: list[Neighbours], plan: SamplerPlan, bound: int | None = None, claimed: SamplerPlan | None = None
) -> Audit:
    """The whole release: noisy value, refusal or drawn cuts (one, or two in order), and their noisy weights.

    Noisy weights are audited with one draw. With ``claimed`` the release follows one plan and claims what another
    promises.
    """
    claim = (claimed or plan).guarantee
    value_scale = float(plan.weight_cap / plan.value_epsilon)

    def divergence(family: Neighbours) -> float:
        worst = 0.0
        for before, after in chunks(family.before, family.after, size=500 if plan.n_draws == 1 else 100):
            least = before.min(axis=1), after.min(axis=1)
            refused = laplace_ranges(*least, value_scale, high=plan.gate)
            passed = laplace_ranges(*least, value_scale, low=plan.gate)
            drawn = _with_weights(before, after, plan, bound)
            joint = [
                np.concatenate([no, (yes[:, :, None] * law[:, None, :]).reshape(len(before), -1)], axis=1)
                for no, yes, law in zip(refused, passed, drawn, strict=True)
            ]
            worst = max(worst, hockey(joint[0], joint[1], float(claim.epsilon)))
        return worst

    return worst_of("sampled cuts", families, (float(claim.epsilon), float(claim.delta)), divergence)


def _with_weights(
    before: IntArray, after: IntArray, plan: SamplerPlan, bound: int | None
) -> tuple[FloatArray, FloatArray]:
    """Laws of the draws with the ranges of their noisy weights, both of shape (n_rows, n_outcomes)."""
    laws = [sampler_law(cuts, plan, bound) for cuts in (before, after)]
    if plan.values_budget is not None:
        # Each of at most k weights has noise for k of them; k = 1 here.
        assert plan.n_draws == 1
        noise = noise_laws(before, after, plan.values_budget, Fraction(plan.weight_cap))
        laws = [law[:, :, None] * part.reshape(*law.shape, -1) for law, part in zip(laws, noise, strict=True)]
    flat = [law.reshape(len(law), -1) for law in laws]
    if plan.n_draws == 2:
        flat = [(law[:, :, None] * law[:, None, :]).reshape(len(law), -1) for law in flat]
    return flat[0], flat[1]


def padded_sampler(n: int, graphs: IntArray, plan: SamplerPlan, believed: Fraction | None = None) -> Audit:
    """The whole release where weak graphs are padded, over graphs with these pair weights; moves by W.

    ``believed`` replaces the sensitivity W of the padding's loss.
    """
    claim = plan.guarantee
    sides, paddings = all_sides(n), np.arange(n * plan.target // 2 + 1)
    laid = np.stack([cycle_weight(sides, int(i)) for i in paddings])
    rate = exponential_rate(plan.padding_epsilon, believed or Fraction(plan.weight_cap), monotone=False)

    def law(cuts: IntArray) -> tuple[FloatArray, FloatArray]:
        padded = cuts[:, None, :] + laid
        chosen = exponential_probability(np.abs(padded.min(axis=2) - plan.target), rate)
        return (chosen[:, :, None] * sampler_law(padded, plan)).reshape(len(cuts), -1), sampler_law(cuts, plan)

    moves = plan.weight_cap * np.eye(comb(n, 2), dtype=np.int64)
    pairs = np.repeat(graphs, len(moves), axis=0), np.tile(moves, (len(graphs), 1))
    scale, worst = float(plan.weight_cap / plan.value_epsilon), 0.0
    for row, move in chunks(*pairs, size=max(1, 2_000_000 // laid.size)):
        cuts = all_cuts(n, row), all_cuts(n, row + move)
        least = cuts[0].min(axis=1), cuts[1].min(axis=1)
        weak = laplace_ranges(*least, scale, high=plan.gate)
        strong = laplace_ranges(*least, scale, low=plan.gate)
        joint = [
            np.concatenate([(noise[:, :, None] * part[:, None, :]).reshape(len(row), -1) for noise, part in both], 1)
            for both in (zip((weak[i], strong[i]), law(cuts[i]), strict=True) for i in (0, 1))
        ]
        worst = max(worst, hockey(joint[0], joint[1], float(claim.epsilon)))
    return Audit("sampled cuts with padding", len(pairs[0]), float(claim.epsilon), float(claim.delta), worst)
