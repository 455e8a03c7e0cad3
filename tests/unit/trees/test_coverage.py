from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.errors import ConfigError
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import (
    ExplicitRanges,
    FixedLengthRanges,
    PrefixRanges,
    ProductRanges,
    UniformRanges,
    covering_queries,
    node_coverage_probabilities,
    raw_mean_error,
)
from tests.support.tree_oracles import all_ranges, covers, random_tree

trees = st.builds(
    lambda seed, n: random_tree(np.random.default_rng(seed), n), st.integers(0, 10**6), st.integers(1, 24)
)


@settings(deadline=None)  # the first call compiles
@given(trees)
def test_laws_equal_covering_every_query(tree) -> None:  # type: ignore[no-untyped-def]
    n = tree.n_leaves
    rng = np.random.default_rng(n)
    lo, hi = all_ranges(n)
    used = covers(tree, lo, hi)
    assert np.array_equal(covering_queries(tree, UniformRanges(n)), used.sum(axis=0))
    assert np.array_equal(covering_queries(tree, PrefixRanges(n)), used[lo == 0].sum(axis=0))
    length = 1 + n // 3
    assert np.array_equal(covering_queries(tree, FixedLengthRanges(n, length)), used[hi - lo == length].sum(axis=0))
    u, v = rng.random(n), rng.random(n)
    product = (u[lo] * v[hi - 1]) @ used
    np.testing.assert_allclose(covering_queries(tree, ProductRanges(u, v)), product, atol=1e-12)
    picked = rng.integers(0, len(lo), 15)
    weights = rng.integers(1, 9, 15).astype(float)
    explicit = covering_queries(tree, ExplicitRanges(n, lo[picked], hi[picked], weights))
    assert np.array_equal(explicit, weights @ used[picked])


@settings(deadline=None)
@given(trees)
def test_property_3_1_equals_equation_3_5(tree) -> None:  # type: ignore[no-untyped-def]
    n, x = tree.n_leaves, np.arange(1, tree.n_nodes)
    y = tree.parent[x]
    left, right, end, parent_end = tree.lo[x] + 1, tree.lo[x] - tree.lo[y], tree.hi[x], tree.hi[y]
    inclusion = right * (n - end + 1) + left * (parent_end - end) - right * (parent_end - end)
    assert np.array_equal(covering_queries(tree, UniformRanges(n))[1:], inclusion)


def test_printed_examples() -> None:
    five = node_coverage_probabilities(kary_tree(5, 2, "ascending"), UniformRanges(5))
    assert five[:3] == pytest.approx([1 / 15, 0.2, 2 / 15])  # figure 3.2
    assert five.max() == pytest.approx(0.4)
    six = covering_queries(kary_tree(6, 3), UniformRanges(6))
    assert Fraction(int(six[2]), 21) == Fraction(8, 21)  # example 3.3
    # Example 3.2 prints 10.664 and 21.006, from probabilities of three digits.
    three = [kary_tree(3, 3), kary_tree(3, 2, "ascending")]
    errors = [Fraction(2 * t.n_levels**2 * int(covering_queries(t, UniformRanges(3)).sum()), 6) for t in three]
    assert errors == [Fraction(32, 3), 21]


def test_exact_at_the_largest_size() -> None:
    n = (1 << 31) - 1
    lo, hi = np.array([0, 0, 1 << 30]), np.array([n, 1 << 30, n])
    exact = [(int(a) + 1) * (n - int(b) + 1) for a, b in zip(lo, hi, strict=True)]
    assert UniformRanges(n).containing(lo, hi).tolist() == exact
    assert UniformRanges(n).denominator == n * (n + 1) // 2


def test_raw_error_ignores_unused_nodes() -> None:
    assert raw_mean_error(np.array([0.0, 0.25, 0.75]), np.array([np.inf, 4.0, 8.0])) == 7.0


def test_errors() -> None:
    with pytest.raises(ConfigError, match="length must lie between 1 and 4, got 5"):
        FixedLengthRanges(4, 5)
    with pytest.raises(ConfigError, match="n_bins must lie between 1"):
        UniformRanges(1 << 31)
    with pytest.raises(ConfigError, match="queries must be non-empty ranges"):
        ExplicitRanges(4, [2], [2])
    with pytest.raises(ConfigError, match="weights must leave a range"):
        ProductRanges([0, 1], [1, 0])
    with pytest.raises(ConfigError, match="weights must be finite"):
        ProductRanges([0, -1], [1, 0])
