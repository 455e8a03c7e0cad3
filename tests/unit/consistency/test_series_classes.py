"""Classes of exchangeable series under constraints that change: estimates, errors and cuts are those of all series."""

import numpy as np
import pytest

from dplib.consistency.answer_variance import AnswerVariance
from dplib.consistency.problem import ConsistencyProblem
from dplib.consistency.series_classes import series_classes
from dplib.consistency.tree_smoother import classed_plan, solve
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Package, Total
from dplib.errors import SolverError
from tests.support.oracles import dense_day_covariance, dense_estimate, range_rows
from tests.support.tree_oracles import block_roots, random_tree

N_DAYS = 7


def changing_problem(seed: int) -> ConsistencyProblem:
    """Items in classes of 1 to 3 by totals that come and go, some unmeasured; packages in every other problem."""
    rng = np.random.default_rng(seed)
    items = list("abcdef")
    totals = [
        Total("t", ("a", "b", "c"), True, 0, int(rng.integers(2, 6))),
        Total("u", ("d", "e"), bool(rng.random() < 0.5)),
        Total("all", tuple(items), True, int(rng.integers(0, 3))),
    ]
    if seed % 2:
        packages = [Package(f"one {item}", {item: 1}) for item in "abcd"] + [Package("two", {"e": 2, "f": 1}, 2)]
        found = resolve(items, N_DAYS, packages=packages, totals=totals, rows_are_packages=True)
    else:
        found = resolve(items, N_DAYS, totals=totals)
    tree = random_tree(rng, N_DAYS)
    kinds = np.exp(rng.normal(size=(tree.n_nodes, 3)))
    of_series = np.concatenate([np.zeros(5, dtype=int), [1], np.full(len(totals), 2)])
    variance = np.where(found.measured, kinds[:, of_series], np.inf)
    noisy = rng.normal(0, 10, variance.shape)
    return ConsistencyProblem(tree, noisy, variance, found.day_constraints)


@pytest.mark.parametrize("seed", range(6))
def test_classes_change_no_number(seed: int) -> None:
    problem = changing_problem(seed)
    n_series, rng = problem.n_series, np.random.default_rng(seed)
    classes = series_classes(problem.variance, problem.day_constraints)
    assert len(classes.first) < n_series
    np.testing.assert_allclose(solve(problem).values, dense_estimate(problem), atol=1e-8)
    covariance = dense_day_covariance(problem)
    found = AnswerVariance(problem.tree, problem.variance, problem.day_constraints)
    for lo, hi in ((0, N_DAYS), (1, 4), (3, 4)):
        rows = range_rows(N_DAYS, n_series, lo, hi)
        dense = rows @ covariance @ rows.T
        np.testing.assert_allclose(found.covariance(lo, hi), dense, atol=1e-8)
        np.testing.assert_allclose(found.variance(lo, hi), np.diag(dense), atol=1e-8)
        weights = rng.normal(size=n_series)
        assert found.weighted_variance(lo, hi, weights) == pytest.approx(weights @ dense @ weights, rel=1e-8)
    for node, errors in enumerate(found.standard_errors()):
        lo, hi = int(problem.tree.lo[node]), int(problem.tree.hi[node])
        np.testing.assert_allclose(errors**2, found.variance(lo, hi), atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_passes_cut_at_any_level(seed: int) -> None:
    problem = changing_problem(seed)
    tree, whole = problem.tree, solve(problem).values
    plan = classed_plan(tree, problem.variance, problem.day_constraints)
    means = plan.upward(problem.measured)
    for level in range(1, tree.n_levels):
        top = plan.top(level)
        values = problem.measured[: top.sums.tree.n_nodes].copy()
        values[tree.level_slice(level)] = means[tree.level_slice(level)]
        np.testing.assert_allclose(top.downward(top.upward(values)), whole[: len(values)], atol=1e-9)
    for root in block_roots(tree, 1):
        part, nodes = tree.subtree(root)
        lo, hi = int(tree.lo[root]), int(tree.hi[root])
        days = tuple(
            DayConstraints(max(each.first, lo) - lo, min(each.end, hi) - lo, each.matrix, each.rhs, each.generators)
            for each in problem.day_constraints
            if each.first < hi and each.end > lo
        )
        # A block knows its own days alone, whose classes may be wider.
        block = classed_plan(part, problem.variance[nodes], days)
        sent = block.upward(problem.measured[nodes])
        np.testing.assert_allclose(sent[0], means[root], atol=1e-9)
        np.testing.assert_allclose(block.downward(sent, whole[root]), whole[nodes], atol=1e-9)


def test_two_unmeasured_totals_of_one_equation_are_not_determined() -> None:
    tree = random_tree(np.random.default_rng(0), 4)
    both = DayConstraints(0, 2, np.array([[1.0, -1.0, -1.0]]), np.zeros(1))
    days = (both, DayConstraints(2, 4, np.ones((0, 3)), np.zeros(0)))
    variance = np.broadcast_to([1.0, np.inf, np.inf], (tree.n_nodes, 3))
    with pytest.raises(SolverError, match="determine every count"):
        AnswerVariance(tree, variance, days)
