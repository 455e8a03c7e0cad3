"""From rows with numbers to points in public bounds, and from points to totals of summaries: one pass each.

A row is judged by these rules in order and dropped at the first that it fails; nothing else about it is ever shown.

    unit is given                  not null and not blank, where the privacy unit has a column
    every coordinate is given      a number or an infinity; NaN, null, text that is no number and short rows are not;
                                   with `clustering.missing` public numbers stand for them and no row fails

Points are clipped to the public box or ball and rounded to its grid of integers row by row (`dplib.clustering.space`).
Where a unit may have several rows, a keyed hash of a row's point decides which ones count, as in
`dplib.spark.contributions`: the choice is the same in every order, partitioning and recomputation, and rows of equal
hash are equal points.

Then points are held in blocks: one binary value of 32-bit integers for some thousand rows. A pass maps blocks by a
summary, adds up inside each partition, and, where partitions are many, by ranges of keys before anything reaches the
driver. Totals are exact integers, the same for every partitioning. They are NOT PRIVATE and go into a noise only.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from dplib.clustering.source import Keyed, Summary, add_keyed
from dplib.config.kmeans import PointInput
from dplib.randomness.user_streams import name_users
from dplib.spark.contributions import KEY_BYTES, PRIORITY_BYTES
from dplib.spark.inspect import RuleCount
from dplib.spark.point_frame import PointFrame
from dplib.spark.read import KEY_TYPES, NUMBER_TYPES, open_columns
from dplib.spark.resolve import number_column, text_column
from dplib.spark.session import quiet_spark_errors
from dplib.validate import require

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]
POINT_RULES = ("unit is given", "every coordinate is given")
_UNIT, _COORDINATES = range(2)
NAME_WORDS = 3
"""Integers of a user's name before the point."""
_VECTOR_TYPES = frozenset({"array"})
_FEW_PARTITIONS = 32
"""Up to so many partitions send their totals to the driver directly."""


def open_points(spark: SparkSession, source: PointInput, base: Path) -> DataFrame:
    """Open the input; of a text file at most the header line is read.

    Returns:
        columns x0, x1, ... of doubles, or vector of arrays of doubles, and unit as bytes where it is mapped.

    Raises:
        ConfigError: if an option or the format is wrong.
        SchemaError: if the input cannot be opened, lacks a column, or a column has a type that its role cannot have.
    """
    names = source.columns.names
    accepted = dict.fromkeys(names, NUMBER_TYPES) | {"vector": _VECTOR_TYPES, "unit": KEY_TYPES}
    rows = open_columns(spark, source, names, accepted, base)
    types = [field.dataType.typeName() for field in rows.schema.fields]
    roles = [role.replace("coordinates.", "x") for role in names]
    columns = []
    for role, kind in zip(roles, types, strict=True):
        column = F.col(role)
        if role == "unit":
            columns.append(text_column(column).cast("binary").alias(role))
        elif role == "vector":
            columns.append(column.try_cast("array<double>").alias(role))
        else:
            columns.append(number_column(column, kind).alias(role))
    return rows.toDF(*roles).select(*columns)


def block_users(rows: DataFrame, frame: PointFrame, key: bytes) -> DataFrame:
    """Turn rows into users with one point each, held in blocks: three words of a name, then the point.

    Args:
        rows: from `open_points`, with a column unit.
        frame: bounds and scales; its constant stands for missing coordinates.
        key: as for `block_points`; names depend on it too.

    Returns:
        column points, binary: rows of 3 + d integers (`named_points` reads them); lazy.
    """
    return _first_rows(rows, frame, 1, key, named=True)


def named_points(rows: IntArray) -> tuple[npt.NDArray[np.uint32], IntArray]:
    """Names, shape (n, 3), and points, shape (n, d), of rows of `block_users`."""
    return np.ascontiguousarray(rows[:, :NAME_WORDS]).astype("<i4").view("<u4"), rows[:, NAME_WORDS:]


def block_points(rows: DataFrame, frame: PointFrame, max_rows: int, key: bytes) -> DataFrame:
    """Turn the rows that count into points, held in blocks.

    Args:
        rows: from `open_points`.
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
    place = F.row_number().over(Window.partitionBy("unit").orderBy("priority"))
    kept = points.withColumn("place", place).where(F.col("place") <= max_rows).select("point")
    return kept.mapInArrow(_gather, "points binary")


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
            parts = self._blocks.select(F.spark_partition_id().alias("part"))
            counted = parts.agg(F.count_distinct("part")).collect()
        self._many = counted[0][0] > _FEW_PARTITIONS

    def release(self) -> None:
        """Let the blocks go."""
        self._blocks.unpersist()

    def total(self, summary: Summary) -> Keyed:
        """Sums by key over all points, keys increasing. NOT PRIVATE."""
        width = summary.width
        if self._many:
            parts = int(str(self._blocks.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")))
            sums = self._blocks.mapInArrow(_summarise(summary, self._dimension, parts), _TOTALS)
            sums = sums.groupBy("shard").applyInArrow(_merge(width), _TOTALS)
        else:
            sums = self._blocks.mapInArrow(_summarise(summary, self._dimension, 1), _TOTALS)
        with quiet_spark_errors("add up the points"):
            table = sums.toArrow()
        return _added(table, width)


def inspect_points(rows: DataFrame, frame: PointFrame, max_rows: int) -> list[RuleCount]:
    """Count rows kept and dropped by each rule, for the data's owner. NOT PRIVATE.

    Returns:
        the rules in order; then ``point is inside the bounds`` (dropped: rows that are clipped), and with units ``rows
        are within the cap a unit``.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    has_unit = "unit" in rows.columns
    schema = "failed int, outside int" + (", unit binary" if has_unit else "")
    judged = rows.mapInArrow(_judge(frame), schema)
    with quiet_spark_errors("inspect the rows"):
        grouped = judged.groupBy("failed").agg(F.count("*").alias("rows"), F.sum("outside").alias("outside"))
        by_rule = {row["failed"]: row for row in grouped.collect()}
        left = sum(row["rows"] for row in by_rule.values())
        found = []
        for index, rule in enumerate(POINT_RULES):
            dropped = by_rule[index]["rows"] if index in by_rule else 0
            left -= dropped
            found.append(RuleCount(rule, left, dropped))
        clipped = by_rule[None]["outside"] if None in by_rule else 0
        found.append(RuleCount("point is inside the bounds", left - clipped, clipped))
        if has_unit:
            kept = judged.where("failed is null").groupBy("unit").agg(F.least(F.count("*"), F.lit(max_rows)).alias("n"))
            within = kept.agg(F.coalesce(F.sum("n"), F.lit(0))).collect()[0][0]
            found.append(RuleCount("rows are within the cap a unit", within, left - within))
    return found


