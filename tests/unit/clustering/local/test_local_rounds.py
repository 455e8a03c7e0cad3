"""Hash rounds and noisy coordinates: exact privacy of whole transcripts, heavy buckets, edge cases, accuracy."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dplib.clustering.local.buckets import Buckets
from dplib.clustering.local.hash_rounds import N_ROUNDS, HashRounds
from dplib.clustering.local.noisy_coordinates import STEPS, NoisyCoordinates
from dplib.clustering.problem import Problem
from dplib.clustering.space import UNITS, Space
from dplib.clustering.weighted_kmeans import weighted_kmeans
from dplib.errors import ConfigError
from dplib.mechanisms.discrete_laplace import discrete_laplace_probability
from dplib.mechanisms.local.choose_oracle import OracleName, choose_oracle
from dplib.mechanisms.local.local_hashing import LocalHashing
from dplib.mechanisms.local.noisy_vector import NoisyVector, draw_geometric
from dplib.randomness.user_streams import UserStreams, number_users
from tests.support.clustering import local_points, run_rounds
from tests.support.goodness_of_fit import PASS, REJECT, chi_square_p_value, epsilon_lower_bound, kolmogorov_p_value
from tests.support.local_oracles import Law, exact_law, largest_ratio

KEY = bytes(range(32))
PLANE = Space.ball([0.0, 0.0], 1.0)
CORNERS = [(-UNITS, 0), (UNITS, 0), (0, UNITS), (0, 0)]
LINE, ON_LINE = Space.box([-1.0], [1.0]), np.array([[-30_000.0], [30_000.0], [0.0]])
PLACES = np.array([[-30_000.0, 0.0], [30_000.0, 0.0], [0.0, 30_000.0]])


def _streams(n: int, *labels: int) -> UserStreams:
    return UserStreams(KEY, number_users(np.arange(n)), "rounds", *labels)


def _rounds(
    epsilon: Fraction, n_scales: int, name: str = OracleName.AUTO, k: int = 4, space: Space = PLANE
) -> HashRounds:
    return HashRounds(Problem(space, k), n_scales, lambda n_values: choose_oracle(n_values, epsilon, name))


def _mixture(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centers = np.array([[0.6, 0.1], [-0.5, 0.5], [0.0, -0.7], [-0.6, -0.3]])
    return np.asarray(centers[rng.integers(0, 4, n)] + rng.normal(size=(n, 2)) * 0.08)


def _transcript_laws(rounds: HashRounds) -> list[Law]:
    """The law of all that one user ever sends, whatever the server publishes between the rounds."""
    hashes = isinstance(rounds.oracle(3), LocalHashing)
    word_bits = 2 if hashes else 1

    def client(streams: UserStreams, point: tuple[int]) -> tuple[bytes, ...]:
        places = [ON_LINE[:0], ON_LINE, ON_LINE[:2], ON_LINE[1:]]
        sent = [rounds.encode(streams, np.array([point]), r, places[r]) for r in range(N_ROUNDS)]
        return tuple(reports.tobytes() for answers in sent for reports in answers)

    return [
        exact_law(lambda streams, point=point: client(streams, point), word_bits) for point in ((-UNITS,), (UNITS,))
    ]


QUICK = [name for name in OracleName if name not in (OracleName.LOCAL_HASHING, OracleName.AUTO)]


@pytest.mark.parametrize("name", [*QUICK, pytest.param(OracleName.LOCAL_HASHING, marks=pytest.mark.slow)])
def test_all_rounds_together_are_epsilon_private_and_a_planted_epsilon_is_caught(name: OracleName) -> None:
    laws = _transcript_laws(_rounds(Fraction(1), 1, name, space=LINE))
    assert all(float(sum(law.values())) == pytest.approx(1) for law in laws)
    assert largest_ratio(laws) == pytest.approx(exp(1), rel=1e-12)
    for number in range(N_ROUNDS):
        parts = [{sent: chance for sent, chance in law.items() if sent[number]} for law in laws]
        assert 1 < largest_ratio(parts) <= exp(1) * (1 + 1e-12)
    assert largest_ratio(_transcript_laws(_rounds(Fraction(5, 4), 1, name, space=LINE))) > exp(1.2)


def test_a_user_speaks_once() -> None:
    n = 4000
    rounds, points = _rounds(Fraction(1), 3), local_points(PLANE, _mixture(n, 1))
    sent = sum(len(a) for r in range(N_ROUNDS) for a in rounds.encode(_streams(n), points, r, PLACES))
    assert sent == n


def test_buckets_part_the_space_and_near_points_meet() -> None:
    rng = np.random.default_rng(2)
    points = rng.integers(-UNITS, UNITS + 1, (5000, 2))
    for scale in (1, 3, 5):
        buckets = Buckets.at_scale((UNITS, UNITS), scale, 7)
        values = buckets.values(np.vstack([points, CORNERS]))
        assert values.min() >= 0
        assert values.max() < buckets.n_values
        gaps = np.abs(buckets.middles(values) - np.vstack([points, CORNERS]))
        assert gaps.max() <= UNITS / 2**scale + 1
        near = buckets.values(points + 1)
        assert (near == values[: len(points)]).mean() > 0.99


@pytest.mark.parametrize(("n", "epsilon", "most"), [(60_000, Fraction(3), 1.3), (60_000, Fraction(8), 1.1)])
def test_centers_are_near_the_best_ones(n: int, epsilon: Fraction, most: float) -> None:
    rows = _mixture(n, 3)
    best = weighted_kmeans(rows[:20_000], np.ones(20_000), np.zeros((4, 2)), 0).loss
    clustering = run_rounds(_rounds(epsilon, 4), _streams(n, 0), local_points(PLANE, rows))
    gaps = ((rows[:20_000, np.newaxis] - PLANE.to_data(clustering.centers)) ** 2).sum(axis=2)
    assert gaps.min(axis=1).sum() < most * best


def test_reports_of_the_value_that_is_nobody_s_support_no_place() -> None:
    """With one place left the oracle has two values; noise, or a dishonest user, may make the second one heavy."""
    rounds, places = _rounds(Fraction(8), 1), PLACES[:1]
    counts = rounds.aggregate((rounds.oracle(2).randomize(_streams(100), np.ones(100, dtype=np.int64)),), 1, places)
    assert rounds._publish(counts, 1, places).tolist() == places.tolist()


def test_rounds_refuse_wrong_settings_by_name() -> None:
    rounds = _rounds(Fraction(1), 2)
    with pytest.raises(ConfigError, match="n_scales must"):
        _rounds(Fraction(1), 0)
    with pytest.raises(ConfigError, match="number of the round must"):
        rounds.encode(_streams(1), np.zeros((1, 2), dtype=np.int64), 4, PLACES)
    with pytest.raises(ConfigError, match="points must"):
        rounds.encode(_streams(2), np.zeros((1, 2), dtype=np.int64), 0, PLACES)
    with pytest.raises(ConfigError, match="dimension must be at most 6"):
        HashRounds(Problem(Space.ball([0.0] * 7, 1.0), 2), 1, rounds.oracle)


# --- noisy coordinates ---


@pytest.mark.parametrize("scale", [Fraction(2, 3), Fraction(11), Fraction(4000, 3)])
def test_noise_of_a_user_is_discrete_laplace_and_not_of_another_scale(scale: Fraction) -> None:
    n = 60_000
    streams = _streams(n)
    noise = draw_geometric(streams.under("a"), scale) - draw_geometric(streams.under("b"), scale)
    p_value = chi_square_p_value if scale < 100 else kolmogorov_p_value
    assert p_value(noise, lambda x: discrete_laplace_probability(x, scale)) > PASS
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        assert p_value(noise, lambda x, f=factor: discrete_laplace_probability(x, scale * f)) < REJECT


def test_reports_of_opposite_points_stay_below_their_epsilon_and_half_the_noise_is_caught() -> None:
    n, epsilon = 30_000, Fraction(2)
    scores = {}
    for diameter in (1, 2):
        protocol = NoisyCoordinates(PLANE, lambda d, part=diameter: NoisyVector(-(-d // part), epsilon))
        for sign in (-1, 1):
            # The L1 diameter of a disc is reached on the diagonal.
            point = np.full((n, 2), sign * int(UNITS / 2**0.5))
            reports = protocol.encode(_streams(n, diameter, sign + 1), point)
            scores[diameter, sign] = np.clip(reports, -STEPS, STEPS).sum(axis=1).astype(np.float64)
    assert 0.6 * epsilon < epsilon_lower_bound(scores[1, 1], scores[1, -1]) <= epsilon
    assert epsilon_lower_bound(scores[2, 1], scores[2, -1]) > 1.1 * epsilon


def test_diameter_covers_every_pair_of_points() -> None:
    rng = np.random.default_rng(5)
    for space in (PLANE, Space.ball([0.0] * 3, 2.0), Space.box([0.0, 0.0], [1.0, 3.0])):
        d = space.dimension
        rows = np.array(space.center) + rng.normal(size=(200, d)) * 10  # far out: clipped to the border
        rows = np.vstack([rows, 2 * np.array(space.center) - rows])
        steps = space.to_units(rows) // (UNITS // STEPS)
        gaps = np.abs(steps[:, np.newaxis] - steps).sum(axis=2)
        diameter = NoisyCoordinates(space, lambda d: NoisyVector(d, Fraction(1))).l1_diameter
        assert 0.9 * diameter < gaps.max() <= diameter


def test_noisy_points_are_no_better_than_few_centers_and_runs_repeat() -> None:
    n = 4000
    points = local_points(PLANE, _mixture(n, 6))
    protocol = NoisyCoordinates(PLANE, lambda d: NoisyVector(d, Fraction(1)))
    reports = protocol.encode(_streams(n), points)
    assert (protocol.encode(_streams(n).of(slice(7, 9)), points[7:9]) == reports[7:9]).all()
    clustering = protocol.cluster(reports, Problem(PLANE, 4))
    gaps = ((points[:, np.newaxis] - clustering.centers) ** 2).sum(axis=2).min(axis=1).sum()
    assert gaps > 3 * weighted_kmeans(points.astype(np.float64), np.ones(n), np.zeros((4, 2)), 0).loss
    assert (np.hypot(*clustering.centers.T) <= UNITS * (1 + 1e-9)).all()
    sure = NoisyCoordinates(PLANE, lambda d: NoisyVector(d, Fraction(10**7)))
    exact = sure.cluster(sure.encode(_streams(n), points), Problem(PLANE, 4))
    gaps = ((points[:, np.newaxis] - exact.centers) ** 2).sum(axis=2).min(axis=1).sum()
    assert gaps < 1.01 * weighted_kmeans(points.astype(np.float64), np.ones(n), np.zeros((4, 2)), 0).loss
    nobody = protocol.cluster(reports[:0], Problem(PLANE, 4))
    assert nobody.centers.shape == (4, 2)
    with pytest.raises(ConfigError, match="space must"):
        protocol.cluster(reports, Problem(Space.ball([0.0, 0.0], 2.0), 4))
    with pytest.raises(ConfigError, match="vectors must"):
        NoisyVector(4, Fraction(1)).randomize(_streams(2), np.zeros((1, 2), dtype=np.int64))
    with pytest.raises(ConfigError, match="epsilon must"):
        NoisyVector(4, Fraction(0))
    with pytest.raises(ConfigError, match="l1_diameter must"):
        NoisyVector(0, Fraction(1))
