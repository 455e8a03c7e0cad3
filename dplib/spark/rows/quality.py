"""Counts of the input by what becomes of its rows, before any cap of units: exact, and private until noise is added.

What is counted, and why a unit changes it by so little: `dplib.privacy.input_quality`.

Cost: one pass over the rows and one shuffle, besides those of the job.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.rows.contributions import Batches, first_rows, priorities

_LENGTH = 8


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
    owned = rows.where(F.col("owner").isNotNull()).mapInArrow(
        _prioritise(key), "category int, owner binary, priority binary"
    )
    kept = first_rows(owned, ["owner"], rows_per_unit).select("category")
    alone = rows.where(F.col("owner").isNull()).select("category")
    with quiet_spark_errors("count the quality of the input"):
        found = kept.unionByName(alone).groupBy("category").count().collect()
    counts = np.zeros(n_rules + 2, dtype=np.int64)
    for row in found:
        counts[row["category"]] = row["count"]
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
    """Gives each row its place in the queue of its unit: BLAKE2b of its category, content and unit under ``key``."""

    def prioritise(batches: Batches) -> Batches:
        for batch in batches:
            categories, contents, owners = (batch.column(name) for name in ("category", "content", "owner"))
            rows = zip(categories.to_pylist(), contents.to_pylist(), owners.to_pylist(), strict=True)
            queue = priorities((_framed(*row) for row in rows), key)
            arrays = [categories.cast(pa.int32()), owners.cast(pa.binary()), queue]
            yield pa.RecordBatch.from_arrays(arrays, names=["category", "owner", "priority"])

    return prioritise


def _framed(category: int, content: bytes | None, owner: bytes) -> bytes:
    """A message that no other category, content and owner share."""
    text = content or b""
    return category.to_bytes(4, "little") + len(text).to_bytes(_LENGTH, "little") + text + owner
