"""Bounding: what one privacy unit may contribute, whatever its rows are.

A unit keeps at most r rows a day and then at most m rows in all. Which ones is decided by a keyed hash of the row's
content alone, so the choice is the same in every order, partitioning and recomputation; it cannot be steered by
someone who does not know the key; and it looks at one unit at a time, so a unit more or less leaves the rows of all
others as they are. Rows with equal hashes have equal content: whichever is kept, the counts are the same.

Guarantee: with quantities in 0 ... Q, adding or removing a unit changes the counts by at most m Q in the L1 norm and,
on one day, by at most min(m, r) Q. Cost: one shuffle a cap that binds, of rows that a first cut in each partition has
thinned out; memory of a task does not grow with a unit's rows.

The key is used inside an Arrow function: as a literal of an expression it would stand in plans and event logs.

Reference: keyed BLAKE2b is a pseudorandom function (RFC 7693; Aumasson, Neves, Wilcox-O'Hearn, Winnerlein, "BLAKE2:
simpler, smaller, fast as MD5", ACNS 2013).
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from dplib.validate import at_least, require

KEY_BYTES = range(16, 65)
PRIORITY_BYTES = 16
CONTENT = np.dtype([("day", "<i4"), ("row_type", "<i4"), ("quantity", "<i8")])
Batches = Iterator[pa.RecordBatch]


def bound_rows(rows: DataFrame, max_rows: int, max_rows_per_day: int, key: bytes) -> DataFrame:
    """Keep at most ``max_rows_per_day`` rows of each unit and day, then at most ``max_rows`` of each unit.

    Rows of quantity 0 count nothing: they are dropped first, so that they take no other row's place.

    Args:
        rows: resolved rows (`dplib.spark.rows.resolve.resolve_rows`). Without a column unit every row is its own unit
            and nothing is done.
        max_rows: m.
        max_rows_per_day: r.
        key: derived sub-key of 16 to 64 bytes that belongs to the account, not to the measurement.

    Returns:
        the rows that are kept, same columns; lazy.

    Raises:
        ConfigError: if a cap is below 1 or the key has a wrong length.
    """
    at_least("privacy.max_rows_per_unit", max_rows, 1)
    at_least("privacy.max_rows_per_day", max_rows_per_day, 1)
    require(len(key) in KEY_BYTES, "the bounding key", "have 16 to 64 bytes", f"{len(key)} bytes")
    if "unit" not in rows.columns:
        return rows
    # As bytes: a table's text need not be valid UTF-8, and Python would refuse it with a message that quotes it.
    binary = rows.where("quantity > 0").select("day", "row_type", "quantity", F.col("unit").cast("binary"))
    schema = "day int, row_type int, quantity long, unit binary, priority binary"
    kept = binary.mapInArrow(add_priority(key), schema)
    if max_rows_per_day < max_rows:
        kept = first_rows(kept, ["unit", "day"], max_rows_per_day)
    kept = first_rows(kept, ["unit"], max_rows)
    return kept.select("day", "row_type", "quantity", F.col("unit").cast("string")).select(*rows.columns)


def add_priority(key: bytes) -> Callable[[Batches], Batches]:
    """The function that gives each row its place in the queue of its unit: BLAKE2b of its content under ``key``."""

    def prioritise(batches: Batches) -> Batches:
        for batch in batches:
            content = np.empty(batch.num_rows, CONTENT)
            for name in CONTENT.names or ():
                content[name] = batch.column(name).to_numpy()
            # The numbers have a fixed length and come first, so different rows are different messages.
            packed, size = content.tobytes(), CONTENT.itemsize
            units = enumerate(batch.column("unit").to_pylist())
            queue = priorities((packed[i * size : (i + 1) * size] + unit for i, unit in units), key)
            yield pa.RecordBatch.from_arrays([*batch.columns, queue], names=[*batch.schema.names, "priority"])

    return prioritise


def priorities(rows: Iterable[bytes], key: bytes) -> pa.Array:
    """Each row's place in the queue of its unit: BLAKE2b under ``key`` of bytes that no different row has."""
    return pa.array([blake2b(row, key=key, digest_size=PRIORITY_BYTES).digest() for row in rows], pa.binary())


def first_rows(rows: DataFrame, group: list[str], limit: int) -> DataFrame:
    """The first rows of each group in the order of their column priority, without their place."""
    place = F.row_number().over(Window.partitionBy(*group).orderBy("priority"))
    return rows.withColumn("place", place).where(F.col("place") <= limit).drop("place")
