"""Named splits: any groups of constraints reach the same optimum; what is unknown or left out is refused."""

from typing import Any

import numpy as np
import pytest

from dplib.consistency import tree_smoother
from dplib.errors import ConfigError, SolverError
from dplib.jobs.consistent_histograms.convergence import require_reachable
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import estimate, problem
from tests.spark.test_layouts import make_design
from tests.unit.jobs.consistent_histograms.test_nearest_table import small


@pytest.mark.parametrize(
    ("case", "split"),
    [
        ("totals", ["trees", "food", "everything"]),
        ("totals", [["everything", "food"], "trees"]),
        ("totals", ["sums", "days"]),
        ("packages", ["trees", "nodes"]),
        ("packages", ["packages", "trees"]),
    ],
)
def test_every_split_reaches_the_optimum(case: str, split: list[Any]) -> None:
    design = small(case, method="alternating", split=split, tol=1e-12, max_rounds=20_000)
    shape = (design.tree.n_nodes, len(design.series))
    noisy = np.random.default_rng(0).normal(0, 10, shape)
    found = estimate(design, noisy, design.config.publish.solver)
    assert found.converged
    np.testing.assert_allclose(found.values, tree_smoother.solve(problem(design, noisy)).values, atol=1e-7)


@pytest.mark.parametrize(
    ("split", "said"),
    [
        (["trees", "food"], "hold every constraint in some group, got trees . food"),
        (["days", "nodes"], "hold every constraint in some group"),
        (["trees", "drinks"], "name groups among trees, .* everything; .* got drinks"),
    ],
)
def test_splits_that_are_refused(split: list[Any], said: str) -> None:
    design: Design = make_design("totals", method="alternating", split=split)
    with pytest.raises(SolverError, match=said):
        require_reachable(design)
    with pytest.raises(ConfigError, match=said):
        estimate(design, np.zeros((design.tree.n_nodes, len(design.series))), design.config.publish.solver)
