"""Chapter 4: parameters, losses, bounds, constructions and averages, against enumeration of all cuts."""

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.arrays import IntArray
from dplib.errors import ConfigError
from dplib.graphs.cactus.cactus import Cactus
from dplib.graphs.cactus.cactus_search import cactus_of_graph
from dplib.graphs.cactus.cactus_standard_form import standard_form
from dplib.graphs.cut_analysis.__main__ import main
from dplib.graphs.cut_analysis.cactus_generation import cactus_of_cuts
from dplib.graphs.cut_analysis.cut_count_sensitivity import (
    MARKING,
    CactusParameters,
    EdgeEffects,
    analyse,
    average_sensitivity,
    bound_by_count,
    bound_by_parameters,
    cactus_parameters,
    drawn_pairs,
    lost_t_cuts,
    most_lost_t_cuts,
    sharper_bound,
    t_cuts_of_ring,
)
from dplib.graphs.edges import canonical
from tests.support.cut_mechanism_laws import all_sides
from tests.support.graph_oracles import (
    CUT_CASE_NAMES,
    CUT_CASES,
    case_cactus,
    case_graph,
    loosened,
    minimum_cuts,
    plus,
    random_graph,
)
from tests.support.sensitive_graphs import heavy_ends, path_and_ring, pendant_ring


def is_path(cactus: Cactus, u: int, v: int) -> bool:
    """Whether the standard cactus is a path with the two vertices at its ends."""
    if cactus.rings:
        return False
    degree = np.bincount(cactus.tree_edges.ravel(), minlength=cactus.n_nodes)
    ends = {int(cactus.node_of[u]), int(cactus.node_of[v])}
    return degree.max() <= 2 and {int(node) for node in np.flatnonzero(degree == 1)} == ends


@pytest.mark.parametrize("length", range(1, 17))
def test_losses_of_a_ring_by_counting(length: int) -> None:
    """A t-cut is a pair of ring edges that have no node between them alone; edge i follows node i."""
    pairs = list(itertools.combinations(range(length), 2))
    t_cuts = [(i, j) for i, j in pairs if 2 <= j - i <= length - 2]
    assert t_cuts_of_ring(length) == len(t_cuts)
    lost = [sum(i < d <= j for i, j in t_cuts) for d in range(1, length)]  # nodes 0 and d
    assert [lost_t_cuts(length, d) for d in range(1, length)] == lost
    assert most_lost_t_cuts(length) == max(lost, default=0)


def test_losses_refuse_what_is_no_ring() -> None:
    with pytest.raises(ConfigError, match="length must be at least 1"):
        t_cuts_of_ring(0)
    for distance in (0, 5):
        with pytest.raises(ConfigError, match="distance must lie from 1 to length - 1"):
            lost_t_cuts(5, distance)
    assert most_lost_t_cuts(0) == 0


@pytest.mark.parametrize("case", CUT_CASES, ids=CUT_CASE_NAMES)
def test_parameters_of_the_stored_cases(case: dict[str, Any]) -> None:
    expected = CactusParameters(**case["params"])
    assert cactus_parameters(case_cactus(case)) == expected
    assert cactus_parameters(loosened(np.random.default_rng(0), case_cactus(case))) == expected
    found = analyse(cactus_of_cuts(minimum_cuts(case_graph(case))[1]))
    assert (found.n_vertices, found.n_min_cuts, found.parameters) == (case["n"], case["num_min_cuts"], expected)


