"""From rows with numbers to points in public bounds, held in blocks, and from points to totals of summaries.

Points are clipped to the public box or ball and rounded to its grid of integers row by row (`dplib.clustering.space`).
Where a unit may have several rows, a keyed hash of a row's point decides which ones count, as in
`dplib.spark.rows.contributions`: the choice is the same in every order, partitioning and recomputation, and rows of
equal hash are equal points.

Then points are held in blocks: one binary value of 32-bit integers for some thousand rows. A pass maps blocks by a
summary, adds up inside each partition, and, where partitions are many, by ranges of keys before anything reaches the
driver. Totals are exact integers, the same for every partitioning. They are NOT PRIVATE and go into a noise only.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.arrays import FloatArray, IntArray, Word32Array
from dplib.clustering.point_frame import PointFrame
from dplib.clustering.source import Keyed, Summary, add_keyed
from dplib.randomness.user_streams import name_users
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.points.point_batches import has_unit, point_numbers
from dplib.spark.rows.contributions import KEY_BYTES, Batches, first_rows, priorities
from dplib.validate import require

NAME_WORDS = 3
"""Integers of a user's name before the point."""
_FEW_PARTITIONS = 32
"""Up to this many partitions send their totals to the driver directly."""


def block_users(rows: DataFrame, frame: PointFrame, key: bytes) -> DataFrame:
    """Turn rows into users with one point each, held in blocks: three words of a name, then the point.

    Args:
        rows: from `dplib.spark.points.point_rows.open_points`, with a column unit.
        frame: bounds and scales; its constant stands for missing coordinates.
        key: as for `block_points`; names depend on it too.

    Returns:
        column points, binary: rows of 3 + d integers (`named_points` reads them); lazy.
    """
    return _first_rows(rows, frame, 1, key, named=True)


def named_points(rows: IntArray) -> tuple[Word32Array, IntArray]:
    """Names, shape (n, 3), and points, shape (n, d), of rows of `block_users`."""
    return np.ascontiguousarray(rows[:, :NAME_WORDS]).astype("<i4").view("<u4"), rows[:, NAME_WORDS:]


def block_points(rows: DataFrame, frame: PointFrame, max_rows: int, key: bytes) -> DataFrame:
    """Turn the rows that count into points, held in blocks.

    Args:
        rows: from `dplib.spark.points.point_rows.open_points`.
        frame: bounds and scales.
        max_rows: most rows of one unit; without a column unit every row is its own unit.
        key: derived sub-key of 16 to 64 bytes that belongs to the account, not to the measurement.

    Returns:
        column points, binary; lazy.

    Raises:
        ConfigError: if the key has a wrong length.
    """
    if "unit" not in rows.columns:
        return rows.mapInArrow(_to_blocks(frame), "points binary")
    return _first_rows(rows, frame, max_rows, key, named=False)


def _first_rows(rows: DataFrame, frame: PointFrame, max_rows: int, key: bytes, named: bool) -> DataFrame:
    require(len(key) in KEY_BYTES, "the bounding key", "have 16 to 64 bytes", f"{len(key)} bytes")
    points = rows.mapInArrow(_to_points(frame, key, named), "point binary, unit binary, priority binary")
    return first_rows(points, ["unit"], max_rows).select("point").mapInArrow(_gather, "points binary")


