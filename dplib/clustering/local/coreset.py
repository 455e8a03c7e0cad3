"""Weighted places that stand for the users of the local model, and their k-means: post-processing of noisy counts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.local.questions import Questions
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.start import spread_centers
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.privacy.events import PureEvent


@dataclass(frozen=True)
class Coreset:
    """Weighted places that stand for the users.

    Attributes:
        places: in units, inside the space, shape (m, d).
        weights: at least 0, shape (m,).
        variances: of the noise in the weights, shape (m,).
        sides: half the squared diagonal of a leaf around its place, a sixth of it is the mean squared distance of
            evenly spread users to the place; square units, shape (m,).
    """

    places: FloatArray
    weights: FloatArray
    variances: FloatArray
    sides: FloatArray


def cluster_coreset(
    method: str,
    coreset: Coreset,
    problem: Problem,
    questions: Questions,
    choices: dict[str, str | int | float],
    errors: Callable[[IntArray, FloatArray], FloatArray],
) -> Clustering:
    """Weighted k-means of a coreset; always k centers.

    Args:
        method: its name.
        coreset: weighted places.
        problem: the settings.
        questions: for their epsilon.
        choices: what the method decided.
        errors: standard errors of the centers' weights, given the places' centers and those weights.
    """
    k = problem.n_clusters
    fit = weighted_kmeans(coreset.places, coreset.weights, spread_centers(problem.space, k, problem.seed), problem.seed)
    spread = np.stack(
        [
            np.bincount(fit.labels, away**2 * coreset.variances, minlength=k)
            for away in (coreset.places - fit.centers[fit.labels]).T
        ],
        axis=1,
    )
    return Clustering(
        method=method,
        centers=fit.centers,
        weights=fit.weights,
        deviations=np.where(fit.weights > 0, np.sqrt(spread).T / np.maximum(fit.weights, 1e-9), np.inf).T,
        loss=fit.loss + float(coreset.sides @ coreset.weights) / 6,
        events=(PureEvent("one report of each user", questions.epsilon, "local randomizer"),),
        choices={**choices, "places": len(coreset.weights)},
        cells=coreset.places,
        cell_weights=coreset.weights,
        weight_deviations=errors(fit.labels, fit.weights),
    )
