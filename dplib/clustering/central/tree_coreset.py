"""`tree_coreset`: hashing tree, noisy leaf means as weighted points, k-means of them, then Gaussian Lloyd rounds.

The practical relative of Ghazi, Kumar and Manurangsi's algorithm for many dimensions, rho-zCDP:

1. a noisy number of points, a noisy mean, through which the hyperplanes pass, and a noisy sum of squares, which only
   the estimate of the loss needs;
2. 20 SimHash bits a point; the binary tree of their prefixes, grown on noisy counts;
3. a noisy sum of the points of every leaf; its mean is a point of the coreset, its noisy count the weight;
4. k-means of the coreset;
5. Lloyd rounds from there, unless the noise on a center would exceed a fraction of the radius: then their budget goes
   to the tree. The rule uses the noisy number of points.

Passes: one for 1, one each for 2 and 3, one a round.

Privacy. A row is in one node of each of the 21 levels and in one leaf, and which nodes exist follows from noisy counts:
21 counts of sensitivity 1, one sum of L2 sensitivity R, the rounds of `dplib.clustering.central.lloyd`; rhos add up.

References:
    Ghazi, Kumar, Manurangsi: Differentially private clustering, tight approximation ratios. NeurIPS 2020.
    Chang, Ghazi, Kumar, Manurangsi: Locally private k-means in one round. ICML 2021 (tree, coreset, lifting back).
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import BoolArray, FloatArray, IntArray
from dplib.clustering.central.code_tree import Leaves, grow, leaves_of
from dplib.clustering.central.lloyd import add_noise, deviation, gaussian_rounds, take_rounds
from dplib.clustering.central.simhash import HashCounts, LeafSums, SimHash
from dplib.clustering.central.tree_errors import NOBODY, weight_variances
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import NoiseSource, PointSource, dense
from dplib.clustering.space import UNITS
from dplib.clustering.start import spread_centers
from dplib.clustering.sums import Moments, rounded
from dplib.clustering.weighted_kmeans import Fit, weighted_kmeans
from dplib.privacy.noise import NoiseEvent
from dplib.validate import at_least, between, positive

MAX_EXPANDED = 1 << 14
_SURE = 20.0  # deviations of every count above which the loss is stated: the correction for noise is of first order


@dataclass(frozen=True)
class CoresetSettings:
    """How the budget is divided and the tree grown; `scripts/experiments/kmeans_rules.py` changes them one by one.

    Attributes:
        mean_share: part of rho for the number of points, their mean and their sum of squares.
        lloyd_share: part of the rest for Lloyd rounds.
        count_share: part of the tree's rho for its counts, the rest for the leaf sums.
        n_bits: hyperplanes.
        n_rounds: Lloyd rounds.
        reach: largest noise on a center, in radii, with which Lloyd rounds are worth their budget.
        sharpness: noise on a leaf's mean, in radii, with which the leaf is still kept.
    """

    mean_share: Fraction = Fraction(1, 25)
    lloyd_share: Fraction = Fraction(2, 5)
    count_share: Fraction = Fraction(1, 4)
    n_bits: int = 20
    n_rounds: int = 2
    reach: float = 0.05
    sharpness: float = 0.1


@dataclass(frozen=True)
class _Noises:
    node: NoiseEvent
    leaf_sum: NoiseEvent


@dataclass(frozen=True)
class _Moments:
    n: float
    squares: float
    middle: IntArray
    events: tuple[NoiseEvent, ...]


def tree_coreset(
    source: PointSource, noise: NoiseSource, problem: Problem, rho: Fraction, settings: CoresetSettings | None = None
) -> Clustering:
    """Cluster through a noisy coreset."""
    settings = settings or CoresetSettings()
    _require(rho, settings)
    space, k = problem.space, problem.n_clusters
    rho_mean = rho * settings.mean_share
    moments = _measure_moments(source, noise, problem, rho_mean, settings)
    n = moments.n
    rest = rho - rho_mean
    rho_lloyd = rest * settings.lloyd_share
    refined = _refines(problem, rho_lloyd, n, settings)
    rho_tree = rest - rho_lloyd if refined else rest
    rho_counts = rho_tree * settings.count_share
    noises = _Noises(
        problem.gaussian_event("nodes of the tree", settings.n_bits + 1, rho_counts),
        problem.gaussian_event("sums of the leaves", space.norm_squared, rho_tree - rho_counts),
    )
    hashing = SimHash.through(moments.middle, settings.n_bits, problem.seed)
    least = _least_count(problem, noises, n, settings)
    leaves = _leaves(source, noise, hashing, noises, least, settings)
    points = _leaf_means(source, noise, problem, hashing, noises, leaves)
    weights = np.where(leaves.weights >= least, leaves.weights, 0.0)
    fit = weighted_kmeans(points, weights, spread_centers(space, k, problem.seed), problem.seed)
    rounds = gaussian_rounds(problem, rho_lloyd, settings.n_rounds) if refined else []
    step = take_rounds(source, noise, problem, rounds, fit.centers)
    of_tree, of_counts = _of_fit(fit, weights, leaves, deviation(noises.leaf_sum))
    centers = step.centers if refined else space.clip(fit.centers)
    counts = np.maximum(step.counts, 0.0) if refined else fit.weights
    deviations = step.deviations if refined else of_tree
    weight_deviations = np.full(k, deviation(rounds[-1].count)) if refined else of_counts
    events = (*moments.events, noises.node, noises.leaf_sum)
    loss, loss_deviation = _loss(moments, centers, counts, deviations, weight_deviations)
    return Clustering(
        method="tree_coreset",
        centers=centers,
        weights=counts,
        deviations=deviations,
        loss=loss,
        loss_deviation=loss_deviation,
        weight_deviations=weight_deviations,
        events=(*events, *(event for each in rounds for event in (each.count, each.sums))),
        choices={"leaves": len(weights), "rounds": len(rounds)},
        cells=points,
        cell_weights=weights,
    )


def _measure_moments(
    source: PointSource, noise: NoiseSource, problem: Problem, rho: Fraction, settings: CoresetSettings
) -> _Moments:
    space = problem.space
    of_count = problem.gaussian_event("number of points", 1, rho / 10)
    of_sum = problem.gaussian_event("sum of points", space.norm_squared, rho * 4 / 10)
    of_squares = problem.gaussian_event("sum of squares", (space.norm_squared // UNITS) ** 2, rho / 2)
    exact = dense(source.total(Moments(space.dimension)), 1)
    n = max(1.0, float(add_noise(noise, exact[:, 0], of_count, "number of points")[0]))
    squares = UNITS * float(add_noise(noise, exact[:, 1], of_squares, "sum of squares")[0])
    mean = space.clip(add_noise(noise, exact[:, 2:], of_sum, "sum of points") / n)
    # A mean that is mostly noise says less than the public middle.
    middle = mean[0] if deviation(of_sum) / n < settings.sharpness * UNITS else np.zeros(space.dimension)
    return _Moments(n, squares, rounded(middle), (of_count, of_sum, of_squares))


def _leaf_means(
    source: PointSource, noise: NoiseSource, problem: Problem, hashing: SimHash, noises: _Noises, leaves: Leaves
) -> FloatArray:
    sums = dense(source.total(LeafSums(hashing, leaves.first_codes)), len(leaves.weights))
    noisy = add_noise(noise, sums, noises.leaf_sum, "sums of the leaves")
    return problem.space.clip(noisy / np.maximum(leaves.weights, 1.0)[:, np.newaxis])


def _loss(
    moments: _Moments, centers: FloatArray, counts: FloatArray, deviations: FloatArray, of_counts: FloatArray
) -> tuple[float, float]:
    """Sum of squared distances to noisy means, ``sum |x|^2 - sum n_j |c_j|^2`` corrected for the noise; its error.

    Noise of variance v in a coordinate lengthens ``|c_j|^2`` by v and takes the center v away from its points' mean.
    ``n_j |c_j|^2`` is ``|s_j|^2 / n_j`` of a noisy sum and count: noise h and g move it by ``2 c_j h - |c_j|^2 g``,
    where ``(v - c^2 g^2 / n^2) n^2`` is the variance of h. NaN where a center's count is not far above its noise.
    """
    if not (np.isfinite(deviations).all() and (counts > _SURE * of_counts).all()):
        return float("nan"), float("nan")
    lengths, variances = (centers**2).sum(axis=1), (deviations**2).sum(axis=1)
    loss = moments.squares - float(counts @ (lengths - 2 * variances))
    of_sums = np.maximum((deviations * counts[:, np.newaxis]) ** 2 - (centers * of_counts[:, np.newaxis]) ** 2, 0.0)
    moved = 4 * (centers**2 * of_sums).sum(axis=1) + (lengths * of_counts) ** 2
    error = np.sqrt((UNITS * deviation(moments.events[-1])) ** 2 + float(moved.sum()))
    return max(0.0, loss), float(error)


def _require(rho: Fraction, settings: CoresetSettings) -> None:
    positive("rho", rho)
    for name in ("mean_share", "lloyd_share", "count_share"):
        between(name, getattr(settings, name), Fraction(0), Fraction(1))
    between("n_bits", settings.n_bits, 0, 25)
    at_least("n_rounds", settings.n_rounds, 0)


def _refines(problem: Problem, rho_lloyd: Fraction, n: float, settings: CoresetSettings) -> bool:
    """Whether the noise on a center would be small enough for Lloyd rounds."""
    squared = settings.n_rounds * problem.space.dimension * problem.space.norm_squared / float(2 * rho_lloyd)
    noise = np.sqrt(squared) / UNITS * problem.rows * problem.n_clusters / n
    return bool(settings.n_rounds > 0 and noise <= settings.reach)


def _least_count(problem: Problem, noises: _Noises, n: float, settings: CoresetSettings) -> float:
    """Smallest noisy count of a leaf whose mean is worth keeping."""
    blurred = np.sqrt(problem.space.dimension) * deviation(noises.leaf_sum) / UNITS / settings.sharpness
    return max(1.0, 3.0 * deviation(noises.node), min(float(blurred), n / (2 * problem.n_clusters)))


def _leaves(
    source: PointSource, noise: NoiseSource, hashing: SimHash, noises: _Noises, least: float, settings: CoresetSettings
) -> Leaves:
    def measure(counts: IntArray, level: int) -> IntArray:
        return noise.add(counts, noises.node.noise, "nodes", level)

    def expand(noisy: FloatArray, level: int) -> BoolArray:
        return np.asarray(noisy >= 3 * least)

    levels = grow(source.total(HashCounts(hashing)), 1, settings.n_bits, measure, expand, MAX_EXPANDED)
    return leaves_of(levels, 1, settings.n_bits, [float(noises.node.noise.parameter)] * (settings.n_bits + 1))


def _of_fit(fit: Fit, weights: FloatArray, leaves: Leaves, leaf_deviation: float) -> tuple[FloatArray, FloatArray]:
    """Errors of centers that are means of leaf sums, shape (k, d), and of their weights, shape (k,)."""
    k = len(fit.centers)
    labels = np.where(weights > 0, fit.labels, NOBODY)
    n_leaves = np.bincount(fit.labels, weights > 0, minlength=k)
    of_weights = np.sqrt(weight_variances(leaves.errors, labels, k))
    variances = (n_leaves * leaf_deviation**2)[:, np.newaxis] + (fit.centers * of_weights[:, np.newaxis]) ** 2
    spread = np.sqrt(variances) / np.maximum(fit.weights, 1e-9)[:, np.newaxis]
    return np.where((n_leaves > 0)[:, np.newaxis], spread, np.inf), np.where(n_leaves > 0, of_weights, np.nan)
