"""All solvers against each other and the dense optimum; the rate of the alternation; what each refuses."""

from functools import partial

import numpy as np
import pytest

from dplib.consistency import (
    alternating,
    boosting,
    commuting,
    general,
    lblue,
    tree_smoother,
    unconstrained,
)
from dplib.consistency.problem import DAYS, NODES, SUMS, TREES, ConsistencyProblem, SolverOptions
from dplib.constraints.day_constraints import DayConstraints
from dplib.constraints.resolve import resolve
from dplib.constraints.specs import Equation, Total
from dplib.errors import SolverError
from dplib.progress import Progress, Round
from dplib.projection.affine import project
from dplib.projection.alternating import alternate, conjugate_sweeps
from dplib.projection.residual import largest_residual, mean_square_residual
from tests.support.oracles import dense_estimate
from tests.support.strategies import paper_problem, random_day_constraints, random_problem, regular_tree
from tests.support.tree_oracles import random_tree

PATIENT = SolverOptions(1e-11, 20_000, accelerated=False)


@pytest.mark.parametrize("n_days", [32, 128, 1024])
def test_paper_example(n_days: int) -> None:
    problem = paper_problem(n_days)
    values = commuting.solve(problem).values
    if n_days <= 128:
        np.testing.assert_allclose(values, dense_estimate(problem), atol=1e-9)
        np.testing.assert_allclose(general.solve(problem).values, values, atol=1e-9)
    np.testing.assert_allclose(tree_smoother.solve(problem).values, values, atol=1e-9)
    fast = alternating.solve(problem, SolverOptions(tol=1e-11))
    np.testing.assert_allclose(fast.values, values, atol=1e-9)
    assert fast.converged
    assert len(fast.rounds) <= 2 * np.log2(n_days)
    once = alternating.solve(problem, SolverOptions(tol=1e-9, split=(TREES, NODES)))
    np.testing.assert_allclose(once.values, values, atol=1e-9)
    assert len(once.rounds) == 2
    assert largest_residual(problem.tree, problem.day_constraints, values) < 1e-8


@pytest.mark.parametrize("n_days", [8, 16])
def test_alternation_converges_at_its_documented_rate(n_days: int) -> None:
    problem = paper_problem(n_days)
    best = commuting.solve(problem).values
    errors = []
    for rounds in (n_days, n_days + 1):
        values = alternating.solve(problem, SolverOptions(0.0, rounds, accelerated=False)).values
        errors.append(values[0] - best[0])
    ratio = errors[1] / errors[0]
    np.testing.assert_allclose(ratio, 1 - 1 / (2 * n_days - 1), rtol=1e-6)
    patient = alternating.solve(problem, PATIENT)
    np.testing.assert_allclose(patient.values, best, atol=1e-8)


def test_rounds_are_recorded_with_falling_deviation() -> None:
    problem = paper_problem(64)
    seen: list[Round] = []
    found = alternating.solve(problem, SolverOptions(1e-3, 40, accelerated=False), Progress(round=seen.append))
    assert tuple(seen) == found.rounds
    assert [each.number for each in seen] == list(range(1, len(seen) + 1))
    deviations = [each.deviation for each in seen]
    assert deviations == sorted(deviations, reverse=True)
    assert deviations[-1] == pytest.approx(mean_square_residual(problem.tree, problem.day_constraints, found.values))
    assert found.converged == (seen[-1].change <= 1e-3)
    assert not alternating.solve(problem, SolverOptions(tol=0.0, max_rounds=3)).converged


@pytest.mark.parametrize("seed", range(10))
def test_every_solver_on_random_problems(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, most_days=8, most_series=3, rhs=True)
    wanted = dense_estimate(problem)
    np.testing.assert_allclose(general.solve(problem).values, wanted, atol=1e-8)
    np.testing.assert_allclose(alternating.solve(problem, SolverOptions(1e-13, 500)).values, wanted, atol=1e-8)
    if seed < 4:
        np.testing.assert_allclose(alternating.solve(problem, PATIENT).values, wanted, atol=1e-5)
        equations = SolverOptions(1e-13, 20_000, (SUMS, DAYS))
        np.testing.assert_allclose(alternating.solve(problem, equations).values, wanted, atol=1e-5)
        np.testing.assert_allclose(lblue.solve(problem, PATIENT).values, wanted, atol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_general_and_alternating_take_unmeasured_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 9)
    day_constraints = resolve(
        ["a", "b", "c"], 9, totals=[Total("t", ("a", "b")), Total("u", ("t", "c"), True)]
    ).day_constraints
    variance = np.exp(rng.normal(size=(tree.n_nodes, 5)))
    variance[:, 3] = np.inf
    variance[0] = np.inf
    problem = ConsistencyProblem(tree, rng.normal(0, 10, variance.shape), variance, day_constraints)
    wanted = dense_estimate(problem)
    np.testing.assert_allclose(general.solve(problem).values, wanted, atol=1e-8)
    for options in (SolverOptions(1e-13, 500), PATIENT)[: 1 + (seed < 2)]:
        np.testing.assert_allclose(alternating.solve(problem, options).values, wanted, atol=1e-7)
    np.testing.assert_allclose(lblue.solve(problem, PATIENT).values, wanted, atol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_commuting_with_product_variances_right_hand_sides_and_free_totals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, 11)
    equations = [
        Equation({"a": 1, "b": 1}, 7, invariant=True, first=0, end=5),
        Equation({"a": 2, "b": 2}, 10, invariant=True, first=5),
    ]
    day_constraints = resolve(["a", "b", "c"], 11, totals=[Total("t", ("b", "c"))], equations=equations).day_constraints
    assert len(day_constraints) == 2
    variance = np.exp(rng.normal(size=(tree.n_nodes, 1))) * np.array([1.0, 5.0, 0.3, np.inf])
    variance[0] = np.inf
    problem = ConsistencyProblem(tree, rng.normal(0, 10, variance.shape), variance, day_constraints)
    np.testing.assert_allclose(commuting.solve(problem).values, dense_estimate(problem), atol=1e-9)
    np.testing.assert_allclose(tree_smoother.solve(problem).values, dense_estimate(problem), atol=1e-9)


