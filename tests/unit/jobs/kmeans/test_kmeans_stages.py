"""Design, measurement, replay and tables of the job kmeans, without Spark."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dplib.canonical import canonical_json
from dplib.clustering.source import Blocks
from dplib.clustering.space import UNITS
from dplib.errors import ConfigError, IntegrityError
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.estimate import estimate_centers
from dplib.jobs.kmeans.measure import measure_points, measure_users
from dplib.jobs.kmeans.methods import reason_text
from dplib.jobs.kmeans.plan import make_plan
from dplib.jobs.kmeans.publish import manifest_fields, write_tables
from dplib.jobs.kmeans.tables import Draw, Tables
from dplib.privacy.accountant import totals
from dplib.randomness.user_streams import number_users
from dplib.release.tables import read_table
from dplib.spark.points.point_batches import point_numbers
from tests.support.clustering import mixture
from tests.support.jobs import SECRET
from tests.support.kmeans import (
    CENTRAL,
    GAUSSIAN,
    LOCAL,
    design_of,
    keys_of,
    local_settings_of,
    rows_in,
    settings_of,
)

IDS = [f"{method}-{'-'.join(budget)}" for method, budget in CENTRAL]


def points_of(design: Design, n: int) -> np.ndarray:
    return mixture(max(n, 1), design.frame.space.dimension, 4, 1)[:n]


def bad_rows() -> np.ndarray:
    """Arrays as a task of the job reads them; of eight rows the third to sixth have no point."""
    arrays = [[np.inf, -np.inf], [1e300, -1e300], [np.nan, 0.5], None, [0.2], [0.1, None], [0.3, 0.3], [-0.0, 5e-324]]
    batch = pa.record_batch([pa.array(arrays, pa.list_(pa.float64()))], names=["vector"])
    return point_numbers(batch, 2)


@pytest.mark.parametrize(("method", "budget"), [("privgene", {"epsilon": 1}), ("max_cover", {"rho": "0.1"})])
def test_rows_without_a_point_count_as_if_they_were_not_there(
    method: str, budget: dict[str, Any], tmp_path: Path
) -> None:
    """All methods get the same points; one of these two asks for scores only. There are fewer points than centers."""
    design, bad = design_of(settings_of(method, budget, k=9)), bad_rows()
    assert design.frame.given(bad).tolist() == [True, True, False, False, False, False, True, True]
    found = {}
    for name, rows in {"bad": bad[2:6], "all": bad, "good": bad[[0, 1, 6, 7]], "none": bad[:0]}.items():
        measure_points(design, rows_in(rows), keys_of(design), tmp_path / name)
        found[name] = write_tables(design, tmp_path / name)
        assert found[name].centers.shape == (9, 2)
        assert np.isfinite(found[name].centers).all()
        assert np.abs(found[name].centers).max() <= 1 + 1e-9
    for one, other in (("bad", "none"), ("all", "good")):
        assert np.array_equal(found[one].centers, found[other].centers)
        assert np.array_equal(found[one].weights, found[other].weights, equal_nan=True)
        assert np.array_equal(found[one].std_errors, found[other].std_errors, equal_nan=True)
        assert found[one].loss == found[other].loss


@pytest.mark.parametrize("method", LOCAL)
def test_who_has_no_point_reports_all_the_same(method: str, tmp_path: Path) -> None:
    design, bad = design_of(local_settings_of(method, k=9)), bad_rows()
    names = number_users(np.arange(len(bad))).view("<i4").astype(np.int64)
    users = np.concatenate([names, design.frame.to_units(bad)], axis=1)
    for name, rows in {"all": users, "none": users[:0]}.items():
        measure_users(design, Blocks(rows), keys_of(design), tmp_path / name)
        centers = write_tables(design, tmp_path / name).centers
        assert centers.shape == (9, 2)
        assert np.abs(centers).max() <= 1 + 1e-9


@pytest.mark.parametrize(("method", "budget"), CENTRAL, ids=IDS)
def test_a_release_follows_from_stored_answers_alone_whatever_the_rows(
    method: str, budget: dict[str, Any], tmp_path: Path
) -> None:
    design = design_of(settings_of(method, budget, k=3))
    for n in (0, 1, 300):
        folder = tmp_path / str(n)
        measure_points(design, rows_in(points_of(design, n)), keys_of(design), folder)
        results = write_tables(design, folder)
        centers, _ = Tables(folder, design).read_centers()
        weights, _ = Tables(folder, design).read_weights()
        assert centers.shape == (3, 2)
        assert np.isfinite(centers).all()
        assert (np.abs(centers) <= 1 + 1e-9).all()
        assert not (weights < 0).any()
        # What is charged covers what was drawn, in the method's own currency.
        events = results.clustering.events
        spent = sum((e.rho if design.gaussian else e.epsilon or Fraction(10**9) for e in events), Fraction(0))
        assert spent <= design.budget
        fields = manifest_fields(design, results)
        json.loads(canonical_json(fields))
        again = Design.from_public(design.public())
        assert np.array_equal(estimate_centers(again, Tables(folder, design).read_records()).centers, results.centers)


def test_the_same_points_get_the_same_noise_in_any_blocks_and_others_do_not(tmp_path: Path) -> None:
    design = design_of(settings_of("tree_coreset", GAUSSIAN))
    points = points_of(design, 500)
    kept = []
    for number, blocks in enumerate(([points], [points[300:], points[:300]], [points[1:]])):
        keys = measure_points(design, rows_in(*blocks), keys_of(design), tmp_path / str(number))
        kept.append((keys.data_digest, read_table(tmp_path / str(number) / "measurement").to_pydict()))
    assert kept[0] == kept[1]
    assert kept[0][0] != kept[2][0]
    assert kept[0][1]["noisy"][0] != kept[2][1]["noisy"][0] + 1
    other = measure_points(design, rows_in(points), keys_of(design, SECRET[::-1]), tmp_path / "other")
    assert other.data_digest != kept[0][0]
    assert read_table(tmp_path / "other" / "measurement").to_pydict() != kept[0][1]


def test_draws_come_back_as_they_were(tmp_path: Path) -> None:
    draws = [
        Draw("counts", "discrete_laplace", Fraction(3), np.array([3, -1])),
        Draw("choice", "exponential", Fraction(1, 7), np.array([5])),
        Draw("sums", "discrete_gaussian", Fraction(9), np.array([[1, 2, 3], [4, 5, 6]])),
        Draw("one sum", "discrete_gaussian", Fraction(9), np.array([[7], [8]])),
    ]
    tables = Tables(tmp_path, design_of(settings_of("grid", {"epsilon": 1})))
    tables.write_draws(draws)
    found = tables.read_records()
    assert [name for name, _ in found] == ["counts", "choice", "sums", "one sum"]
    for (_, noisy), draw in zip(found, draws, strict=True):
        assert np.array_equal(noisy, draw.noisy)
        assert noisy.shape == draw.noisy.shape
    table = read_table(tmp_path / "measurement").to_pandas()
    assert table[table.statistic == "counts"].variance.iloc[0] == pytest.approx(2 * 3**2, rel=0.02)


def test_answers_of_other_questions_are_refused(tmp_path: Path) -> None:
    design = design_of(settings_of("grid", {"epsilon": 1}))
    measure_points(design, rows_in(points_of(design, 200)), keys_of(design), tmp_path)
    other = design_of(settings_of("quadtree", {"epsilon": 1}))
    with pytest.raises(IntegrityError, match="stored measurement must hold"):
        estimate_centers(other, Tables(tmp_path, design).read_records())


@pytest.mark.parametrize(
    ("d", "budget", "method"),
    [
        (2, {"epsilon": 1}, "grid"),
        (3, GAUSSIAN, "grid"),
        (4, {"epsilon": 1}, "local_search"),
        (4, GAUSSIAN, "tree_coreset"),
        (20, {"rho": "0.1"}, "tree_coreset"),
    ],
)
def test_auto_follows_from_settings(d: int, budget: dict[str, Any], method: str) -> None:
    design = design_of(settings_of("auto", budget, d=d))
    assert design.method == method
    assert str(d) in reason_text(design)
    plan = make_plan(design, "").to_dict()
    assert plan["method"] == method
    assert (plan["expected_accuracy"][1]["detail"].endswith("cells an axis")) == (d <= 3)
    assert [each["n_points"] for each in plan["expected_accuracy"]] == sorted(
        each["n_points"] for each in plan["expected_accuracy"]
    )


def test_the_budget_of_a_method_is_at_most_the_setting() -> None:
    square_root = design_of(settings_of("grid", {"rho": "0.1"})).budget
    assert square_root**2 / 2 <= Fraction(1, 10) < (square_root + Fraction(1, 10**11)) ** 2 / 2
    for budget in (GAUSSIAN, {"epsilon": "0.01", "delta": "1e-9"}):
        design = design_of(settings_of("tree_coreset", budget))
        zcdp = next(t for t in totals(design.events, Fraction(str(budget["delta"]))) if t.accountant == "zcdp")
        assert zcdp.epsilon <= float(budget["epsilon"])


def test_replaced_units_and_caps_count_every_point() -> None:
    settings = settings_of("grid", {"epsilon": 1})
    settings["privacy"] |= {"unit": "person", "neighbors": "replace_one", "max_rows_per_unit": 3}
    settings["input"]["columns"]["unit"] = "who"
    assert design_of(settings).problem.rows == 6


def test_scaled_bounds_and_balls_come_back_in_the_rows_own_coordinates() -> None:
    bounds = [[0, 10], [-100, 300]]
    frame = design_of(settings_of("grid", {"epsilon": 1}, bounds=bounds, scale="bounds")).frame
    assert frame.space.half_widths == (UNITS, UNITS)
    rows = np.array([[0.0, 300.0], [5.0, 100.0], [7.5, -500.0]])
    back = frame.to_data(frame.to_units(rows))
    assert np.allclose(back, [[0, 300], [5, 100], [7.5, -100]], atol=0.01)
    assert frame.outside(rows).tolist() == [False, False, True]
    ball = {"bounds": None, "radius": 2, "center": [1, 1]}
    frame = design_of(settings_of("grid", {"epsilon": 1}, **ball)).frame
    assert np.allclose(frame.to_data(frame.to_units(np.array([[1.0, 9.0], [1.5, 1.0]]))), [[1, 3], [1.5, 1]], atol=1e-3)
    assert frame.outside(np.array([[1.0, 9.0], [1.5, 1.0]])).tolist() == [True, False]


def test_missing_numbers_are_dropped_or_replaced() -> None:
    rows = np.array([[np.nan, 0.5], [0.25, np.inf], [0.5, 0.5]])
    dropped = design_of(settings_of("grid", {"epsilon": 1})).frame
    assert dropped.given(rows).tolist() == [False, True, True]
    assert np.allclose(dropped.to_data(dropped.to_units(rows)), [[0.25, 1], [0.5, 0.5]], atol=1e-4)
    replaced = design_of(settings_of("grid", {"epsilon": 1}, missing=[-1, 0])).frame
    assert np.allclose(replaced.to_data(replaced.to_units(rows))[0], [-1, 0.5], atol=1e-4)


@pytest.mark.parametrize("budget", [{"epsilon": 40}, {"epsilon": "1e-13"}, {"rho": 2000}, {"rho": "1e-20"}], ids=str)
def test_useless_noise_is_refused(budget: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"privacy\.budget must give noise"):
        design_of(settings_of("lloyd", budget))


@pytest.mark.parametrize(
    ("budget", "method"), [({"epsilon": 2}, "grid"), ({"epsilon": 2, "delta": "1e-6"}, "tree_coreset")]
)
def test_a_private_radius_is_found_or_said_to_be_missing(budget: dict[str, Any], method: str, tmp_path: Path) -> None:
    settings = settings_of(method, budget, bounds=None, radius="private", center=[100, 100])
    design = design_of(settings)
    rows = 100 + 40 * mixture(4000, 2, 4, 3)
    measure_points(design, rows_in(rows[:1000], rows[1000:]), keys_of(design), tmp_path / "many")
    results = write_tables(design, tmp_path / "many")
    assert 32 <= results.clustering.choices["radius"] <= 64
    assert np.abs(results.centers - 100).max() <= 64
    spent = sum(
        (e.rho if design.gaussian else e.epsilon or Fraction(10**9) for e in results.clustering.events), Fraction(0)
    )
    assert spent <= design.budget
    again = estimate_centers(Design.from_public(design.public()), Tables(tmp_path / "many", design).read_records())
    assert np.array_equal(again.centers, results.centers)
    for n in (0, 3):
        measure_points(design, rows_in(rows[:n]), keys_of(design), tmp_path / str(n))
        results = write_tables(design, tmp_path / str(n))
        assert "not found" in str(results.clustering.choices["radius"])
        assert results.centers.shape == (4, 2)
