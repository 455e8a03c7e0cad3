"""What a noisy graph says, against enumeration of every noisy graph that could have come."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from dplib.graphs.statistics.noisy_graph import (
    Passing,
    block_pairs,
    count_in_blocks,
    estimate_triangles,
    triangle_variance,
)
from tests.support.network_oracles import all_graphs, graph_of, pairs, random_graph, triangles

RANDOMIZED = Passing(0.8, 0.2)
NOBODY = np.zeros(4, dtype=np.bool_)


@pytest.mark.parametrize("passing", [RANDOMIZED, Passing(0.4, 0.05), Passing(0.99, 0.3)])
@pytest.mark.parametrize(("n_pairs", "edges"), [(5, 0), (5, 2), (5, 5), (1, 1)])
def test_block_estimates_are_unbiased_with_the_stated_variance(passing: Passing, n_pairs: int, edges: int) -> None:
    """Over the exact law of how many pairs appear: the sum of two binomials."""
    law = np.convolve(
        stats.binom.pmf(np.arange(edges + 1), edges, passing.edge),
        stats.binom.pmf(np.arange(n_pairs - edges + 1), n_pairs - edges, passing.other),
    )
    estimates = passing.estimate(np.arange(n_pairs + 1.0), np.full(n_pairs + 1, float(n_pairs)))
    assert law @ estimates == pytest.approx(edges)
    variance = passing.variance(np.array([float(edges)]), np.array([float(n_pairs)]))[0]
    assert law @ (estimates - edges) ** 2 == pytest.approx(variance)


def test_only_mirrored_probabilities_have_an_error_that_tells_nothing() -> None:
    assert RANDOMIZED.symmetric
    assert not Passing(0.4, 0.05).symmetric
    pairs_of = np.full(2, 10.0)
    one, other = RANDOMIZED.variance(np.array([0.0, 7.0]), pairs_of)
    assert one == pytest.approx(other)
    assert RANDOMIZED.noise == pytest.approx(one / 10)


def test_edges_of_blocks_by_brute_force() -> None:
    n, n_blocks = 12, 3
    graph = random_graph(n, 0.5, 4)
    block_of = np.array([0, 1, 2, -1] * 3)
    expected, sizes = [], []
    for one in range(n_blocks):
        for other in range(one, n_blocks):
            between = [
                (u, v) for u, v in combinations(range(n), 2) if sorted((block_of[u], block_of[v])) == [one, other]
            ]
            there = set(zip(graph.source.tolist(), graph.target.tolist(), strict=True))
            expected.append(sum(pair in there for pair in between))
            sizes.append(len(between))
    assert count_in_blocks(graph, block_of, n_blocks).tolist() == expected
    assert block_pairs(np.array([3, 3, 3])).tolist() == sizes


def test_triangle_estimates_over_all_reports_of_all_graphs_of_four_vertices() -> None:
    """Mean and variance over the 64 possible transcripts, exactly, for each of the 64 graphs."""
    n, ends = 4, np.array(pairs(4))
    bits = np.arange(64)[:, None] >> np.arange(6) & 1
    estimates = np.array(
        [estimate_triangles(graph_of(n, ends[row == 1]), RANDOMIZED, NOBODY)[0] for row in bits]  # one a transcript
    )
    graphs = all_graphs(n)
    true = triangles(graphs)[:, 0]
    for graph, edges, expected in zip(graphs, bits, true.tolist(), strict=True):
        mass = np.where(bits == edges, 0.8, 0.2).prod(axis=1)
        common = (graph @ graph)[np.triu_indices(n, 1)]
        variance = triangle_variance(n, float(edges.sum()), float((common**2).sum()), RANDOMIZED.noise)
        assert mass @ estimates == pytest.approx(expected)
        assert mass @ (estimates - expected) ** 2 == pytest.approx(variance)


def test_silent_vertices_are_scaled_up() -> None:
    """All edges told truly: what is left of the complete graph scales back to all of its triangles."""
    n = 7
    sure = Passing(1.0, 0.0)
    for non_respondents in ([0], [3, 6], [1, 2, 4]):
        quiet = np.isin(np.arange(n), non_respondents)
        told = np.array([(u, v) for u, v in pairs(n) if u not in non_respondents])
        assert estimate_triangles(graph_of(n, told), sure, quiet)[0] == pytest.approx(comb(n, 3))
    nobody = estimate_triangles(graph_of(n, []), sure, np.ones(n, dtype=bool))
    assert nobody == (0.0, 0.0)
