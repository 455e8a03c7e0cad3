"""Centers that noise alone may have made are marked in answers and on the page; so is what was never measured."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.estimate import Results, estimate_centers
from dplib.jobs.kmeans.measure import measure_points
from dplib.jobs.kmeans.page import _centers
from dplib.jobs.kmeans.publish import manifest_fields, write_tables
from dplib.jobs.kmeans.query import query_release
from dplib.jobs.kmeans.tables import Tables
from dplib.release.manifest import Manifest
from tests.support.clustering import mixture
from tests.support.kmeans import design_of, keys_of, rows_in, settings_of


class Released(Manifest):
    """The part of a manifest that a query reads."""

    def __init__(self, design: Design, results: Results) -> None:
        details = {"design": design.public()} | manifest_fields(design, results)["details"]
        object.__setattr__(self, "job", "kmeans")
        object.__setattr__(self, "details", details)


def test_a_weight_within_its_error_is_marked(tmp_path: Path) -> None:
    design = design_of(settings_of("lloyd", {"epsilon": "0.05"}, k=4))
    measure_points(design, rows_in(mixture(300, 2, 1, 3) / 8 + 0.5), keys_of(design), tmp_path)
    results = write_tables(design, tmp_path)
    assert results.swallowed.any()
    answers = query_release(tmp_path, Released(design, results), (), None)
    assert any(each.may_be_noise for each in answers)
    for each in answers:
        assert each.weight is not None
        assert each.weight_error is not None
        assert each.may_be_noise == (each.weight <= 2 * each.weight_error)
    section = str(_centers(design, results))
    assert "(noise?)" in section
    assert "Centers that may be noise" in section
    sure = replace(results, weights=results.weights + 1e9)
    assert not sure.swallowed.any()
    assert "(noise?)" not in str(_centers(design, sure))


def test_what_no_question_measured_is_null_everywhere(tmp_path: Path) -> None:
    design = design_of(settings_of("privgene", {"epsilon": 1}, k=2))
    measure_points(design, rows_in(mixture(60, 2, 2, 3)), keys_of(design), tmp_path)
    results = write_tables(design, tmp_path)
    answers = query_release(tmp_path, Released(design, results), (), None)
    assert {(each.weight, each.weight_error, each.may_be_noise) for each in answers} == {(None, None, None)}
    assert "nothing is measured" in str(_centers(design, results))


def test_a_loss_that_cells_do_not_tell_is_null(tmp_path: Path) -> None:
    design = design_of(settings_of("grid", {"epsilon": 1}, k=2))
    found = {}
    for name, rows in {
        "tight": np.repeat([[0.1, 0.2], [-0.5, 0.4]], 500, axis=0),
        "wide": mixture(4000, 2, 3, 1),
    }.items():
        measure_points(design, rows_in(rows), keys_of(design), tmp_path / name)
        found[name] = estimate_centers(design, Tables(tmp_path / name, design).read_records())
    assert found["tight"].loss is None
    assert found["tight"].loss_error is None
    wide = found["wide"]
    assert wide.loss is not None
    assert wide.loss_error is not None
    assert 0 < wide.loss_error < wide.loss / 2


def test_a_weight_that_no_cell_tells_states_no_error(tmp_path: Path) -> None:
    # 2 cells an axis, 8 centers: to some of them no cell's middle is nearest.
    design = design_of(settings_of("grid", {"epsilon": 1}, k=8))
    measure_points(design, rows_in(np.zeros((0, 2))), keys_of(design), tmp_path)
    results = write_tables(design, tmp_path)
    unknown = np.isnan(results.weight_errors)
    assert 0 < unknown.sum() < 8
    assert (results.weight_errors[~unknown] > 0).all()
    assert not results.swallowed[unknown].any()
    assert "nothing tells how many points are" in str(_centers(design, results))
