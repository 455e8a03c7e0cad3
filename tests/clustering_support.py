"""Points and noise for tests of clustering."""

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dplib.clustering.grid import grid
from dplib.clustering.kvariates import kvariates
from dplib.clustering.lloyd import lloyd_gaussian, lloyd_laplace
from dplib.clustering.local_rounds import N_ROUNDS, HashRounds
from dplib.clustering.local_search import local_search
from dplib.clustering.max_cover import max_cover
from dplib.clustering.privgene import privgene
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.quadtree import quadtree
from dplib.clustering.sample_aggregate import sample_aggregate
from dplib.clustering.source import Noise, PointSource
from dplib.clustering.tree_coreset import tree_coreset
from dplib.mechanisms.clustering_noise import KeyedNoise
from dplib.randomness.user_streams import UserStreams

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Method = Callable[[PointSource, Noise, Problem, Fraction], Clustering]

METHODS: Mapping[str, Method] = {
    "grid": grid,
    "quadtree": quadtree,
    "lloyd_laplace": lloyd_laplace,
    "lloyd_gaussian": lloyd_gaussian,
    "tree_coreset": tree_coreset,
    "local_search": local_search,
    "max_cover": max_cover,
    "kvariates": kvariates,
    "sample_aggregate_laplace": lambda s, n, p, b: sample_aggregate(s, n, p, b, grid, gaussian=False),
    "sample_aggregate_gaussian": lambda s, n, p, b: sample_aggregate(s, n, p, b, tree_coreset, gaussian=True),
    "privgene": lambda s, n, p, b: privgene(s, n, p, b, population=24, n_parents=3),
}
"""Every central method at its defaults; the budget is epsilon or rho."""
PURE = (
    "grid",
    "quadtree",
    "lloyd_laplace",
    "local_search",
    "kvariates",
    "sample_aggregate_laplace",
    "privgene",
)
"""The methods whose budget is a pure epsilon."""


def keyed(number: int) -> KeyedNoise:
    return KeyedNoise(number.to_bytes(32, "big"))


def mixture(n: int, d: int, k: int, seed: int) -> FloatArray:
    """Normal clusters around k places in a ball of radius 0.875, clipped to the unit ball."""
    generator = np.random.default_rng(seed)
    places = generator.normal(size=(k, d))
    places *= 0.875 * generator.random((k, 1)) ** (1 / d) / np.linalg.norm(places, axis=1, keepdims=True)
    points = places[generator.integers(k, size=n)] + generator.normal(size=(n, d)) / (8 * np.sqrt(d))
    return np.asarray(points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0))


def loss(points: FloatArray, centers: FloatArray) -> float:
    """Sum of squared distances to the nearest center."""
    return float(((points[:, np.newaxis] - centers[np.newaxis]) ** 2).sum(axis=2).min(axis=1).sum())


def run_rounds(rounds: HashRounds, streams: UserStreams, points: IntArray) -> Clustering:
    """All rounds over users in one block: how clients and server take turns."""
    places = np.empty((0, rounds.problem.space.dimension))
    for number in range(N_ROUNDS):
        counts = rounds.aggregate(rounds.encode(streams, points, number, places), number, places)
        if number == N_ROUNDS - 1:
            break
        places = rounds.publish(counts, number, places)
    return rounds.cluster(counts, places)
