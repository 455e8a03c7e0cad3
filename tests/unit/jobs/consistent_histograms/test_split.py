"""Named splits: any groups of constraints reach the same optimum; what is unknown or left out is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.consistency import tree_smoother
from dplib.errors import ConfigError, SolverError
from dplib.jobs.consistent_histograms.convergence import require_reachable
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import estimate, problem
from dplib.jobs.consistent_histograms.layouts import results_in_layout
from dplib.jobs.consistent_histograms.publish import results_on_driver
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.spark.engine.in_process import session_in_process
from tests.spark.test_layouts import make_design, stored
from tests.unit.jobs.consistent_histograms.test_nearest_table import small

MONTHS = {"levels": ["month", "day"], "shares": [0, 1]}
LAYOUTS = "blocks", "reference"
SPLITS: list[tuple[str, list[Any], tuple[str, ...]]] = [
    ("totals", ["trees", "food", "everything"], LAYOUTS[:1]),
    ("totals", [["everything", "food"], "trees", "sums"], LAYOUTS[:1]),
    ("totals", ["food", "sums", "everything"], LAYOUTS[1:]),
    ("menus", ["sums", "days"], LAYOUTS[:1]),
    ("menus", ["packages", "trees"], LAYOUTS[1:]),
    ("packages", ["trees", "nodes"], LAYOUTS),
    ("equations", ["nodes", "sums"], LAYOUTS[:1]),
]


@pytest.mark.parametrize(("case", "split", "layouts"), SPLITS)
def test_every_split_reaches_the_optimum(
    case: str, split: list[Any], layouts: tuple[str, ...], tmp_path: Path, secret: bytes
) -> None:
    """On the driver and in other layouts, which take as many rounds."""
    designs = {
        layout: small(case, method="alternating", split=split, tol=1e-11, layout=layout)
        for layout in ("driver", *layouts)
    }
    driver = designs["driver"]
    assert driver.blocks.n_blocks > 3
    require_reachable(driver)
    here = results_on_driver(driver, stored(driver, tmp_path, secret)).solution
    best = tree_smoother.solve(problem(driver, Tables(tmp_path, driver).read_measurement())).values
    np.testing.assert_allclose(here.values, best, atol=1e-7)
    assert len(here.rounds) <= 60
    for layout in layouts:
        found = results_in_layout(session_in_process(), designs[layout], tmp_path, layout)
        assert found.layout == layout
        assert found.solution.converged
        assert len(found.solution.rounds) == len(here.rounds)
        np.testing.assert_allclose(found.solution.values, best, atol=1e-7)


@pytest.mark.parametrize("layout", ["driver", "blocks", "reference"])
def test_plain_rounds_of_a_split(layout: str, tmp_path: Path, secret: bytes) -> None:
    settings = {"acceleration": "none", "max_rounds": 20_000, "tol": 1e-9, "layout": layout}
    design = small("packages", method="alternating", split=["trees", "nodes"], **settings)
    stored(design, tmp_path, secret)
    found = results_in_layout(session_in_process(), design, tmp_path, layout)
    best = tree_smoother.solve(problem(design, Tables(tmp_path, design).read_measurement())).values
    assert found.layout == layout
    np.testing.assert_allclose(found.solution.values, best, atol=1e-7)
    with pytest.raises(ConfigError, match=r"layout must be driver where plain rounds .*, got blocks"):
        small("packages", method="alternating", split=["sums", "days"], **settings | {"layout": "blocks"})


@pytest.mark.parametrize(
    ("case", "tree", "split", "said"),
    [
        ("menus", None, ["trees", "nodes"], "be of trees and days where constraints differ by day, got trees . nodes"),
        ("packages", MONTHS, ["sums", "days"], "be of trees and days where inner nodes are not measured"),
        ("packages", MONTHS, ["trees", "nodes"], "be of trees and days where inner nodes are not measured"),
    ],
)
def test_splits_that_settings_do_not_take(case: str, tree: Any, split: list[Any], said: str) -> None:
    with pytest.raises(SolverError, match=said):
        require_reachable(make_design(case, tree=tree, method="alternating", split=split))


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
