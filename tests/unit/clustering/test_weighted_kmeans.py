"""k-means of weighted points against exhaustive search, and always k centers."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.arrays import FloatArray
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.clustering.weights import nearest_weights
from dplib.errors import ConfigError


def _best(points: FloatArray, weights: FloatArray, k: int) -> float:
    """The least loss over all ways to part the points."""
    labels = np.array(list(product(range(k), repeat=len(points))))
    mine = (labels[:, np.newaxis] == np.arange(k)[:, np.newaxis]) * weights
    means = mine @ points / np.maximum(mine.sum(axis=2), 1e-300)[:, :, np.newaxis]
    squares = ((points - means[:, :, np.newaxis]) ** 2).sum(axis=3)
    return float((mine * squares).sum(axis=(1, 2)).min())


@pytest.mark.parametrize("seed", range(5))
def test_it_comes_within_a_hundredth_of_the_best_partition(seed: int) -> None:
    generator = np.random.default_rng(seed)
    points, weights = generator.normal(size=(7, 2)), generator.integers(0, 5, size=7).astype(float)
    fit = weighted_kmeans(points, weights, np.zeros((3, 2)), seed, n_init=60)
    assert fit.loss == pytest.approx(_best(points, weights, 3), rel=0.01)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 12), st.integers(1, 6), st.integers(1, 4), st.integers(0, 100))
def test_the_fit_is_consistent_and_has_k_centers(m: int, k: int, d: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    points, weights = generator.normal(size=(m, d)), generator.integers(0, 3, size=m).astype(float)
    start = generator.normal(size=(k, d))
    fit = weighted_kmeans(points, weights, start, seed)
    distances = ((points[:, np.newaxis] - fit.centers) ** 2).sum(axis=2)
    assert fit.centers.shape == (k, d)
    assert np.isfinite(fit.centers).all()
    assert fit.weights.sum() == pytest.approx(weights.sum())
    if m:
        np.testing.assert_array_equal(fit.labels, distances.argmin(axis=1))
        assert fit.loss == pytest.approx(weights @ distances.min(axis=1))


def test_bounds_on_distances_change_nothing() -> None:
    """Hamerly's bounds only spare work: one more plain iteration from the result does not move it."""
    generator = np.random.default_rng(5)
    points, weights = generator.normal(size=(4000, 3)), generator.random(4000)
    fit = weighted_kmeans(points, weights, np.zeros((12, 3)), 1, n_init=1)
    means = np.stack([np.average(points[fit.labels == j], axis=0, weights=weights[fit.labels == j]) for j in range(12)])
    assert np.abs(means - fit.centers).max() < 0.02


def test_weights_that_are_no_weights_are_refused() -> None:
    with pytest.raises(ConfigError, match="weights"):
        weighted_kmeans(np.zeros((1, 1)), np.array([-1.0]), np.zeros((1, 1)), 0)


@given(st.lists(st.lists(st.floats(-50, 50), min_size=4, max_size=4), min_size=1, max_size=5), st.floats(-20, 100))
def test_nearest_weights_are_the_projection(rows: list[list[float]], total: float) -> None:
    noisy = np.array(rows)
    weights = nearest_weights(noisy, np.full(len(rows), total))
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), max(total, 0.0), atol=1e-6)
    if total > 0:
        # Optimal: all positive weights were lowered by one number, the others are below it.
        cut = (noisy - weights).max(axis=1)
        np.testing.assert_allclose(
            np.where(weights > 1e-9, noisy - weights, 0).sum(axis=1), cut * (weights > 1e-9).sum(axis=1), atol=1e-5
        )
