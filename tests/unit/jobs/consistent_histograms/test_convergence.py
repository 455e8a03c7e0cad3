"""Settings whose rounds end before their threshold are refused before a reservation; others are not."""

from typing import Any

import numpy as np
import pytest

from dplib.consistency import alternating
from dplib.consistency.problem import SolverOptions
from dplib.errors import SolverError
from dplib.jobs.consistent_histograms.convergence import require_reachable
from tests.spark.test_layouts import make_design
from tests.support.strategies import paper_problem


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        ({}, ""),
        ({"max_rounds": 3}, "3 rounds, .*by .*: raise it or publish.solver.tol"),
        ({"max_rounds": 3, "accept_unconverged": True}, ""),
        ({"acceleration": "none", "tol": 1e-11}, "500 rounds, .*: leave publish.solver.acceleration out, or raise it"),
        ({"acceleration": "none", "tol": 1e-11, "max_rounds": 5000}, ""),
        ({"acceleration": "none", "tol": 0.5}, ""),
    ],
)
def test_settings_that_cannot_converge_are_known_before(solver: dict[str, Any], said: str) -> None:
    design = make_design("menus", method="alternating", **solver)
    if not said:
        require_reachable(design)
        return
    with pytest.raises(SolverError, match=said):
        require_reachable(design)


@pytest.mark.parametrize("n_days", [32, 64])
def test_the_change_of_plain_rounds_is_foreseen(n_days: int) -> None:
    problem = paper_problem(n_days)
    fast = alternating.accelerated_rounds(problem, SolverOptions(0.0, 100))
    plain = alternating.solve(problem, SolverOptions(0.0, 600, accelerated=False))
    for number in (100, 300, 600):
        change = fast.plain_changes(number) * float(np.sqrt(problem.variance.max() / problem.noisy.size))
        assert 0.2 < change / plain.rounds[number - 1].change < 5
