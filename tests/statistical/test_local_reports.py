"""Randomized response, noisy degrees and the noisy adjacency: laws, unbiased estimates, privacy, planted faults."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dplib.errors import ConfigError
from dplib.mechanisms import noisy_adjacency as adjacency
from dplib.mechanisms.discrete_laplace import discrete_laplace_probability, draw_discrete_laplace
from dplib.mechanisms.local import local_degrees as local
from dplib.mechanisms.local import randomized_response as response
from dplib.randomness.digits import Probability
from dplib.randomness.keyed import KeyedStream
from tests.support.goodness_of_fit import PASS, REJECT
from tests.support.network_oracles import all_graphs, pairs, random_graph

KEY = bytes(range(32))
EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(2)]


def _share_p_value(hits: int, runs: int, p: float) -> float:
    return float(stats.binomtest(hits, runs, p).pvalue)


# --- randomized response ---


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("bit", [False, True])
def test_flips_have_their_probability_and_no_other(epsilon: Fraction, bit: bool) -> None:
    runs = 30_000
    flipped = int(np.count_nonzero(response.randomize_bits(KeyedStream(KEY, "rr"), np.full(runs, bit), epsilon) ^ bit))
    for factor, right in ((1, True), (0.7, False), (1.3, False)):
        p_value = _share_p_value(flipped, runs, 1 / (1 + np.exp(factor * float(epsilon))))
        assert (p_value > PASS) if right else (p_value < REJECT)


def test_neighbour_reports_hold_later_pairs_once_and_come_again_for_nothing() -> None:
    n = 60
    graph = random_graph(n, 0.2, 1)
    source, target = graph.source, graph.target
    lists = [np.concatenate([target[source == v], source[target == v]]) for v in range(n)]
    sure = [response.report_later_neighbors(KEY, v, lists[v], n, Fraction(60)) for v in range(n)]
    assert [len(report) for report in sure] == [n - 1 - v for v in range(n)]
    assert sum(int(report.sum()) for report in sure) == len(source)  # at epsilon 60 nothing flips
    for v in (0, 17, n - 1):
        again = response.report_later_neighbors(KEY, v, lists[v], n, Fraction(1))
        assert (again == response.report_later_neighbors(KEY, v, lists[v], n, Fraction(1))).all()
    with pytest.raises(ConfigError, match="user must"):
        response.report_later_neighbors(KEY, n, lists[0], n, Fraction(1))


def test_settings_of_reports_are_checked() -> None:
    for epsilon in (Fraction(0), 0.5):
        with pytest.raises(ConfigError, match="epsilon must"):
            response.randomize_bits(KeyedStream(KEY, "x"), np.zeros(1, dtype=bool), epsilon)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="epsilon must"):
            local.DegreeProtocol(epsilon)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="counting must be one of both_ends, one_end"):
        local.DegreeProtocol(Fraction(1), "twice")  # type: ignore[arg-type]


# --- noisy degrees ---


@pytest.mark.parametrize("counting", list(local.Counting))
def test_edges_from_degree_reports_are_unbiased_with_the_stated_variance(counting: local.Counting) -> None:
    n, epsilon, runs = 12, Fraction(1), 80
    graph = random_graph(n, 0.3, 2)
    protocol = local.DegreeProtocol(epsilon, counting)
    degrees = protocol.true_degrees(n, graph.source, graph.target)
    estimates = [
        local.estimate_edges(local.simulate_reports(KEY[1:] + bytes([run]), degrees, protocol), protocol)
        for run in range(runs)
    ]
    values, variance = np.array(estimates), local.edges_variance(n, protocol)
    assert abs(values.mean() - graph.n_edges) < 6 * (variance / runs) ** 0.5
    assert abs(values.var() / variance - 1) < 7 * (2.5 / runs) ** 0.5


@pytest.mark.parametrize("counting", list(local.Counting))
def test_the_relationship_s_loss_over_both_reports_is_epsilon(counting: local.Counting) -> None:
    """Exact: one edge moves the counts of its ends as the protocol says; the losses of the reports add up."""
    protocol = local.DegreeProtocol(Fraction(1), counting)
    with_edge = protocol.true_degrees(3, np.array([2]), np.array([0]))
    without = protocol.true_degrees(3, np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    k = np.arange(-30, 31)
    loss = sum(
        np.abs(
            np.log(
                discrete_laplace_probability(k - a, protocol.scale)
                / discrete_laplace_probability(k - b, protocol.scale)
            )
        ).max()
        for a, b in zip(with_edge.tolist(), without.tolist(), strict=True)
    )
    assert loss == pytest.approx(1)
    # planted: both ends count, each with the noise of one end: twice the claim
    both = local.DegreeProtocol(Fraction(1), local.Counting.BOTH_ENDS).true_degrees(3, np.array([2]), np.array([0]))
    assert both.sum() / float(local.DegreeProtocol(Fraction(1)).scale) == 2


def test_a_user_reports_once() -> None:
    protocol = local.DegreeProtocol(Fraction(1, 5))
    reports = local.simulate_reports(KEY, np.full(50, 9), protocol)
    assert reports.tolist() == local.simulate_reports(KEY, np.full(50, 9), protocol).tolist()
    assert len(set(reports.tolist())) > 10
    assert local.report_degree(KEY, 3, 9, protocol) == reports[3]


# --- noisy adjacency ---


@pytest.mark.parametrize("n", [2, 3, 10, 1000, 2**31])
def test_pairs_and_their_numbers(n: int) -> None:
    total = n * (n - 1) // 2
    number = np.unique(
        np.clip(
            np.concatenate([np.arange(200), total - 1 - np.arange(200), np.geomspace(1, total, 50).astype(np.int64)]),
            0,
            total - 1,
        )
    )
    low, high = adjacency.pairs_of_numbers(n, number)
    assert ((low >= 0) & (low < high) & (high < n)).all()
    assert adjacency.pair_numbers(n, low, high).tolist() == number.tolist()
    if n <= 10:
        assert list(zip(low.tolist(), high.tolist(), strict=True)) == pairs(n)


LAWS = [(Fraction(1), 1, 1), (Fraction(1, 2), 3, 1), (Fraction(2), 2, 1), (Fraction(2), 3, 5), (Fraction(3), 9, 4)]


@pytest.mark.parametrize(("epsilon", "threshold", "steps"), LAWS)
def test_probabilities_are_those_of_discrete_laplace_noise(epsilon: Fraction, threshold: int, steps: int) -> None:
    law = adjacency.ThresholdLaw(epsilon, threshold, steps)
    k = np.arange(-400, 400)
    for probability, least in ((law.edge_passes, threshold - steps), (law.other_passes, threshold)):
        expected = discrete_laplace_probability(k[k >= least], steps / epsilon).sum()
        assert float(probability) == pytest.approx(expected)
        assert probability.prefix(60) / 2**60 == pytest.approx(expected, rel=1e-12)
        assert probability.prefix(200) >> 140 == probability.prefix(60)
    s = 1 - law.other_passes.prefix(80) / 2**80
    for doublings in (0, 3, 6):
        power = s ** (2**doublings)
        digit: Probability = adjacency._MissPower(law.other_passes, doublings, True)
        step: Probability = adjacency._MissPower(law.other_passes, doublings, False)
        assert digit.prefix(60) / 2**60 == pytest.approx(power / (1 + power), rel=1e-12)
        assert step.prefix(60) / 2**60 == pytest.approx(power, rel=1e-12)


@pytest.mark.parametrize(("threshold", "steps"), [(1, 1), (3, 1), (2, 3)])
def test_jumping_has_the_law_of_noise_on_every_pair(threshold: int, steps: int) -> None:
    """Against the dense way, noise on each of ten pairs and then the threshold: 500 graphs each."""
    n, runs = 5, 500
    source, target = np.array([3, 1, 0]), np.array([0, 2, 1])
    law = adjacency.ThresholdLaw(Fraction(1), threshold, steps)
    truth = np.zeros(10, dtype=np.int64)
    truth[adjacency.pair_numbers(n, np.array([0, 1, 0]), np.array([3, 2, 1]))] = 1
    noise = draw_discrete_laplace(KeyedStream(KEY, "dense"), Fraction(steps), 10 * runs).reshape(runs, 10)
    dense = steps * truth + noise >= threshold
    stream = KeyedStream(KEY, "sparse")
    sparse = np.zeros((runs, 10), dtype=bool)
    for run in range(runs):
        low, high = adjacency.draw_noisy_adjacency(stream, n, source, target, law)
        sparse[run, adjacency.pair_numbers(n, low, high)] = True
    expected = np.where(truth == 1, float(law.edge_passes), float(law.other_passes))
    for drawn in (dense, sparse):
        assert (np.abs(drawn.mean(axis=0) - expected) < 6 * (expected * (1 - expected) / runs) ** 0.5).all()
    sizes = [np.bincount(drawn.sum(axis=1), minlength=11) for drawn in (dense, sparse)]
    table = np.array(sizes)[:, np.add(*sizes) > 20]
    assert stats.chi2_contingency(table).pvalue > PASS
    correlation = np.corrcoef(sparse.T.astype(float)) - np.eye(10)
    assert np.abs(correlation).max() < 6 / runs**0.5


def test_noisy_adjacency_is_private_on_all_neighbours_of_five_vertices() -> None:
    """Exact: the log-probability of a whole graph moves by at most the rate when one edge comes; and by the rate."""
    n = 4
    graphs = all_graphs(n)[:, *np.triu_indices(n, 1)]
    for epsilon, threshold, steps in LAWS:
        law = adjacency.ThresholdLaw(epsilon, threshold, steps)
        kept, appears = float(law.edge_passes), float(law.other_passes)
        passes = np.where(graphs == 1, kept, appears)  # (input, pair)
        log = np.log(passes) @ graphs.T + np.log1p(-passes) @ (1 - graphs.T)
        number = np.arange(len(graphs))
        losses = [np.abs(log[number] - log[number ^ 1 << bit]).max() for bit in range(6)]
        assert 0.3 * epsilon < max(losses) <= epsilon * (1 + 1e-9)
        assert max(losses) == pytest.approx(float(epsilon)) or 1 < threshold < steps


def test_threshold_follows_the_noisy_count() -> None:
    n_pairs, epsilon = 10**8, Fraction(8)
    law = adjacency.threshold_for(50_000, n_pairs, epsilon)
    lower = adjacency.ThresholdLaw(epsilon, law.threshold - 1, law.steps)
    assert sum(law.expected(50_000, n_pairs)) <= 50_000 < sum(lower.expected(50_000, n_pairs))
    assert sum(law.expected(50_000, n_pairs)) > 45_000
    assert adjacency.threshold_for(-30, n_pairs, epsilon).threshold > law.threshold
    assert adjacency.threshold_for(10**9, n_pairs, epsilon).threshold == 1
    for threshold, steps in ((0, 1), (5, 1), (1, 0)):
        with pytest.raises(ConfigError, match=r"(threshold|steps) must"):
            adjacency.ThresholdLaw(epsilon, threshold, steps)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_tiny_vertex_sets(n: int) -> None:
    none = np.zeros(0, dtype=np.int64)
    low, high = adjacency.draw_noisy_adjacency(
        KeyedStream(KEY, "tiny"), n, none, none, adjacency.ThresholdLaw(Fraction(1))
    )
    assert len(low) == len(high) <= max(0, n - 1)
