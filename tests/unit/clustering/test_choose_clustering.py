"""Which clustering method runs: the rule, what is refused and why."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplib.clustering.choose import METHODS, plan_method, run_plan
from dplib.clustering.problem import Problem
from dplib.clustering.rejected_methods import REFUSED
from dplib.clustering.source import Blocks
from dplib.clustering.space import Space
from dplib.errors import ConfigError
from dplib.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dplib.privacy.noise import Law
from tests.support.clustering import keyed, mixture

PURE, APPROX, RHO = PureDP(Fraction(1)), ApproxDP(Fraction(1), Fraction(1, 10**6)), ZCDP(Fraction(1, 50))


def _problem(d: int, k: int = 3) -> Problem:
    return Problem(Space.ball([0.0] * d, 1.0), k)


@pytest.mark.parametrize(("n", "k", "method"), [(10, 4, "grid"), (300, 4, "quadtree"), (300, 90, "grid")])
def test_in_format_1_a_noisy_number_of_points_decides_between_the_grids(n: int, k: int, method: str) -> None:
    problem = replace(_problem(2, k), format=1)
    source = Blocks(problem.space.to_units(mixture(n, 2, 4, 1)))
    found = run_plan(source, keyed(1), problem, plan_method(problem, PURE))
    assert found.method == method
    assert sum(event.epsilon or 0 for event in found.events) <= 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("budget", [PURE, APPROX, RHO], ids=["pure", "approximate", "rho"])
def test_a_named_method_runs_within_its_budget_or_is_refused_beforehand(method: str, budget: Budget) -> None:
    problem = _problem(2)
    if budget is PURE and method in ("tree_coreset", "max_cover"):
        with pytest.raises(ConfigError, match="have a delta"):
            plan_method(problem, budget, method)
        return
    plan = plan_method(problem, budget, method)
    if method == "privgene":
        return  # its own tests run it with a smaller population
    found = run_plan(Blocks(problem.space.to_units(mixture(500, 2, 3, 1))), keyed(2), problem, plan)
    assert found.centers.shape == (3, 2)
    rho = sum(event.rho for event in found.events)
    if plan.noise is Law.LAPLACE:
        assert sum(event.epsilon or 0 for event in found.events) <= plan.amount
    else:
        assert rho <= plan.amount


def test_pure_methods_in_rho_spend_no_more_than_the_rho() -> None:
    plan = plan_method(_problem(2), RHO, "grid")
    assert plan.amount**2 / 2 <= RHO.rho
    assert plan.amount**2 / 2 > RHO.rho * Fraction(999, 1000)


def test_lloyd_and_sample_aggregate_take_both_kinds_of_noise() -> None:
    for method in ("lloyd", "sample_aggregate"):
        assert plan_method(_problem(2), APPROX, method).noise is Law.LAPLACE
        assert plan_method(_problem(8), APPROX, method).noise is Law.GAUSSIAN
        assert plan_method(_problem(8), PURE, method).noise is Law.LAPLACE
        with pytest.raises(ConfigError, match="have a delta"):
            plan_method(_problem(8), PURE, method, Law.GAUSSIAN)


@pytest.mark.parametrize("name", REFUSED)
def test_refused_algorithms_say_why_and_what_to_use(name: str) -> None:
    with pytest.raises(ConfigError, match="Use ") as caught:
        plan_method(_problem(2), APPROX, name)
    assert REFUSED[name] in str(caught.value)


def test_wrong_choices_are_refused() -> None:
    for method, d in (("max_cover", 4), ("quadtree", 7), ("grid", 21)):
        with pytest.raises(ConfigError, match="tree_coreset"):
            plan_method(_problem(d), APPROX, method)
    with pytest.raises(ConfigError, match="method must be one of"):
        plan_method(_problem(2), PURE, "k-means")
    with pytest.raises(ConfigError, match="noise"):
        plan_method(_problem(2), APPROX, "grid", Law.GAUSSIAN)


def test_the_estimated_loss_of_a_coreset_is_near_the_true_one() -> None:
    problem = Problem(Space.ball([0.0] * 10, 1.0), 5)
    points = problem.space.to_units(mixture(50_000, 10, 5, 4))
    budget = ApproxDP(Fraction(1), Fraction(1, 10**6))
    found = run_plan(Blocks(points), keyed(3), problem, plan_method(problem, budget, "tree_coreset"))
    true = sum(
        float(((part[:, np.newaxis] - found.centers) ** 2).sum(axis=2).min(axis=1).sum())
        for part in np.array_split(points, 20)
    )
    assert found.loss == pytest.approx(true, rel=0.2)
    sizes = np.sort(found.weights)
    labels = ((points[:, np.newaxis] - found.centers) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_allclose(sizes, np.sort(np.bincount(labels, minlength=5)), atol=300)
