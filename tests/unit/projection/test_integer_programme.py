"""Integer programmes of one day and of all days, against brute force."""

from itertools import product

import numpy as np
import pytest

from dplib.consistency.integers.publication import (
    PublicationPlan,
    TableMethod,
    plan_publication,
    publish_tables,
    solve_days,
)
from dplib.constraints.day_constraints import DayConstraints
from dplib.errors import SolverError
from dplib.projection.integer_programme import has_integer_point, nearest_integer_point
from dplib.trees.interval_tree import IntervalTree
from dplib.trees.shapes import regular_edges

SUM_IS_6 = (np.array([[1.0, 1, 1]]), np.array([6.0]))


@pytest.mark.parametrize("seed", range(10))
def test_equals_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-2, 3, (2, 4)).astype(float)
    rhs = matrix @ rng.integers(0, 4, 4)
    targets, weights = rng.uniform(-2, 4, 4), rng.uniform(0.5, 2, 4)
    point = nearest_integer_point(targets, weights, matrix, rhs)
    candidates = np.array(list(product(range(9), repeat=4)))
    feasible = candidates[(candidates @ matrix.T == rhs).all(axis=1)]
    assert point is not None
    assert np.array_equal(matrix @ point, rhs)
    assert point.min() >= 0
    best = np.min(np.abs(feasible - targets) @ weights)
    assert np.abs(point - targets) @ weights == pytest.approx(best, abs=1e-7)


def test_large_counts_are_exact() -> None:
    point = nearest_integer_point(
        np.array([1e12 + 0.3, 2e12 - 0.4, 5.0]), np.ones(3), np.array([[2.0, -1, 0]]), np.zeros(1)
    )
    assert point is not None
    assert 2 * int(point[0]) == int(point[1])


def test_without_equations_targets_are_rounded() -> None:
    point = nearest_integer_point(np.array([1.4, -3, 2.6]), np.ones(3), np.zeros((0, 3)), np.zeros(0))
    assert point is not None
    assert point.tolist() == [1, 0, 3]


def test_no_integer_or_no_nonnegative_solution_gives_none() -> None:
    assert nearest_integer_point(np.zeros(2), np.ones(2), np.array([[2.0, 4]]), np.array([3.0])) is None
    assert nearest_integer_point(np.zeros(2), np.ones(2), np.array([[1.0, 1]]), np.array([-1.0])) is None
    assert not has_integer_point(np.array([[6.0, 10]]), np.array([7.0]))
    assert has_integer_point(np.array([[6.0, 10]]), np.array([16.0]))


def day_constraints(n_days: int) -> tuple[DayConstraints, ...]:
    """Equations with a public sum, then days that have packages."""
    half = n_days // 2
    packages = np.array([[1, 0], [1, 2], [0, 1]])
    return DayConstraints(0, half, *SUM_IS_6), DayConstraints(
        half, n_days, np.zeros((0, 3)), np.zeros(0), packages, ("a", "b")
    )


def test_days_meet_their_equations_and_hand_their_error_on() -> None:
    n_days = 30
    rng = np.random.default_rng(3)
    packages = day_constraints(n_days)[1].generators.toarray()
    assert packages is not None
    first = rng.multinomial(6, [0.1, 0.2, 0.7], n_days // 2)
    true = np.vstack([first, rng.poisson(1, (n_days - n_days // 2, 2)) @ packages.T])
    noise = rng.normal(0, 2, (n_days, 3))
    noise[: n_days // 2] -= noise[: n_days // 2].mean(axis=1, keepdims=True)
    noise[n_days // 2 :] = rng.normal(0, 2, (n_days - n_days // 2, 2)) @ packages.T
    tree = IntervalTree.from_level_edges(regular_edges(n_days, 4))
    estimates = tree.sums(true + noise)
    plan = plan_publication(day_constraints(n_days))
    assert plan.method is TableMethod.INTEGER_PROGRAMME
    counts = publish_tables(plan, tree, estimates, day_constraints(n_days))
    assert counts is not None
    days = counts[tree.leaf_nodes]
    assert counts.dtype == np.int64
    assert counts.min() >= 0
    assert np.array_equal(counts, tree.sums(days))
    assert np.all(days[: n_days // 2].sum(axis=1) == 6)
    solved = np.linalg.lstsq(packages, days[n_days // 2 :].T, rcond=None)[0]
    assert np.allclose(solved, np.rint(solved))
    assert solved.min() > -1e-9
    # Clipping each day alone would push item sums up by about 0.4 * 2 a day.
    alone = np.maximum(np.rint(true + noise), 0)
    published_bias = np.abs(days.sum(axis=0) - (true + noise).sum(axis=0)).max()
    assert published_bias < 0.5 * np.abs(alone.sum(axis=0) - (true + noise).sum(axis=0)).max()


def test_the_plan_depends_on_settings_alone() -> None:
    few = plan_publication(day_constraints(10), max_programme_cells=29)
    assert few.method is TableMethod.NOT_PUBLISHED
    assert "29" in few.sentence
    assert "30" in few.sentence
    odd = (DayConstraints(0, 4, np.array([[2.0, 4, 2]]), np.array([3.0])),)
    impossible = plan_publication(odd)
    assert impossible.method is TableMethod.NOT_PUBLISHED
    assert "days 0 to 3" in impossible.sentence
    assert plan_publication(day_constraints(10)[1:]).method is TableMethod.TOP_DOWN
    tree = IntervalTree.from_level_edges(regular_edges(4, 2))
    assert publish_tables(impossible, tree, np.zeros((7, 3)), odd) is None
    with pytest.raises(SolverError, match="integer solution"):
        solve_days(np.zeros((4, 3)), odd)


def test_a_top_down_plan_publishes_the_top_down_table() -> None:
    tree = IntervalTree.from_level_edges(regular_edges(4, 2))
    daily = (DayConstraints(0, 4, np.zeros((0, 1)), np.zeros(0), np.ones((1, 1), dtype=np.int64)),)
    plan = plan_publication(daily)
    assert isinstance(plan, PublicationPlan)
    counts = publish_tables(plan, tree, tree.sums(np.array([[2.0], [3], [0], [1]])), daily)
    assert counts is not None
    assert counts[:, 0].tolist() == [6, 5, 1, 2, 3, 0, 1]
