"""Top-k, oneshot Laplace, the synthetic graph, statistics of minimum cuts: conditions, splits, reference values."""

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.mechanisms.cuts import cut_statistics
from dplib.mechanisms.cuts.cut_statistics import (
    COUNT_WARNING,
    GRID,
    count_ratio,
    count_sensitivity,
    count_steps,
    soft_count_steps,
)
from dplib.mechanisms.cuts.pair_weights import cut_error, noisy_pairs, pair_positions
from dplib.mechanisms.discrete_laplace import draw_discrete_laplace
from dplib.mechanisms.oneshot_laplace import draw_oneshot, oneshot_error, oneshot_scale
from dplib.mechanisms.top_k import draw_epsilon, peel
from dplib.privacy.budget import ZCDP, ApproxDP, PureDP
from dplib.privacy.calibration import epsilon_from_rho
from dplib.privacy.noise import Law, Noise
from dplib.privacy.rounding import log_above, log_below
from dplib.randomness.digits import ExpNegative
from dplib.randomness.keyed import KeyedStream
from tests.support.cut_mechanism_laws import all_cuts, all_sides

KEY = bytes(range(32))


# --- top-k ---


@settings(max_examples=20, deadline=None)
@given(rho=st.fractions(Fraction(1, 1000), 5, max_denominator=1000), k=st.integers(1, 500))
def test_splits_never_overspend(rho: Fraction, k: int) -> None:
    assert k * draw_epsilon(PureDP(rho), k) == rho
    epsilon = draw_epsilon(ZCDP(rho), k)
    assert k * epsilon**2 / 8 <= rho < k * (epsilon + Fraction(1, 10**14)) ** 2 / 8
    delta = Fraction(1, 10**6)
    approx = draw_epsilon(ApproxDP(rho, delta), k)
    assert epsilon_from_rho(k * approx**2 / 8, delta) <= rho


def test_peeling_takes_every_candidate_once() -> None:
    losses = np.array([7, 7, 1, 3, 3, 3, 10**12], dtype=np.int64)
    drawn = peel(KeyedStream(KEY, "all"), losses, 7, Fraction(1, 2))
    assert sorted(drawn.tolist()) == list(range(7))
    assert drawn[-1] == 6


def test_peeling_at_a_large_rate_sorts() -> None:
    losses = np.random.default_rng(2).permutation(200).astype(np.int64)
    drawn = peel(KeyedStream(KEY, "sort"), losses, 30, Fraction(60))
    assert losses[drawn].tolist() == list(range(30))


@pytest.mark.parametrize("k", [0, 4])
def test_peeling_more_than_there_are_is_refused(k: int) -> None:
    with pytest.raises(ConfigError, match=r"^n_draws must lie between 1 and the 3"):
        peel(KeyedStream(KEY, "x"), np.arange(3), k, Fraction(1))


# --- oneshot Laplace ---


def test_oneshot_scales_are_those_of_the_paper() -> None:
    budget = ApproxDP(Fraction(1, 5), Fraction(1, 20))
    scale = oneshot_scale(budget, 6, 2**15 - 1, Fraction(3))
    assert float(scale) == pytest.approx(8 * 3 * (6 * log((2**15 - 1) / 0.05)) ** 0.5 / 0.2, rel=1e-12)
    assert oneshot_scale(PureDP(Fraction(1, 2)), 6, 10) == 24
    assert oneshot_error(Fraction(5), 100, 0.1) == pytest.approx(10 * log(1000))


@pytest.mark.parametrize(
    ("budget", "k", "m", "named"),
    [
        (ApproxDP(Fraction(21, 100), Fraction(1, 100)), 2, 9, "epsilon"),
        (ApproxDP(Fraction(1, 10), Fraction(6, 100)), 2, 9, "delta"),
        (ApproxDP(Fraction(1, 10), Fraction(1, 100)), 1, 1, "n_candidates"),
        (ApproxDP(Fraction(1, 10), Fraction(1, 100)), 10, 9, "k"),
        (PureDP(Fraction(9)), 0, 9, "k"),
    ],
)
def test_oneshot_is_refused_outside_its_theorem(budget: PureDP | ApproxDP, k: int, m: int, named: str) -> None:
    with pytest.raises(ConfigError, match=f"^{named} must"):
        oneshot_scale(budget, k, m)


def test_oneshot_with_little_noise_takes_the_smallest() -> None:
    losses = np.random.default_rng(3).permutation(5000).astype(np.int64)
    drawn = draw_oneshot(KeyedStream(KEY, "one"), losses, 40, Fraction(1, 100))
    assert sorted(losses[drawn].tolist()) == list(range(40))
    assert len(draw_oneshot(KeyedStream(KEY, "one"), losses, 5000, Fraction(9))) == 5000
    with pytest.raises(ConfigError, match=r"^scale must be at most"):
        draw_oneshot(KeyedStream(KEY, "one"), losses, 1, Fraction(2**37))


# --- the synthetic graph ---


def _laplace(scale: Fraction) -> Noise:
    return Noise(Law.LAPLACE, scale, Fraction(1))


def test_pairs_stand_in_lexicographic_order() -> None:
    source, target = np.triu_indices(7, 1)
    assert pair_positions(7, source, target).tolist() == list(range(21))


def test_near_minimum_cuts_of_the_synthetic_graph_are_free() -> None:
    """At a large epsilon the noisy graph is the graph, so its cuts are the cuts: nothing else is drawn."""
    source, target, weight = np.array([0, 0, 2]), np.array([1, 3, 3]), np.array([5, 2, 9])
    noisy = noisy_pairs(4, source, target, weight, _laplace(Fraction(1, 200)), KEY, "graph")
    dense = np.array([5, 0, 2, 0, 0, 9])
    assert noisy.tolist() == dense.tolist()
    assert all_cuts(4, noisy).min() == 2


