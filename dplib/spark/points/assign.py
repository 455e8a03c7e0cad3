"""Every row with its nearest center, for the data's owner. NOT PRIVATE: it is the rows themselves, one by one.

The centers are of a release, so looking at them spends nothing; the assignment of a row is a function of this row and
tells its point. It is written outside releases, into a folder that says so.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.space import UNITS
from dplib.clustering.sums import nearest
from dplib.errors import ConfigError
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.points.point_batches import point_numbers
from dplib.spark.rows.contributions import Batches

NOTICE = "_NOT_PRIVATE.txt"
"""File beside the rows; readers of Parquet skip names that start with an underscore."""
_TEXT = (
    "These are input rows with the center of a differentially private release that each is nearest to.\n"
    "They are NOT PRIVATE: anyone who may not see the input may not see this folder.\n"
)


def assign_rows(rows: DataFrame, frame: PointFrame, centers: IntArray, names: Sequence[str]) -> DataFrame:
    """Find the nearest center of every row. NOT PRIVATE.

    Args:
        rows: from `dplib.spark.points.point_rows.open_points`.
        frame: bounds and scales.
        centers: in units of the space, shape (k, d).
        names: of the coordinates.

    Returns:
        the coordinates under their names, unit where there is one, center (null where a coordinate is missing) and
        distance, in radii of the space or half widths of its widest side; lazy.
    """
    kept = ["unit"] if "unit" in rows.columns else []
    schema = ", ".join([*(f"x{axis} double" for axis in range(len(names))), *(f"{name} binary" for name in kept)])
    found = rows.mapInArrow(_assign(frame, centers, kept), f"{schema}, center int, distance double")
    renamed = found.withColumnsRenamed({f"x{axis}": name for axis, name in enumerate(names)})
    return renamed.withColumn("unit", F.col("unit").cast("string")) if kept else renamed


def write_assigned(assigned: DataFrame, to: Path) -> None:
    """Write the rows as Parquet into a new folder that says that it is not private.

    Raises:
        ConfigError: if the folder cannot be written.
    """
    with quiet_spark_errors("write the rows"):
        assigned.write.parquet(str(to))
    try:
        (to / NOTICE).write_text(_TEXT, encoding="utf-8")
    except OSError:
        raise ConfigError("--to", "be a folder of this machine that can be written", to) from None


def _assign(frame: PointFrame, centers: IntArray, kept: list[str]) -> Callable[[Batches], Batches]:
    def assign(batches: Batches) -> Batches:
        for batch in batches:
            rows = point_numbers(batch, frame.space.dimension)
            given = frame.given(rows)
            labels, distances = np.zeros(len(rows), dtype=np.int32), np.zeros(len(rows))
            points = frame.to_units(rows[given])
            labels[given] = nearest(points, centers)
            away = points - centers[labels[given]]
            distances[given] = np.sqrt((away**2).sum(axis=1)) / UNITS
            arrays = [pa.array(column, from_pandas=True) for column in rows.T]
            arrays += [batch.column(name).cast(pa.binary()) for name in kept]
            arrays += [pa.array(labels, mask=~given), pa.array(distances, mask=~given)]
            names = [f"x{axis}" for axis in range(rows.shape[1])]
            yield pa.record_batch(arrays, names=[*names, *kept, "center", "distance"])

    return assign
