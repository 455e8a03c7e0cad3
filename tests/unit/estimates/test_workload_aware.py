import numpy as np
import pytest

from dplib.errors import ConfigError
from dplib.estimates.range_estimates import mean_range_variance
from dplib.estimates.range_variance import RangeVariance
from dplib.estimates.workload_aware import workload_aware
from dplib.trees.budgets import WHOLE, LawName, largest_path_sum
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import (
    ExplicitRanges,
    FixedLengthRanges,
    PrefixRanges,
    ProductRanges,
    RangeQueries,
    UniformRanges,
)
from dplib.trees.strategies import blue, dwork, lue_dptree, regular
from tests.support.tree_oracles import all_ranges, dense_range_variances


def laws(n: int) -> dict[str, RangeQueries]:
    rng = np.random.default_rng(n)
    recent, hot = np.zeros(n), np.exp(-np.arange(n) / max(n / 16, 1))
    recent[-max(n // 8, 1) :] = 1.0
    lo = rng.integers(0, n, 60)
    return {
        "uniform": UniformRanges(n),
        "prefix": PrefixRanges(n),
        "single bins": FixedLengthRanges(n, 1),
        "length": FixedLengthRanges(n, max(n // 5, 1)),
        "whole": FixedLengthRanges(n, n),
        "recent": ProductRanges(np.ones(n), recent),
        "hot": ProductRanges(hot, np.ones(n)),
        "explicit": ExplicitRanges(n, lo, np.minimum(lo + 1 + lo % 7, n), rng.random(60)),
        "one query": ExplicitRanges(n, [n // 3], [n]),
    }


def weights_of(law: RangeQueries, n: int) -> np.ndarray:
    """Weight of every range, in the order of `all_ranges`: what contains a range minus what contains a longer one."""
    lo, hi = all_ranges(n)

    def containing(first: np.ndarray, end: np.ndarray) -> np.ndarray:
        found = np.zeros(len(first))
        good = (first >= 0) & (end <= n)
        found[good] = law.containing(first[good], end[good])
        return found

    longer = containing(lo - 1, hi) + containing(lo, hi + 1) - containing(lo - 1, hi + 1)
    return np.asarray((containing(lo, hi) - longer) / law.denominator)


@pytest.mark.parametrize("name", laws(24))
def test_error_under_a_law_is_the_mean_over_its_ranges(name: str) -> None:
    law, rng = laws(24)[name], np.random.default_rng(0)
    weights = weights_of(law, 24)
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    strategy = lue_dptree(kary_tree(24, 3))
    noise = rng.uniform(1, 30, strategy.tree.n_nodes)
    wanted = weights @ dense_range_variances(strategy.tree, noise)
    assert mean_range_variance(strategy, law, noise) == pytest.approx(wanted, rel=1e-9)
    raw = regular(24)
    lo, hi = all_ranges(24)
    covers = [raw.unit_variances[raw.tree.cover(int(a), int(b))].sum() for a, b in zip(lo, hi, strict=True)]
    assert mean_range_variance(raw, law) == pytest.approx(weights @ np.array(covers), rel=1e-9)


@pytest.mark.parametrize(("n", "noise"), [(1, "gaussian"), (2, "laplace"), (40, "laplace"), (70, "gaussian")])
@pytest.mark.parametrize("name", laws(8))
def test_never_worse_than_the_default_and_every_bin_measured(name: str, n: int, noise: LawName) -> None:
    law = laws(n)[name]
    strategy = workload_aware(n, law, noise)
    assert strategy.tree.n_leaves == n
    assert strategy.name == "workload_aware"
    for other in (blue(n, noise), dwork(n, noise)):
        assert mean_range_variance(strategy, law) <= mean_range_variance(other, law)
    assert largest_path_sum(strategy.tree, strategy.shares) <= WHOLE
    assert bool((strategy.shares[strategy.tree.leaf_nodes] > 0).all())
    errors = RangeVariance(strategy.tree, strategy.unit_variances)
    assert bool(np.isfinite(errors.final).all())
    if n == 40:  # Settings only: the same again.
        assert np.array_equal(workload_aware(n, law, noise).shares, strategy.shares)


def test_gains_where_the_law_is_far_from_uniform() -> None:
    n = 512
    for name, most in (("single bins", 0.3), ("whole", 0.05), ("one query", 0.5), ("explicit", 0.5), ("prefix", 1.0)):
        law = laws(n)[name]
        assert mean_range_variance(workload_aware(n, law), law) <= most * mean_range_variance(blue(n), law)


def test_no_query_is_much_worse_than_by_a_flat_release() -> None:
    # Bins that the law never asks about keep a share: a bin costs a known multiple of a budget spent on bins alone.
    strategy = workload_aware(256, FixedLengthRanges(256, 256))
    assert RangeVariance(strategy.tree, strategy.unit_variances).mean_of_length(1) < 2 * 33**2


def test_other_ways_to_the_same_errors() -> None:
    strategy = blue(100)
    assert mean_range_variance(strategy, UniformRanges(100)) == mean_range_variance(strategy)
    by_length = RangeVariance(strategy.tree, strategy.unit_variances).mean_of_length(9)
    assert mean_range_variance(strategy, FixedLengthRanges(100, 9)) == by_length


def test_an_unknown_law_is_refused() -> None:
    class Other(UniformRanges):
        pass

    class Foreign:
        denominator = 1

        def containing(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
            return np.ones(len(lo))

    assert mean_range_variance(blue(10), Other(10)) == mean_range_variance(blue(10), UniformRanges(10))
    with pytest.raises(ConfigError, match="queries must be one of the laws"):
        mean_range_variance(blue(10), Foreign())