def test_blocks_of_vertices_are_drawn_apart() -> None:
    empty = np.empty(0, dtype=np.int64)
    noisy = noisy_pairs(5, empty, empty, empty, _laplace(Fraction(3)), KEY, "graph")
    blocks = [draw_discrete_laplace(KeyedStream(KEY, "graph", "pairs", v), Fraction(3), 4 - v) for v in (3, 2, 1, 0)]
    assert noisy.tolist() == np.concatenate(blocks[::-1]).tolist()
    assert len(noisy_pairs(1, empty, empty, empty, _laplace(Fraction(1)), KEY, "graph")) == 0


@pytest.mark.parametrize(("source", "target"), [([1], [1]), ([2], [1]), ([0], [4]), ([-1], [1]), ([0, 0], [1, 1])])
def test_edges_out_of_form_are_refused(source: list[int], target: list[int]) -> None:
    ends = np.array(source), np.array(target)
    with pytest.raises(ConfigError, match=r"^edges must"):
        noisy_pairs(4, *ends, np.ones(len(source), dtype=np.int64), _laplace(Fraction(1)), KEY, "graph")


def test_error_bounds_hold_for_all_cuts_together() -> None:
    """At beta 1/2 over 200 synthetic graphs of 8 vertices; and the bound is no empty promise."""
    empty, n = np.empty(0, dtype=np.int64), 8
    sizes = all_sides(n).sum(axis=1)
    for law in (_laplace(Fraction(3)), Noise(Law.GAUSSIAN, Fraction(9), Fraction(1))):
        bounds = cut_error(n, sizes, law, 0.5)
        shares = []
        for run in range(200):
            noise = noisy_pairs(n, empty, empty, empty, law, KEY, f"graph {run}")
            shares.append((np.abs(all_cuts(n, noise)) / bounds).max())
        assert np.mean(np.array(shares) > 1) <= 0.5
        assert max(shares) > 0.3
        # Sides of s and n - s vertices are the same cuts.
        assert np.allclose(cut_error(n, [1, 3], law, 0.1), cut_error(n, [7, 5], law, 0.1))


# --- statistics ---


def test_sensitivity_of_the_count_is_that_of_the_design() -> None:
    expected = {9: 1.0, 10: 1.112, 20: 1.927, 100: 4.097, 1000: 7.385, 100_000: 14.02}
    for n, logarithm in expected.items():
        steps = count_sensitivity(n)
        assert steps / GRID == pytest.approx(logarithm, abs=6e-3)
        ratio = count_ratio(n)
        assert 2**steps >= ratio**GRID > 2 ** (steps - 1)
    with pytest.raises(ConfigError, match=r"^n_vertices must"):
        count_sensitivity(2)
    assert "fragile" in COUNT_WARNING


def test_moves_at_the_same_value_stay_below_the_ratio() -> None:
    """From 6 vertices on, by the bounds of the proof: connected graphs, and c parts joined to c - 1."""
    for n in range(6, 60):
        most, base = comb(n, 2), 3 * n
        kept = [(m, max(1, -(-(m - n + 1) // 2))) for m in range(1, most + 1)]
        kept += [(min(2 ** (c - 1) - 1, most), min(2 ** (c - 2) - 1, most)) for c in range(3, n + 1)]
        assert max((m + base) / (fewer + base) for m, fewer in kept) <= count_ratio(n)


@settings(max_examples=20, deadline=None)
@given(count=st.integers(1, 10**7), n=st.integers(3, 2000))
def test_steps_of_the_count_are_exact(count: int, n: int) -> None:
    x = min(count, comb(n, 2)) + 3 * n
    steps = count_steps(count, n)
    assert 2**steps <= x**GRID < 2 ** (steps + 1)


@settings(max_examples=20, deadline=None)
@given(weights=st.lists(st.integers(-5, 60), min_size=1, max_size=40), eta=st.fractions(Fraction(1, 30), 4))
def test_steps_of_the_soft_count(weights: list[int], eta: Fraction) -> None:
    array = np.array(weights, dtype=np.int64)
    exact = GRID * np.log(np.exp(-float(eta) * (array - array.min())).sum())
    assert exact - 1 - 1e-6 <= soft_count_steps(array, eta) <= exact + 1e-6


@pytest.mark.parametrize("eta", [Fraction(1, 10**4), Fraction(1, 3), Fraction(5)])
def test_soft_count_of_many_weights_asks_for_few_exponentials(eta: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the sum in floating point; one exponential a weight would take minutes for all cuts of 24 vertices."""
    weights = 10**6 + np.unique(np.random.default_rng(7).integers(0, 10**6, 60_000))
    asked: list[Fraction] = []
    monkeypatch.setattr(cut_statistics, "ExpNegative", lambda x: asked.append(x) or ExpNegative(x))
    steps = soft_count_steps(weights, eta)
    exact = np.log(np.exp(-float(eta) * (weights - weights[0])).sum())
    assert abs(steps - np.floor(GRID * exact)) <= 1
    assert len(asked) < 2_500


def test_logarithms_at_and_next_to_one() -> None:
    """A soft count of one cut, and of one cut with others far away: ln 1, and ln of what rounds to 1."""
    assert log_above(Fraction(1)) == log_below(Fraction(1)) == 0
    near = 1 + Fraction(1, 10**80)
    assert 0 <= log_below(near) < Fraction(1, 10**80) < log_above(near) < Fraction(1, 10**55)
    assert soft_count_steps(np.array([3]), Fraction(2)) == soft_count_steps(np.array([3, 63]), Fraction(3)) == 0
