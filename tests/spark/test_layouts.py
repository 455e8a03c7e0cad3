"""Post-processing on Spark: every layout gives the numbers of the kernels in one process, however data are spread."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from dplib.config.load import check
from dplib.consistency import tree_smoother
from dplib.errors import ConfigError, SolverError
from dplib.jobs.consistent_histograms import block_layout, reference_layout
from dplib.jobs.consistent_histograms.config import ConsistentHistogramsConfig
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import problem
from dplib.jobs.consistent_histograms.layouts import results_in_layout
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.publish import Results, results_on_driver, write_tables
from dplib.jobs.consistent_histograms.rows import row_kinds
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.jobs.consistent_histograms.work_blocks import in_work_blocks
from dplib.progress import SILENT, Progress, Round
from dplib.spark.engine import in_process
from dplib.spark.engine.in_process import session_in_process
from dplib.spark.engine.rounds import BlockRounds
from dplib.workflow.run_keys import RunKeys

ITEMS = ["cola", "burger", "fries", "wings", "salad"]
PACKAGES = {
    "meal": {"cola": 2, "burger": 1, "wings": 1, "salad": 1},
    "box": {"burger": 2, "fries": 1, "wings": 2},
    "snack": {"cola": 1, "burger": 1, "fries": 1, "salad": 1},
}
SUMMER = {"family": {"cola": 4, "burger": 3, "fries": 2}, "snack": PACKAGES["snack"]}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "packages": {"constraints": [{"packages": PACKAGES}]},
    "menus": {
        "constraints": [
            {"packages": PACKAGES, "to": "2021-01-21"},
            {"packages": SUMMER, "from": "2021-01-22", "to": "2021-02-14"},
            {"packages": PACKAGES, "from": "2021-02-15"},
        ]
    },
    "totals": {
        "constraints": [
            {"totals": {"food": ["burger", "fries", "wings"]}, "measured": True},
            {"totals": {"everything": ["food", "cola"]}},
        ]
    },
    "equations": {
        "constraints": [{"equations": {"fixed": {"coefficients": {"cola": 1, "burger": 1}, "value": 30}}}],
        "privacy": {"unit": "event", "neighbors": "replace_one", "budget": {"epsilon": 1}},
        # An integer programme a day: few days.
        "domain": {"items": ITEMS, "first_day": "2021-01-01", "last_day": "2021-01-04"},
        "tree": {"branching": [2, 2]},
    },
}
FIVE_ROUNDS = {"method": "alternating", "max_rounds": 5, "tol": 1e-4, "accept_unconverged": True}


def make_design(case: str, max_cells: int = 64, tree: Any = None, **solver: Any) -> Design:
    changes = CASES[case]
    packages = case in ("packages", "menus")
    settings = {
        "config_version": 1,
        "job": "consistent-histograms",
        "dataset": "test",
        "input": {"path": "none", "columns": {"day": "day", ("package" if packages else "item"): "name"}},
        "privacy": {"unit": "event", "budget": {"epsilon": 1}},
        "domain": {"items": ITEMS, "first_day": "2021-01-01", "last_day": "2021-03-01"},
        "tree": tree or {"branching": [3, 2, 10]},
        "publish": {"solver": solver},
    } | changes
    return replace(Design.resolve(check(ConsistentHistogramsConfig, settings), Path()), block_cells=max_cells)


def measured(design: Design, directory: Path, secret: bytes, progress: Progress = SILENT) -> Results:
    """Store a measurement of random counts; the results in one process."""
    return results_on_driver(design, stored(design, directory, secret), progress)


def stored(design: Design, directory: Path, secret: bytes) -> Path:
    """Store a measurement of random counts."""
    counts = np.random.default_rng(3).poisson(8.0, (design.tree.n_leaves, len(row_kinds(design)))).astype(np.int64)
    measure_on_driver(design, counts, RunKeys("test", secret, secret, secret), directory)
    return directory


def assert_same(found: Results, wanted: Results, layout: str) -> None:
    assert found.layout == layout
    assert found.solution.solver == wanted.solution.solver
    scale = np.abs(wanted.solution.values).max()
    np.testing.assert_allclose(found.solution.values, wanted.solution.values, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(found.std_error, wanted.std_error, rtol=1e-9)
    np.testing.assert_array_equal(found.tables.published, wanted.tables.published)
    np.testing.assert_array_equal(found.tables.counts, wanted.tables.counts)


ONE_PROCESS = 0
"""Instead of a number of partitions: the same steps without Spark. On Spark each layout runs once."""


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is mapped without Spark goes through bytes, as all that executors get does."""
    for kind, name in ((in_process._Frame, "mapInArrow"), (in_process._Grouped, "applyInArrow")):
        call = getattr(kind, name)

        def send(frame: Any, function: Any, columns: str, call: Any = call) -> Any:
            return call(frame, cloudpickle.loads(cloudpickle.dumps(function)), columns)

        monkeypatch.setattr(kind, name, send)


