"""The nearest non-negative table against quadratic programming, on the driver and in blocks."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls

from dplib.arrays import FloatArray
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms import newton_rounds
from dplib.jobs.consistent_histograms.check import violation
from dplib.jobs.consistent_histograms.config import Tree
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.estimate import estimate
from dplib.jobs.consistent_histograms.layouts import results_in_layout
from dplib.jobs.consistent_histograms.nearest_table import nearest_on_driver
from dplib.jobs.consistent_histograms.publish import results_on_driver
from dplib.jobs.consistent_histograms.tables import Tables
from dplib.projection.affine import null_basis, particular
from dplib.spark.engine.in_process import session_in_process
from tests.spark.test_layouts import ITEMS, make_design, stored


def quadratic_programme(design: Design, noisy: FloatArray) -> FloatArray:
    """Least squares with inequalities by Lawson and Hanson's least distance programming; dense, counts of days."""
    tree, n = design.tree, len(design.series)
    bases, origins = [], []
    for daily in design.constraints.day_constraints:
        basis = null_basis(daily.matrix.toarray())
        bases += [basis] * (daily.end - daily.first)
        origins += [particular(daily)] * (daily.end - daily.first)
    ends = np.cumsum([0, *(basis.shape[1] for basis in bases)])
    free = np.zeros((tree.n_leaves * n, ends[-1]))
    for day, basis in enumerate(bases):
        free[day * n : (day + 1) * n, ends[day] : ends[day + 1]] = basis
    origin = np.concatenate(origins)
    sums = np.kron(tree.sums(np.eye(tree.n_leaves)), np.eye(n))
    root = np.where(np.isfinite(design.variance), 1 / np.sqrt(design.variance), 0.0).ravel()[:, None]
    orthogonal, upper = np.linalg.qr(root * (sums @ free))
    wanted = orthogonal.T @ (root[:, 0] * (noisy.ravel() - sums @ origin))
    bounds = np.linalg.solve(upper.T, free.T).T
    least = -origin - bounds @ wanted
    held = nnls(np.vstack([bounds.T, least]), np.append(np.zeros(len(upper)), 1.0), maxiter=10_000)[0]
    left = np.vstack([bounds.T, least]) @ held - np.append(np.zeros(len(upper)), 1.0)
    days = origin + free @ np.linalg.solve(upper, wanted - left[:-1] / left[-1])
    return days.reshape(-1, n)


def small(case: str, **solver: Any) -> Design:
    """A case of `test_layouts` on 20 days; menus change on the tenth."""
    whole = make_design(case, **solver)
    kept = list(whole.config.constraints)
    if case == "menus":
        kept = [kept[0].model_copy(update={"last": whole.date(8)}), kept[1].model_copy(update={"first": whole.date(9)})]
    changed = {
        "domain": whole.config.domain.model_copy(update={"last_day": whole.date(19)}),
        "constraints": kept,
        "tree": Tree(branching=[2, 2, 5], root=True),
        "publish": whole.config.publish.model_copy(update={"counts": "reals"}),
    }
    config = whole.config.model_copy(update=changed)
    return replace(Design.of(config, whole.rows_are_packages), block_cells=64)


@pytest.mark.parametrize(
    ("case", "max_linked"),
    [(case, newton_rounds.MAX_LINKED) for case in ("plain", "packages", "menus", "totals", "equations")]
    + [(case, 1) for case in ("packages", "menus", "totals", "equations")],
)
def test_equal_to_quadratic_programming(
    case: str, max_linked: int, tmp_path: Path, secret: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    # By Newton's method, and by conjugate gradients where constraints link more series than it takes.
    monkeypatch.setattr(newton_rounds, "MAX_LINKED", max_linked)
    design = small(case)
    stored(design, tmp_path, secret)
    noisy = Tables(tmp_path, design).read_measurement()
    wanted = quadratic_programme(design, noisy)
    days = estimate(design, noisy, design.config.publish.solver).values[design.tree.leaf_nodes]
    assert (days < 0).mean() > 0.05
    assert design.blocks.n_blocks > 1
    here = results_on_driver(design, tmp_path).tables
    there = results_in_layout(session_in_process(), design, tmp_path, "blocks").tables
    for table in (here, there):
        assert table.published.all()
        np.testing.assert_allclose(table.counts[design.tree.leaf_nodes], wanted, atol=1e-6)
        assert table.counts.min() >= 0
        assert violation(design, table.counts, table.published) < 1e-7


def test_a_table_that_is_not_reached_is_refused() -> None:
    design = small("packages", max_rounds=2)
    values = np.random.default_rng(0).normal(0, 10, (design.tree.n_nodes, len(ITEMS)))
    with pytest.raises(ConfigError, match=r"2 rounds .* leave publish.counts at integers; the measurement is kept"):
        nearest_on_driver(design, values)
