"""Bounding: what one privacy unit may contribute, whatever its rows are.

A unit keeps at most r rows a day and then at most m rows in all. Which ones is decided by a keyed hash of the row's
content alone, so the choice is the same in every order, partitioning and recomputation; it cannot be steered by
someone who does not know the key; and it looks at one unit at a time, so a unit more or less leaves the rows of all
others as they are. Rows with equal hashes have equal content: whichever is kept, the counts are the same.

Guarantee: with quantities in 0 ... Q, adding or removing a unit changes the counts by at most m Q in the L1 norm and,
on one day, by at most min(m, r) Q. Cost: one shuffle of narrow rows by unit, sorted in each partition by a number made
of the unit, which needs no comparisons of names, and one pass over them: units within both caps go through as they
are, rows of the others are hashed and ranked; what is kept goes back to Spark as sums by day and row type. A task holds
a batch, 2^16 rows of two numbers, or twice the cap, however many rows a unit has and however long its name is
(`dplib.spark.rows.unit_rows`), and 2^19 sums.

The key is used inside an Arrow function: as a literal of an expression it would stand in plans and event logs.

Reference: keyed BLAKE2b is a pseudorandom function (RFC 7693; Aumasson, Neves, Wilcox-O'Hearn, Winnerlein, "BLAKE2:
simpler, smaller, fast as MD5", ACNS 2013).
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from dplib.arrays import IntArray
from dplib.spark.rows.cell_sums import HELD_CELLS, CellSums
from dplib.spark.rows.unit_rows import CELLS, HASH, HELD_ROWS, UnitRows, whole_units
from dplib.validate import at_least, require

KEY_BYTES = range(16, 65)
PRIORITY_BYTES = 16
_SENT = np.dtype([("cell", "<i8"), ("quantity", "<i8")])
"""What a task gets of a row: of its cell the low 32 bits are the day, the others the row type; Spark takes a tenth
longer to hand over both."""
_DAY = (1 << 32) - 1
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
        columns day, row_type and quantity of what is kept, in any number of rows of each day and type: a task adds up
        what it has of them; of wide rows their cells besides, row by row; lazy. The rows as they are without a column
        unit.

    Raises:
        ConfigError: if a cap is below 1 or the key has a wrong length.
    """
    at_least("privacy.max_rows_per_unit", max_rows, 1)
    at_least("privacy.max_rows_per_day", max_rows_per_day, 1)
    require(len(key) in KEY_BYTES, "the bounding key", "have 16 to 64 bytes", f"{len(key)} bytes")
    if "unit" not in rows.columns:
        return rows
    # As bytes: a table's text need not be valid UTF-8, and Python would refuse it with a message that quotes it.
    cells, schema = ["cells"] if "cells" in rows.columns else [], "day int, row_type int, quantity long"
    keep = keep_rows(max_rows, max_rows_per_day, key)
    unit, cell = "CAST(unit AS BINARY)", "shiftleft(CAST(row_type AS BIGINT), 32) + day"
    narrow = rows.where("quantity > 0").selectExpr(
        f"{cell} AS cell", "quantity", f"{unit} AS unit", f"xxhash64({unit}) AS {HASH}", *cells
    )
    # By one number Spark sorts without comparisons.
    in_order = narrow.repartition("unit").sortWithinPartitions(HASH)
    if cells:
        return in_order.mapInArrow(keep, f"{schema}, cells array<int>")
    return in_order.mapInArrow(lambda batches: summed(keep(batches)), schema)


def keep_rows(max_rows: int, max_rows_per_day: int, key: bytes) -> Callable[[Batches], Batches]:
    """The function that keeps rows of batches in which each unit's rows stand together, or those of one hash.

    Args:
        max_rows: m.
        max_rows_per_day: r.
        key: as for `bound_rows`.
    """

    def shorten(rows: UnitRows) -> UnitRows:
        # What goes now would go at the end: of the first rows of a set more rows take places, and give none.
        return _kept(rows, max_rows, max_rows_per_day, key)

    def keep(batches: Batches) -> Batches:
        for rows in whole_units(batches, _SENT, HELD_ROWS, 2 * max_rows, shorten):
            content = shorten(rows).content
            batch = _batch(content["cell"], content["quantity"])
            if CELLS in (content.dtype.names or ()):
                cells = content[CELLS]
                ends = np.arange(len(cells) + 1, dtype=np.int32) * np.int32(cells.shape[1])
                batch = batch.append_column(
                    CELLS, pa.ListArray.from_arrays(pa.array(ends), pa.array(cells.reshape(-1)))
                )
            yield batch

    return keep


