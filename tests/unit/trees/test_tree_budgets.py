from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from dplib.errors import ConfigError
from dplib.trees.budgets import (
    WHOLE,
    coverage_level_shares,
    distinct_shares,
    equal_level_shares,
    exact_level_shares,
    exact_shares,
    largest_path_sum,
    node_coefficients,
    noise_parameter,
    non_uniform_budget_distribution,
    require_within_budget,
    spread_level_shares,
    unit_variance,
)
from dplib.trees.complete import kary_tree
from dplib.trees.coverage import (
    FixedLengthRanges,
    PrefixRanges,
    UniformRanges,
    node_coverage_probabilities,
    raw_mean_error,
)
from dplib.trees.interval_tree import IntervalTree
from tests.support.tree_oracles import caterpillar, membership, random_tree


def coverage_of(tree: IntervalTree) -> np.ndarray:
    return node_coverage_probabilities(tree, UniformRanges(tree.n_leaves))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("seed", range(4))
def test_conclusion_3_5_is_the_optimum(seed: int, noise: str) -> None:
    tree = random_tree(np.random.default_rng(seed), 7)
    p, paths = coverage_of(tree), membership(tree).T
    power = 2 if noise == "laplace" else 1
    found = minimize(
        lambda s: float((p / s**power).sum()),
        np.full(tree.n_nodes, 0.9 / tree.n_levels),
        jac=lambda s: -power * p / s ** (power + 1),
        bounds=[(1e-4, 1)] * tree.n_nodes,
        constraints={"type": "ineq", "fun": lambda s: 1 - paths @ s, "jac": lambda _: -paths},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    shares = non_uniform_budget_distribution(tree, p, noise)  # type: ignore[arg-type]
    assert (p / shares**power).sum() == pytest.approx(found.fun, rel=1e-8)
    np.testing.assert_allclose(paths @ shares, 1, rtol=1e-12)
    # The least error in closed form, at unit budget.
    root = node_coefficients(tree, p, noise)[0]  # type: ignore[arg-type]
    expected = 2 * root**3 if noise == "laplace" else root**2
    assert raw_mean_error(p, unit_variance(shares, noise)) == pytest.approx(expected, rel=1e-12)  # type: ignore[arg-type]


def test_corrected_numbers_of_the_thesis() -> None:
    star = kary_tree(3, 3)
    shares = non_uniform_budget_distribution(star, coverage_of(star))
    assert shares == pytest.approx([0.34330, 0.65670, 0.65670, 0.65670], abs=5e-6)
    assert raw_mean_error(coverage_of(star), unit_variance(shares, "laplace")) == pytest.approx(8.23890, abs=5e-6)
    # Figure 3.14(b): a pair between two bins.
    mixed = IntervalTree.from_parents([0, 0, 1, 3, 1, 2], [4, 1, 3, 4, 2, 3], [-1, 0, 0, 0, 2, 2])
    shares = non_uniform_budget_distribution(mixed, coverage_of(mixed))
    assert raw_mean_error(coverage_of(mixed), unit_variance(shares, "laplace")) == pytest.approx(15.17520, abs=5e-6)
    assert shares == pytest.approx([0.23621, 0.76379, 0.36360, 0.76379, 0.40019, 0.40019], abs=5e-6)
    binary = kary_tree(4, 2)
    p = coverage_of(binary)
    assert raw_mean_error(p, unit_variance(np.full(7, 1 / 3), "laplace")) == pytest.approx(23.4)
    best = unit_variance(non_uniform_budget_distribution(binary, p), "laplace")
    assert raw_mean_error(p, best) == pytest.approx(19.3077, abs=5e-5)


def test_unused_subtrees_give_their_budget_to_their_leaves() -> None:
    tree = kary_tree(8, 2)
    shares = non_uniform_budget_distribution(tree, node_coverage_probabilities(tree, PrefixRanges(8)))
    np.testing.assert_allclose(membership(tree).T @ shares, 1)
    assert np.isfinite(shares).all()
    unused = node_coverage_probabilities(tree, FixedLengthRanges(8, 3)) == 0
    spread = non_uniform_budget_distribution(tree, node_coverage_probabilities(tree, FixedLengthRanges(8, 3)))
    assert (spread[unused & (tree.child_count > 0)] == 0).all()
    assert (unused & (tree.child_count > 0)).sum() == 3


def test_deep_tree() -> None:
    tree = caterpillar(200_000)
    shares = non_uniform_budget_distribution(tree, coverage_of(tree))
    exact = exact_shares(tree, shares)
    assert WHOLE * (1 - 1e-5) < largest_path_sum(tree, exact) <= WHOLE


@pytest.mark.parametrize("digits", [1, 8, 40])
def test_rounding_goes_towards_more_noise(digits: int) -> None:
    tree = random_tree(np.random.default_rng(9), 40)
    shares = non_uniform_budget_distribution(tree, coverage_of(tree))
    exact = exact_shares(tree, shares, digits)
    assert (exact <= shares * WHOLE).all()
    assert (exact >= shares * WHOLE * (1 - 2.0 ** (1 - digits) - 1e-6) - 1).all()
    epsilon = Fraction(1, 3)
    costs = [1 / noise_parameter(int(s), epsilon, Fraction(1), "laplace") if s else Fraction(0) for s in exact]
    paths = membership(tree).T.astype(int)
    assert all(sum(cost for cost, on in zip(costs, path, strict=True) if on) <= epsilon for path in paths)
    if digits == 8:
        mantissas = {int(s) >> max(int(s).bit_length() - 8, 0) for s in exact}
        assert max(mantissas) < 256


def test_a_path_over_budget_is_refused() -> None:
    tree = kary_tree(4, 2)
    with pytest.raises(ConfigError, match="path that spends more"):
        exact_shares(tree, np.full(7, 0.34))
    exact = exact_shares(tree, np.full(7, 1 / 3))
    exact[5] += WHOLE - largest_path_sum(tree, exact)
    require_within_budget(tree, exact)
    exact[5] += 1
    with pytest.raises(ConfigError, match="path that spends more"):
        require_within_budget(tree, exact)
    with pytest.raises(ConfigError, match="path that spends more"):
        require_within_budget(tree, np.full(7, -1, dtype=np.int64))
    # Sums that would wrap around 64 bits.
    deep = caterpillar(70_000_0)
    with pytest.raises(ConfigError, match="path that spends more"):
        require_within_budget(deep, np.full(deep.n_nodes, WHOLE, dtype=np.int64))


def test_noise_parameters() -> None:
    assert noise_parameter(WHOLE // 4, Fraction(1, 2), Fraction(3), "laplace") == 24
    assert noise_parameter(WHOLE // 4, Fraction(1, 2), Fraction(3), "gaussian") == 12
    with pytest.raises(ConfigError, match="share must be above 0"):
        noise_parameter(0, Fraction(1), Fraction(1), "laplace")


def test_level_shares() -> None:
    assert equal_level_shares(4, root=False).tolist() == [0, 1 / 3, 1 / 3, 1 / 3]
    tree = kary_tree(5, 2)
    shares = spread_level_shares(tree, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(membership(tree).T @ shares, 1)
    p = coverage_of(tree)
    best = coverage_level_shares(tree, p)
    errors = []
    for level in range(4):
        moved = best.copy()
        moved[level] += 1e-4
        errors.append(float((p / (moved / moved.sum())[tree.level] ** 2).sum()))
    assert min(errors) > (p / best[tree.level] ** 2).sum()
    with pytest.raises(ConfigError, match="sum to at most 1"):
        spread_level_shares(tree, [0.5, 0.5, 0.5, 0.5])


@pytest.mark.parametrize(("n_different", "n"), [(1, 1), (3, 1000), (3, 1001), (511, 4000), (513, 4000), (6000, 20_000)])
def test_distinct_shares_are_those_of_a_sort(n_different: int, n: int) -> None:
    rng = np.random.default_rng(n_different)
    # Shares of few digits, as they are: neighbours and low zeros must not confuse the table.
    pool = np.unique(rng.integers(0, 128, 2 * n_different) << rng.integers(0, 33, 2 * n_different))[:n_different]
    pool = pool if n_different < 100 else rng.choice(1 << 40, n_different, replace=False)
    shares = rng.choice(pool, n)
    wanted, where = np.unique(shares, return_inverse=True)
    found, place = distinct_shares(shares)
    assert np.array_equal(found, wanted)
    assert np.array_equal(place, where)


@pytest.mark.parametrize("tree", [kary_tree(100, 3), kary_tree(64, 4), caterpillar(40), kary_tree(1, 2)])
def test_exact_level_shares_follow_the_real_ones(tree: IntervalTree) -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(tree.n_levels))
    shares[0] = 0.0
    found = exact_level_shares(tree, shares)
    real = spread_level_shares(tree, shares) * WHOLE
    # Every level is rounded down by less than a unit and by the factor that makes up for rounding errors.
    assert bool((found <= real).all())
    assert bool((found >= real * (1 - 2.0**-35) - tree.n_levels).all())
    assert largest_path_sum(tree, found) <= WHOLE
    with pytest.raises(ConfigError, match="level_shares"):
        exact_level_shares(tree, shares + 1.5)
