"""Rounds that stop before their threshold give no optimum: nothing states the optimum's errors of them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from dplib.jobs.consistent_histograms.check import check_tables
from dplib.jobs.consistent_histograms.measure import measure_on_driver
from dplib.jobs.consistent_histograms.publish import manifest_fields, results_on_driver, write_tables
from dplib.jobs.consistent_histograms.query import query_release
from dplib.jobs.consistent_histograms.rows import row_domain
from dplib.jobs.consistent_histograms.tables import ESTIMATES, Tables
from dplib.jobs.consistent_histograms.terminal import shown_answers
from dplib.release.manifest import Manifest
from dplib.release.tables import read_table
from tests.support.golden import golden_keys
from tests.unit.jobs.consistent_histograms.test_design import TOTALS, design


@pytest.mark.parametrize(("rounds", "converged"), [(2, False), (500, True)])
def test_errors_are_stated_of_an_optimum_only(rounds: int, converged: bool, tmp_path: Path) -> None:
    solver = {"method": "alternating", "tol": 1e-6, "max_rounds": rounds, "accept_unconverged": True}
    made = design(constraints=TOTALS, publish={"solver": solver, "output": {"path": "none"}})
    Tables(tmp_path, made).write_tree()
    domain = row_domain(made)
    counts = np.zeros((domain.n_days, domain.n_row_types), dtype=np.int64)
    measure_on_driver(made, counts, golden_keys("consistent-histograms", made.public()), tmp_path)
    results = results_on_driver(made, tmp_path)
    assert results.solution.converged is converged
    write_tables(made, results, tmp_path)
    errors = read_table(tmp_path / ESTIMATES, ["std_error"]).column("std_error")
    assert (errors.null_count == 0) is converged
    assert (errors.null_count == len(errors)) is not converged
    fields = manifest_fields(made, results)["solver"]
    said = {"job": "consistent-histograms", "details": {"design": made.public()}, "solver": fields}
    manifest = cast(Manifest, SimpleNamespace(**cast(Any, said)))
    checks = {check.name: check for check in check_tables(tmp_path, manifest)}
    assert all(check.ok for check in checks.values())
    assert ("estimates: rounds reached their threshold" in checks) is not converged
    answers = query_release(tmp_path, manifest)
    assert any("ended before" in str(shown) for shown in shown_answers(answers)) is not converged
    for answer in query_release(tmp_path, manifest):
        assert (answer.std_error is not None) is converged
        assert (answer.low is not None) is converged
        assert (answer.high is not None) is converged