@pytest.mark.parametrize("seed", range(2))
def test_effects_and_bounds_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_rising = n_ring = 0
    for _ in range(20):
        graph = random_graph(rng, int(rng.integers(2, 9)))
        value, cuts = minimum_cuts(graph)
        cactus = loosened(rng, cactus_of_cuts(cuts))
        standard = standard_form(cactus)
        analysis, effects = analyse(cactus), EdgeEffects(cactus)
        for u, v in itertools.combinations(range(graph.n_vertices), 2):
            effect = effects.between(v, u)
            after, left = minimum_cuts(plus(graph, u, v))
            assert effect.lost_cuts == (cuts[:, u] != cuts[:, v]).sum()
            assert effect.value_rises == (after > value) == is_path(standard, u, v)
            n_rising += effect.value_rises
            if not effect.value_rises:
                assert len(left) == len(cuts) - effect.lost_cuts
                assert all(bound <= len(left) <= len(cuts) for bound in analysis.lower_bounds.values())
                n_ring += analysis.parameters.alpha_c > 0
    assert n_rising > 3
    assert n_ring > 60


def test_bounds_on_all_small_graphs() -> None:
    """Every connected graph of 3, 4 and 5 vertices with weights up to 4, 3 and 2, and every pair of its vertices.

    The number of pairs that leave the minimum cut value, 407,372, is that of an independent count.
    """
    n_same = more_without_condition = 0
    slack = []
    for n, heaviest in ((3, 4), (4, 3), (5, 2)):
        pairs = np.array(list(itertools.combinations(range(n), 2)))
        graphs = np.indices((heaviest + 1,) * len(pairs)).reshape(len(pairs), -1).T
        crosses = all_sides(n)[:, pairs[:, 0]] != all_sides(n)[:, pairs[:, 1]]
        values = graphs @ crosses.T
        smallest = values.min(axis=1)
        before = (values == smallest[:, None]).sum(axis=1)
        for pair in range(len(pairs)):
            raised = values + crosses[:, pair]
            same = (smallest > 0) & (raised.min(axis=1) == smallest)
            after = (raised == raised.min(axis=1)[:, None]).sum(axis=1)
            n_same += int(same.sum())
            assert (after[same] <= before[same]).all()
            assert (2 * after[same] >= before[same] - 3 * n).all()
            slack.append(int((2 * after[same] - before[same] + n - 1).min()))
            more_without_condition += int(((smallest > 0) & ~same & (after > before)).sum())
    assert n_same == 407_372
    assert min(slack) == 1  # the sharper bound holds, and by no more than a half
    assert more_without_condition > 1_000


def test_bounds_are_the_formulas() -> None:
    parameters = CactusParameters(alpha_g=26, alpha_p=3, alpha_c=4, alpha_r=6, alpha_d=7)
    assert bound_by_parameters(100, parameters) == 100 - 7 - 4 * 7
    assert bound_by_parameters(100, CactusParameters(10, 3, 4, 6, 7)) == 100 - 7 - Fraction(10, 6) * 7
    assert bound_by_parameters(5, CactusParameters(6, 1, 0, 0, 5)) == 0
    assert bound_by_count(100, 7) == Fraction(79, 2)
    assert sharper_bound(100, 7) == 47


@pytest.mark.parametrize("n", range(3, 13))
def test_pendant_ring(n: int) -> None:
    """Lemma 4.1.1 with the cut around the pendant vertex: 2, 4, 7, 11, ... minimum cuts after."""
    graph, u, v = pendant_ring(n)
    value, cuts = minimum_cuts(graph)
    after_value, after = minimum_cuts(plus(graph, u, v))
    assert (value, after_value) == (1, 2)
    assert (len(cuts), len(after)) == (1, math.comb(n - 1, 2) + 1)


