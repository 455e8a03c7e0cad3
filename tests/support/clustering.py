"""Points and noise for tests of clustering."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.grid import grid, measure_count
from dplib.clustering.central.kvariates import kvariates
from dplib.clustering.central.lloyd import Round, lloyd_gaussian, lloyd_laplace
from dplib.clustering.central.local_search import local_search
from dplib.clustering.central.max_cover import max_cover
from dplib.clustering.central.privgene import privgene
from dplib.clustering.central.quadtree import quadtree
from dplib.clustering.central.sample_aggregate import sample_aggregate
from dplib.clustering.central.tree_coreset import tree_coreset
from dplib.clustering.local.questions import Counts, Rounds
from dplib.clustering.problem import Clustering, Method, Problem
from dplib.clustering.record import Record, Replayed
from dplib.clustering.source import NoiseSource, PointSource, dense
from dplib.clustering.space import Space
from dplib.clustering.start import spread_centers
from dplib.clustering.sums import ClusterSums, rounded
from dplib.mechanisms.clustering_noise import KeyedNoise
from dplib.privacy.noise import Law, Noise
from dplib.randomness.user_streams import UserStreams

Asked = tuple[str, IntArray, Fraction]
"""Mechanism, exact numbers, parameter."""

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
    "grid", "quadtree", "lloyd_laplace", "local_search", "kvariates", "sample_aggregate_laplace", "privgene",
)  # fmt: skip
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
    total = 0.0
    for start in range(0, len(points), 20_000):
        part = points[start : start + 20_000]
        away = (centers**2).sum(axis=1) - 2 * part @ centers.T
        total += float((part**2).sum() + away.min(axis=1).sum())
    return total


def run_rounds(rounds: Rounds, streams: UserStreams, points: IntArray) -> Clustering:
    """All rounds over users in one block: how clients and server take turns."""
    collected: list[Counts] = []
    for number in range(rounds.n_rounds):
        places = rounds.places_after(collected)
        collected.append(rounds.aggregate(rounds.encode(streams, points, number, places), number, places))
    return rounds.cluster(collected)


class Witness(Replayed):
    """Replayed noise that keeps what was asked: mechanism, exact numbers, parameter."""

    def __init__(self, records: list[Record]) -> None:
        super().__init__(records)
        self.asked: list[Asked] = []

    def add(self, values: IntArray, noise: Noise, *labels: str | int) -> IntArray:
        self.asked.append((noise.law.value, values.copy(), noise.parameter))
        return super().add(values, noise, *labels)

    def choose(self, losses: IntArray, rate: Fraction, *labels: str | int) -> int:
        self.asked.append(("choose", losses.copy(), rate))
        return super().choose(losses, rate, *labels)


class Weak:
    """Planted: half the noise in everything."""

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise

    def add(self, values: IntArray, noise: Noise, *labels: str | int) -> IntArray:
        half = replace(noise, parameter=noise.parameter / (2 if noise.law is Law.LAPLACE else 4))
        return self._noise.add(values, half, *labels)

    def choose(self, losses: IntArray, rate: Fraction, *labels: str | int) -> int:
        return self._noise.choose(losses, rate * 2, *labels)


def lloyd_without_noise_for_empty_clusters(
    source: PointSource, noise: NoiseSource, problem: Problem, epsilon: Fraction, n_rounds: int = 2
) -> Clustering:
    """Planted: what a widely used library does. A cluster without rows keeps its center and draws no noise."""
    space, k = problem.space, problem.n_clusters
    measure_count(source, noise, problem, epsilon / 20)
    half = epsilon * Fraction(19, 40) / n_rounds
    each = Round(problem.laplace_event("counts", 1, half), problem.laplace_event("sums", space.l1, half))
    centers = space.clip(spread_centers(space, k, problem.seed))
    for number in range(n_rounds):
        totals = dense(source.total(ClusterSums(rounded(centers))), k)
        for j in range(k):
            if totals[j, 0] == 0:
                continue
            count = noise.add(totals[j, :1], each.count.noise, "count", number, j)
            sums = noise.add(totals[j, 1:], each.sums.noise, "sum", number, j)
            centers[j] = space.clip((sums / max(int(count[0]), 1))[np.newaxis])[0]
    return Clustering("planted", centers, np.zeros(k), np.zeros(k), ())


def local_points(space: Space, rows: FloatArray) -> IntArray:
    """Every user's point in units of the space, the middle for missing coordinates, shape (n, d)."""
    return space.to_units(np.where(np.isnan(rows), np.array(space.center), rows))
