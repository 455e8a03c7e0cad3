"""Batches of rows with numbers, as tasks see them.

Every Python worker loads this module; it imports neither settings nor anything else that takes a worker a second.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dplib.arrays import BoolArray, FloatArray


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


def has_unit(batch: pa.RecordBatch) -> BoolArray:
    """Which rows of a batch have a unit, shape (n,); all where every row is its own."""
    if "unit" not in batch.schema.names:
        return np.ones(batch.num_rows, dtype=np.bool_)
    given = pc.fill_null(pc.greater(pc.binary_length(batch.column("unit")), 0), False)
    return np.asarray(given.to_numpy(zero_copy_only=False), dtype=np.bool_)
