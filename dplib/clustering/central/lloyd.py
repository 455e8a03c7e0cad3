"""`lloyd` (DPLloyd): Lloyd's iterations on noisy counts and sums, from a public start.

In each of T rounds every cluster's count and sum get noise, empty clusters too, and the center becomes their
quotient; a center whose noisy count is not clearly above its noise stays where it was. T never depends on how the
iterations go.

Privacy. A row is in one cluster, so the k clusters share a round's budget. Laplace: a row moves a count by 1 and the
sum by at most l1 in L1 norm (`Space.l1`: the sum of the half widths of a box, sqrt(d) radius of a ball); a round
costs ``1 / b_count + l1 / b_sum``. Gaussian: the sum moves by at most the radius in L2 norm; a round costs
``1 / (2 s_count^2) + norm^2 / (2 s_sum^2)`` of rho.

Calibration of the Laplace version (Su et al.): with the box scaled to [-1, 1] the budgets of a count and of one
coordinate of a sum stand as ``(4 d rho^2)^(1/3) : 1``, rho = 0.225; a round needs at least ``epsilon_m = sqrt(500 k^3
/ n^2 (d + (4 d rho^2)^(1/3))^3)``; T is ``epsilon / epsilon_m`` kept between 2 and 7. Here n is a noisy number of
points, paid for by a stated share, and so T is public.

Errors. A center is the quotient of a noisy sum and a noisy count: an estimate of the mean m of the n points that were
nearest to the center of the round before. With noise h in a coordinate of the sum and g in the count, ``(n m + h) / (n
+ g) - m`` is about ``(h - m g) / n`` (delta method): variance ``(s_sum^2 + c^2 s_count^2) / N^2``, c the coordinate
from the middle of the space and N the noisy count. For counts that are not many times their noise the quotient is
skewed; Fieller's exact set for a quotient is wider by about ``1 / (1 - z^2 s_count^2 / N^2)``, which the stated error
is too. Below `_CLEAR` deviations no error is stated.

The public start leaves it in poor local optima in many dimensions; `tree_coreset` starts from the points.

References:
    Blum, Dwork, McSherry, Nissim: Practical privacy, the SuLQ framework. PODS 2005.
    Su, Cao, Li, Bertino, Jin: Differentially private k-means clustering. CODASPY 2016, sections 3 and 4.1.
    Fieller: Some problems in interval estimation. Journal of the Royal Statistical Society B 16(2), 1954.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.central.grid import COUNT_SHARE, measure_count
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.source import NoiseSource, PointSource, dense
from dplib.clustering.start import spread_centers
from dplib.clustering.sums import ClusterSums, rounded
from dplib.privacy.noise import Law, NoiseEvent
from dplib.validate import between, positive

_RHO = 0.225
_MIN, _MAX = 2, 7
_GAUSSIAN_ROUNDS = 5
_SURE = 2.0  # standard deviations of a count above which its quotient is taken
_CLEAR = 6.0  # standard deviations of a count above which the error of its quotient is stated
_Z = 1.96
_COUNT_PART = Fraction(1, 10)  # of a Gaussian round's rho, for counts


@dataclass(frozen=True)
class Round:
    """The noise of one round.

    Attributes:
        count: of the clusters' counts.
        sums: of their sums.
    """

    count: NoiseEvent
    sums: NoiseEvent


@dataclass(frozen=True)
class Step:
    """What a round gives.

    Attributes:
        centers: shape (k, d).
        counts: noisy counts, shape (k,).
        deviations: standard error of a center's coordinates, ``inf`` for a center that stayed, shape (k, d).
    """

    centers: FloatArray
    counts: FloatArray
    deviations: FloatArray


def lloyd_laplace(source: PointSource, noise: NoiseSource, problem: Problem, epsilon: Fraction) -> Clustering:
    """DPLloyd with Laplace noise, pure epsilon; `COUNT_SHARE` of it pays for the number of points that decides T."""
    positive("epsilon", epsilon)
    n, counted = measure_count(source, noise, problem, epsilon * COUNT_SHARE)
    share, d = epsilon * (1 - COUNT_SHARE), problem.space.dimension
    ratio = (4 * d * _RHO**2) ** (1 / 3)
    # A unit's rows all count: the budget of one of them.
    needed = np.sqrt(500 * problem.n_clusters**3 * (d + ratio) ** 3) / max(n, 1)
    n_rounds = int(np.clip(float(share) / problem.rows // needed, _MIN, _MAX))
    for_count = share / n_rounds * Fraction(ratio / (d + ratio)).limit_denominator(1000)
    rounds = [
        Round(
            problem.laplace_event(f"counts of round {number}", 1, for_count),
            problem.laplace_event(f"sums of round {number}", problem.space.l1, share / n_rounds - for_count),
        )
        for number in range(n_rounds)
    ]
    return _finished(source, noise, problem, rounds, counted)


def lloyd_gaussian(source: PointSource, noise: NoiseSource, problem: Problem, rho: Fraction) -> Clustering:
    """DPLloyd with Gaussian noise, rho-zCDP, in `_GAUSSIAN_ROUNDS` rounds."""
    return _finished(source, noise, problem, gaussian_rounds(problem, positive("rho", rho), _GAUSSIAN_ROUNDS))


def gaussian_rounds(problem: Problem, rho: Fraction, n_rounds: int) -> list[Round]:
    """The noise of rounds that share rho evenly."""
    between("n_rounds", n_rounds, 0, 1000)
    share = rho / n_rounds
    return [
        Round(
            problem.gaussian_event(f"counts of round {number}", 1, share * _COUNT_PART),
            problem.gaussian_event(f"sums of round {number}", problem.space.norm_squared, share * (1 - _COUNT_PART)),
        )
        for number in range(n_rounds)
    ]


def take_rounds(
    source: PointSource, noise: NoiseSource, problem: Problem, rounds: Sequence[Round], start: FloatArray
) -> Step:
    """Go through the rounds from a start, shape (k, d), that is public or noisy."""
    k = problem.n_clusters
    step = Step(problem.space.clip(start), np.zeros(k), np.full((k, problem.space.dimension), np.inf))
    for number, each in enumerate(rounds):
        centers = rounded(step.centers)
        exact = dense(source.total(ClusterSums(centers)), k)
        counts = add_noise(noise, exact[:, 0], each.count, "counts", number)
        sums = add_noise(noise, exact[:, 1:], each.sums, "sums", number)
        step = quotients(problem, centers, counts, sums, each)
    return step


def add_noise(noise: NoiseSource, exact: IntArray, event: NoiseEvent, *labels: str | int) -> FloatArray:
    """The noise of an event on exact integers."""
    return noise.add(exact, event.noise, *labels).astype(np.float64)


def deviation(event: NoiseEvent) -> float:
    """Standard deviation of the noise, in units; of the continuous law, which is never smaller."""
    parameter = float(event.noise.parameter)
    return float(np.sqrt(2.0)) * parameter if event.noise.law is Law.LAPLACE else float(np.sqrt(parameter))


def quotients(problem: Problem, before: IntArray, counts: FloatArray, sums: FloatArray, noise: Round) -> Step:
    """Centers from noisy counts and sums; one whose count is not clearly above its noise stays where it was before."""
    sure = counts > max(_SURE * deviation(noise.count), 1.0)
    quotients = sums / np.where(sure, counts, 1.0)[:, np.newaxis]
    centers = problem.space.clip(np.where(sure[:, np.newaxis], quotients, before))
    return Step(centers, counts, np.where(sure[:, np.newaxis], quotient_errors(centers, counts, noise), np.inf))


def quotient_errors(centers: FloatArray, counts: FloatArray, noise: Round) -> FloatArray:
    """Standard errors of quotients by the delta method, NaN where the count is not clear of its noise, shape (k, d)."""
    of_count, of_sum = deviation(noise.count), deviation(noise.sums)
    clear = counts > max(_CLEAR * of_count, 1.0)
    divisors = np.where(clear, counts, np.nan)[:, np.newaxis]
    skew = 1.0 / (1.0 - (_Z * of_count / divisors) ** 2)
    return np.asarray(np.sqrt(of_sum**2 + (centers * of_count) ** 2) / divisors * skew)


def _finished(
    source: PointSource, noise: NoiseSource, problem: Problem, rounds: Sequence[Round], *before: NoiseEvent
) -> Clustering:
    start = spread_centers(problem.space, problem.n_clusters, problem.seed)
    step = take_rounds(source, noise, problem, rounds, start)
    return Clustering(
        method="lloyd",
        centers=step.centers,
        weights=np.maximum(step.counts, 0.0),
        deviations=step.deviations,
        events=(*before, *(event for each in rounds for event in (each.count, each.sums))),
        choices={"rounds": len(rounds)},
        weight_deviations=np.full(problem.n_clusters, deviation(rounds[-1].count)),
    )