def summed(batches: Batches) -> Batches:
    """What is kept, added up by day and row type: fewer rows for Spark to take and to count."""
    sums = CellSums()
    for batch in batches:
        row_type, day, quantity = (batch.column(name).to_numpy() for name in ("row_type", "day", "quantity"))
        sums.add((row_type.astype(np.int64) << 32) + day, quantity)
        if sums.n_held > HELD_CELLS // 2:
            yield _batch(*sums.found())
            sums = CellSums()
    yield _batch(*sums.found())


def _batch(cell: IntArray, quantity: IntArray) -> pa.RecordBatch:
    """Rows as they go back to Spark."""
    day, row_type = (cell & _DAY).astype(np.int32), (cell >> 32).astype(np.int32)
    return pa.RecordBatch.from_pydict({"day": day, "row_type": row_type, "quantity": quantity})


def _kept(rows: UnitRows, max_rows: int, max_rows_per_day: int, key: bytes) -> UnitRows:
    """The rows of whole units that both caps keep."""
    unit = rows.unit
    above = np.bincount(unit) > min(max_rows, max_rows_per_day)
    asked = np.flatnonzero(above[unit])
    if not len(asked):
        return rows
    group, capped_daily = unit, max_rows_per_day < max_rows
    if capped_daily:
        group = np.zeros(len(unit), np.int64)
        days = (unit[asked] << 32) + (rows.content["cell"][asked] & _DAY)
        _, first, group[asked], of_group = np.unique(days, return_index=True, return_inverse=True, return_counts=True)
        unit_of_group = unit[asked[first]]
        above = np.bincount(unit_of_group, np.minimum(of_group, max_rows_per_day), len(above)) > max_rows
        above[unit_of_group[of_group > max_rows_per_day]] = True
        asked = asked[above[unit[asked]]]
    place = np.frombuffer(_places(rows, asked, key), ">u8").reshape(-1, 2)
    in_order = asked[np.lexsort((place[:, 1], place[:, 0]))]
    # With a cap a day that is no smaller, the first rows of a unit are among the first of their days.
    daily = _first(in_order, group, max_rows_per_day) if capped_daily else in_order
    keep = ~above[unit]
    keep[_first(daily, unit, max_rows)] = True
    return rows.part(keep)


def _places(rows: UnitRows, asked: IntArray, key: bytes) -> bytes:
    """Each asked row's place in the queue of its unit: BLAKE2b of its content under ``key``."""
    # The numbers have a fixed length and come first, so different rows are different messages.
    packed, size = rows.content[asked].tobytes(), rows.content.itemsize
    numbered = enumerate(rows.unit[asked].tolist())
    return b"".join(_digest(packed[i * size : (i + 1) * size] + rows.names[unit], key) for i, unit in numbered)


def _first(rows: IntArray, group: IntArray, limit: int) -> IntArray:
    """Of rows in their order the first ones of each group."""
    by_group = np.argsort(group[rows], kind="stable")
    sizes = np.unique(group[rows], return_counts=True)[1]
    place = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows[np.sort(by_group[place < limit])]


def _digest(row: bytes, key: bytes) -> bytes:
    return blake2b(row, key=key, digest_size=PRIORITY_BYTES).digest()


def priorities(rows: Iterable[bytes], key: bytes) -> pa.Array:
    """Each row's place in the queue of its unit: BLAKE2b under ``key`` of bytes that no different row has."""
    return pa.array([_digest(row, key) for row in rows], pa.binary())


def first_rows(rows: DataFrame, group: list[str], limit: int) -> DataFrame:
    """The first rows of each group in the order of their column priority, and their place in it."""
    place = f"row_number() OVER (PARTITION BY {', '.join(group)} ORDER BY priority) AS place"
    return rows.selectExpr("*", place).where(f"place <= {limit}")
