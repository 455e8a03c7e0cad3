"""The tree smoother: dense constrained least squares for any tree, constraints, variances, gaps; cuts; equal rows."""

import numpy as np
import pytest

from dplib.consistency import commuting
from dplib.consistency.equal_rows import pair_classes, row_classes
from dplib.consistency.problem import ConsistencyProblem
from dplib.consistency.smoother_passes import SmootherPlan, downward, smoother_plan, upward
from dplib.consistency.tree_smoother import solve
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Package, Total
from dplib.errors import SolverError
from dplib.projection.residual import largest_residual
from dplib.trees.interval_tree import IntervalTree
from tests.support.oracles import dense_estimate, is_determined
from tests.support.strategies import random_problem, regular_tree
from tests.support.tree_oracles import block_roots, random_tree


@pytest.mark.parametrize("seed", range(30))
def test_equals_dense_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, unmeasured=(0.0, 0.2, 0.5)[seed % 3], rhs=seed % 2 == 0)
    if is_determined(problem):
        found = solve(problem).values
        np.testing.assert_allclose(found, dense_estimate(problem), atol=1e-9 * np.abs(found).max() + 1e-9)
        assert largest_residual(problem.tree, problem.day_constraints, found) < 1e-8
    else:
        with pytest.raises(SolverError, match="determine every count"):
            solve(problem)


def test_plans_of_equal_settings_alone_are_one() -> None:
    """Not those of other variances, right-hand sides, days or trees; what is shared cannot be written."""
    tree = regular_tree(2, 3)

    def plan(tree: IntervalTree = tree, variance: float = 1.0, until: int = 2, rhs: float = 0.0) -> SmootherPlan:
        equation = np.array([[1.0, 1.0, -1.0]])
        first = DayConstraints(0, until, equation, np.ones(1))
        last = DayConstraints(until, 4, equation, np.full(1, rhs))
        return smoother_plan(tree, np.full((tree.n_nodes, 3), variance), [first, last])

    made = plan()
    assert plan() is made
    flat = IntervalTree.from_level_edges([[0, 4], range(5)])
    others = [plan(flat), plan(variance=2.0), plan(until=3), plan(rhs=1.0)]
    assert len({id(each) for each in [made, *others]}) == 5
    with pytest.raises(ValueError, match="read-only"):
        made.levels[0].after[:] = 0


def test_an_unmeasured_leaf_level_may_still_be_determined() -> None:
    # One child of each node unmeasured: its parent determines it; so does a day constraint.
    tree = regular_tree(2, 3)
    rng = np.random.default_rng(0)
    variance = np.ones((tree.n_nodes, 3))
    variance[tree.leaf_nodes[::2]] = np.inf
    variance[tree.leaf_nodes[1], 0] = np.inf
    day_constraints = (
        DayConstraints(0, 2, np.array([[1.0, 1.0, -1.0]]), np.zeros(1)),
        DayConstraints(2, 4, np.array([[1.0, -2.0, 0.0]]), np.ones(1)),
    )
    problem = ConsistencyProblem(tree, rng.normal(0, 10, variance.shape), variance, day_constraints)
    assert is_determined(problem)
    np.testing.assert_allclose(solve(problem).values, dense_estimate(problem), atol=1e-9)


def test_unmeasured_totals_are_free_sums() -> None:
    day_constraints = resolve(
        ["a", "b", "c"], 9, totals=[Total("t", ("a", "b")), Total("u", ("t", "c"), True)]
    ).day_constraints
    tree = regular_tree(3, 3)
    rng = np.random.default_rng(1)
    variance = np.exp(rng.normal(size=(tree.n_nodes, 5)))
    variance[:, 3] = np.inf
    noisy = rng.normal(0, 10, variance.shape)
    noisy[:, 3] = np.nan
    values = solve(ConsistencyProblem(tree, noisy, variance, day_constraints)).values
    np.testing.assert_allclose(values[:, 3], values[:, 0] + values[:, 1], atol=1e-9)
    without = resolve(["a", "b", "c"], 9, totals=[Total("u", ("a", "b", "c"), True)]).day_constraints
    kept = [0, 1, 2, 4]
    alone = solve(ConsistencyProblem(tree, noisy[:, kept], variance[:, kept], without)).values
    np.testing.assert_allclose(values[:, kept], alone, atol=1e-9)


