"""Exact counts of bounded rows by day and row type: on the driver, or as one binary column by logical block.

Counts are sums of integers, so they do not depend on order or partitioning; one beyond 64 bits stops at `MOST`
(`dplib.spark.rows.cell_sums`). Blocks come from the settings: every block is there, with zeros where no row fell into
it, whatever the data are.

These are true counts: private until noise is added.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.rows.cell_sums import MOST
from dplib.spark.rows.contributions import Batches

NO_DAY = -1
"""Day of the row that makes a block be there without rows."""


def rows_of_days(rows: DataFrame, first: int, end: int) -> DataFrame:
    """The rows of the days ``first <= day < end``, counted from the first of them."""
    return rows.where(F.col("day").between(first, end - 1)).withColumn("day", F.col("day") - first)


def count_cells(rows: DataFrame, n_days: int, n_row_types: int) -> IntArray:
    """Sum the quantities by day and row type on the driver, shape (n_days, n_row_types).

    Args:
        rows: columns day, row_type, quantity; days and row types inside the domain (`resolve_rows`).
        n_days: number of days.
        n_row_types: number of row types.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("count the rows"):
        cells = _cells(rows).toArrow()
        counts = np.zeros((n_days, n_row_types), np.int64)
        counts[cells["day"].to_numpy(), cells["row_type"].to_numpy()] = cells["quantity"].to_numpy()
    return counts


def count_blocks(rows: DataFrame, bounds: IntArray, n_row_types: int) -> DataFrame:
    """Sum the quantities by day and row type, one row for each logical block.

    Args:
        rows: as for `count_cells`.
        bounds: boundaries of the blocks' days, increasing from 0, shape (n_blocks + 1,).
        n_row_types: number of row types.

    Returns:
        columns block int, counts binary: little-endian int64 of shape (days of the block, n_row_types), row-major;
        `block_counts` reads it. Lazy and unordered: run actions on it inside `quiet_spark_errors`.
    """
    cells = _cells(rows).mapInArrow(_add_block(bounds), "block int, day int, row_type int, quantity long")
    empty = rows.sparkSession.range(len(bounds) - 1).select(
        F.col("id").cast("int").alias("block"),
        F.lit(NO_DAY).alias("day"),
        F.lit(0).alias("row_type"),
        F.lit(0).cast("long").alias("quantity"),
    )
    filled = cells.unionByName(empty).groupBy("block")
    return filled.applyInArrow(_fill_block(bounds, n_row_types), "block int, counts binary")


def block_counts(counts: bytes, n_row_types: int) -> IntArray:
    """Read the counts of one block, shape (days of the block, n_row_types)."""
    return np.frombuffer(counts, "<i8").reshape(-1, n_row_types).astype(np.int64)


def _cells(rows: DataFrame) -> DataFrame:
    total = F.expr(f"least(coalesce(try_sum(quantity), {MOST}), {MOST}) AS quantity")
    return rows.groupBy("day", "row_type").agg(total)


def _add_block(bounds: IntArray) -> Callable[[Batches], Batches]:
    def add(batches: Batches) -> Batches:
        for batch in batches:
            days = batch.column("day").to_numpy()
            block = np.searchsorted(bounds, days, side="right").astype(np.int32) - np.int32(1)
            yield pa.RecordBatch.from_arrays(
                [pa.array(block, pa.int32()), *(batch.column(name) for name in ("day", "row_type", "quantity"))],
                names=["block", "day", "row_type", "quantity"],
            )

    return add


def _fill_block(bounds: IntArray, n_row_types: int) -> Callable[[pa.Table], pa.Table]:
    def fill(cells: pa.Table) -> pa.Table:
        block = cells["block"][0].as_py()
        first, end = int(bounds[block]), int(bounds[block + 1])
        day, row_type, quantity = (cells[name].to_numpy() for name in ("day", "row_type", "quantity"))
        there = day >= 0
        counts = np.zeros((end - first, n_row_types), "<i8")
        counts[day[there] - first, row_type[there]] = quantity[there]
        return pa.table({"block": pa.array([block], pa.int32()), "counts": pa.array([counts.tobytes()], pa.binary())})

    return fill
