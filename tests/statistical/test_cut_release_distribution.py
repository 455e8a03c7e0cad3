"""Keyed draws of the releases about cuts against their exact laws, and against laws 40 % off."""

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from dplib.arrays import FloatArray
from dplib.graphs.cuts import packed_cuts
from dplib.graphs.cuts.minimum_cut import minimum_cut
from dplib.graphs.cuts.near_minimum import near_minimum_cuts
from dplib.graphs.edges import canonical, unpack_sides
from dplib.jobs.minimum_cuts import padded_graph
from dplib.mechanisms.cuts.cut_sampler import sample_cuts
from dplib.mechanisms.cuts.cut_sampler_plan import plan_cut_sampler
from dplib.mechanisms.cuts.pair_weights import noisy_pairs
from dplib.mechanisms.discrete_laplace import discrete_laplace_probability
from dplib.mechanisms.exponential import exponential_probability
from dplib.mechanisms.oneshot_laplace import draw_oneshot
from dplib.mechanisms.top_k import peel
from dplib.privacy.budget import ApproxDP
from dplib.privacy.noise import Law, Noise
from dplib.randomness.keyed import KeyedStream, derive_key
from tests.support.cut_mechanism_laws import all_cuts, all_sides, oneshot_two, peel_two
from tests.support.cut_padded_graph import DensePaddedGraph
from tests.support.goodness_of_fit import PASS, REJECT, chi_square_p_value, pearson_p_value

KEY = bytes(range(32))
OFF = (0.6, 1.4)


def _p_value(drawn: Sequence[Hashable], outcomes: Sequence[Hashable], law: FloatArray) -> float:
    counts = Counter(drawn)
    assert set(counts) <= set(outcomes)
    observed = np.array([counts[outcome] for outcome in outcomes], dtype=np.float64)
    return pearson_p_value(observed, len(drawn) * law / law.sum())


def test_peeling_draws_ordered_pairs_by_their_law() -> None:
    losses, rate = np.array([4, 2, 2, 7, 0], dtype=np.int64), Fraction(2, 5)
    stream = KeyedStream(KEY, "peel")
    drawn = [tuple(peel(stream, losses, 2, rate).tolist()) for _ in range(1_500)]
    outcomes = list(permutations(range(5), 2))
    assert _p_value(drawn, outcomes, peel_two(losses, float(rate))) > PASS
    for factor in OFF:
        assert _p_value(drawn, outcomes, peel_two(losses, float(rate) * factor)) < REJECT


def test_oneshot_draws_sets_by_the_continuous_law() -> None:
    """Scale 3/2 on ties: the law is that of continuous noise, which discrete noise with ties would miss."""
    losses, scale = np.array([3, 1, 1, 5, 0], dtype=np.int64), Fraction(3, 2)
    stream = KeyedStream(KEY, "oneshot")
    drawn = [tuple(draw_oneshot(stream, losses, 2, scale).tolist()) for _ in range(2_300)]
    outcomes = list(combinations(range(5), 2))
    law = oneshot_two(losses[None], float(scale))[0]
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert _p_value(drawn, outcomes, law) > PASS
    for factor in OFF:
        assert _p_value(drawn, outcomes, oneshot_two(losses[None], float(scale) * factor)[0]) < REJECT


def test_oneshot_settles_contested_cells_by_further_digits() -> None:
    """At a scale far below the grid the noises share two cells: only further digits decide, fairly between equals."""
    losses = np.zeros(6, dtype=np.int64)
    stream = KeyedStream(KEY, "cells")
    drawn = [tuple(draw_oneshot(stream, losses, 3, Fraction(1, 200)).tolist()) for _ in range(500)]
    outcomes = list(combinations(range(6), 3))
    assert _p_value(drawn, outcomes, np.ones(len(outcomes))) > PASS


