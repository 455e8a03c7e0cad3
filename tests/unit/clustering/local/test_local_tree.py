"""The local tree: exact privacy of whole reports, least squares against a dense solver, edge cases, accuracy."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dplib.clustering.local.questions import Questions, choose_question
from dplib.clustering.local.tree import LocalTree, best_depth
from dplib.clustering.problem import Problem
from dplib.clustering.space import UNITS, Space
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.errors import ConfigError
from dplib.mechanisms.local.choose_oracle import Oracle, OracleName, choose_oracle, rare_variance
from dplib.mechanisms.local.local_hashing import LocalHashing
from dplib.randomness.user_streams import UserStreams, number_users
from tests.support.clustering import local_points, run_rounds
from tests.support.local_oracles import Law, exact_law, largest_ratio

KEY = bytes(range(32))
PLANE = Space.ball([0.0, 0.0], 1.0)
WORST_POINTS = [(-UNITS, 0), (UNITS, 0), (0, 0), (1, -1)]


def _tree(epsilon: Fraction, depth: int, name: str = OracleName.AUTO, space: Space = PLANE, k: int = 4) -> LocalTree:
    return LocalTree(Problem(space, k), depth, lambda n_values: choose_oracle(n_values, epsilon, name))


def _streams(n: int, *labels: int) -> UserStreams:
    return UserStreams(KEY, number_users(np.arange(n)), "tree", *labels)


def _mixture(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centers = np.array([[0.6, 0.1], [-0.5, 0.5], [0.0, -0.7], [-0.6, -0.3]])
    return centers, centers[rng.integers(0, 4, n)] + rng.normal(size=(n, 2)) * 0.08


def _loss(points: np.ndarray, centers: np.ndarray) -> float:
    return float(((points[:, np.newaxis] - centers) ** 2).sum(axis=2).min(axis=1).sum())


def _laws(tree: LocalTree, points: list[tuple[int, ...]]) -> list[Law]:
    """The law of all that a user sends, from every outcome of every coin; hashing looks at 2 bits of a word here."""

    def client(streams: UserStreams, point: tuple[int, ...]) -> tuple[bytes, ...]:
        return tuple(reports.tobytes() for reports in tree.encode(streams, np.array([point])))

    hashes = any(isinstance(question.oracle, LocalHashing) for question in tree.questions.questions)
    return [exact_law(lambda streams, p=p: client(streams, p), 2 if hashes else 1) for p in points]


LINE = Space.box([-1.0], [1.0])
ENDS = [(-UNITS,), (UNITS,), (0,), (1,)]
LONG = (OracleName.LOCAL_HASHING, OracleName.UNARY_ENCODING)  # reports with many coins
EVERY = [name for name in OracleName if name is not OracleName.AUTO]  # which is one of them
PROTOCOLS = [(name, LINE, 2 if name in LONG else 3, ENDS[: 2 if name in LONG else 4]) for name in EVERY]
PROTOCOLS += [(name, PLANE, 1, WORST_POINTS) for name in EVERY if name not in LONG]
PROTOCOLS += [(OracleName.HADAMARD_RESPONSE, PLANE, 2, WORST_POINTS)]


@pytest.mark.parametrize(("name", "space", "depth", "points"), PROTOCOLS)
def test_reports_of_every_oracle_and_level_reach_epsilon_and_no_more(
    name: OracleName, space: Space, depth: int, points: list[tuple[int, ...]]
) -> None:
    laws = _laws(_tree(Fraction(1), depth, name, space), points)
    assert all(float(sum(law.values())) == pytest.approx(1) for law in laws)
    assert largest_ratio(laws) == pytest.approx(exp(1), rel=1e-12)
    # Level by level: a report of any level has the same worst case, whichever level a user's name leads to.
    for level in range(depth):
        parts = [{report: chance for report, chance in law.items() if report[level]} for law in laws]
        assert [float(sum(part.values())) for part in parts] == pytest.approx([1 / depth] * len(points))
        assert largest_ratio(parts) == pytest.approx(exp(1), rel=1e-12)
    # Planted: a quarter more epsilon than agreed on, which two points show.
    assert largest_ratio(_laws(_tree(Fraction(5, 4), depth, name, space), points[:2])) > exp(1.2)


def test_a_client_that_lies_with_the_same_coins_at_two_levels_is_caught() -> None:
    oracle = choose_oracle(4, Fraction(1), OracleName.HADAMARD_RESPONSE)

    def client(streams: UserStreams, values: tuple[int, int]) -> tuple[int, ...]:
        own = streams.under("level 1")
        return tuple(int(oracle.randomize(own, np.array([value]))[0]) for value in values)

    laws = [exact_law(lambda streams, v=v: client(streams, v)) for v in ((0, 0), (0, 1), (0, 3))]
    # Both reports lie or neither does, so together they tell whether the answers are equal.
    assert largest_ratio(laws) == float("inf")

    def other(streams: UserStreams, value: int) -> tuple[int, ...]:
        sizes = [choose_oracle(size, Fraction(1), OracleName.HADAMARD_RESPONSE) for size in (4, 8)]
        return tuple(int(each.randomize(streams.under("level 1"), np.array([value]))[0]) for each in sizes)

    with pytest.raises(AssertionError, match="two different draws from one stream"):
        exact_law(lambda streams: other(streams, 0))


def test_a_client_that_answers_two_questions_is_caught() -> None:
    class Both(Questions):
        def asked(self, streams: UserStreams) -> np.ndarray:
            return np.zeros(len(streams), dtype=np.int64)

    tree = _tree(Fraction(1), 2, OracleName.HADAMARD_RESPONSE)
    both = Both(tree.questions.questions[:1])

    def client(streams: UserStreams, point: tuple[int, int]) -> tuple:
        cube = tree._cubes.codes(np.array([point]))
        first = both.encode(streams.under("first"), lambda place, rows: cube >> 2)
        second = both.encode(streams.under("second"), lambda place, rows: cube >> 2)
        return first[0].tobytes(), second[0].tobytes()

    laws = [exact_law(lambda s, p=p: client(s, p)) for p in WORST_POINTS]
    assert largest_ratio(laws) == pytest.approx(exp(2), rel=1e-9)


def test_consistent_totals_are_generalized_least_squares() -> None:
    tree, n = _tree(Fraction(1), 2), 4000
    points = local_points(PLANE, _mixture(n, 1)[1])
    counts = tree.aggregate(tree.encode(_streams(n), points))
    levels = tree._consistent(counts, float(n))
    totals = [level.totals for level in levels]
    rows, values, weights = [np.ones(16)], [float(n)], [1e12]
    for level, estimate in enumerate(tree.questions.estimate(counts), start=1):
        scale = n / estimate.n_reports
        for cube in range(4**level):
            rows.append((np.arange(16) >> 2 * (2 - level)) == cube)
            values.append(estimate.counts[cube] * scale)
            weights.append(1 / (estimate.variance.mean() * scale**2))
    root = np.sqrt(weights)
    dense = np.linalg.lstsq(np.array(rows) * root[:, np.newaxis], np.array(values) * root, rcond=None)[0]
    assert totals[1] == pytest.approx(dense, rel=1e-5, abs=1e-3)
    assert totals[0] == pytest.approx(totals[1].reshape(-1, 4).sum(axis=1))
    assert totals[0].sum() == pytest.approx(n)
    assert levels[0].variance < levels[1].variance * 4


def test_leaves_part_the_space_and_keep_all_users() -> None:
    n = 50_000
    tree = _tree(Fraction(4), 4)
    coreset = tree.coreset(tree.aggregate(tree.encode(_streams(n), local_points(PLANE, _mixture(n, 2)[1]))))
    assert coreset.weights.sum() == pytest.approx(n)
    assert (coreset.weights > 0).all()
    assert (np.hypot(*coreset.places.T) <= UNITS * (1 + 1e-12)).all()
    assert len(np.unique(coreset.places, axis=0)) == len(coreset.places)
    exact = _tree(Fraction(50), 4)  # at epsilon 50 hardly any coin falls wrong: only the split over levels is left
    sure = exact.coreset(exact.aggregate(exact.encode(_streams(n), local_points(PLANE, _mixture(n, 2)[1]))))
    mean = sure.weights @ sure.places / n / UNITS
    assert mean == pytest.approx(_mixture(n, 2)[1].mean(axis=0), abs=0.02)


@pytest.mark.parametrize(("n", "epsilon", "most"), [(200_000, Fraction(1), 1.35), (100_000, Fraction(4), 1.05)])
def test_centers_are_near_the_best_ones(n: int, epsilon: Fraction, most: float) -> None:
    _, rows = _mixture(n, 3)
    best = weighted_kmeans(rows[:20_000], np.ones(20_000), np.zeros((4, 2)), 0)
    depth = best_depth(2, n, rare_variance(choose_oracle(4096, epsilon)))
    clustering = run_rounds(_tree(epsilon, depth), _streams(n, 0), local_points(PLANE, rows))
    near = ((clustering.centers[:, np.newaxis] / UNITS - best.centers) ** 2).sum(axis=2).min(axis=1)
    assert (np.sqrt(near) < 0.15).all()
    assert _loss(rows[:20_000], PLANE.to_data(clustering.centers)) < most * best.loss


def test_box_and_three_dimensions() -> None:
    box = Space.box([0.0, -1.0, 5.0], [1.0, 1.0, 6.0])
    rng = np.random.default_rng(7)
    corners = np.array([[0.1, -0.8, 5.2], [0.9, 0.7, 5.9]])
    rows = corners[rng.integers(0, 2, 60_000)] + rng.normal(size=(60_000, 3)) * 0.03
    tree = _tree(Fraction(2), 3, space=box, k=2)
    clustering = run_rounds(tree, _streams(60_000), local_points(box, rows))
    found = box.to_data(clustering.centers)
    assert found[np.argsort(found[:, 0])] == pytest.approx(corners, abs=0.15)


def test_depth_grows_with_users_and_epsilon_only() -> None:
    depths = [best_depth(2, n, rare_variance(choose_oracle(4096, Fraction(1)))) for n in (0, 10**4, 10**6, 10**9)]
    assert depths == sorted(depths)
    assert depths[0] == 1
    assert depths[-1] == 10 or depths[-1] > depths[-2]
    assert best_depth(2, 10**6, rare_variance(choose_oracle(4096, Fraction(4)))) > depths[2]


def test_questions_are_asked_in_proportion_to_their_shares() -> None:
    asked = choose_question(_streams(40_000), [1, 3, 4])
    assert np.bincount(asked) == pytest.approx([5000, 15_000, 20_000], rel=0.05)


def test_settings_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="dimension must be at most 6"):
        _tree(Fraction(1), 1, space=Space.ball([0.0] * 7, 1.0))
    for depth in (0, 11):
        with pytest.raises(ConfigError, match="depth must"):
            _tree(Fraction(1), depth)
    tree = _tree(Fraction(1), 2)
    with pytest.raises(ConfigError, match="points must"):
        tree.encode(_streams(3), np.zeros((2, 2), dtype=np.int64))

    def mixed(n_values: int) -> Oracle:
        return choose_oracle(n_values, Fraction(n_values))

    with pytest.raises(ConfigError, match="epsilon must be the same"):
        _ = LocalTree(Problem(PLANE, 4), 2, mixed).questions
