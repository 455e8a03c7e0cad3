"""Estimates and errors of a design with several independent problems, against dense least squares on all of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.config.load import check
from dplib.consistency import choose
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


def test_many_classes_that_change_are_solved_matrix_free(monkeypatch: pytest.MonkeyPatch) -> None:
    constraints = [*TWO, {"totals": {"ac": ["a", "c"]}, "from": "2024-01-03", "to": "2024-01-05"}]
    design, rng = shop(constraints), np.random.default_rng(3)
    noisy = rng.normal(20, 5, (design.tree.n_nodes, len(design.series))) * np.isfinite(design.variance)
    covariances = Errors(design)
    assert not np.isnan(covariances.range_std_error(1, 6)).any()
    monkeypatch.setattr(choose, "MAX_CLASSES", 4)
    assert [name for name, _ in chosen_solvers(design, design.config.publish.solver)] == ["matrix_free", "tree_blue"]
    whole, solution = problem(design, noisy), estimate(design, noisy, design.config.publish.solver)
    np.testing.assert_allclose(solution.values, dense_estimate(whole), atol=1e-9)
    errors, asked = Errors(design), np.array([0, 4, 9])
    unknown = np.isnan(errors.range_std_error(1, 6))
    assert unknown.sum() == 7
    assert np.array_equal(np.isnan(errors.node_std_error()).all(axis=0), unknown)
    # What is asked for is worked out, a solution each.
    np.testing.assert_allclose(errors.std_errors(1, 6, asked), covariances.range_std_error(1, 6)[asked], rtol=1e-9)
    np.testing.assert_allclose(errors.half_widths(1, 6, asked), covariances.half_widths(1, 6, asked), rtol=1e-3)
    assert errors.sum_std_error(1, 6, asked) == pytest.approx(covariances.sum_std_error(1, 6, asked), rel=1e-9)
