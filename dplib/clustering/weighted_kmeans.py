"""k-means of weighted points, not private by itself: what turns noisy cells into centers.

Seeding is greedy k-means++: each next seed is the best of a few points drawn with probability proportional to weight
times squared distance. Lloyd's iterations follow, with one lower and one upper bound a point (Hamerly), which spares
most distances in few dimensions. The whole is repeated from several seedings and the cheapest kept. Randomness is
public: it comes from a seed among the settings.

There are always k centers: seeds that would repeat a point (fewer different points than k) are taken from a public
start instead, and a cluster without weight keeps its center.

Cost: O(m k d) a seeding, less an iteration.

References:
    Arthur, Vassilvitskii: k-means++, the advantages of careful seeding. SODA 2007 (section 7: greedy seeding).
    Hamerly: Making k-means even faster. SDM 2010.
"""

from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.compiled import compiled
from dplib.validate import at_least, require

_MAX_ITERATIONS = 100
_WORK = 4e8  # multiplications that restarts may cost together, beyond the first
_TOLERANCE = 1e-5  # of the root mean square distance


@dataclass(frozen=True)
class Fit:
    """Centers of weighted points.

    Attributes:
        centers: shape (k, d).
        labels: position of each point's center, shape (m,).
        weights: sum of weights of each center, shape (k,).
        loss: sum of weight times squared distance.
    """

    centers: FloatArray
    labels: IntArray
    weights: FloatArray
    loss: float


def weighted_kmeans(points: FloatArray, weights: FloatArray, start: FloatArray, seed: int, n_init: int = 10) -> Fit:
    """Cluster weighted points.

    Args:
        points: shape (m, d); m may be 0.
        weights: shape (m,), at least 0.
        start: public centers that fill up where different points are fewer than k, shape (k, d).
        seed: of the public randomness.
        n_init: most seedings; fewer where points times centers are many.

    Returns:
        The cheapest fit, always with k centers.

    Raises:
        ConfigError: if a weight is negative or not finite.
    """
    at_least("n_init", n_init, 1)
    require(bool(np.isfinite(weights).all() and (weights >= 0).all()), "weights", "be numbers of at least 0", "others")
    kept = np.flatnonzero(weights > 0)
    inside = np.ascontiguousarray(points[kept], dtype=np.float64)
    mass = np.ascontiguousarray(weights[kept], dtype=np.float64)
    start = np.ascontiguousarray(start, dtype=np.float64)
    k, d = start.shape
    generator = np.random.default_rng(seed)
    affordable = int(_WORK / (20.0 * max(1, len(inside)) * k * d))
    best: tuple[float, FloatArray, IntArray] | None = None
    draws = [generator.random((k, 2 + int(np.log(k)))) for _ in range(max(1, min(n_init, affordable)))]
    scale = float(np.sqrt((mass @ ((inside - _mean(inside, mass)) ** 2).sum(axis=1)) / max(mass.sum(), 1e-300)))
    for centers in (_seeds(inside, mass, start, draw) for draw in draws):
        labels = np.zeros(len(inside), dtype=np.int64)
        loss = _lloyd(inside, mass, centers, labels, _MAX_ITERATIONS, _TOLERANCE * scale)
        if best is None or loss < best[0]:
            best = loss, centers, labels
    assert best is not None
    every = np.zeros(len(points), dtype=np.int64)
    nearest_centers(np.ascontiguousarray(points, dtype=np.float64), best[1], every)
    return Fit(best[1], every, np.bincount(best[2], mass, minlength=k).astype(np.float64), best[0])