@pytest.mark.parametrize(("n", "length"), [(8, 4), (10, 5), (12, 6), (16, 8), (5, 4), (9, 7), (9, 8)])
def test_path_and_ring(n: int, length: int) -> None:
    """The construction after theorem 4.2.3 with the ring's p-cuts counted, and inequality 4.7."""
    for half in (1, 3):
        graph, u, v = path_and_ring(n, length, half)
        value, cuts = minimum_cuts(graph)
        after_value, after = minimum_cuts(plus(graph, u, v))
        assert value == after_value == 2 * half
        loss = len(cuts) - len(after)
        assert (len(cuts), loss) == (n - length + math.comb(length, 2), length * length // 4 + n - length)
        assert n < 10 or Fraction(len(cuts), 2) + Fraction(3 * n, 2) <= 4 * loss
        effects = EdgeEffects(cactus_of_graph(graph, value))
        every = [effects.between(one, other) for one, other in itertools.combinations(range(n), 2)]
        assert max(effect.lost_cuts for effect in every if not effect.value_rises) == loss


def every_pair(n: int) -> IntArray:
    return np.array(list(itertools.combinations(range(n), 2)))


@pytest.mark.parametrize("seed", range(2))
def test_average_by_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(10):
        graph = random_graph(rng, int(rng.integers(2, 8)))
        value, cuts = minimum_cuts(graph)
        pairs = every_pair(graph.n_vertices)
        after = [minimum_cuts(plus(graph, u, v)) for u, v in pairs.tolist()]
        changes = [abs(len(cuts) - len(left)) for new, left in after if new == value]
        found = average_sensitivity(loosened(rng, cactus_of_cuts(cuts)), pairs)
        assert (found.n_pairs, found.n_rising) == (len(changes), len(after) - len(changes))
        assert found.mean == pytest.approx(np.mean(changes) if changes else math.nan, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("n_core", [8, 20, 60])
def test_heavy_ends_keep_the_average_high(n_core: int) -> None:
    """Section 4.3: crowds as large as the core make 2 / 9 of all pairs as sensitive as the worst one."""
    core = path_and_ring(n_core, n_core // 2)
    worst = n_core**2 // 16 + n_core // 2
    cactus = cactus_of_graph(heavy_ends(core, n_core)[0], 2)
    effects = EdgeEffects(cactus)
    assert {effects.between(n_core + one, 2 * n_core + one).lost_cuts for one in range(3)} == {worst}
    share = n_core**2 / math.comb(3 * n_core, 2)
    printed = Fraction(n_core * (n_core - 1), 3 * n_core * (3 * n_core - 1))
    exact = average_sensitivity(cactus, every_pair(3 * n_core))
    assert exact.mean >= share * worst > printed * worst
    assert share > 2 / 9
    drawn = average_sensitivity(cactus, drawn_pairs(3 * n_core, 20_000, seed=3))
    assert drawn.n_pairs + drawn.n_rising == 20_000
    assert 0 < drawn.std_error < 0.02 * exact.mean
    assert abs(drawn.mean - exact.mean) < 5 * drawn.std_error


def test_pairs_are_two_vertices_of_the_graph() -> None:
    effects = EdgeEffects(cactus_of_graph(pendant_ring(5)[0], 1))
    for u, v in ((1, 1), (0, 5), (-1, 2)):
        with pytest.raises(ConfigError, match="u and v must be two vertices from 0 to 4"):
            effects.between(u, v)


def test_the_command_analyses_a_public_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five vertices on a ring and one that hangs from it by two units."""
    edges = tmp_path / "edges.csv"
    rows = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 0, 1), (0, 5, 2)]
    edges.write_text("".join(f"{u},{v},{w}\n" for u, v, w in rows), encoding="utf-8")
    assert main([str(edges), "--pair", "1", "4"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(MARKING)
    _, cuts = minimum_cuts(canonical(6, *zip(*rows, strict=True)))
    lost = int((cuts[:, 1] != cuts[:, 4]).sum())
    for words in (
        f"6 vertices, minimum cut value 2, {len(cuts)} minimum cuts",
        f"between 1 and 4 loses {lost} minimum cuts",
        "ALG_gen makes the same cactus of the list; 6 p-cuts, 5 t-cuts",
        "a bundle of 5 p-cuts holds 5 t-cuts; its structure graph is a ring",
    ):
        assert words in out
    edges.write_text("a b", encoding="utf-8")
    assert main([str(edges)]) == 2
    assert "FILE must hold lines" in capsys.readouterr().err
