"""The stated 95 % intervals of both graph jobs hold the truth in 95 of 100 cases, over thousands of draws of the noise.

Keyed or seeded noise, no Spark. Numbers that are sums of bits or of few reports have steps; of those the coverage may
be larger, never smaller.
"""

from bisect import bisect_left, bisect_right
from functools import cache
from typing import Any

import numpy as np
import pytest

from dplib.graphs.simple_graph import SimpleGraph
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.graphs.statistics.noisy_graph import Passing, estimate_triangles
from dplib.jobs.minimum_cuts.cut_margin import cut_margin, number_margin
from dplib.jobs.minimum_cuts.design import SAMPLED_VALUE
from dplib.jobs.network_statistics.estimate import half_width, std_error
from dplib.jobs.network_statistics.local import estimate_degrees, estimate_derived
from dplib.jobs.network_statistics.whole_graph import WholeGraph
from dplib.mechanisms.cuts.cut_statistics import GRID
from dplib.privacy.noise_quantile import DrawLaw
from tests.support.coverage_of_intervals import LOWEST, N_KEYS, drawn, require_coverage
from tests.support.minimum_cuts import design_of as cut_design
from tests.support.network_statistics import design_of

NUMBERS = ("edge_count", "largest_degree", "k_stars", "triangles")


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 12}, {"rho": "1/2"}, {"rho": 20}])
def test_single_numbers(budget: dict[str, Any]) -> None:
    design = design_of(NUMBERS, budget, triangles={"mechanism": "global"})
    stated = 0
    for each in design.measurements:
        error = std_error(design, each.statistic)
        half = half_width(design, each.statistic, error)
        if each.noise is None:
            # Noise that follows the graph: no error may be stated.
            assert np.isnan(error)
            assert np.isnan(half)
            continue
        noise = drawn(DrawLaw.of(each.noise), N_KEYS, str(each.statistic))
        require_coverage(noise, half, (each.statistic, budget))
        stated += 1
    assert stated >= 3


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 4}, {"rho": "1/2"}])
@pytest.mark.parametrize("last_bin", [3, 40])
def test_runs_of_degrees(budget: dict[str, Any], last_bin: int) -> None:
    design = design_of(("degree_histogram",), budget, last_bin=last_bin)
    (each,) = design.measurements
    assert each.noise is not None
    law = DrawLaw.of(each.noise)
    noise = drawn(law, each.size * N_KEYS, "degrees").reshape(each.size, N_KEYS)
    found = noise - noise.mean(axis=0)  # the estimate's bins sum to the public n
    for bins in (1, 2, each.size - 1):
        error = std_error(design, each.statistic, bins)
        require_coverage(found[:bins].sum(axis=0), half_width(design, each.statistic, error, bins), (budget, bins))


def graph(n: int, density: float) -> SimpleGraph:
    return SimpleGraph(n, *np.nonzero(np.triu(np.random.default_rng(n).random((n, n)) < density, 1)))


