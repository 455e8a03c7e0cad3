"""The choice of a solver: from settings alone, exact, and independent groups apart."""

import numpy as np
import pytest

from dplib.consistency.choose import SOLVERS, choose, solve
from dplib.consistency.problem import ConsistencyProblem, SolverOptions
from dplib.constraints.day_constraints import DayConstraints
from tests.support.oracles import dense_estimate
from tests.support.strategies import paper_problem, random_problem


def test_picks_the_cheapest_exact_solver() -> None:
    problem = paper_problem(16)
    tree, noisy = problem.tree, problem.noisy
    free = (DayConstraints(0, 16, np.zeros((0, 5)), np.zeros(0)),)
    uneven = np.random.default_rng(0).uniform(1, 2, noisy.shape)
    half = problem.day_constraints[0]
    changing = (
        DayConstraints(0, 8, half.matrix, half.rhs, half.generators),
        DayConstraints(8, 16, half.matrix[:1], half.rhs[:1]),
    )
    picked = {
        "tree_blue": ConsistencyProblem(tree, noisy, uneven, free),
        "commuting": problem,
        "tree_smoother": ConsistencyProblem(tree, noisy, uneven, problem.day_constraints),
    }
    for name, case in picked.items():
        assert choose(case).name == name
        assert choose(case).reason.endswith(".")
    assert "differ by day" in choose(ConsistencyProblem(tree, noisy, problem.variance, changing)).reason


def test_reads_no_counts() -> None:
    problem = paper_problem(16)
    blank = ConsistencyProblem(
        problem.tree, np.full(problem.noisy.shape, np.nan), problem.variance, problem.day_constraints
    )
    assert choose(blank) == choose(problem)


@pytest.mark.parametrize("seed", range(20))
def test_auto_is_exact(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), rhs=True)
    found = solve(problem)
    assert found.solver == choose(problem).name
    np.testing.assert_allclose(found.values, dense_estimate(problem), atol=1e-8)


def test_named_solvers_answer_under_their_name() -> None:
    problem = paper_problem(8)
    for name in set(SOLVERS) - {"boosting", "tree_blue"}:
        assert solve(problem, name, SolverOptions(max_rounds=5)).solver.startswith(name)
