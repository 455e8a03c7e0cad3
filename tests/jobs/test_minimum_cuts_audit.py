"""Audit of the job minimum-cuts: empirical epsilon on worst-case neighbours, with planted faults it must catch.

Every trial draws all noise and all choices of a release anew under a key of its own, as runs on different data do. The
laws of the single mechanisms are audited exactly elsewhere; here the job must give each of them its share, the weight
cap and the right losses.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.graphs.cuts.exhaustive import numbered_sides
from dplib.graphs.edges import Graph, canonical
from dplib.jobs.minimum_cuts.design import Design
from dplib.jobs.minimum_cuts.measure import drawn, every_cut, true_number
from dplib.jobs.minimum_cuts.measurement_plan import Peeling
from dplib.jobs.minimum_cuts.tables import StoredReleases
from dplib.randomness.keyed import derive_key
from tests.support.goodness_of_fit import epsilon_between
from tests.support.minimum_cuts import design_of

KEY = bytes(range(9, 41))
N, TRIALS = 4, 2_000
FEW_TRIALS = 500
"""Of as many a single number's bounds are about 1.1 at an epsilon of 2, and about 3 where it is 6."""
RING = [(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]
RELEASES: dict[str, Any] = {
    "minimum_cut_value": {"share": 1},
    "synthetic_graph": {"share": 1},
    "top_cuts": {"share": 2, "k": 2, "values_share": "1/2"},
    "soft_cut_count": {"share": 1, "eta": 1},
    "minimum_cut_count": {"share": 1},
}


def graph_of(*edges: tuple[int, int, int]) -> Graph:
    return canonical(N, *np.array(edges, dtype=np.int64).reshape(-1, 3).T)


Exact = dict[str, FloatArray]


def exact_numbers(design: Design, graph: Graph) -> Exact:
    """What a design measures of a graph; of `top_cuts` the values of all cuts."""
    pairs = {(int(u), int(v)): int(w) for u, v, w in zip(graph.source, graph.target, graph.weight, strict=True)}
    found: Exact = {}
    for name in (each.release for each in design.measurements):
        if name == "synthetic_graph":
            found[name] = np.array([pairs.get(pair, 0) for pair in combinations(range(N), 2)], dtype=np.float64)
        elif name == "top_cuts":
            found[name] = every_cut(graph).astype(np.float64)
        else:
            found[name] = np.array([true_number(design, graph, name)], dtype=np.float64)
    return found


def log_mass(design: Design, exact_of: Exact, stored: StoredReleases) -> float:
    """Log of the mass of a release given what is true, up to a constant, under the design's own claim."""
    total = 0.0
    for each in design.measurements:
        name, noisy, exact = each.release, stored.noisy.get(each.release), exact_of[each.release]
        if name == "top_cuts":
            losses, every = exact, numbered_sides(np.arange(1, 2 ** (N - 1)), N)
            places = [int(np.flatnonzero((every == side).all(axis=1))[0]) for side in stored.chosen[name]]
            assert isinstance(each.choice, Peeling)
            rate = float(each.choice.draw_epsilon) / design.weight_cap
            left = np.ones(len(losses), dtype=bool)
            for place in places:
                total += -rate * losses[place] - float(np.log(np.exp(-rate * losses[left]).sum()))
                left[place] = False
            exact = losses[places]
        if noisy is not None:
            assert each.noise is not None
            total -= float(np.abs(noisy - exact).sum() / each.noise.parameter)
    return total


def empirical_epsilon(used: Design, one: Graph, other: Graph, trials: int = TRIALS) -> float:
    """Lower bound of the epsilon of what a design draws, whatever it claims, from log-likelihood ratios."""
    scores, exact = [], [exact_numbers(used, graph) for graph in (one, other)]
    for name, graph in (("one", one), ("other", other)):
        found = [drawn(used, graph, derive_key(KEY, name, trial)) for trial in range(trials)]
        scores.append(np.array([log_mass(used, exact[0], each) - log_mass(used, exact[1], each) for each in found]))
    return epsilon_between(*scores, error=1e-4)


@pytest.mark.slow
def test_the_whole_release_keeps_its_epsilon() -> None:
    design = design_of(RELEASES, {"epsilon": 3}, n=N)
    assert 0.1 < empirical_epsilon(design, graph_of(*RING), graph_of((0, 1, 3), *RING[1:]), 1_000) <= 3


@pytest.mark.parametrize(
    "name", ["minimum_cut_value", "synthetic_graph", pytest.param("top_cuts", marks=pytest.mark.slow)]
)
def test_a_release_keeps_its_epsilon_at_the_cap_and_not_beyond(name: str) -> None:
    releases, trials = {name: RELEASES[name]}, TRIALS if name == "top_cuts" else FEW_TRIALS
    design = design_of(releases, {"epsilon": 2}, n=N, weight_cap=3)
    # Every cut that separates 0 and 1 weighs 3 more, among them the only minimum cut of the first graph.
    one, other = graph_of((0, 1, 1), (1, 2, 9), (2, 3, 9)), graph_of((0, 1, 4), (1, 2, 9), (2, 3, 9))
    assert 0.2 < empirical_epsilon(design, one, other, trials) <= 2
    planted = design_of(releases, {"epsilon": 2}, n=N, weight_cap=1)
    assert empirical_epsilon(planted, one, other, trials) > 2, "planted: the weight cap is forgotten"


@pytest.mark.slow
def test_values_that_share_their_noise_among_the_draws_too_little_are_caught() -> None:
    releases = {"top_cuts": {"k": 3, "values_share": "9/10"}}
    design = design_of(releases, {"epsilon": 2}, n=N)
    # Three cuts of 1 or 2 are the smallest by far: they separate vertex 0 from 1, 2 and 3 by one edge.
    heavy = [(1, 2, 200), (2, 3, 200), (1, 3, 200)]
    one, other = graph_of((0, 1, 1), *heavy), graph_of((0, 1, 2), *heavy)
    assert empirical_epsilon(design, one, other, 500) <= 2
    (each,) = design.measurements
    assert each.noise is not None
    noise = replace(each.noise, parameter=each.noise.parameter * Fraction(1, 6))
    planted = replace(design, measurements=(replace(each, noise=noise),))
    assert empirical_epsilon(planted, one, other) > 2, "planted: noise for half a value in place of three"