@pytest.mark.parametrize(
    ("case", "max_cells", "tree"),
    [
        ("plain", 64, None),
        ("packages", 64, None),
        ("packages", 1 << 20, None),
        ("packages", 5, {"branching": [3, 2, 10], "root": True}),
        ("menus", 64, None),
        ("menus", 300, {"levels": ["month", "day"]}),
        ("totals", 64, None),
        ("equations", 16, None),
    ],
)
def test_exact_solvers_in_blocks(tmp_path: Path, secret: bytes, case: str, max_cells: int, tree: Any) -> None:
    design = make_design(case, max_cells, tree)
    wanted = measured(design, tmp_path, secret)
    assert_same(results_in_layout(session_in_process(), design, tmp_path, "blocks"), wanted, "blocks")


def in_layout(
    request: pytest.FixtureRequest,
    design: Design,
    directory: Path,
    layout: str,
    n_partitions: int,
    progress: Progress = SILENT,
) -> Results:
    """The results on Spark, or without it."""
    if n_partitions == ONE_PROCESS:
        return results_in_layout(session_in_process(), design, directory, layout, progress)
    return results_in_layout(request.getfixturevalue("spark"), design, directory, layout, progress, n_partitions)


PLAIN_ROUNDS = FIVE_ROUNDS | {"acceleration": "none"}


@pytest.mark.parametrize(
    ("layout", "case", "solver", "max_cells", "n_partitions"),
    [
        ("blocks", "menus", PLAIN_ROUNDS, 64, ONE_PROCESS),
        ("blocks", "totals", PLAIN_ROUNDS, 300, ONE_PROCESS),
        ("blocks", "equations", FIVE_ROUNDS, 16, ONE_PROCESS),
        ("blocks", "menus", FIVE_ROUNDS, 64, 2),
        ("blocks", "plain", FIVE_ROUNDS, 300, ONE_PROCESS),
        ("reference", "plain", {}, 300, ONE_PROCESS),
        ("reference", "packages", {}, 64, ONE_PROCESS),
        ("reference", "totals", {}, 1 << 20, ONE_PROCESS),
        ("reference", "equations", {}, 16, ONE_PROCESS),
        ("reference", "menus", PLAIN_ROUNDS, 64, ONE_PROCESS),
        ("reference", "totals", PLAIN_ROUNDS, 300, ONE_PROCESS),
        ("reference", "menus", FIVE_ROUNDS, 64, ONE_PROCESS),
        ("reference", "equations", FIVE_ROUNDS, 16, ONE_PROCESS),
        ("reference", "plain", FIVE_ROUNDS, 300, 1),
    ],
)
def test_rounds_in_a_layout_are_those_of_one_process(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    secret: bytes,
    monkeypatch: pytest.MonkeyPatch,
    layout: str,
    case: str,
    solver: dict[str, Any],
    max_cells: int,
    n_partitions: int,
) -> None:
    # States are stored after every second round and the plan is cut after two of them, so that few rounds do it all.
    monkeypatch.setattr(block_layout, "BlockRounds", partial(BlockRounds, keep_every=2, max_depth=2))
    monkeypatch.setattr(reference_layout, "CUT_EVERY", 2)
    design = make_design(case, max_cells, **solver)
    there: list[Round] = []
    here: list[Round] = []
    wanted = measured(design, tmp_path, secret, Progress(round=there.append))
    found = in_layout(request, design, tmp_path, layout, n_partitions, Progress(round=here.append))
    assert_same(found, wanted, layout)
    assert found.solution.converged == wanted.solution.converged
    assert_same_rounds(found.solution.rounds, wanted.solution.rounds)
    assert_same_rounds(sorted(here, key=lambda each: each.number), sorted(there, key=lambda each: each.number))


