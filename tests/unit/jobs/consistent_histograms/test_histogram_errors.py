"""Estimates and errors of a design with several independent problems, against dense least squares on all of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.load import check
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.errors import Errors
from dplib.jobs.consistent_histograms.estimate import chosen_solvers, estimate, problem
from dplib.privacy.noise_quantile import std_error
from tests.support.oracles import dense_day_covariance, dense_estimate, range_rows

TWO = [{"totals": {"ab": ["a", "b"]}, "measured": True}, {"totals": {"cd": ["c", "d"]}, "measured": True}]
CHANGING = [*TWO, {"totals": {"ef": ["e", "f"]}, "measured": True, "from": "2024-01-03", "to": "2024-01-05"}]
CASES = {
    "two": (TWO, ["commuting", "tree_blue"]),
    "changing": (CHANGING, ["commuting", "tree_smoother", "tree_blue"]),
    "crossing": ([*TWO, {"totals": {"bc": ["b", "c"], "all": ["ab", "cd", "e"]}}], ["commuting", "tree_blue"]),
}


def shop(constraints: list[dict[str, Any]]) -> Design:
    made = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "shop",
        "input": {"path": "rows.csv", "columns": {"day": "d", "item": "i"}},
        "privacy": {"unit": "event", "budget": {"rho": "1/2"}},
        "domain": {"items": list("abcdefg"), "first_day": "2024-01-01", "last_day": "2024-01-07"},
        "constraints": constraints,
        "tree": {"branching": [3, 3], "shares": [1, 2]},
    }
    return Design.resolve(check(ConsistentHistogramsConfig, made), Path())


@pytest.mark.parametrize("case", CASES)
def test_every_problem_is_the_dense_one(case: str) -> None:
    constraints, solvers = CASES[case]
    design, rng = shop(constraints), np.random.default_rng(2)
    assert [name for name, _ in chosen_solvers(design, design.config.publish.solver)] == solvers
    noisy = rng.normal(20, 5, (design.tree.n_nodes, len(design.series))) * np.isfinite(design.variance)
    whole = problem(design, noisy)
    solution = estimate(design, noisy, design.config.publish.solver)
    np.testing.assert_allclose(solution.values, dense_estimate(whole), atol=1e-9)
    assert solution.solver == ", ".join(solvers)
    errors, covariance = Errors(design), dense_day_covariance(whole)
    for lo, hi in ((0, 7), (2, 3), (1, 6)):
        rows = range_rows(7, len(design.series), lo, hi)
        dense = rows @ covariance @ rows.T
        np.testing.assert_allclose(errors.range_std_error(lo, hi), np.sqrt(np.diag(dense)), rtol=1e-9)
        chosen = rng.choice(len(design.series), 4, replace=False)
        wanted = np.sqrt(dense[np.ix_(chosen, chosen)].sum())
        assert errors.sum_std_error(lo, hi, chosen) == pytest.approx(wanted, rel=1e-9)
        # The law that the half width is read from has the same variance.
        assert errors.sum_half_width(lo, hi, chosen) == pytest.approx(1.96 * wanted, rel=0.02)
        assert std_error(errors.sum_draws(lo, hi, chosen)) == pytest.approx(wanted, rel=1e-6)
