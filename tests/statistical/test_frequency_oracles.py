"""Frequency oracles: exact laws of whole reports, exact epsilon, unbiased estimates with their variance, merging."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import exp, isclose, log2

import numpy as np
import pytest
from scipy import stats

from dplib.errors import ConfigError
from dplib.mechanisms.local.choose_oracle import Oracle, OracleName, choose_oracle, rare_variance
from dplib.mechanisms.local.generalized_response import GeneralizedResponse
from dplib.mechanisms.local.hadamard_response import HadamardResponse, parity, walsh_hadamard
from dplib.mechanisms.local.local_hashing import LocalHashing
from dplib.mechanisms.local.unary_encoding import UnaryEncoding
from dplib.randomness.user_streams import UserStreams, number_users
from tests.support.goodness_of_fit import PASS, REJECT
from tests.support.local_oracles import Law, exact_law, largest_ratio

KEY = bytes(range(32))
EPSILONS = [Fraction(1, 2), Fraction(3)]
SMALL: list[Callable[[Fraction], Oracle]] = [
    lambda e: GeneralizedResponse(2, e), lambda e: GeneralizedResponse(5, e), lambda e: UnaryEncoding(2, e),
    lambda e: UnaryEncoding(4, e), lambda e: HadamardResponse(2, e), lambda e: HadamardResponse(5, e),
    lambda e: LocalHashing(3, e, 2), lambda e: LocalHashing(2, e, 4), lambda e: LocalHashing(2, e, 8),
]  # fmt: skip


def _laws(oracle: Oracle) -> list[Law]:
    """The law of the report of every input."""

    def client(value: int) -> Callable[[UserStreams], bytes]:
        return lambda streams: oracle.randomize(streams, np.array([value])).tobytes()

    word_bits = oracle.order.bit_length() - 1 if isinstance(oracle, LocalHashing) else 1
    return [exact_law(client(value), word_bits) for value in range(oracle.n_values)]


def _reports(oracle: Oracle, report: bytes) -> np.ndarray:
    dtype = np.uint8 if isinstance(oracle, UnaryEncoding) else np.int64
    rows = np.frombuffer(report, dtype=dtype)
    return rows if isinstance(oracle, GeneralizedResponse | HadamardResponse) else rows[np.newaxis]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("make", SMALL)
def test_the_largest_likelihood_ratio_of_whole_reports_is_e_to_the_epsilon(
    make: Callable[[Fraction], Oracle], epsilon: Fraction
) -> None:
    laws = _laws(make(epsilon))
    assert all(isclose(float(sum(law.values())), 1) for law in laws)
    assert largest_ratio(laws) == pytest.approx(exp(epsilon), rel=1e-12)
    # The same measure sees an oracle whose epsilon is a tenth too large.
    assert largest_ratio(_laws(make(epsilon * Fraction(11, 10)))) > exp(epsilon) * 1.04


@pytest.mark.parametrize("make", SMALL)
def test_one_report_estimates_its_value_without_bias_and_with_the_stated_variance(
    make: Callable[[Fraction], Oracle],
) -> None:
    oracle = make(Fraction(1))
    for value, law in enumerate(_laws(oracle)):
        estimates = np.array([oracle.estimate(oracle.aggregate(_reports(oracle, report))).counts for report in law])
        chances = np.array([float(chance) for chance in law.values()])
        mean = chances @ estimates
        truth = (np.arange(oracle.n_values) == value).astype(np.float64)
        assert mean == pytest.approx(truth, abs=1e-9)
        rule = oracle if isinstance(oracle, HadamardResponse) else oracle.law
        assert chances @ (estimates - mean) ** 2 == pytest.approx(rule.variance(1, truth))


def test_hashing_with_two_buckets_is_hadamard_response() -> None:
    epsilon = Fraction(1)
    for hashed, hadamard in zip(_laws(LocalHashing(4, epsilon, 2)), _laws(HadamardResponse(4, epsilon)), strict=True):
        masks = {int(2 * (r := np.frombuffer(report, np.int64))[0] + r[1]): p for report, p in hashed.items()}
        rows = {int(np.frombuffer(report, np.int64)[0]): p for report, p in hadamard.items()}
        assert masks == rows


@pytest.mark.parametrize("make", SMALL)
def test_drawn_reports_follow_the_law_of_the_program(make: Callable[[Fraction], Oracle]) -> None:
    n = 11_000
    oracle, wrong = make(Fraction(1)), make(Fraction(13, 10))
    value = oracle.n_values - 1
    law, other = _laws(oracle)[value], _laws(wrong)[value]
    reports = oracle.randomize(UserStreams(KEY, number_users(np.arange(n)), "law"), np.full(n, value))
    drawn = Counter(report.tobytes() for report in reports)
    assert drawn.keys() <= law.keys()
    observed = np.array([drawn[report] for report in law])
    expected, mistaken = (n * np.array([float(of[report]) for report in law]) for of in (law, other))
    assert stats.chisquare(observed, expected).pvalue > PASS
    assert stats.chisquare(observed, mistaken).pvalue < REJECT


def test_the_same_user_sends_the_same_report_in_every_partition() -> None:
    n = 500
    values = np.arange(n) % 16
    users = number_users(np.arange(n) * 7 - 100)
    order = np.random.default_rng(1).permutation(n)
    for name in OracleName:
        oracle = choose_oracle(16, Fraction(1), name)
        whole = oracle.randomize(UserStreams(KEY, users, "a"), values)
        again = oracle.randomize(UserStreams(KEY, users[order], "a"), values[order])
        assert (whole[order] == again).all()
        parts = sum(oracle.aggregate(part) for part in (whole[:100], whole[100:100], whole[100:]))
        assert (parts == oracle.aggregate(whole)).all()
        other = oracle.randomize(UserStreams(KEY, users, "b"), values)
        assert (whole != other).any()


def test_transform_is_multiplication_by_the_matrix() -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(-50, 50, 16)
    matrix = np.array([[(-1) ** (j & v).bit_count() for v in range(16)] for j in range(16)])
    transformed = values.copy()
    walsh_hadamard(transformed)
    assert (transformed == matrix @ values).all()


def test_dense_decoding_counts_the_support_of_every_value() -> None:
    n = 300
    for buckets in (2, 4, 8, 16):
        oracle = LocalHashing(11, Fraction(1), buckets)
        reports = oracle.randomize(UserStreams(KEY, number_users(np.arange(n)), "dense"), np.arange(n) % 11)
        dense = oracle.estimate(oracle.aggregate(reports))
        hashed = (
            parity(reports[:, :-1, np.newaxis] & np.arange(11))
            << np.arange(oracle.n_buckets.bit_length() - 1)[:, np.newaxis]
        )
        support = (hashed.sum(axis=1) == reports[:, -1:]).sum(axis=0)
        assert dense.counts == pytest.approx(oracle.law.estimate(n, support).counts)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(2), Fraction(4), Fraction(8)])
def test_the_rule_takes_about_the_least_variance_and_the_best_number_of_buckets(epsilon: Fraction) -> None:
    for n_values in (2, 4, 8, 64, 4096, 4097, 1 << 18):
        chosen = choose_oracle(n_values, epsilon)
        assert chosen.n_values == n_values
        for name in OracleName:
            if name is not OracleName.UNARY_ENCODING or n_values <= 4096:
                assert rare_variance(chosen) <= rare_variance(choose_oracle(n_values, epsilon, name)) * 1.05
    bits = log2(LocalHashing(100, epsilon).n_buckets)
    assert bits == 1 or abs(bits - log2(exp(epsilon) + 1)) < 1
    free = exp(epsilon) + 1
    best = (exp(epsilon) + free - 1) ** 2 / ((free - 1) * (exp(epsilon) - 1) ** 2)
    assert rare_variance(LocalHashing(100, epsilon)) < 1.08 * best


def test_settings_are_refused_by_name() -> None:
    one = Fraction(1)
    for make in (GeneralizedResponse, UnaryEncoding, HadamardResponse, LocalHashing):
        with pytest.raises(ConfigError, match="n_values must"):
            make(1, one)
        with pytest.raises(ConfigError, match="epsilon must"):
            make(4, Fraction(0))
        with pytest.raises(ConfigError, match="epsilon must be an exact fraction"):
            make(4, 0.5)  # type: ignore[arg-type]
        oracle = make(4, one)
        streams = UserStreams(KEY, number_users(np.arange(2)), "x")
        with pytest.raises(ConfigError, match="values must lie from 0 to 3, got one outside"):
            oracle.randomize(streams, np.array([0, 4]))
        with pytest.raises(ConfigError, match="values must be one a user"):
            oracle.randomize(streams, np.array([0]))
        with pytest.raises(ConfigError, match="counts must"):
            oracle.estimate(np.zeros(3, dtype=np.int64))
        nobody = oracle.estimate(
            oracle.aggregate(oracle.randomize(streams.of(slice(0, 0)), np.zeros(0, dtype=np.int64)))
        )
        assert (nobody.counts == 0).all()
    with pytest.raises(ConfigError, match="n_buckets must"):
        LocalHashing(4, one, 3)
    with pytest.raises(ConfigError, match="oracle must"):
        choose_oracle(4, one, "coin")
    with pytest.raises(ConfigError, match="n_values must"):
        choose_oracle(1 << 25, one)