@pytest.mark.parametrize(("branching", "n_levels"), [(1, 1), (2, 1), (2, 6), (3, 4), (5, 3)])
def test_boosting_equals_the_blue(branching: int, n_levels: int) -> None:
    tree = regular_tree(branching, n_levels)
    noisy = np.random.default_rng(1).normal(0, 10, (tree.n_nodes, 3))
    day_constraints = (DayConstraints(0, tree.n_leaves, np.zeros((0, 3)), np.zeros(0)),)
    problem = ConsistencyProblem(tree, noisy, np.broadcast_to([1.0, 2.0, 3.0], noisy.shape), day_constraints)
    np.testing.assert_allclose(boosting.solve(problem).values, unconstrained.solve(problem).values, atol=1e-9)


def test_refusals() -> None:
    rng = np.random.default_rng(2)
    problem = paper_problem(8)
    with pytest.raises(SolverError, match="day constraints, got boosting"):
        boosting.solve(problem)
    free = (DayConstraints(0, 8, np.zeros((0, 5)), np.zeros(0)),)
    uneven = ConsistencyProblem(problem.tree, problem.noisy, rng.uniform(1, 2, problem.noisy.shape), free)
    with pytest.raises(SolverError, match="variances differ by node"):
        boosting.solve(uneven)
    odd = random_tree(rng, 7)
    with pytest.raises(SolverError, match="complete k-ary tree"):
        boosting.solve(ConsistencyProblem(odd, np.zeros((odd.n_nodes, 5)), np.ones((odd.n_nodes, 5)), free))
    with pytest.raises(SolverError, match="another than commuting"):
        commuting.solve(ConsistencyProblem(problem.tree, problem.noisy, uneven.variance, problem.day_constraints))
    changing = random_day_constraints(np.random.default_rng(0), 8, 5)
    assert len(changing) > 1
    with pytest.raises(SolverError, match="another than commuting"):
        commuting.solve(ConsistencyProblem(problem.tree, problem.noisy, problem.variance, changing))
    same = ConsistencyProblem(problem.tree, problem.noisy, problem.variance, changing)
    with pytest.raises(SolverError, match="got nodes"):
        alternating.solve(same, SolverOptions(split=(TREES, NODES)))
    blind = np.array(problem.variance)
    blind[problem.tree.leaf_nodes[0], 0] = np.inf
    for solve in (alternating.solve, lblue.solve):
        with pytest.raises(SolverError, match="not measured"):
            solve(ConsistencyProblem(problem.tree, problem.noisy, blind, problem.day_constraints))
    huge = paper_problem(4096)
    with pytest.raises(SolverError, match="another than general"):
        general.solve(huge)


def test_alternate_takes_any_projections() -> None:
    # Two lines through the origin: the limit is their meeting point, the rate the squared cosine of their angle.
    angle = 0.3
    one, other = np.array([1.0, 0.0]), np.array([np.cos(angle), np.sin(angle)])
    sizes: list[float] = []
    found = alternate(
        [lambda x: one * (one @ x), lambda x: other * (other @ x)],
        np.array([1.0, 2.0]),
        1e-12,
        1000,
        lambda x: float(np.linalg.norm(x)),
        lambda number, change, deviation: sizes.append(deviation),
    )
    assert found.converged
    assert np.linalg.norm(found.values) < 1e-9
    assert sizes[5] / sizes[4] == pytest.approx(np.cos(angle) ** 2)


@pytest.mark.parametrize("sizes", [(4,), (2, 2), (1, 2, 1)])
def test_conjugate_sweeps_end_after_as_many_rounds_as_eigenvalues(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    rows, rhs, start, variance = rng.normal(size=(4, 9)), rng.normal(size=4), rng.normal(size=9), rng.uniform(1, 9, 9)
    rhs[: sizes[0]] = 0
    parts = np.split(np.arange(4), np.cumsum(sizes)[:-1])
    maps = [partial(project, variance=variance, matrix=rows[part], rhs=rhs[part]) for part in parts]
    found = conjugate_sweeps(maps, start, 1 / variance, tol=0.0, max_rounds=50)
    np.testing.assert_allclose(found.values, project(start, variance, rows, rhs), atol=1e-9)
    assert found.n_rounds <= 6