def assert_same_rounds(found: Sequence[Round], wanted: Sequence[Round]) -> None:
    assert [each.number for each in found] == [each.number for each in wanted]
    for name in ("change", "deviation"):
        np.testing.assert_allclose(
            [getattr(each, name) for each in found], [getattr(each, name) for each in wanted], rtol=1e-6, atol=1e-12
        )


def test_methods_that_cannot_be_split_run_elsewhere(tmp_path: Path, secret: bytes) -> None:
    session = session_in_process()
    whole = make_design("packages", method="lblue", max_rounds=3, accept_unconverged=True)
    wanted = measured(whole, tmp_path / "whole", secret)
    assert_same(results_in_layout(session, whole, tmp_path / "whole", "blocks"), wanted, "driver")
    smoother = make_design("menus")
    wanted = measured(smoother, tmp_path / "smoother", secret)
    assert_same(results_in_layout(session, smoother, tmp_path / "smoother", "reference"), wanted, "blocks")


def test_a_refusal_is_the_same_in_every_layout(tmp_path: Path, secret: bytes) -> None:
    design = make_design("menus", method="commuting")
    for layout in ("driver", "blocks", "reference"):
        with pytest.raises(SolverError, match="another than commuting"):
            results_in_layout(session_in_process(), design, stored(design, tmp_path, secret), layout)


def test_tables_have_the_same_bytes_without_constraints(tmp_path: Path, secret: bytes) -> None:
    design = make_design("plain")
    wanted = measured(design, tmp_path / "measured", secret)
    write_tables(design, wanted, tmp_path / "driver")
    in_blocks = results_in_layout(session_in_process(), design, tmp_path / "measured", "blocks")
    write_tables(design, in_blocks, tmp_path / "blocks")
    files = sorted(path.relative_to(tmp_path / "driver") for path in (tmp_path / "driver").rglob("*.parquet"))
    assert len(files) == 2 * (design.blocks.n_blocks + 1)
    for file in files:
        assert (tmp_path / "blocks" / file).read_bytes() == (tmp_path / "driver" / file).read_bytes()


ROOTED = {"branching": [3, 2, 10], "root": True}


@pytest.mark.parametrize(("case", "layout"), [("totals", "blocks"), ("menus", "reference")])
def test_rounds_in_several_blocks_end_by_themselves_at_the_optimum(
    tmp_path: Path, secret: bytes, case: str, layout: str
) -> None:
    """In the rounds, and with the numbers, of the driver."""
    design = make_design(case, 64, ROOTED, method="alternating")
    assert design.blocks.n_blocks > 5
    wanted = measured(design, tmp_path, secret)
    found = results_in_layout(session_in_process(), design, tmp_path, layout)
    assert_same(found, wanted, layout)
    best = tree_smoother.solve(problem(design, Tables(tmp_path, design).read_measurement())).values
    assert found.solution.converged
    assert len(found.solution.rounds) == len(wanted.solution.rounds) <= 40
    np.testing.assert_allclose(found.solution.values, best, atol=1e-8)


def test_days_a_block_change_no_number(tmp_path: Path, secret: bytes) -> None:
    wanted: Results | None = None
    for block_days, n_blocks in ((25, 3), (1000, 3), (10, 6), (1, 60)):
        design = make_design("menus", 300, ROOTED, block_days=block_days)
        assert design.blocks.n_blocks == 3
        assert in_work_blocks(design).blocks.n_blocks == n_blocks
        wanted = wanted or measured(design, tmp_path, secret)
        if n_blocks > 3:  # the stored blocks themselves are those of the tests above
            assert_same(results_in_layout(session_in_process(), design, tmp_path, "blocks"), wanted, "blocks")


@pytest.mark.parametrize("layout", ["driver", "blocks", "reference"])
def test_rounds_that_end_early_are_refused(tmp_path: Path, secret: bytes, layout: str) -> None:
    design = make_design("menus", method="alternating", acceleration="none", max_rounds=3)
    session = session_in_process()
    with pytest.raises(ConfigError, match=r"3 rounds .*acceleration out, or raise it .* costs nothing") as refusal:
        results_in_layout(session, design, stored(design, tmp_path, secret), layout)
    assert refusal.value.exit_code == 2