_TOTALS = "shard int, keys binary, totals binary"
_TOTALS_SCHEMA = pa.schema([("shard", pa.int32()), ("keys", pa.binary()), ("totals", pa.binary())])


def point_numbers(batch: pa.RecordBatch, dimension: int) -> FloatArray:
    """The coordinates of a batch of rows, shape (n, d); NaN for what is missing."""
    if "vector" not in batch.schema.names:
        rows = np.empty((batch.num_rows, dimension))
        for place in range(dimension):
            rows[:, place] = batch.column(f"x{place}").to_numpy(zero_copy_only=False)
        return rows
    vector = batch.column("vector")
    rows = np.full((batch.num_rows, dimension), np.nan)
    fits = pc.fill_null(pc.equal(pc.list_value_length(vector), dimension), False).to_numpy(zero_copy_only=False)
    numbers = pc.list_flatten(vector.filter(pa.array(fits))).to_numpy(zero_copy_only=False)
    rows[fits] = numbers.reshape(-1, dimension)
    return rows


def _has_unit(batch: pa.RecordBatch) -> npt.NDArray[np.bool_]:
    if "unit" not in batch.schema.names:
        return np.ones(batch.num_rows, dtype=np.bool_)
    given = pc.fill_null(pc.greater(pc.binary_length(batch.column("unit")), 0), False)
    return np.asarray(given.to_numpy(zero_copy_only=False), dtype=np.bool_)


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
            kept = np.flatnonzero(frame.given(rows) & _has_unit(batch))
            packed = frame.to_units(rows[kept]).astype("<i4").tobytes()
            units = batch.column("unit").cast(pa.binary()).take(pa.array(kept))
            points = [packed[place * size : (place + 1) * size] for place in range(len(kept))]
            owners = units.to_pylist()
            # A point has a fixed length and comes first, so different rows are different messages.
            queue = [
                blake2b(point + unit, key=key, digest_size=PRIORITY_BYTES).digest()
                for point, unit in zip(points, owners, strict=True)
            ]
            if named:
                names = name_users(key, owners)
                points = [name.tobytes() + point for name, point in zip(names, points, strict=True)]
            arrays = [pa.array(points, pa.binary()), units, pa.array(queue, pa.binary())]
            yield pa.record_batch(arrays, names=["point", "unit", "priority"])

    return convert


def _gather(batches: Batches) -> Batches:
    for batch in batches:
        joined = b"".join(batch.column("point").to_pylist())
        yield pa.record_batch([pa.array([joined], pa.binary())], names=["points"])


def _judge(frame: PointFrame) -> Callable[[Batches], Batches]:
    def judge(batches: Batches) -> Batches:
        for batch in batches:
            rows = point_numbers(batch, frame.space.dimension)
            given = frame.given(rows)
            failed = np.where(_has_unit(batch), np.where(given, -1, _COORDINATES), _UNIT).astype(np.int32)
            outside = np.zeros(batch.num_rows, dtype=np.int32)
            outside[given] = frame.outside(rows[given])
            arrays = [pa.array(failed, mask=failed < 0), pa.array(outside)]
            names = ["failed", "outside"]
            if "unit" in batch.schema.names:
                arrays.append(batch.column("unit").cast(pa.binary()))
                names.append("unit")
            yield pa.record_batch(arrays, names=names)

    return judge


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
            yield _row(int(shard), (keys[shards == shard], totals[shards == shard]))

    return summarise


def _merge(width: int) -> Callable[[pa.Table], pa.Table]:
    def merge(table: pa.Table) -> pa.Table:
        shard = table.column("shard")[0].as_py()
        return pa.Table.from_batches([_row(shard, _added(table, width))])

    return merge


def _added(table: pa.Table, width: int) -> Keyed:
    parts = [
        (
            np.frombuffer(keys.as_buffer(), dtype="<i8").astype(np.int64),
            np.frombuffer(totals.as_buffer(), dtype="<i8").astype(np.int64).reshape(-1, width),
        )
        for keys, totals in zip(table.column("keys"), table.column("totals"), strict=True)
    ]
    return add_keyed(parts, width)


def _row(shard: int, keyed: Keyed) -> pa.RecordBatch:
    packed = [np.ascontiguousarray(part, dtype="<i8").tobytes() for part in keyed]
    arrays = [pa.array([shard], pa.int32()), *(pa.array([part], pa.binary()) for part in packed)]
    return pa.RecordBatch.from_arrays(arrays, schema=_TOTALS_SCHEMA)