def test_days_without_any_package_count_zero() -> None:
    day_constraints = resolve("ab", 8, [Package("p", {"a": 1, "b": 2}, 3)], rows_are_packages=True).day_constraints
    tree = regular_tree(2, 4)
    noisy = np.random.default_rng(2).normal(0, 5, (tree.n_nodes, 2))
    values = solve(ConsistencyProblem(tree, noisy, np.ones_like(noisy), day_constraints)).values
    assert not values[tree.leaf_nodes[:3]].any()
    np.testing.assert_allclose(values[:, 1], 2 * values[:, 0], atol=1e-10)
    assert largest_residual(tree, day_constraints, values) < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_cut_at_any_level_gives_the_same_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, most_days=40, rhs=True)
    tree, noisy = problem.tree, problem.measured
    plan = smoother_plan(tree, problem.variance, problem.day_constraints)
    whole = downward(plan, upward(plan, noisy))
    for level in range(tree.n_levels):
        blocks = [(int(root), *plan.block(int(root))) for root in block_roots(tree, level)]
        means = {root: upward(block, noisy[nodes]) for root, block, nodes in blocks}
        top = plan.top(level)
        top_noisy = noisy[: top.tree.n_nodes].copy()
        bins = top.tree.level_slice(level)
        # Bins on the cut level are means already: blocks of a single day.
        for node in range(bins.start, bins.stop):
            block, nodes = plan.block(node)
            top_noisy[node] = means[node][0] if node in means else upward(block, noisy[nodes])[0]
        values = np.empty_like(noisy)
        values[: top.tree.n_nodes] = downward(top, upward(top, top_noisy))
        for root, block, nodes in blocks:
            values[nodes] = downward(block, means[root], values[root])
        np.testing.assert_allclose(values, whole, atol=1e-10 * max(1.0, np.abs(whole).max()))


def test_equal_settings_share_one_covariance() -> None:
    day_constraints = resolve("abc", 64, totals=[Total("t", ("a", "b", "c"), True)]).day_constraints
    tree = regular_tree(2, 7)
    variance = np.repeat(np.arange(1.0, 8.0), np.diff(tree.level_start))[:, None] * np.ones(4)
    plan = smoother_plan(tree, variance, day_constraints)
    assert [level.index.n_classes for level in plan.levels] == [1] * 7
    variance[5] *= 2
    plan = smoother_plan(tree, variance, day_constraints)
    assert [level.index.n_classes for level in plan.levels] == [1, 2, 2, 1, 1, 1, 1]


def test_equals_the_one_pass_split_on_many_days() -> None:
    rng = np.random.default_rng(4)
    day_constraints = resolve(
        "abcd", 4096, [Package("p", {"a": 1, "b": 2}), Package("q", {"c": 3, "d": 1})], (), (), True
    ).day_constraints
    tree = regular_tree(4, 7)
    variance = rng.uniform(0.5, 2, tree.n_nodes)[:, None] * np.array([1.0, 2.0, 3.0, 4.0])
    problem = ConsistencyProblem(tree, rng.normal(0, 100, variance.shape), variance, day_constraints)
    np.testing.assert_allclose(solve(problem).values, commuting.solve(problem).values, atol=1e-9)


def test_wide_problems_use_the_same_algebra() -> None:
    rng = np.random.default_rng(6)
    items = [f"i{k}" for k in range(40)]
    groups = [Total(f"g{k}", tuple(items[5 * k : 5 * k + 5]), True) for k in range(8)]
    day_constraints = resolve(items, 12, totals=[*groups, Total("all", tuple(items), True, 0, 7)]).day_constraints
    tree = random_tree(rng, 12)
    variance = np.exp(rng.normal(size=(tree.n_nodes, 49)))
    problem = ConsistencyProblem(tree, rng.normal(0, 10, variance.shape), variance, day_constraints)
    np.testing.assert_allclose(solve(problem).values, dense_estimate(problem), atol=1e-9)


def test_classes() -> None:
    rows = np.array([[1.0, np.inf], [2.0, 3.0], [1.0, np.inf], [1.0, 3.0]])
    of, first = row_classes(rows)
    assert len(first) == 3
    assert of[0] == of[2]
    np.testing.assert_array_equal(rows[first[of]], rows)
    of, first = pair_classes(np.array([0, 0, 1, 1]), np.array([5, 6, 5, 5]))
    assert len(first) == 3
    assert of[2] == of[3]
