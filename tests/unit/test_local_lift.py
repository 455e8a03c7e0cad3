"""The projected tree with its second round: exact privacy, unbiased signs, shrinking, edge cases."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

from dplib.clustering.local_lift import LiftedTree
from dplib.clustering.local_tree import local_points
from dplib.clustering.problem import Clustering, Problem
from dplib.clustering.space import UNITS, Space
from dplib.errors import ConfigError
from dplib.mechanisms.choose_oracle import choose_oracle
from dplib.mechanisms.hadamard_response import HadamardResponse
from dplib.randomness.user_streams import UserStreams, number_users
from tests.local_oracles import Law, exact_law, largest_ratio
from tests.statistics import PASS

KEY = bytes(range(32))


def _lifted(epsilon: Fraction, space: Space, k: int, depth: int = 2, signs: Fraction | None = None) -> LiftedTree:
    return LiftedTree(
        Problem(space, k),
        depth,
        lambda n_values: choose_oracle(n_values, epsilon),
        lambda n_values: HadamardResponse(n_values, signs or epsilon),
    )


def _streams(n: int, *labels: int) -> UserStreams:
    return UserStreams(KEY, number_users(np.arange(n)), "lift", *labels)


def _clusters(n: int, d: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    centers *= 0.8 / np.linalg.norm(centers, axis=1, keepdims=True)
    return centers, centers[rng.integers(0, k, n)] + rng.normal(size=(n, d)) * 0.1 / d**0.5


def _run(lifted: LiftedTree, streams: UserStreams, points: np.ndarray) -> tuple[Clustering, Clustering]:
    published = lifted.publish(lifted.aggregate(lifted.encode(streams, points)))
    counts = lifted.aggregate_sums(lifted.encode_sums(streams, points, published.centers))
    return published, lifted.cluster(published, counts)


def test_both_rounds_together_are_epsilon_private_and_a_planted_epsilon_is_caught() -> None:
    # A box of two steps a side keeps the exact signs few.
    space = Space((0.0,) * 4, 1.0, (1, 2, 1, 1), False)

    def laws(epsilon: Fraction) -> list[Law]:
        lifted = _lifted(epsilon, space, 2, depth=1)
        places = np.array([[-9000.0, 0.0, 0.0], [9000.0, 0.0, 0.0]])

        def client(streams: UserStreams, point: tuple[int, ...]) -> tuple[bytes, ...]:
            points = np.array([point])
            sent = (*lifted.encode(streams, points), *lifted.encode_sums(streams, points, places))
            return tuple(reports.tobytes() for reports in sent)

        return [exact_law(lambda s, p=p: client(s, p)) for p in [(1, 2, 1, 1), (-1, -2, -1, -1)]]

    assert largest_ratio(laws(Fraction(1))) == pytest.approx(exp(1), rel=1e-12)
    assert largest_ratio(laws(Fraction(5, 4))) > exp(1.2)


def test_sums_are_unbiased_with_the_stated_error_and_users_speak_once() -> None:
    n, d = 60_000, 8
    space = Space.ball([0.0] * d, 1.0)
    centers, rows = _clusters(n, d, 3, 1)
    points = local_points(space, rows)
    lifted = _lifted(Fraction(8), space, 3, depth=3)
    published, clustering = _run(lifted, _streams(n), points)
    sent = [len(a) for a in lifted.encode(_streams(n), points)]
    sent += [len(a) for a in lifted.encode_sums(_streams(n), points, published.centers)]
    assert sum(sent) == n
    order = np.argmin(((centers[:, np.newaxis] - space.to_data(clustering.centers)) ** 2).sum(axis=2), axis=1)
    assert sorted(order) == [0, 1, 2]
    z = (space.to_data(clustering.centers[order]) - centers) / (clustering.deviations[order] * space.unit)[
        :, np.newaxis
    ]
    # Beside the noise of signs: weights of round 1 that are some percent off.
    assert stats.kstest(z.ravel(), "norm").pvalue > PASS
    assert z.std() < 2


def test_where_noise_outweighs_the_centers_they_are_drawn_to_the_mean() -> None:
    n, d = 3000, 20
    space = Space.ball([0.0] * d, 1.0)
    _, rows = _clusters(n, d, 4, 2)
    points = local_points(space, rows)
    _, clustering = _run(_lifted(Fraction(1, 2), space, 4), _streams(n), points)
    gaps = ((points[:, np.newaxis] - clustering.centers) ** 2).sum(axis=2).min(axis=1).sum()
    one = ((points - points.mean(axis=0)) ** 2).sum()
    assert gaps < 3 * one
    assert (np.linalg.norm(clustering.centers, axis=1) <= UNITS * (1 + 1e-9)).all()


@pytest.mark.parametrize(("n", "k"), [(0, 3), (1, 1), (5, 4)])
def test_few_users_still_give_k_centers(n: int, k: int) -> None:
    space = Space.box([0.0] * 7, [1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    _, clustering = _run(_lifted(Fraction(1), space, k), _streams(n), local_points(space, np.full((n, 7), np.nan)))
    assert clustering.centers.shape == (k, 7)
    assert np.isfinite(clustering.centers).all()


def test_projection_belongs_to_the_point_alone() -> None:
    space = Space.ball([0.0] * 30, 1.0)
    points = local_points(space, np.random.default_rng(3).normal(size=(500, 30)))
    lifted = _lifted(Fraction(1), space, 2)
    whole = lifted.project(points)
    assert (np.vstack([lifted.project(points[i : i + 1]) for i in range(0, 500, 50)]) == whole[::50]).all()
    norms = np.linalg.norm(whole, axis=1)
    assert norms.max() <= UNITS
    assert 0.2 < np.sqrt((norms**2).mean()) / UNITS < 0.6


def test_wrong_settings_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="dimension must be above 3"):
        _lifted(Fraction(1), Space.ball([0.0] * 3, 1.0), 2)
    space = Space.ball([0.0] * 4, 1.0)
    with pytest.raises(ConfigError, match="epsilon must be the same"):
        _lifted(Fraction(1), space, 2, signs=Fraction(2))
    with pytest.raises(ConfigError, match="points must"):
        _lifted(Fraction(1), space, 2).encode(_streams(2), np.zeros((2, 3), dtype=np.int64))
