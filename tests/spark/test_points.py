"""Points on Spark against the kernels on one block: the same totals for every partitioning, sharded or not."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dplib.clustering.central.grid import CellCounts
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.source import Blocks
from dplib.clustering.sums import ClusterSums, Moments
from dplib.config.point_input import PointInput
from dplib.spark.points import points
from dplib.spark.points.point_rows import open_points
from dplib.spark.points.points import SparkPoints, block_points
from tests.spark.rows import table_of
from tests.support.kmeans import design_of, settings_of

KEY = bytes(range(32))


def frame_of() -> PointFrame:
    return design_of(settings_of("grid", {"epsilon": 1})).frame


def test_totals_are_those_of_one_block(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).normal(size=(500, 2)) * 0.6
    rows[::50, 1] = np.nan
    frame = frame_of()
    units = frame.to_units(rows)
    assert len(units) == 490
    summaries = Moments(2), CellCounts(frame.space.half_widths, 16), ClusterSums(units[:5])
    table = table_of(spark, rows.tolist(), "x0 double, x1 double").repartition(4)
    # Few partitions are added up on the driver, more of them by ranges of keys before.
    for few, n_asked in ((4, 1), (3, 3)):
        monkeypatch.setattr("dplib.spark.points.points._FEW_PARTITIONS", few)
        source = SparkPoints(block_points(table, frame, 1, KEY), 2)
        source.load()
        for summary in summaries[-n_asked:]:
            keys, totals = source.total(summary)
            expected = Blocks(units).total(summary)
            assert np.array_equal(keys, expected[0])
            assert np.array_equal(totals, expected[1])
        source.release()


def test_the_rows_that_a_cap_keeps_do_not_depend_on_order_or_other_units(spark: Any) -> None:
    rows = [(float(number) / 40, 0.0, f"u{number % 4}".encode()) for number in range(40)]
    frame, cells = frame_of(), CellCounts(frame_of().space.half_widths, 500)
    fewer, found = [row for row in rows[::-1] if row[2] != b"u3"], []
    for given, parts in ((rows, 1), (fewer, 5)):
        table = table_of(spark, given, "x0 double, x1 double, unit binary").repartition(parts)
        found.append(SparkPoints(block_points(table, frame, 3, KEY), 2).total(cells))
    assert found[0][1].sum() == 12
    of_last = Blocks(frame.to_units(np.array([row[:2] for row in rows if row[2] == b"u3"]))).total(cells)[0]
    assert np.array_equal(found[1][0], np.setdiff1d(found[0][0], of_last))
    assert found[1][1].sum() == 9


def test_another_key_keeps_other_rows() -> None:
    """Which rows they are cannot be told, or arranged, from outside."""
    columns = {"x0": np.arange(40.0) / 40, "x1": np.zeros(40), "unit": [b"u"] * 40}
    batch = pa.RecordBatch.from_pydict(columns)
    queues = []
    for key in (KEY, KEY[::-1]):
        (found,) = points._to_points(frame_of(), key, False)(iter([batch]))
        queues.append(np.argsort(np.array(found.column("priority").to_pylist()))[:20].tolist())
    assert set(queues[0]) != set(queues[1])


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
