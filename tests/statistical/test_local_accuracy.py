"""The local model at full size: a million users, 8 clusters in the plane, epsilon 1; median of 5 keys."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from dplib.clustering.local.hash_rounds import HashRounds
from dplib.clustering.local.projected_tree import ProjectedTree
from dplib.clustering.local.tree import LocalTree, best_depth
from dplib.clustering.problem import Problem
from dplib.clustering.space import Space
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.mechanisms.local.choose_oracle import Oracle, OracleName, choose_oracle, rare_variance
from dplib.mechanisms.local.vector_sums import VectorSums
from dplib.randomness.user_streams import UserStreams, number_users
from tests.support.clustering import local_points, mixture, run_rounds

N, K, EPSILON = 1_000_000, 8, Fraction(1)
SPACE = Space.ball([0.0, 0.0], 1.0)
TARGET = 1.15


def _mixture(seed: int) -> np.ndarray:
    """Clusters uniform in the ball of radius 0.875, of standard deviation 1/8 together."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(K, 2))
    centers *= 0.875 * np.sqrt(rng.random((K, 1))) / np.linalg.norm(centers, axis=1, keepdims=True)
    rows = centers[rng.integers(0, K, N)] + rng.normal(size=(N, 2)) / (8 * 2**0.5)
    return np.asarray(rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True)))


def _loss(rows: np.ndarray, centers: np.ndarray) -> float:
    nearest = np.full(len(rows), np.inf)
    for center in centers:
        nearest = np.minimum(nearest, ((rows - center) ** 2).sum(axis=1))
    return float(nearest.sum())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "unary_encoding", "hadamard_response", "local_hashing", "ldp_hash_rounds"])
def test_a_million_users_in_the_plane_at_epsilon_1(method: str) -> None:
    rows = _mixture(10)
    # Losses of a tenth of the rows, against the best centers of that very tenth.
    part = rows[: N // 10]
    best = weighted_kmeans(part, np.ones(len(part)), np.zeros((K, 2)), 0).loss
    problem, points, users = Problem(SPACE, K), local_points(SPACE, rows), number_users(np.arange(N))
    name = method if method in list(OracleName) else OracleName.AUTO

    def oracle(n_values: int) -> Oracle:
        return choose_oracle(n_values, EPSILON, name)

    depth = best_depth(2, N, rare_variance(choose_oracle(4096, EPSILON)))
    ratios = []
    for key in range(5):
        streams = UserStreams(bytes([key]) * 32, users, method)
        if method == "ldp_hash_rounds":
            clustering = run_rounds(HashRounds(problem, depth, oracle), streams, points)
        else:
            tree = LocalTree(SPACE, depth, oracle)
            clustering = tree.cluster(tree.aggregate(tree.encode(streams, points)), problem)
        ratios.append(_loss(part, SPACE.to_data(clustering.centers)) / best)
    assert np.median(ratios) <= TARGET


MANY = [(20, Fraction(4), 2.0), (7, Fraction(2), 2.5), (20, Fraction(1), 9.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("d", "epsilon", "most"), MANY)
def test_a_million_users_in_many_dimensions(d: int, epsilon: Fraction, most: float) -> None:
    """Median of 5 mixtures; what the plan says of `ldp_tree` above 6 coordinates is not better than this."""
    space, users, ratios = Space.ball([0.0] * d, 1.0), number_users(np.arange(N)), []
    depth = ProjectedTree.best_depth(N, rare_variance(choose_oracle(4096, epsilon)))
    for seed in range(41, 46):
        rows = mixture(N, d, K, seed)
        part = rows[:20_000]
        best = weighted_kmeans(part, np.ones(len(part)), np.zeros((K, d)), 0).loss
        oracles = partial(choose_oracle, epsilon=epsilon), partial(VectorSums, epsilon=epsilon)
        projected = ProjectedTree(Problem(space, K, seed=seed), depth, *oracles)
        found = run_rounds(projected, UserStreams(bytes([seed]) * 32, users, "many"), local_points(space, rows))
        ratios.append(_loss(part, space.to_data(found.centers)) / best)
        assert _loss(part, part.mean(axis=0, keepdims=True)) / best > 20
    assert np.median(ratios) <= most