def test_pair_weights_have_the_noise_on_every_pair_present_or_not() -> None:
    n, epsilon, cap = 900, Fraction(2, 3), 2
    source, target = np.arange(0, n - 1), np.arange(1, n)
    weight = np.full(n - 1, 40, dtype=np.int64)
    noisy = noisy_pairs(n, source, target, weight, Noise(Law.LAPLACE, cap / epsilon, Fraction(cap)), KEY, "graph")
    ends = np.triu_indices(n, 1)
    noise = noisy - np.where(ends[1] == ends[0] + 1, 40, 0)
    assert chi_square_p_value(noise, lambda k: discrete_laplace_probability(k, cap / epsilon)) > PASS
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        assert (
            chi_square_p_value(noise, lambda k, f=factor: discrete_laplace_probability(k, f * cap / epsilon)) < REJECT
        )
    # No block of a vertex repeats another's noise.
    assert abs(np.corrcoef(noise[: n - 2], noise[n - 1 : 2 * n - 3])[0, 1]) < 7 / n**0.5


def test_cuts_are_drawn_without_a_list_by_their_law() -> None:
    """Thirteen vertices, several trees, more than one cut within reach of the minimum; both ways to their masses."""
    rng = np.random.default_rng(4)
    n, rate = 13, Fraction(1, 9)
    graph = canonical(n, *np.triu_indices(n, 1), rng.integers(1, 5, n * (n - 1) // 2))
    least = minimum_cut(graph).value
    bound = least * 145 // 100
    listed = near_minimum_cuts(graph, bound).cuts
    outcomes = [int(words) for words in listed.packed[:, 0]]
    assert len(outcomes) == len(set(outcomes)) > 8
    for ranges in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(packed_cuts, "rows_are_cheaper", lambda _, ranges=ranges: not ranges)
            cuts = padded_graph.packed_cuts(graph, least, bound, rate)
            weights, packed = cuts.draw(KeyedStream(KEY, "cuts", int(ranges)), 1_300)
        drawn = [int(words) for words in packed[:, 0]]
        value = dict(zip(outcomes, listed.values.tolist(), strict=True))
        assert [value[words] for words in drawn] == weights.tolist()
        assert _p_value(drawn, outcomes, exponential_probability(listed.values, rate)) > PASS
        assert _p_value(drawn, outcomes, exponential_probability(listed.values, rate * 5 / 2)) < REJECT
        assert _p_value(drawn, outcomes, exponential_probability(listed.values, rate / 8)) < REJECT


def test_minimum_cuts_of_a_ring_are_drawn_uniformly() -> None:
    """4,950 pairs of edges, in one row each or in two by whichever edge the tree lacks."""
    n = 100
    ring = canonical(n, np.arange(n), (np.arange(n) + 1) % n, np.full(n, 200))
    cuts = padded_graph.packed_cuts(ring, 400, 580, Fraction(1, 5))
    weights, packed = cuts.draw(KeyedStream(KEY, "ring"), 1_000)
    assert set(weights.tolist()) == {400}
    sides = unpack_sides(packed, n)
    sizes = sides.sum(axis=1)
    # An arc of s vertices without vertex 0 begins at any of n - s places.
    assert _p_value(sizes.tolist(), range(1, n), n - np.arange(1.0, n)) > PASS
    share = (sides.argmax(axis=1) - 1) / (n - sizes)
    assert stats.kstest(share + 0.5 / (n - sizes), "uniform").pvalue > PASS


def test_sampled_cuts_have_the_law_of_all_cuts() -> None:
    """One draw of the whole release a key: the exponential mechanism over all 15 cuts, to within eta_B."""
    plan = plan_cut_sampler(5, 1, ApproxDP(Fraction(4), Fraction(1, 10**6)))
    weights = 25 + np.array([0, 3, 1, 0, 2, 1, 0, 1, 2, 0])
    graph = DensePaddedGraph(5, weights)
    assert graph.minimum_cut(0) > plan.gate + 30
    drawn = []
    for run in range(1_000):
        release = sample_cuts(graph, plan, derive_key(KEY, "run", run), "cuts")
        assert not release.refused
        assert release.sides.shape == (1, 5)
        drawn.append(release.sides[0].tobytes())
    outcomes = [side.tobytes() for side in all_sides(5)]
    cuts = all_cuts(5, weights)
    assert _p_value(drawn, outcomes, exponential_probability(cuts, plan.rate)) > PASS
    for factor in (Fraction(6, 10), Fraction(14, 10)):
        assert _p_value(drawn, outcomes, exponential_probability(cuts, plan.rate * factor)) < REJECT
