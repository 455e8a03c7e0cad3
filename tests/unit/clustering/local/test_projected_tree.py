"""The projected tree with its second round: exact privacy, unbiased signs, shrinking, edge cases."""

from fractions import Fraction
from math import exp, pi

import numpy as np
import pytest

from dplib.clustering.local.projected_tree import ProjectedTree
from dplib.clustering.problem import Problem
from dplib.clustering.space import UNITS, Space
from dplib.errors import ConfigError
from dplib.mechanisms.local.choose_oracle import choose_oracle
from dplib.mechanisms.local.vector_sums import VectorSums
from dplib.randomness.user_streams import UserStreams, number_users
from tests.support.clustering import local_points, run_rounds
from tests.support.local_oracles import Law, exact_law, largest_ratio

KEY = bytes(range(32))


def _projected(
    epsilon: Fraction, space: Space, k: int, depth: int = 2, signs: Fraction | None = None, steps: int = 1 << 16
) -> ProjectedTree:
    return ProjectedTree(
        Problem(space, k),
        depth,
        lambda n_values: choose_oracle(n_values, epsilon),
        lambda k, d, squared: VectorSums(k, d, squared, signs or epsilon, steps),
    )


def _streams(n: int, *labels: int) -> UserStreams:
    return UserStreams(KEY, number_users(np.arange(n)), "lift", *labels)


def _clusters(n: int, d: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    centers *= 0.8 / np.linalg.norm(centers, axis=1, keepdims=True)
    return centers, centers[rng.integers(0, k, n)] + rng.normal(size=(n, d)) * 0.1 / d**0.5


def test_both_rounds_together_are_epsilon_private_and_a_planted_epsilon_is_caught() -> None:
    # A box of few steps, lengths in two and words of one bit: every outcome of every coin is run.
    space = Space((0.0,) * 4, 1.0, (1, 2, 1, 1), False)

    def laws(epsilon: Fraction) -> list[Law]:
        projected = _projected(epsilon, space, 2, depth=1, steps=2)
        places = np.array([[-9000.0, 0.0, 0.0], [9000.0, 0.0, 0.0]])

        def client(streams: UserStreams, point: tuple[int, ...]) -> tuple[bytes, ...]:
            points = np.array([point])
            sent = (*projected.encode(streams, points, 0, places), *projected.encode(streams, points, 1, places))
            return tuple(reports.tobytes() for reports in sent)

        return [exact_law(lambda s, p=p: client(s, p)) for p in [(1, 2, 1, 1), (-1, -2, -1, -1)]]

    assert largest_ratio(laws(Fraction(1))) == pytest.approx(exp(1), rel=1e-12)
    assert largest_ratio(laws(Fraction(5, 4))) > exp(1.2)


def test_centers_are_as_near_as_the_docstring_says_and_users_speak_once() -> None:
    n, d = 60_000, 8
    space = Space.ball([0.0] * d, 1.0)
    centers, rows = _clusters(n, d, 3, 1)
    points = local_points(space, rows)
    projected = _projected(Fraction(8), space, 3, depth=3)
    places = projected.places_after(
        [projected.aggregate(projected.encode(_streams(n), points, 0, np.empty((0, 3))), 0, points)]
    )
    assert sum(len(a) for r in (0, 1) for a in projected.encode(_streams(n), points, r, places)) == n
    one_report, z = (exp(8) + 1) / (exp(8) - 1), []
    for run in range(4):
        clustering = run_rounds(projected, _streams(n, run), points)
        order = np.argmin(((centers[:, np.newaxis] - space.to_data(clustering.centers)) ** 2).sum(axis=2), axis=1)
        assert sorted(order) == [0, 1, 2]
        away = space.to_data(clustering.centers[order]) - centers
        noise = np.sqrt(pi * n) * one_report / clustering.weights[order]
        z.append(away / noise[:, np.newaxis])
        assert clustering.weights.sum() == pytest.approx(n)
    # Beside the noise of the sums: weights of round 1 that are some percent off, and the bound of a report's variance.
    assert 0.7 < np.std(z) < 1.5


def test_where_noise_outweighs_the_centers_they_are_drawn_to_the_mean() -> None:
    n, d = 3000, 20
    space = Space.ball([0.0] * d, 1.0)
    _, rows = _clusters(n, d, 4, 2)
    points = local_points(space, rows)
    clustering = run_rounds(_projected(Fraction(1, 2), space, 4), _streams(n), points)
    gaps = ((points[:, np.newaxis] - clustering.centers) ** 2).sum(axis=2).min(axis=1).sum()
    one = ((points - points.mean(axis=0)) ** 2).sum()
    assert gaps < 3 * one
    assert (np.linalg.norm(clustering.centers, axis=1) <= UNITS * (1 + 1e-9)).all()


def test_projection_belongs_to_the_point_alone() -> None:
    space = Space.ball([0.0] * 30, 1.0)
    points = local_points(space, np.random.default_rng(3).normal(size=(500, 30)))
    projected = _projected(Fraction(1), space, 2)
    whole = projected.project(points)
    assert (np.vstack([projected.project(points[i : i + 1]) for i in range(0, 500, 50)]) == whole[::50]).all()
    norms = np.linalg.norm(whole, axis=1)
    assert norms.max() <= UNITS
    assert 0.4 < np.sqrt((norms**2).mean()) / UNITS < 1


def test_wrong_settings_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="dimension must be above 3"):
        _projected(Fraction(1), Space.ball([0.0] * 3, 1.0), 2)
    space = Space.ball([0.0] * 4, 1.0)
    with pytest.raises(ConfigError, match="epsilon must be the same"):
        _projected(Fraction(1), space, 2, signs=Fraction(2))
    with pytest.raises(ConfigError, match="points must"):
        _projected(Fraction(1), space, 2).encode(_streams(2), np.zeros((2, 3), dtype=np.int64), 0, np.empty((0, 3)))
