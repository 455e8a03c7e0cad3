"""Laws of the exact estimate, for problems of any shape: idempotent, optimal, invariant.

That it is feasible and the dense optimum: `tests.unit.consistency.test_tree_smoother`.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplib.consistency import general, tree_smoother
from dplib.consistency.answer_variance import AnswerVariance
from dplib.consistency.problem import ConsistencyProblem
from tests.support.strategies import problems

QUICK = settings(max_examples=15, deadline=None)


def cost(problem: ConsistencyProblem, values: np.ndarray) -> float:
    return float(((values - problem.noisy) ** 2 / problem.variance).sum())


@QUICK
@given(problems())
def test_idempotent(problem: ConsistencyProblem) -> None:
    values = tree_smoother.solve(problem).values
    again = ConsistencyProblem(problem.tree, values, problem.variance, problem.day_constraints)
    np.testing.assert_allclose(tree_smoother.solve(again).values, values, atol=1e-9 * (1 + np.abs(values).max()))


@QUICK
@given(problems(), st.integers(0, 2**32 - 1))
def test_pythagoras_with_every_consistent_point(problem: ConsistencyProblem, seed: int) -> None:
    # Theorem 4 with weights: |y - p|^2 = |y - x|^2 + |x - p|^2 for each feasible p.
    values = tree_smoother.solve(problem).values
    elsewhere = np.random.default_rng(seed).normal(0, 20, values.shape)
    other = ConsistencyProblem(problem.tree, elsewhere, np.ones(values.shape), problem.day_constraints)
    point = tree_smoother.solve(other).values
    split = cost(problem, values) + float(((values - point) ** 2 / problem.variance).sum())
    assert cost(problem, point) == pytest.approx(split, rel=1e-7)


@QUICK
@given(problems(), st.floats(1e-3, 1e3))
def test_scaling_all_variances_changes_errors_only(problem: ConsistencyProblem, factor: float) -> None:
    scaled = ConsistencyProblem(problem.tree, problem.noisy, factor * problem.variance, problem.day_constraints)
    values = tree_smoother.solve(problem).values
    np.testing.assert_allclose(tree_smoother.solve(scaled).values, values, atol=1e-8 * (1 + np.abs(values).max()))
    one = AnswerVariance(problem.tree, problem.variance, problem.day_constraints).standard_errors()
    other = AnswerVariance(problem.tree, scaled.variance, problem.day_constraints).standard_errors()
    np.testing.assert_allclose(other, np.sqrt(factor) * one, rtol=1e-6, atol=1e-7 * other.max())


@QUICK
@given(problems())
def test_the_order_of_series_does_not_matter(problem: ConsistencyProblem) -> None:
    order = np.arange(problem.n_series)[::-1]
    day_constraints = tuple(replace(daily, matrix=daily.matrix[:, order]) for daily in problem.day_constraints)
    turned = ConsistencyProblem(problem.tree, problem.noisy[:, order], problem.variance[:, order], day_constraints)
    values = tree_smoother.solve(problem).values
    np.testing.assert_allclose(
        tree_smoother.solve(turned).values[:, order], values, atol=1e-9 * (1 + np.abs(values).max())
    )


@QUICK
@given(problems())
def test_unequal_variances_need_the_weighted_projection(problem: ConsistencyProblem) -> None:
    weighted = general.solve(problem).values
    plain = general.solve(
        ConsistencyProblem(problem.tree, problem.noisy, np.ones(problem.variance.shape), problem.day_constraints)
    ).values
    assert cost(problem, weighted) <= cost(problem, plain) * (1 + 1e-9) + 1e-12
