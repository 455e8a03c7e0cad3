"""The ladder of stars on all graphs of five vertices: its laws, and its law of noise on neighbours."""

from fractions import Fraction
from itertools import product
from math import comb, log, sqrt

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.graphs.statistics.star_rungs import StarRungs, largest_star_rung, star_pairs
from dplib.mechanisms.ladder import draw_ladder, ladder_mean_error, ladder_probability
from dplib.randomness.keyed import KeyedStream
from tests.support import network_oracles as oracle

N, DISTANCES = 5, 8
GRAPHS = oracle.all_graphs(N)
NEIGHBORS = oracle.edge_neighbors(N)
DEGREES = oracle.degrees(GRAPHS)
TOP_TWO = np.sort(DEGREES, axis=1)[:, :-3:-1]
PAIRS = [star_pairs(graph) for graph in oracle.simple_graphs(N)]


def _widths(k: int, largest: int = N - 1) -> IntArray:
    made = {pairs: StarRungs(pairs, k - 1, largest - 1).widths(0, DISTANCES) for pairs in set(PAIRS)}
    return np.stack([made[pairs] for pairs in PAIRS])


@pytest.mark.parametrize("k", [2, 3, 4])
def test_ladder_laws(k: int) -> None:
    values, widths = oracle.k_stars(k)(GRAPHS)[:, 0], _widths(k)
    assert oracle.ladder_laws_hold(widths, values, NEIGHBORS)
    assert (np.diff(widths, axis=1) >= 0).all()
    assert widths.max() == largest_star_rung(N - 1, k) == 2 * comb(N - 2, k - 1)


@pytest.mark.parametrize(("k", "largest"), list(product([2, 3], [1, 2, 3])))
def test_ladder_laws_among_graphs_that_keep_a_promise(k: int, largest: int) -> None:
    values, kept = oracle.k_stars(k)(GRAPHS)[:, 0], oracle.degrees(GRAPHS).max(axis=1) <= largest
    assert oracle.ladder_laws_hold(_widths(k, largest), values, NEIGHBORS, kept)
    assert _widths(k, largest).max() == largest_star_rung(largest, k)


def test_pairs_are_those_that_no_other_exceeds() -> None:
    for graph, degrees, found in zip(GRAPHS, DEGREES.tolist(), PAIRS, strict=True):
        there = set()
        for u, v in oracle.pairs(N):
            a, b = degrees[u] - int(graph[u, v]), degrees[v] - int(graph[u, v])
            there.add((max(a, b), min(a, b)))
        front = {p for p in there if not any(q != p and q[0] >= p[0] and q[1] >= p[1] for q in there)}
        assert front <= set(found)
        assert all(any(q[0] >= p[0] and q[1] >= p[1] for q in there) for p in found)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_rungs_are_the_local_sensitivity_after_every_sequence_of_edits(k: int) -> None:
    """By brute force over all graphs: the largest change by one edge within t edits, and nothing above it."""
    values, widths = oracle.k_stars(k)(GRAPHS)[:, 0], _widths(k)
    for t in range(DISTANCES):
        np.testing.assert_array_equal(widths[:, t], oracle.local_sensitivity(values, NEIGHBORS, t))


def test_rungs_of_two_edges_are_the_widest_pair_and_one_a_step() -> None:
    assert StarRungs(((7, 5),), 1, 100).widths(0, 4).tolist() == [12, 13, 14, 15]
    assert StarRungs(((7, 5), (6, 6), (8, 3)), 1, 8).widths(0, 6).tolist() == [12, 13, 14, 15, 16, 16]
    assert StarRungs(((7, 5),), 1, 100).widths(2, 2).tolist() == [14, 15]


def test_rungs_are_exact_up_to_their_largest() -> None:
    rungs = StarRungs(((300, 200),), 6, 400)
    exact = [comb(min(300 + t, 400), 6) + comb(min(200 + max(t - 100, 0), 400), 6) for t in range(350)]
    assert rungs.widths(0, 350).tolist() == exact
    two = [comb(min(t, 60), 19) + comb(min(max(t - 60, 0), 60), 19) for t in range(130)]
    assert StarRungs(((0, 0),), 19, 60).widths(0, 130).tolist() == two


@pytest.mark.parametrize("planted", ["degrees with the edge", "no steps", "half a step"])
def test_smaller_rungs_are_caught(planted: str) -> None:
    """Planted: d1 + d2 + t forgets that an edge between the two raises both; steps that are too slow."""
    values, steps, widest = oracle.k_stars(2)(GRAPHS)[:, 0], np.arange(DISTANCES), _widths(2)[:, :1]
    widths = {
        "degrees with the edge": TOP_TWO.sum(axis=1)[:, None] + steps,
        "no steps": widest + 0 * steps,
        "half a step": widest + steps // 2,
    }[planted]
    assert not oracle.ladder_laws_hold(np.minimum(widths, 2 * (N - 2)), values, NEIGHBORS)


@pytest.mark.parametrize(("k", "epsilon"), list(product([2, 3], [Fraction(1, 2), Fraction(2)])))
def test_no_neighbours_pay_more_than_epsilon(k: int, epsilon: Fraction) -> None:
    """The exact law of the draw, over all pairs of neighbours of five vertices: epsilon, and epsilon^2 / 8 in rho."""
    values = oracle.k_stars(k)(GRAPHS)[:, 0]
    states = list(zip(values.tolist(), PAIRS, strict=True))
    reach = np.arange(-150, 250)
    worst, worst_rho = 0.0, 0.0
    for (f, own), (g, others) in sorted({(states[a], states[b]) for a, b in zip(*NEIGHBORS, strict=True)}):
        one = ladder_probability(reach - f, StarRungs(own, k - 1, N - 2), epsilon)
        other = ladder_probability(reach - g, StarRungs(others, k - 1, N - 2), epsilon)
        seen = (one > 0) & (other > 0)
        ratio = np.log(one[seen] / other[seen])
        worst = max(worst, float(np.abs(ratio).max()))
        worst_rho = max(worst_rho, log((one[seen] * np.exp(ratio)).sum()) / 2)
    assert 0.5 * float(epsilon) < worst <= float(epsilon) * (1 + 1e-9)
    assert worst_rho <= float(epsilon) ** 2 / 8 * (1 + 1e-9)


def test_a_draw_of_huge_counts_is_cut_and_raises_nothing() -> None:
    stream = KeyedStream(bytes(range(32)), "stars", 0)
    rungs = StarRungs(((10**7, 10**7),), 1, 2 * 10**7)
    assert draw_ladder(stream, 2**63 + 5, rungs, Fraction(1, 1000), 3).tolist() == [2**62] * 3


def test_mean_error_of_the_plan_is_that_of_draws() -> None:
    rungs, epsilon = StarRungs(((9, 6),), 1, 48), Fraction(1)
    drawn = draw_ladder(KeyedStream(bytes(range(32)), "stars", 1), 1000, rungs, epsilon, 8_000) - 1000
    expected = ladder_mean_error(rungs, epsilon)
    assert abs(np.abs(drawn).mean() - expected) < 5 * np.abs(drawn).std() / sqrt(len(drawn))
