"""Sums of vectors by group: exact epsilon of whole reports, no bias, the stated variance, planted faults."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

from dplib.errors import ConfigError
from dplib.mechanisms.local.vector_sums import VectorSums
from dplib.randomness.user_streams import UserStreams, number_users
from tests.support.goodness_of_fit import PASS
from tests.support.local_oracles import Law, exact_law, largest_ratio

KEY = bytes(range(32))
RADIUS = 1 << 16


def _streams(n: int, *labels: int) -> UserStreams:
    return UserStreams(KEY, number_users(np.arange(n)), "sums", *labels)


def _laws(epsilon: Fraction, n_inputs: int = 5) -> list[Law]:
    # A radius of 4 steps and words of two bits: every outcome of every coin is run.
    sums = VectorSums(3, 2, 16, epsilon, length_steps=4)
    inputs = [(0, (4, 0)), (0, (-4, 0)), (2, (4, 0)), (1, (0, 0)), (1, (1, -2))]
    return [
        exact_law(lambda s, v=v, x=x: sums.randomize(s, np.array([v]), np.array([x])).tobytes(), word_bits=2)
        for v, x in inputs[:n_inputs]
    ]


def test_whole_reports_are_epsilon_private_and_a_planted_epsilon_is_caught() -> None:
    laws = _laws(Fraction(1))
    assert all(float(sum(law.values())) == pytest.approx(1) for law in laws)
    assert largest_ratio(laws) == pytest.approx(exp(1), rel=1e-12)
    assert largest_ratio(_laws(Fraction(11, 10), 2)) > exp(1) * 1.04


@pytest.mark.parametrize(("d", "epsilon"), [(1, Fraction(2)), (9, Fraction(1)), (40, Fraction(4))])
def test_sums_have_no_bias_and_the_stated_error_in_any_partition(d: int, epsilon: Fraction) -> None:
    n, k, runs = 10_000, 3, 12
    rng = np.random.default_rng(d)
    groups = rng.integers(0, k, n)
    lengths = rng.choice([0.0, 0.3, 1.0], size=(n, 1))
    vectors = rng.normal(size=(n, d)) + np.arange(1, k + 1)[groups, np.newaxis] - 2
    vectors *= (RADIUS - 1) * lengths / np.linalg.norm(vectors, axis=1, keepdims=True)
    points = vectors.astype(np.int64)
    truth = np.array([points[groups == v].sum(axis=0) for v in range(k)])
    sums = VectorSums(k, d, RADIUS**2, epsilon)
    z = []
    for run in range(runs):
        streams = _streams(n, run)
        parts = [slice(0, 1000), slice(1000, 1000), slice(1000, n)]
        counts = sum(sums.aggregate(sums.randomize(streams.of(p), groups[p], points[p])) for p in parts)
        if run == 0:
            assert (counts == sums.aggregate(sums.randomize(streams, groups, points))).all()
        z.append((sums.estimate(counts) - truth) / (sums.deviation * n**0.5))
    found = np.array(z)
    assert stats.norm.sf(abs(found.mean()) * found.size**0.5) > PASS
    assert stats.chi2.sf((found**2).sum(), found.size) > PASS
    # The bound of the variance is not far above it: short of one report's own mean.
    assert stats.chi2.cdf((found**2).sum() * 1.35, found.size) > PASS


def test_a_vector_along_an_axis_has_hardly_any_bias() -> None:
    n = 100_000
    sums = VectorSums(1, 30, RADIUS**2, Fraction(12))
    points = np.zeros((n, 30), dtype=np.int64)
    points[:, 4] = RADIUS
    found = sums.estimate(sums.aggregate(sums.randomize(_streams(n), np.zeros(n, dtype=np.int64), points)))[0]
    assert found[4] / (n * RADIUS) == pytest.approx(1, abs=6 * sums.deviation / RADIUS / n**0.5 + 1e-3)
    assert np.abs(np.delete(found, 4)).max() < 6 * sums.deviation * n**0.5


def test_settings_and_inputs_are_refused_by_name() -> None:
    one = np.zeros(1, dtype=np.int64)
    for settings in ((0, 1, 4, Fraction(1)), (1, 0, 4, Fraction(1)), (1, 1, 0, Fraction(1)), (1, 1, 4, Fraction(0))):
        with pytest.raises(ConfigError, match=r"(n_groups|dimension|norm_squared|epsilon) must"):
            VectorSums(*settings)
    sums = VectorSums(2, 2, 16, Fraction(1))
    with pytest.raises(ConfigError, match="vectors must be one of 2 integers"):
        sums.randomize(_streams(1), one, np.zeros((1, 3), dtype=np.int64))
    with pytest.raises(ConfigError, match="vectors must be no longer"):
        sums.randomize(_streams(1), one, np.full((1, 2), 4))
    with pytest.raises(ConfigError, match="groups must"):
        sums.randomize(_streams(1), one + 2, np.zeros((1, 2), dtype=np.int64))
    with pytest.raises(ConfigError, match="reports must"):
        sums.aggregate(np.zeros((1, 5), dtype=np.int64))
    with pytest.raises(ConfigError, match="first integers of reports must"):
        sums.aggregate(np.array([[4, 0]]))
    with pytest.raises(ConfigError, match="counts must"):
        sums.estimate(np.zeros(4, dtype=np.int64))
    assert (sums.estimate(sums.aggregate(np.empty((0, sums.width), dtype=np.int64))) == 0).all()