def _mean(points: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray(weights @ points / max(weights.sum(), 1e-300))


@compiled
def _squared(one: FloatArray, other: FloatArray) -> float:
    distance = 0.0
    for c in range(len(one)):
        distance += (one[c] - other[c]) ** 2
    return distance


@compiled
def nearest_centers(points: FloatArray, centers: FloatArray, labels: IntArray) -> None:
    """Fill in the position of each point's nearest center, the first of equals."""
    for i in range(len(points)):
        best = np.inf
        for j in range(len(centers)):
            distance = _squared(points[i], centers[j])
            if distance < best:
                best = distance
                labels[i] = j


@compiled
def _seeds(points: FloatArray, weights: FloatArray, start: FloatArray, draws: FloatArray) -> FloatArray:
    k, m, n_trials = len(start), len(points), draws.shape[1]
    centers = start.copy()
    if m == 0:
        return centers
    nearest = np.full(m, np.inf)
    trial, best_nearest = np.empty(m), np.empty(m)
    for j in range(k):
        mass = weights.copy() if j == 0 else weights * nearest
        cumulative = np.cumsum(mass)
        if cumulative[-1] <= 0:
            break  # every point is a seed already
        best = np.inf
        for t in range(n_trials if j > 0 else 1):
            pick = min(np.searchsorted(cumulative, draws[j, t] * cumulative[-1], side="right"), m - 1)
            total = 0.0
            for i in range(m):
                trial[i] = min(nearest[i], _squared(points[i], points[pick]))
                total += weights[i] * trial[i]
            if total < best:
                best = total
                centers[j] = points[pick]
                best_nearest[:] = trial
        nearest[:] = best_nearest
    return centers


@compiled
def _lloyd(
    points: FloatArray, weights: FloatArray, centers: FloatArray, labels: IntArray, most: int, tolerance: float
) -> float:
    upper, lower = np.full(len(points), np.inf), np.zeros(len(points))
    for _ in range(most):
        _assign(points, centers, labels, upper, lower)
        moved = _move(points, weights, centers, labels)
        if moved.max() <= tolerance:
            break
        for i in range(len(points)):
            upper[i] += moved[labels[i]]
            lower[i] -= moved.max()
    nearest_centers(points, centers, labels)
    loss = 0.0
    for i in range(len(points)):
        loss += weights[i] * _squared(points[i], centers[labels[i]])
    return loss


@compiled
def _half_gaps(centers: FloatArray) -> FloatArray:
    """Half the distance of each center to the nearest other one: a point that near to it has no nearer center."""
    gaps = np.full(len(centers), np.inf)
    for j in range(len(centers)):
        for other in range(j):
            gap = _squared(centers[j], centers[other])
            gaps[j], gaps[other] = min(gaps[j], gap), min(gaps[other], gap)
    return np.asarray(np.sqrt(gaps) / 2)


@compiled
def _assign(points: FloatArray, centers: FloatArray, labels: IntArray, upper: FloatArray, lower: FloatArray) -> None:
    half_gaps = _half_gaps(centers)
    for i in range(len(points)):
        bound = max(half_gaps[labels[i]], lower[i])
        if upper[i] < np.inf and upper[i] > bound:
            upper[i] = np.sqrt(_squared(points[i], centers[labels[i]]))
        if upper[i] <= bound:
            continue
        first, second = np.inf, np.inf
        for j in range(len(centers)):
            distance = _squared(points[i], centers[j])
            if distance < first:
                second = first
                first = distance
                labels[i] = j
            elif distance < second:
                second = distance
        upper[i], lower[i] = np.sqrt(first), np.sqrt(second)


@compiled
def _move(points: FloatArray, weights: FloatArray, centers: FloatArray, labels: IntArray) -> FloatArray:
    """Put each center into the mean of its points; how far each moved, shape (k,)."""
    k, d = centers.shape
    sums, mass, moved = np.zeros((k, d)), np.zeros(k), np.zeros(k)
    for i in range(len(points)):
        mass[labels[i]] += weights[i]
        for c in range(d):
            sums[labels[i], c] += weights[i] * points[i, c]
    for j in range(k):
        if mass[j] > 0:
            place = sums[j] / mass[j]
            moved[j] = np.sqrt(_squared(place, centers[j]))
            centers[j] = place
    return moved
