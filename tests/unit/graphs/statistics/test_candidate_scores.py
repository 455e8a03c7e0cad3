"""Scores of declared candidates against networkx, and their sensitivity on all graphs of five vertices."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.graphs.statistics.candidate_scores import coverage_scores, split_scores
from dplib.graphs.statistics.network_sensitivity import Statistic, sensitivity
from dplib.privacy.neighbors import Neighbors
from tests.support import network_oracles as oracle

SPLITS = [np.array(groups) for groups in ([0, 0, 0, 1, 1], [0, 1, 1, 1, 1], [2, 1, 0, 1, 2], [0, 0, 0, 0, 0])]
SEEDS = [[0], [1, 3], [0, 2, 4], []]


def test_split_scores_are_inside_edges_less_expected_ones() -> None:
    gamma = Fraction(1, 3)
    graph = oracle.random_graph(5, 0.6, 2)
    peer = oracle.to_networkx(graph)
    expected = []
    for groups in SPLITS:
        members = [np.flatnonzero(groups == g).tolist() for g in np.unique(groups)]
        inside = sum(peer.subgraph(m).number_of_edges() for m in members)
        expected.append(3 * inside - sum(len(m) * (len(m) - 1) // 2 for m in members))
    assert split_scores(graph, SPLITS, gamma).tolist() == expected
    assert split_scores(graph, SPLITS).tolist()[-1] == graph.n_edges


def test_coverage_is_the_closed_neighbourhood() -> None:
    graph = oracle.random_graph(30, 0.1, 3)
    peer = oracle.to_networkx(graph)
    candidates = [[0], [3, 7], [1, 2, 29], []]
    expected = [len(set(seeds).union(*(peer[seed] for seed in seeds))) for seeds in candidates]
    assert coverage_scores(graph, candidates).tolist() == expected
    assert coverage_scores(graph, [list(nx.dominating_set(peer))]).tolist() == [30]


@pytest.mark.parametrize("level", [Neighbors.EDGE, Neighbors.VERTEX])
def test_scores_change_as_the_module_says(level: Neighbors) -> None:
    splits = np.stack([split_scores(graph, SPLITS, Fraction(1, 3)) for graph in oracle.simple_graphs(5)])
    seeds = np.stack([coverage_scores(graph, SEEDS) for graph in oracle.simple_graphs(5)])
    first, second = oracle.edge_neighbors(5) if level is Neighbors.EDGE else oracle.vertex_neighbors(5)
    split_change, seed_change = splits[first] - splits[second], seeds[first] - seeds[second]
    assert np.abs(split_change).max() == 3 * sensitivity(Statistic.SPLIT, level, 5).l1
    assert np.abs(seed_change).max() == sensitivity(Statistic.COVERAGE, level, 5).l1
    assert min(split_change.min(), seed_change.min()) == 0  # monotone: more edges never score less


def test_candidates_are_checked() -> None:
    none = oracle.graph_of(3, [])
    with pytest.raises(ConfigError, match="seeds must be declared vertices"):
        coverage_scores(none, [[3]])
    with pytest.raises(ConfigError, match="groups of a split must"):
        split_scores(none, [np.array([0, -1])])
    with pytest.raises(ConfigError, match="resolution must"):
        split_scores(none, SPLITS, Fraction(-1))
