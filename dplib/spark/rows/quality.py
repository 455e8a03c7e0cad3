"""Counts of the input by what becomes of its rows, before any cap of units: exact, and private until noise is added.

What is counted, and why a unit changes it by so little: `dplib.privacy.input_quality`.

Cost: one pass over the rows and one shuffle, besides those of the job.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.rows.contributions import Batches, first_rows, priorities

_LENGTH = 8
_QUEUED = "category int, is_sum boolean, owner binary, priority binary, number long"


@dataclass(frozen=True)
class JudgedRows:
    """Rows after their judgement.

    Attributes:
        frame: columns failed (index of the first rule that a row fails, null where it counts), clipped (whether a cap
            changes what it counts as), takes_place (whether it counts something, and so takes a place of the cap),
            content (binary: all of the row that the judgement looks at), owner (binary: its unit; null for a row that
            is a unit of its own).
        rules: names of the rules.
        max_rows: cap of a unit's rows; None where there is none.
    """

    frame: DataFrame
    rules: tuple[str, ...]
    max_rows: int | None = None


def count_categories(judged: JudgedRows, rows_per_unit: int, key: bytes) -> IntArray:
    """Keep at most q rows of each unit and count them by what becomes of them.

    Args:
        judged: the rows.
        rows_per_unit: q.
        key: derived sub-key of 16 to 64 bytes that belongs to the account.

    Returns:
        Shape (n_rules + 2,): dropped by each rule, then kept, then clipped. NOT PRIVATE.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    n_rules = len(judged.rules)
    counted = F.when(F.coalesce("clipped", F.lit(False)), n_rules + 1).otherwise(n_rules)
    rows = judged.frame.select(F.coalesce("failed", counted).alias("category"), "content", "owner")
    queued = rows.mapInArrow(_prioritise(key), _QUEUED)
    kept = (
        first_rows(queued, ["is_sum", "owner"], rows_per_unit).groupBy("category").agg(F.sum("number").alias("number"))
    )
    with quiet_spark_errors("count the quality of the input"):
        found = kept.collect()
    counts = np.zeros(n_rules + 2, dtype=np.int64)
    for row in found:
        counts[row["category"]] = row["number"]
    return counts


def count_units_above(judged: JudgedRows) -> IntArray:
    """The number of units of which more rows count than the cap keeps, shape (1,). NOT PRIVATE.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    counting = judged.frame.where(F.col("failed").isNull() & F.col("takes_place") & F.col("owner").isNotNull())
    units = counting.groupBy("owner").count().where(F.col("count") > F.lit(judged.max_rows))
    with quiet_spark_errors("count the quality of the input"):
        return np.array([units.count()], dtype=np.int64)


def _prioritise(key: bytes) -> Callable[[Batches], Batches]:
    """Gives each row its place in the queue of its unit: BLAKE2b of its category, content and unit under ``key``.

    Rows that are units of their own are added up at once, each sum under a name that no other has: no cap cuts them,
    and the input is read once for both kinds.
    """

    def prioritise(batches: Batches) -> Batches:
        task = TaskContext.get()
        assert task is not None
        part = task.partitionId()
        for number, batch in enumerate(batches):
            owned = batch.filter(batch.column("owner").is_valid())
            categories, contents, owners = (owned.column(name) for name in ("category", "content", "owner"))
            rows = zip(categories.to_pylist(), contents.to_pylist(), owners.to_pylist(), strict=True)
            queue, ones = priorities((_framed(*row) for row in rows), key), pa.array(np.ones(len(owners), np.int64))
            yield _queued(categories, False, owners, queue, ones)
            alone = batch.column("category").filter(batch.column("owner").is_null())
            sums = pc.value_counts(alone).flatten()
            names = pa.array([f"{part} {number} {place}".encode() for place in range(len(sums[0]))], pa.binary())
            yield _queued(sums[0], True, names, names, sums[1])

    return prioritise


def _queued(categories: pa.Array, is_sum: bool, owners: pa.Array, queue: pa.Array, number: pa.Array) -> pa.RecordBatch:
    kinds = pa.array(np.full(len(owners), is_sum))
    arrays = [categories.cast(pa.int32()), kinds, owners.cast(pa.binary()), queue, number]
    return pa.RecordBatch.from_arrays(arrays, names=["category", "is_sum", "owner", "priority", "number"])


def _framed(category: int, content: bytes | None, owner: bytes) -> bytes:
    """A message that no other category, content and owner share."""
    text = content or b""
    return category.to_bytes(4, "little") + len(text).to_bytes(_LENGTH, "little") + text + owner