@pytest.mark.parametrize(("n", "density", "epsilon"), [(100, 0.06, 1), (400, 0.01, 8)])
def test_numbers_from_reported_degrees(n: int, density: float, epsilon: int) -> None:
    """Errors that are estimated from the reports themselves: 300 collections."""
    design = design_of(["degree_sequence"], {"epsilon": epsilon}, n=n, privacy={"model": "local"}, last_bin=12)
    protocol = design.degree_protocol
    edges = graph(n, density)
    counted, keys = protocol.true_degrees(n, edges.source, edges.target), 300
    scale = float(protocol.scale)
    noise = drawn(DrawLaw("discrete_laplace", scale), n * keys, "reports", n, epsilon).reshape(keys, n)
    bins = {(0, 0): [], (3, 3): [], (4, 8): [], (10, 10): [], (11, 11): [], (12, 12): []}  # type: dict[Any, list[bool]]
    numbers: dict[Statistic, list[bool]] = {}
    truth = {
        Statistic.EDGE_COUNT: float(edges.n_edges),
        Statistic.K_STARS: float((counted * (counted - 1) // 2).sum()),
    }
    parts = WholeGraph({}, None, {}, {})
    for reports in counted + noise:
        derived = estimate_derived(design, reports, parts)
        each_bin = derived[Statistic.DEGREE_HISTOGRAM]
        for (low, high), inside in bins.items():
            value, error = float(each_bin.value[low]), float(each_bin.std_error[low])
            if high > low:
                value, error = estimate_degrees(design, reports, low, high)
            true = int(((counted >= low) & ((counted <= high) | (high == design.last_bin))).sum())
            inside.append(abs(value - true) <= half_width(design, Statistic.DEGREE_HISTOGRAM, error))
        for statistic, found in derived.items():
            if statistic in truth:
                half = half_width(design, statistic, float(found.std_error[0]))
                numbers.setdefault(statistic, []).append(abs(float(found.value[0]) - truth[statistic]) <= half + 1e-9)
    for name, inside in (bins | numbers).items():
        # Two standard deviations of 300 collections beside the half percent.
        assert np.mean(inside) >= LOWEST - 0.025, (name, n, epsilon, np.mean(inside))
    assert numbers
    assert 0.92 <= np.mean(numbers[Statistic.EDGE_COUNT]) <= 0.98


@pytest.mark.parametrize(("edge", "other"), [(0.73, 0.27), (0.95, 0.05), (0.98, 0.02), (0.8, 0.01), (0.3, 0.0001)])
@pytest.mark.parametrize("n_pairs", [1, 6, 45, 300, 1001, 20_000])
def test_edges_of_blocks(edge: float, other: float, n_pairs: int) -> None:
    """Whatever the number of edges, an interval holds it with at least 95 %: exactly for small blocks."""
    passing, rng = Passing(edge, other), np.random.default_rng(n_pairs)
    interval = cache(lambda appearing: passing.interval(appearing, n_pairs))
    for edges in sorted({0, 1, 2, n_pairs // 10, n_pairs // 2, n_pairs}):
        if edges > n_pairs:
            continue
        seen = rng.binomial(edges, edge, N_KEYS) + rng.binomial(n_pairs - edges, other, N_KEYS)
        kinds, times = np.unique(seen, return_counts=True)

        def side(appearing: int, edges: int = edges) -> int:
            """On which side of the number of edges the interval lies; 0 where it holds it."""
            low, high = interval(int(appearing))
            return int(low > edges) - int(high < edges)

        # Intervals are monotone in what appears: those that hold the number lie side by side.
        first, end = bisect_left(kinds, 0, key=side), bisect_right(kinds, 0, key=side)
        part = float(times[first:end].sum()) / N_KEYS
        assert part >= LOWEST, (edge, other, n_pairs, edges, part)


def test_triangles_of_reported_bits() -> None:
    n, passing, rng = 40, Passing(0.88, 0.12), np.random.default_rng(8)
    edges, there = graph(n, 0.2), np.zeros((n, n), dtype=bool)
    there[edges.source, edges.target] = True
    symmetric = (there | there.T).astype(np.int64)
    true = np.trace(symmetric @ symmetric @ symmetric) / 6
    design, inside = design_of(("edge_count",), {"epsilon": 1}), []
    upper = np.triu(np.ones((n, n), dtype=bool), 1)
    for _ in range(1500):
        bits = upper & (rng.random((n, n)) < np.where(there, passing.edge, passing.other))
        value, variance = estimate_triangles(SimpleGraph(n, *np.nonzero(bits)), passing, np.zeros(n, dtype=bool))
        inside.append(abs(value - true) <= half_width(design, Statistic.TRIANGLES, variance**0.5))
    assert 0.935 <= np.mean(inside) <= 0.965


CUTS: dict[str, Any] = {"minimum_cut_value": {}, "soft_cut_count": {}, "synthetic_graph": {}, "top_cuts": {"k": 3}}


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"epsilon": 20}, {"rho": "1/2"}])
def test_numbers_and_cuts(budget: dict[str, Any]) -> None:
    design = cut_design(dict(CUTS), budget)
    for name, each in design.noises.items():
        law = DrawLaw.of(each)
        unit = GRID if name == "soft_cut_count" else 1
        require_coverage(drawn(law, N_KEYS, name) / unit, number_margin(design, name), (name, budget))
        if name == "synthetic_graph":
            for pairs in (11, 36):
                sums = drawn(law, pairs * N_KEYS, name, pairs).reshape(pairs, N_KEYS).sum(axis=0)
                require_coverage(sums, number_margin(design, name, pairs), (pairs, budget))
        else:
            assert cut_margin(design, name, 3) == number_margin(design, name)
    assert len(design.noises) == len(CUTS)


def test_the_value_of_sampled_cuts() -> None:
    design = cut_design({"sampled_cuts": {"k": 2}}, {"epsilon": 10, "delta": 1e-6}, n=30)
    assert design.sampler is not None
    law = DrawLaw("discrete_laplace", float(design.weight_cap / design.sampler.value_epsilon))
    require_coverage(drawn(law, N_KEYS, "sampled"), number_margin(design, SAMPLED_VALUE), "sampled")