class SparkPoints:
    """Points on Spark, as `dplib.clustering.source.PointSource`.

    Args:
        blocks: from `block_points` or `block_users`.
        dimension: integers of a row: d, or 3 + d.
    """

    def __init__(self, blocks: DataFrame, dimension: int) -> None:
        self._blocks, self._dimension = blocks, dimension
        self._many = False

    def load(self) -> None:
        """Read the rows once and keep the blocks in memory, or on the executors' disks."""
        self._blocks = self._blocks.persist()
        with quiet_spark_errors("read the rows"):
            # One number a block: cheaper than a shuffle that would count them.
            parts = self._blocks.select(F.spark_partition_id().alias("part")).toArrow().column("part")
        self._many = len(parts.unique()) > _FEW_PARTITIONS

    def release(self) -> None:
        """Let the blocks go."""
        self._blocks.unpersist()

    def total(self, summary: Summary) -> Keyed:
        """Sums by key over all points, keys increasing. NOT PRIVATE."""
        width = summary.width
        if self._many:
            parts = int(str(self._blocks.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")))
            sums = self._blocks.mapInArrow(_summarise(summary, self._dimension, parts), TOTALS)
            sums = sums.groupBy("shard").applyInArrow(_merge(width), TOTALS)
        else:
            sums = self._blocks.mapInArrow(_summarise(summary, self._dimension, 1), TOTALS)
        with quiet_spark_errors("add up the points"):
            table = sums.toArrow()
        return added_totals(table, width)


class RowSummary(Protocol):
    """A summary of raw rows, as `dplib.clustering.central.bounds.RadiusClasses`."""

    @property
    def width(self) -> int:
        """Integers under each key."""

    def __call__(self, rows: FloatArray, /) -> Keyed:
        """Summarise rows of shape (n, d), NaN for what is missing."""


class SparkRows:
    """Rows on Spark whose bounds may still have to be found.

    Args:
        rows: from `dplib.spark.points.point_rows.open_points`.
        frame: its constant and scales.
        max_rows: most rows of one unit, for each pass.
        key: of the bounding.
    """

    def __init__(self, rows: DataFrame, frame: PointFrame, max_rows: int, key: bytes) -> None:
        self._rows, self._frame, self._max_rows, self._key = rows, frame, max_rows, key
        self._points: SparkPoints | None = None

    def distances(self, summary: RowSummary) -> Keyed:
        """Totals of a summary of raw rows, at most ``max_rows`` of a unit by a keyed hash. NOT PRIVATE."""
        # Rows travel as they are read: no bounds are known yet.
        dimension = self._frame.space.dimension
        counted = self._rows.mapInArrow(
            _row_keys(self._frame, self._key), "numbers binary, unit binary, priority binary"
        )
        if "unit" in self._rows.columns:
            counted = first_rows(counted, ["unit"], self._max_rows)
        sums = counted.select("numbers").mapInArrow(_summarise_rows(summary, dimension), TOTALS)
        with quiet_spark_errors("measure distances"):
            return added_totals(sums.toArrow(), summary.width)

    def within(self, frame: PointFrame) -> SparkPoints:
        """The rows as points of a space, read once and kept in blocks."""
        self._points = SparkPoints(block_points(self._rows, frame, self._max_rows, self._key), frame.space.dimension)
        self._points.load()
        return self._points

    def release(self) -> None:
        """Let the blocks go."""
        if self._points is not None:
            self._points.release()


TOTALS = "shard int, keys binary, totals binary"
_SCHEMA = pa.schema([("shard", pa.int32()), ("keys", pa.binary()), ("totals", pa.binary())])


def _to_blocks(frame: PointFrame) -> Callable[[Batches], Batches]:
    def convert(batches: Batches) -> Batches:
        for batch in batches:
            points = frame.to_units(point_numbers(batch, frame.space.dimension))
            yield pa.record_batch([pa.array([points.astype("<i4").tobytes()], pa.binary())], names=["points"])

    return convert


def _to_points(frame: PointFrame, key: bytes, named: bool) -> Callable[[Batches], Batches]:
    def convert(batches: Batches) -> Batches:
        size = 4 * frame.space.dimension
        for batch in batches:
            rows = point_numbers(batch, frame.space.dimension)
            kept = np.flatnonzero(frame.given(rows) & has_unit(batch))
            packed = frame.to_units(rows[kept]).astype("<i4").tobytes()
            units = batch.column("unit").cast(pa.binary()).take(pa.array(kept))
            points = [packed[place * size : (place + 1) * size] for place in range(len(kept))]
            owners = units.to_pylist()
            # A point has a fixed length and comes first, so different rows are different messages.
            queue = priorities(map(bytes.__add__, points, owners), key)
            if named:
                names = name_users(key, owners)
                points = [name.tobytes() + point for name, point in zip(names, points, strict=True)]
            arrays = [pa.array(points, pa.binary()), units, queue]
            yield pa.record_batch(arrays, names=["point", "unit", "priority"])

    return convert


def _row_keys(frame: PointFrame, key: bytes) -> Callable[[Batches], Batches]:
    """Numbers of the rows that count, packed, with their place in the queue of their unit."""

    def convert(batches: Batches) -> Batches:
        for batch in batches:
            rows = point_numbers(batch, frame.space.dimension)
            kept = np.flatnonzero(frame.given(rows) & has_unit(batch))
            # Adding zero turns -0.0 into 0.0: equal numbers are equal bytes.
            packed = [row.tobytes() for row in frame.scaled(rows[kept]).astype("<f8") + 0.0]
            if "unit" in batch.schema.names:
                units = batch.column("unit").cast(pa.binary()).take(pa.array(kept))
            else:
                units = pa.array([b""] * len(kept), pa.binary())
            queue = priorities(map(bytes.__add__, packed, units.to_pylist()), key)
            yield pa.record_batch([pa.array(packed, pa.binary()), units, queue], names=["numbers", "unit", "priority"])

    return convert


def _summarise_rows(summary: RowSummary, dimension: int) -> Callable[[Batches], Batches]:
    def summarise(batches: Batches) -> Batches:
        for batch in batches:
            joined = b"".join(batch.column("numbers").to_pylist())
            yield totals_row(0, summary(np.frombuffer(joined, dtype="<f8").reshape(-1, dimension)))

    return summarise


def _gather(batches: Batches) -> Batches:
    for batch in batches:
        joined = b"".join(batch.column("point").to_pylist())
        yield pa.record_batch([pa.array([joined], pa.binary())], names=["points"])


def _summarise(summary: Summary, dimension: int, n_shards: int) -> Callable[[Batches], Batches]:
    def summarise(batches: Batches) -> Batches:
        parts: list[Keyed] = []
        for batch in batches:
            for value in batch.column("points"):
                points = np.frombuffer(value.as_buffer(), dtype="<i4").astype(np.int64).reshape(-1, dimension)
                parts.append(summary(points))
            parts = [add_keyed(parts, summary.width)]
        keys, totals = add_keyed(parts, summary.width)
        shards = keys % n_shards
        for shard in np.unique(shards):
            yield totals_row(int(shard), (keys[shards == shard], totals[shards == shard]))

    return summarise


def _merge(width: int) -> Callable[[pa.Table], pa.Table]:
    def merge(table: pa.Table) -> pa.Table:
        shard = table.column("shard")[0].as_py()
        return pa.Table.from_batches([totals_row(shard, added_totals(table, width))])

    return merge


def added_totals(table: pa.Table, width: int) -> Keyed:
    """Sums by key of rows of `TOTALS`, keys increasing."""
    parts = [
        (
            np.frombuffer(keys.as_buffer(), dtype="<i8").astype(np.int64),
            np.frombuffer(totals.as_buffer(), dtype="<i8").astype(np.int64).reshape(-1, width),
        )
        for keys, totals in zip(table.column("keys"), table.column("totals"), strict=True)
    ]
    return add_keyed(parts, width)


def totals_row(shard: int, keyed: Keyed) -> pa.RecordBatch:
    """One row of `TOTALS`: packed keys and totals."""
    packed = [np.ascontiguousarray(part, dtype="<i8").tobytes() for part in keyed]
    arrays = [pa.array([shard], pa.int32()), *(pa.array([part], pa.binary()) for part in packed)]
    return pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA)
