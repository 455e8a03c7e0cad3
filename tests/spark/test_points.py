"""Points on Spark against the kernels on one block: the same totals for every partitioning, sharded or not."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dplib.clustering.central.grid import CellCounts
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.source import Blocks
from dplib.clustering.sums import ClusterSums, Moments
from dplib.config.point_input import PointInput
from dplib.spark.points.point_rows import open_points
from dplib.spark.points.points import SparkPoints, block_points
from tests.support.kmeans import design_of, settings_of

KEY = bytes(range(32))


def frame_of() -> PointFrame:
    return design_of(settings_of("grid", {"epsilon": 1})).frame


@pytest.mark.parametrize(("n_partitions", "few"), [(2, 32), (4, 3)])
def test_totals_are_those_of_one_block(
    spark: Any, n_partitions: int, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dplib.spark.points.points._FEW_PARTITIONS", few)
    rows = np.random.default_rng(3).normal(size=(500, 2)) * 0.6
    rows[::50, 1] = np.nan
    frame = frame_of()
    table = spark.createDataFrame(rows.tolist(), "x0 double, x1 double").repartition(n_partitions)
    source = SparkPoints(block_points(table, frame, 1, KEY), 2)
    source.load()
    units = frame.to_units(rows)
    assert len(units) == 490
    for summary in (Moments(2), CellCounts(frame.space.half_widths, 16), ClusterSums(units[:5])):
        keys, totals = source.total(summary)
        expected = Blocks(units).total(summary)
        assert np.array_equal(keys, expected[0])
        assert np.array_equal(totals, expected[1])
    source.release()


def test_the_rows_that_a_cap_keeps_do_not_depend_on_order_or_other_units(spark: Any) -> None:
    rows = [(float(number) / 40, 0.0, f"u{number % 4}".encode()) for number in range(40)]
    frame, found = frame_of(), []
    for given, parts in ((rows, 1), (rows[::-1], 5), ([row for row in rows if row[2] != b"u3"], 2)):
        table = spark.createDataFrame(given, "x0 double, x1 double, unit binary").repartition(parts)
        source = SparkPoints(block_points(table, frame, 3, KEY), 2)
        source.load()
        found.append(source.total(CellCounts(frame.space.half_widths, 500)))
        source.release()
    assert found[0][1].sum() == 12
    # Another key keeps other rows: which ones they are cannot be told, or arranged, from outside.
    other = SparkPoints(block_points(table, frame, 3, KEY[::-1]), 2)
    other.load()
    assert set(other.total(CellCounts(frame.space.half_widths, 500))[0]) != set(found[2][0])
    other.release()
    assert np.array_equal(found[0][0], found[1][0])
    assert found[2][1].sum() == 9
    assert set(found[2][0]) <= set(found[0][0])


def test_opened_columns_are_numbers_or_missing(spark: Any, tmp_path: Path) -> None:
    spark.createDataFrame([(1, "2.5", "a"), (None, "x", " ")], "a int, b string, u string").write.parquet(
        str(tmp_path / "rows")
    )
    source = PointInput.model_validate(
        {"path": "rows", "format": "parquet", "columns": {"coordinates": ["a", "b"], "unit": "u"}}
    )
    found = open_points(spark, source, tmp_path).collect()
    assert {tuple(row) for row in found} == {(1.0, 2.5, b"a"), (None, None, b"")}


def test_a_worker_loads_no_settings_with_what_it_runs() -> None:
    """Every Python worker imports the modules of its functions: settings and solvers would cost each a second."""
    modules = "dplib.spark.points.points, dplib.clustering.central.simhash, dplib.clustering.sums"
    look = f"import sys, {modules}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert not {"pydantic", "pandas", "scipy.optimize", "sqlalchemy"} & set(done.stdout.split())
