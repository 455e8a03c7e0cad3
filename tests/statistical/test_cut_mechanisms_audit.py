"""Exact divergences of the mechanisms on cuts over 100,000 neighbouring graphs and more; refused ones exceed theirs."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from dplib.errors import ConfigError
from dplib.mechanisms.cut_sampler import cycle_weight, padding_levels
from dplib.mechanisms.cut_sampler_plan import SamplerPlan, plan_cut_sampler
from dplib.mechanisms.cut_statistics import (
    GRID,
    count_ratio,
    count_sensitivity,
    count_steps,
    soft_count_sensitivity,
    soft_count_steps,
)
from dplib.mechanisms.exponential import exponential_probability, exponential_rate
from dplib.mechanisms.oneshot_laplace import oneshot_scale
from dplib.mechanisms.refusals import REFUSED_RELEASES, refuse
from dplib.mechanisms.top_k import draw_epsilon
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP
from dplib.privacy.calibration import epsilon_from_rho
from tests.cut_mechanism_laws import (
    all_cuts,
    all_sides,
    divergence,
    graphs,
    largest_loss,
    minimum_and_number,
    neighbours,
    oneshot_two,
    peel_two,
    small_family,
    softmin,
)
from tests.oracles import discrete_laplace_pmf, hockey_stick

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
TINY = 1e-9


def test_the_family_is_large_enough() -> None:
    pairs, parts = small_family()
    assert pairs >= 100_000
    assert {n for n, _, _ in parts} == {3, 4, 5, 6}


def _shifted(shift: int, scale: float, epsilon: float) -> float:
    """Divergence of discrete Laplace noise against itself moved by ``shift``."""
    k = np.arange(-int(60 * scale) - 50, int(60 * scale) + 50 + shift)
    noise = discrete_laplace_pmf(scale)
    return hockey_stick(noise(k), noise(k - shift), epsilon)


@pytest.mark.parametrize("step", [1, 3])
def test_value_stays_at_its_claim_and_half_the_noise_does_not(step: int) -> None:
    epsilon = 0.8
    for n, weights in ((3, graphs(3, range(7))), (4, graphs(4, range(5))), (5, graphs(5, range(2)))):
        _, before, after = neighbours(n, weights, step)
        moves = minimum_and_number(after)[0] - minimum_and_number(before)[0]
        assert 0 <= moves.min() <= moves.max() == step
        assert max(_shifted(int(move), step / epsilon, epsilon) for move in np.unique(moves)) < TINY
        assert _shifted(step, step / epsilon / 2, epsilon) > 0.1


def test_peeling_pure_stays_at_its_claim_and_reaches_it() -> None:
    epsilon = Fraction(1)
    rate = float(exponential_rate(draw_epsilon(PureDP(epsilon), 2), Fraction(1), monotone=True))
    losses = [largest_loss(peel_two(a, rate), peel_two(b, rate)) for _, a, b in small_family()[1]]
    assert 0.6 < max(losses) <= 1 + TINY
    broken = [largest_loss(peel_two(a, 2 * rate), peel_two(b, 2 * rate)) for _, a, b in small_family()[1]]
    assert max(broken) > 1.2


def test_peeling_zcdp_stays_below_its_claim() -> None:
    rho, delta = Fraction(1, 10), Fraction(1, 100)
    rate = float(exponential_rate(draw_epsilon(ZCDP(rho), 2), Fraction(1), monotone=True))
    claim = float(epsilon_from_rho(rho, delta))
    for _, before, after in small_family()[1]:
        p, q = peel_two(before, rate), peel_two(after, rate)
        assert divergence(p, q, claim) <= float(delta)
        for alpha in (1.5, 2.0, 8.0):
            for one, other in ((p, q), (q, p)):
                renyi = np.log((one**alpha * other ** (1 - alpha)).sum(axis=-1)) / (alpha - 1)
                assert renyi.max() <= alpha * float(rho) + TINY


def test_bounded_range_needs_monotone_losses() -> None:
    """With losses that move both ways the monotone rate breaks the claim: the planted error is seen."""
    losses = np.array([[0] + [0] * 500]), np.array([[-1] + [1] * 500])
    wrong = exponential_rate(Fraction(1), Fraction(1), monotone=True)
    right = exponential_rate(Fraction(1), Fraction(1), monotone=False)
    assert largest_loss(*(softmin(part, float(wrong)) for part in losses)) > 1.9
    assert largest_loss(*(softmin(part, float(right)) for part in losses)) <= 1 + TINY


def test_oneshot_stays_below_its_claim() -> None:
    budget = ApproxDP(Fraction(1, 5), Fraction(1, 20))
    for n, before, after in small_family()[1]:
        if n == 6:  # 465 sets a graph; the family keeps 105,019 pairs without it
            continue
        for claim in (budget, PureDP(Fraction(1))):
            scale = float(oneshot_scale(claim, 2, before.shape[1]))
            for start in range(0, len(before), 200):
                p, q = (oneshot_two(cuts[start : start + 200], scale) for cuts in (before, after))
                assert np.abs(p.sum(axis=-1) - 1).max() < 1e-6
                delta = float(budget.delta) if isinstance(claim, ApproxDP) else 1e-6
                assert divergence(p, q, float(claim.epsilon)) <= delta


def test_oneshot_with_the_noise_of_one_choice_is_caught() -> None:
    """Scale 1 / epsilon, which would do for one value, breaks the pure claim for a set of two."""
    _, before, after = neighbours(4, graphs(4, range(3)))
    assert divergence(oneshot_two(before, 1.0), oneshot_two(after, 1.0), 1.0) > 0
    assert largest_loss(oneshot_two(before, 0.5), oneshot_two(after, 0.5)) > 1.2


def test_synthetic_graph_moves_one_pair_and_skipping_absent_pairs_is_caught() -> None:
    assert _shifted(1, 1 / 0.7, 0.7) < TINY
    noise = discrete_laplace_pmf(1 / 0.7)
    k = np.arange(-100, 101)
    absent = (k == 0).astype(float)
    assert max(hockey_stick(noise(k - 1), absent, 0.7), hockey_stick(absent, noise(k - 1), 0.7)) > 0.5


def test_number_of_minimum_cuts_stays_at_its_claim() -> None:
    epsilon = 1.0
    for n, before, after in small_family()[1]:
        numbers = np.stack([minimum_and_number(cuts)[1] for cuts in (before, after)], axis=1)
        moves = {abs(count_steps(int(a), n) - count_steps(int(b), n)) for a, b in np.unique(numbers, axis=0)}
        assert max(moves) <= count_sensitivity(n)
        scale = count_sensitivity(n) / epsilon
        assert max(_shifted(move, scale, epsilon) for move in moves) < TINY
        if n <= 4:
            assert max(moves) >= count_sensitivity(n) - 1  # the extremal pair is among them


@pytest.mark.parametrize("step", [2, 3])
def test_number_of_minimum_cuts_under_heavier_steps(step: int) -> None:
    for n, weights in ((3, graphs(3, range(6))), (4, graphs(4, range(4))), (5, graphs(5, range(2)))):
        _, before, after = neighbours(n, weights, step)
        numbers = np.stack([minimum_and_number(cuts)[1] for cuts in (before, after)], axis=1)
        moves = {abs(count_steps(int(a), n) - count_steps(int(b), n)) for a, b in np.unique(numbers, axis=0)}
        assert max(moves) <= count_sensitivity(n)


def _ring_with_pendant(n: int, pendant: int) -> IntArray:
    """Lemma 4.1.1 with unit weights: a ring of n - 1 vertices and vertex 0 hanging on one of them."""
    edges = {(1, 2): 0} | {tuple(sorted((v, v + 1 if v < n - 1 else 1))): 1 for v in range(1, n)} | {(0, 1): pendant}
    return np.array([edges.get(pair, 0) for pair in combinations(range(n), 2)])


def test_scale_one_count_exceeds_its_claim_at_ten_vertices_and_ours_does_not() -> None:
    numbers = [int(minimum_and_number(all_cuts(10, _ring_with_pendant(10, pendant)))[1]) for pendant in (1, 2)]
    assert numbers == [1, 37]
    move = count_steps(37, 10) - count_steps(1, 10)
    assert _shifted(move, GRID / 1.0, 1.0) > 0.01
    assert _shifted(move, count_sensitivity(10) / 1.0, 1.0) < TINY
    assert float(np.log2(float(count_ratio(10)))) == pytest.approx(1.112, abs=1e-3)


def test_raw_count_with_noise_of_scale_one_exceeds_its_claim() -> None:
    worst = 0
    for _, before, after in small_family()[1]:
        worst = max(worst, int(np.abs(minimum_and_number(before)[1] - minimum_and_number(after)[1]).max()))
    assert _shifted(worst, 1.0, 1.0) > 0.3


def test_soft_count_stays_at_its_claim() -> None:
    eta = Fraction(1, 2)
    for _, before, after in small_family()[1]:
        rows = np.random.default_rng(1).choice(len(before), min(len(before), 400), replace=False)
        moves = [abs(soft_count_steps(before[row], eta) - soft_count_steps(after[row], eta)) for row in rows]
        assert 0 < max(moves) <= soft_count_sensitivity(eta)
        assert _shifted(max(moves), soft_count_sensitivity(eta) / 1.0, 1.0) < TINY
        # The same sums in floating point, over all pairs.
        exact = [
            np.log(np.exp(-float(eta) * (cuts - cuts.min(axis=1, keepdims=True))).sum(axis=1))
            for cuts in (before, after)
        ]
        assert np.abs(exact[0] - exact[1]).max() * GRID <= soft_count_sensitivity(eta)


# --- the cut sampler, from the noisy value to the drawn cut, exactly ---


def _sampler_law(cuts: IntArray, plan: SamplerPlan, bound: int | None = None) -> FloatArray:
    """The law of one drawn cut for each row, as `sample_cuts` draws it: truncated, or fixed where the graph is weak."""
    value = cuts.min(axis=-1)
    bounds = np.array([plan.bound(int(v)) if v >= plan.lowest else 0 for v in value]) if bound is None else bound
    kept = cuts <= (bounds[:, None] if bound is None else value[:, None] + bound)
    law = np.where(kept, softmin(cuts, float(plan.rate)), 0)
    fixed = np.arange(cuts.shape[-1]) == cuts.shape[-1] - 1
    law = np.where((value < plan.lowest)[:, None] & (bound is None), fixed, law)
    return np.asarray(law / law.sum(axis=-1, keepdims=True))


def _with_value(cuts: IntArray, law: FloatArray, plan: SamplerPlan) -> FloatArray:
    """Joint law of the noisy value (as seen by the gate, up to 60 beyond) and the refusal or the cut."""
    k = np.arange(-60, 120)
    seen = discrete_laplace_pmf(float(plan.weight_cap / plan.value_epsilon))(k - cuts.min(axis=-1)[:, None])
    passes = seen * (k >= plan.gate)
    joint = passes[:, :, None] * law[:, None, :]
    return np.concatenate([seen * (k < plan.gate), joint.reshape(len(cuts), -1)], axis=1)


SMALL_PLAN = plan_cut_sampler(
    4, 1, ApproxDP(Fraction(4), Fraction(1, 100)), shares=(Fraction(1, 2), Fraction(1, 20), Fraction(9, 20))
)


def test_sampler_stays_below_its_claim_over_weak_and_strong_graphs() -> None:
    """All 15,625 graphs with pair weights 3 to 7: minimum cuts on both sides of `lowest` and of the gate."""
    pairs, before, after = neighbours(4, graphs(4, range(3, 8)))
    pairs_more, *more = neighbours(4, graphs(4, range(6, 10)))
    before, after = np.concatenate([before, more[0]]), np.concatenate([after, more[1]])
    assert pairs + pairs_more >= 100_000
    values = before.min(axis=1)
    assert values.min() < SMALL_PLAN.lowest < values.max()
    claim = SMALL_PLAN.guarantee
    assert claim.epsilon <= 4
    assert claim.delta <= Fraction(1, 100)
    worst = 0.0
    for start in range(0, len(before), 500):
        one, other = before[start : start + 500], after[start : start + 500]
        p, q = (_with_value(cuts, _sampler_law(cuts, SMALL_PLAN), SMALL_PLAN) for cuts in (one, other))
        worst = max(worst, divergence(p, q, float(claim.epsilon)))
    assert worst <= float(claim.delta)
    # No step alone could hide what the others do: the draws alone keep their part of the claim where both are strong.
    strong = before.min(axis=1) >= SMALL_PLAN.lowest
    laws = [_sampler_law(cuts[strong], SMALL_PLAN) for cuts in (before, after)]
    assert divergence(*laws, float(SMALL_PLAN.draws_epsilon)) <= 2 * float(SMALL_PLAN.bound_failure) * np.exp(4)


def test_a_bound_that_is_too_small_is_caught() -> None:
    """Drawing from the minimum cuts alone: which they are changes between neighbours."""
    _, before, after = neighbours(4, graphs(4, range(6, 9)))
    laws = [_sampler_law(cuts, SMALL_PLAN, bound=0) for cuts in (before, after)]
    assert divergence(*laws, float(SMALL_PLAN.draws_epsilon)) > 0.3


PAD_PLAN = plan_cut_sampler(4, 1, ApproxDP(Fraction(6), Fraction(1, 20)), when_weak="pad")


def _padded_law(cuts: IntArray) -> FloatArray:
    """Joint law of (padding, cut) for one graph below the gate."""
    sides, n_edges = all_sides(4), 4 * PAD_PLAN.target // 2
    padded = np.stack([cuts + cycle_weight(sides, i) for i in range(n_edges + 1)])
    losses = np.abs(padded.min(axis=1) - PAD_PLAN.target)
    rate = exponential_rate(PAD_PLAN.padding_epsilon, Fraction(1), monotone=False)
    return np.asarray(exponential_probability(losses, rate)[:, None] * _sampler_law(padded, PAD_PLAN))


def test_padding_stays_below_its_claim_on_weak_graphs() -> None:
    weights = np.random.default_rng(8).integers(0, 5, (40, 6))
    claim = PAD_PLAN.guarantee
    worst, weak_after = 0.0, 0.0
    for row in weights:
        heavier = row + (np.arange(6) == np.random.default_rng(int(row.sum())).integers(6))
        p, q = (_padded_law(all_cuts(4, part)).reshape(1, -1) for part in (row, heavier))
        worst = max(worst, divergence(p, q, float(PAD_PLAN.padding_epsilon + PAD_PLAN.draws_epsilon)))
        cuts = all_cuts(4, row)
        sides = all_sides(4)
        values, first, times = padding_levels(
            lambda i, cuts=cuts, sides=sides: int((cuts + cycle_weight(sides, i)).min()), 4 * PAD_PLAN.target // 2
        )
        law = exponential_probability(
            np.abs(values - PAD_PLAN.target), PAD_PLAN.padding_epsilon / 2, times.astype(np.float64)
        )
        assert first[0] == 0
        weak_after = max(weak_after, float(law[values < PAD_PLAN.lowest].sum()))
    assert worst <= float(claim.delta)
    assert weak_after <= float(PAD_PLAN.padding_failure)


def test_top_k_over_found_cuts_exceeds_its_claim() -> None:
    """Candidates within 1.45 of the private minimum: an edge takes a candidate away, whatever epsilon."""
    worst = 0.0
    for _, before, after in small_family()[1]:
        laws = []
        for cuts in (before, after):
            found = cuts <= 1.45 * cuts.min(axis=1, keepdims=True)
            law = np.where(found, softmin(cuts, 0.25), 0)
            laws.append(law / law.sum(axis=1, keepdims=True))
        worst = max(worst, divergence(*laws, 0.5))
    assert worst > 0.2


def test_padded_top_k_of_the_thesis_has_no_delta_below_97_percent() -> None:
    """A heavy clique of 48 vertices, one of weight 300 behind another: a candidate on one graph, hardly on the next.

    Cuts with a vertex of the clique on either side weigh too much to matter; the cycle is laid pair after pair.
    """
    n, epsilon, target, value = 50, 0.5, 158, 300
    half = target // 2
    i = np.arange(1, n * half + 1)
    laid = np.clip(i[:, None] - half * np.arange(n), 0, half)  # pairs (p, p + 1 mod n)
    alone = value + laid[:, 48] + laid[:, 49]
    chance = []
    for extra in (0, 1):
        behind = 4 * value + extra + laid[:, 47] + laid[:, 49]
        other = 5 * value + extra + laid[:, 47] + laid[:, 48]  # vertex 48 alone: never the minimum
        least = np.minimum(alone, np.minimum(behind, other))
        law = exponential_probability(np.abs(least - target), Fraction(1, 4))
        chance.append(float(law[behind <= 4 * least].sum()))
    assert chance[0] == pytest.approx(0.978, abs=2e-3)
    assert chance[1] < 1e-4
    assert chance[0] - np.exp(epsilon) * chance[1] > 0.97


def test_exact_number_as_k_shows_the_graph() -> None:
    """The number of published cuts is the exact number of minimum cuts: an event of probability 1 or 0."""
    changed = [
        np.any(minimum_and_number(before)[1] != minimum_and_number(after)[1]) for _, before, after in small_family()[1]
    ]
    assert all(changed)


@pytest.mark.parametrize("release", REFUSED_RELEASES)
def test_refused_by_name_with_the_reason(release: str) -> None:
    with pytest.raises(ConfigError, match=f"^release must be private, got {release}: ") as refusal:
        refuse(release)
    assert len(str(refusal.value)) > 100


def test_other_releases_are_not_refused() -> None:
    for release in ("value", "synthetic_graph", "top_k", "sampled_cuts", "count", "soft_count"):
        refuse(release)
