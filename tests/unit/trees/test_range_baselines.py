"""Haar, the named strategies and their errors, against enumeration and the tables of the literature."""

from fractions import Fraction

import numpy as np
import pytest

from dplib.arrays import FloatArray
from dplib.estimates.haar import haar_levels, haar_mean_error, haar_range_variances
from dplib.estimates.range_estimates import mean_range_variance
from dplib.estimates.range_variance import RangeVariance
from dplib.mechanisms.node_counts import NodeMechanism
from dplib.trees.budgets import WHOLE, largest_path_sum
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import FixedLengthRanges, PrefixRanges
from dplib.trees.strategies import (
    TreeStrategy,
    blue,
    boost,
    boost_un,
    dwork,
    hierarchical_bins,
    hierarchical_bins_arity,
    lue_dptree,
    regular,
    struct_construct_strategy,
)
from tests.support.range_pipelines import estimate_range_counts
from tests.support.tree_oracles import all_ranges, caterpillar, dense_range_variances

KEY = bytes(range(32))


def _transform(counts: FloatArray) -> FloatArray:
    """The total, then the differences of each level from the root down, shape (2^h,)."""
    sums = np.zeros(1 << haar_levels(len(counts)))
    sums[: len(counts)] = counts
    parts = []
    while len(sums) > 1:
        parts.append(sums[0::2] - sums[1::2])
        sums = sums[0::2] + sums[1::2]
    return np.concatenate([sums, *reversed(parts)])


def _inverse(values: FloatArray, n_bins: int) -> FloatArray:
    sums = values[:1]
    while len(sums) < len(values):
        differences = values[len(sums) : 2 * len(sums)]
        sums = np.stack([sums + differences, sums - differences], axis=1).ravel() / 2
    return sums[:n_bins]


@pytest.mark.parametrize("n", [1, 2, 5, 8, 13, 37])
def test_haar_is_inverted_and_its_errors_are_exact(n: int) -> None:
    x = np.random.default_rng(n).integers(0, 50, n)
    np.testing.assert_allclose(_inverse(_transform(x), n), x, atol=1e-12)
    # One record moves h + 1 numbers by 1.
    unit = _transform(np.eye(n)[n // 2])
    assert np.abs(unit).sum() == haar_levels(n) + 1
    lo, hi = all_ranges(n)
    size = 1 << haar_levels(n)
    bins = np.stack([_inverse(row, n) for row in np.eye(size)], axis=1)
    queries = ((lo[:, None] <= np.arange(n)) & (np.arange(n) < hi[:, None])) @ bins
    wanted = 2 * (haar_levels(n) + 1) ** 2 * (queries**2).sum(axis=1)
    np.testing.assert_allclose(haar_range_variances(n, lo, hi), wanted, rtol=1e-12)
    assert haar_mean_error(n) == pytest.approx(wanted.mean(), rel=1e-12)


@pytest.mark.parametrize(
    ("strategy", "error"),
    [
        (dwork(1024), 684.0),
        (regular(1024), 1939.3),
        (regular(2010), 2587.5),
        (struct_construct_strategy(1024), 625.6),
        (boost(1024), 476.6),
        (boost_un(1024), 376.6),
        (hierarchical_bins(1024), 279.2),
        (hierarchical_bins(1024, root=False), 164.3),
        (lue_dptree(kary_tree(1024, 2), digits=40), 342.5),
        (lue_dptree(kary_tree(1024, 11), digits=40), 160.9),
        (boost(1024, 2, "gaussian"), 21.66),
        (lue_dptree(kary_tree(1024, 2), "gaussian", digits=40), 19.86),
    ],
    ids=lambda value: value.name if isinstance(value, TreeStrategy) else "",
)
def test_errors_as_tabled(strategy: TreeStrategy, error: float) -> None:
    assert mean_range_variance(strategy) == pytest.approx(error, rel=4e-4)
    assert largest_path_sum(strategy.tree, strategy.shares) <= WHOLE


def test_haar_errors_as_tabled() -> None:
    assert [round(haar_mean_error(n), 1) for n in (256, 1024, 4096, 16384)] == [221.1, 410.3, 685.5, 1062.5]
    assert [round(haar_mean_error(n, "gaussian"), 2) for n in (256, 1024, 4096)] == [12.29, 18.65, 26.36]


def test_the_formula_of_hb() -> None:
    assert [hierarchical_bins_arity(n) for n in (256, 1024, 4096, 16384)] == [16, 32, 16, 26]


def test_the_default_beats_every_baseline() -> None:
    n = 1000
    others = [
        dwork(n), regular(n), boost(n), boost_un(n), hierarchical_bins(n, root=False), lue_dptree(kary_tree(n, 10)),
    ]  # fmt: skip
    assert mean_range_variance(blue(n)) < min(mean_range_variance(other) for other in others)
    assert mean_range_variance(blue(n, "gaussian")) < haar_mean_error(n, "gaussian")


@pytest.mark.parametrize("strategy", [regular(30), lue_dptree(kary_tree(30, 3))], ids=["raw", "blue"])
def test_errors_by_length_average_to_the_mean(strategy: TreeStrategy) -> None:
    by_length = [mean_range_variance(strategy, FixedLengthRanges(30, length)) for length in range(1, 31)]
    assert np.average(by_length, weights=np.arange(30, 0, -1)) == pytest.approx(mean_range_variance(strategy))


def test_aware_budgets_help_their_queries() -> None:
    tree = kary_tree(256, 2)
    aware, unaware = lue_dptree(tree, queries=PrefixRanges(256)), lue_dptree(tree)
    ends = np.arange(1, 257)

    def prefix_error(strategy: TreeStrategy) -> float:
        finite = np.where(np.isfinite(strategy.unit_variances), strategy.unit_variances, 1e18)
        return float(RangeVariance(strategy.tree, finite).of(np.zeros(256), ends).mean())

    assert prefix_error(aware) < 0.6 * prefix_error(unaware)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_simulated_error_is_the_announced_one(noise: str) -> None:
    strategy = lue_dptree(kary_tree(24, 3), noise)  # type: ignore[arg-type]
    x = np.random.default_rng(0).integers(0, 20, 24)
    lo, hi = all_ranges(24)
    squares = []
    for run in range(50):
        measure = NodeMechanism(run.to_bytes(32, "big"), "x", noise, Fraction(1, 10))  # type: ignore[arg-type]
        estimates = estimate_range_counts(strategy, x, measure)
        gaps = np.append(0, np.cumsum(estimates[strategy.tree.leaf_nodes] - x))
        squares.append((gaps[hi] - gaps[lo]) ** 2)
    variances = measure.variances(strategy.shares)
    announced = mean_range_variance(strategy, variances=variances)
    assert announced == pytest.approx(dense_range_variances(strategy.tree, variances).mean(), rel=1e-9)
    assert np.mean(squares) == pytest.approx(announced, rel=0.2)
    assert np.mean(squares) != pytest.approx(announced * 1.69, rel=0.2)


def test_lue_on_a_caterpillar() -> None:
    strategy = lue_dptree(caterpillar(2000))
    measure = NodeMechanism(KEY, "x", "laplace", Fraction(1))
    estimates = estimate_range_counts(strategy, np.full(2000, 7), measure)
    assert abs(estimates[0] - 14_000) < 2000
    assert estimates[strategy.tree.leaf_nodes].sum() == pytest.approx(estimates[0])
