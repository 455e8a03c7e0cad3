"""How often the stated errors of clusterings hold: the truth that each error is of, and the share of hits over keys.

A center and its weight are of the points that are nearest to it as it is released, or, where a last question measured
counts and sums of points (`LAST_ASKED`), of the points that this question assigned to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.simhash import LeafSums
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import Blocks, Keyed, Summary
from dplib.clustering.space import Space
from dplib.clustering.sums import nearest, rounded
from dplib.clustering.weighted_kmeans import nearest_centers
from dplib.jobs.kmeans.estimate import interval_factor, states_loss
from dplib.mechanisms.clustering_noise import KeyedNoise
from tests.support.clustering import METHODS, mixture

LAST_ASKED = ("lloyd_laplace", "lloyd_gaussian", "local_search", "max_cover", "tree_coreset")


class Witnessed(Blocks):
    """Points that remember the last sums that were asked of them."""

    def __init__(self, points: IntArray) -> None:
        super().__init__(points)
        self.points, self.last = points, np.zeros((0, 0), dtype=np.int64)
        self.leaves: tuple[LeafSums, IntArray] | None = None

    def total(self, summary: Summary) -> Keyed:
        found = super().total(summary)
        if isinstance(summary, LeafSums):
            self.leaves = summary, found[1]
        elif summary.width == 1 + self.points.shape[1]:
            self.last = found[1]
        return found


def truth(found: Clustering, source: Witnessed, method: str) -> tuple[FloatArray, FloatArray]:
    """The means and numbers of points that the errors are of, shape (k, d) and (k,)."""
    k = len(found.centers)
    if method in LAST_ASKED and found.choices.get("rounds", 1) != 0:
        counts, sums = source.last[:, 0].astype(float), source.last[:, 1:]
    elif method in LAST_ASKED:
        counts, sums = _of_leaves(found, source)
    else:
        labels = nearest(source.points, rounded(found.centers))
        counts = np.bincount(labels, minlength=k).astype(float)
        sums = np.stack([np.bincount(labels, axis, minlength=k) for axis in source.points.T], axis=1)
    return sums / np.maximum(counts, 1)[:, np.newaxis], counts


def _of_leaves(found: Clustering, source: Witnessed) -> tuple[FloatArray, IntArray]:
    """Numbers and sums of the points in the leaves that a center was made from."""
    assert source.leaves is not None
    assert found.cells is not None
    assert found.cell_weights is not None
    summary, sums = source.leaves
    leaf = np.searchsorted(summary.first_codes, summary.hashing.codes(source.points), side="right") - 1
    of = np.zeros(len(found.cells), dtype=np.int64)
    nearest_centers(found.cells, found.centers, of)
    kept, k = found.cell_weights > 0, len(found.centers)
    sizes = np.bincount(leaf, minlength=len(kept))
    counts = np.bincount(of[kept], sizes[kept], minlength=k)
    return counts, np.stack([np.bincount(of[kept], axis[kept], minlength=k) for axis in sums.T], axis=1)


@dataclass(frozen=True, eq=False)
class Misses:
    """What was stated is off by this many half widths of its 95 % interval.

    Attributes:
        centers: of every coordinate of every center with an error.
        weights: of every weight with an error.
        loss: of the loss, empty where none would be published.
        stated: share of the centers that have an error.
    """

    centers: FloatArray
    weights: FloatArray
    loss: FloatArray
    stated: float


def one_run(method: str, points: FloatArray, space: Space, k: int, budget: Fraction, key: int) -> Misses:
    """Run a method with one key."""
    source, problem = Witnessed(space.to_units(points)), Problem(space, k)
    found = METHODS[method](source, KeyedNoise(key.to_bytes(32, "big")), problem, budget)
    means, counts = truth(found, source, method)
    stated = np.isfinite(found.deviations) & (counts > 0)[:, np.newaxis]
    assert found.weight_deviations is not None
    known = np.isfinite(found.weight_deviations)
    labels = nearest(source.points, rounded(found.centers))
    loss = float(((source.points - found.centers[labels]) ** 2).sum())
    off = _half_widths(np.array([found.loss - loss]), np.array([found.loss_deviation]))
    factor = interval_factor(found)
    return Misses(
        centers=_half_widths((found.centers - means)[stated], found.deviations[stated]) / factor,
        weights=_half_widths((found.weights - counts)[known], found.weight_deviations[known]) / factor,
        loss=off[: int(states_loss(found))] / factor,
        stated=float(stated.any(axis=1).mean()),
    )


def _half_widths(off: FloatArray, deviations: FloatArray) -> FloatArray:
    """In standard errors; infinite where an error of 0 is stated, as by what is planted."""
    return np.divide(off, deviations, out=np.full_like(off, np.inf), where=deviations > 0)


SQUARE = Space.box([-1.0, -1.0], [1.0, 1.0])
Case = tuple[FloatArray, Space, int]


def unequal(n: int, k: int, seed: int, width: float) -> FloatArray:
    """Normal clusters in the square whose sizes fall from 20 to 1."""
    generator = np.random.default_rng(seed)
    places, sizes = generator.uniform(-0.85, 0.85, (k, 2)), 20.0 ** (-np.arange(k) / (k - 1))
    points = places[generator.choice(k, n, p=sizes / sizes.sum())] + generator.normal(size=(n, 2)) * width
    return np.asarray(np.clip(points, -1, 1))


def cases(dimension: int) -> dict[str, Case]:
    """Point sets of one dimension."""
    if dimension > 2:
        balls = {d: Space.ball([0.0] * d, 1.0) for d in (5, 12)}
        return {
            "mixture d=5": (mixture(10_000, 5, 5, 3), balls[5], 5),
            "d=12": (mixture(10_000, 12, 4, 4), balls[12], 4),
        }
    even = np.random.default_rng(5).uniform(-1, 1, (5000, 2))
    return {
        "mixture": (mixture(5000, 2, 8, 3), SQUARE, 8),
        "unequal": (unequal(5000, 6, 1, 0.04), SQUARE, 6),
        "unequal, more": (unequal(10_000, 6, 2, 0.06), SQUARE, 6),
        "even": (even, SQUARE, 5),
        "tight": (unequal(4000, 5, 3, 0.003), SQUARE, 5),
    }


def _places(k: int, seed: int, n: int) -> tuple[np.random.Generator, FloatArray, IntArray]:
    """A generator, k places in the square and the place of each of n points; sizes fall from 20 to 1."""
    generator = np.random.default_rng(seed)
    places, sizes = generator.uniform(-0.8, 0.8, (k, 2)), 20.0 ** (-np.arange(k) / (k - 1))
    return generator, places, generator.choice(k, n, p=sizes / sizes.sum())


def held_out(seed: int) -> dict[str, Case]:
    """Point sets that decided no constant and no model: other shapes than `cases`, and coordinates that are rounded."""
    generator, places, of = _places(6, seed, 6000)
    angles, rings = generator.uniform(0, 2 * np.pi, 6000), np.sqrt(generator.uniform(0.6, 1, 6000))
    ring = places[of] + (generator.uniform(0.05, 0.2, 6)[of] * rings * [np.cos(angles), np.sin(angles)]).T
    boxes = places[of] + generator.uniform(0.02, 0.3, (6, 2))[of] * generator.uniform(-1, 1, (6000, 2))
    tails = places[of] + 0.03 * generator.standard_t(3, (6000, 2))
    found = {
        "rings": ring,
        "one-sided": places[of] + generator.exponential(0.08, (6000, 2)),
        "boxes": boxes,
        "few": boxes[:600],
        "long": places[of] + generator.normal(size=(6000, 2)) * [0.15, 0.015],
        "heavy tails": tails,
        "even": generator.uniform(-1, 1, (4000, 2)),
        "skewed": 2 * generator.beta(2, 5, (6000, 2)) - 1,
        "in the corners": 2 * generator.beta(0.5, 0.5, (6000, 2)) - 1,
        "rounded to 1/50": np.round(tails, 2) // 0.02 * 0.02,
        "rounded to 1/100": np.round(boxes, 2),
    }
    return {name: (np.clip(points, -1, 1), SQUARE, 6) for name, points in found.items()}


def aligned(seed: int) -> dict[str, Case]:
    """Points that lie alike in all cells of a grid: on a line, and spread evenly with few different coordinates."""
    even = np.random.default_rng(seed).uniform(-1, 1, (6000, 2))
    return {"line": (even * [1, 0], SQUARE, 5), "rounded to 1/10": (np.round(even, 1), SQUARE, 5)}


def coverage(
    method: str, points: Mapping[str, Case], budgets: Sequence[Fraction], n_keys: int
) -> dict[str, tuple[int, int]]:
    """Intervals that hold the truth, and all intervals, of centers, weights and losses over point sets and keys.

    No two runs have a key, and so noise, in common.
    """
    found = {name: [0, 0] for name in ("centers", "weights", "loss")}
    for key, ((rows, space, k), budget, _) in enumerate(product(points.values(), budgets, range(n_keys))):
        run = one_run(method, rows, space, k, budget, key)
        for name, pair in found.items():
            misses = getattr(run, name)
            pair[0] += int((np.abs(misses) <= 1).sum())
            pair[1] += len(misses)
    return {name: (held, of) for name, (held, of) in found.items()}
