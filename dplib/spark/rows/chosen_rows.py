"""Rows that are chosen once, on Spark: counts of a stream's run and what it chooses (`dplib.mechanisms.chosen_rows`).

One pass: rows get their unit's pseudonym, meet what was chosen of the unit before, and a task counts and chooses unit
by unit. Counts and choice come out of the same task, so that they are of the same rows even where the input changes
under the job; what a lost task leaves is worked out anew, both at once.

Cost: one shuffle of narrow rows and of the table by unit, sorted in each partition. A task holds a batch and 2^16 rows,
or four times the cap, however many rows a unit has, and its own sums of cells. The driver holds the table, what is
chosen now and the cells.

The key is used inside Arrow functions: as a literal of an expression it would stand in plans and event logs.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from dplib.arrays import IntArray
from dplib.mechanisms.chosen_rows import CONTENT, ENTRY, Caps, Choice, Chosen, Snapshot, choose, pseudonym
from dplib.spark.engine.blocks import Batches
from dplib.spark.engine.session import quiet_spark_errors
from dplib.spark.rows.cell_sums import MOST, CellSums
from dplib.spark.rows.unit_rows import HELD_ROWS, UnitRows, whole_units

BEFORE = -1
"""Day of the rows that are entries of the table: they come before all others of their unit."""
CHUNK_ROWS = 1 << 20
"""The table goes to Spark in pieces of so many rows."""
_FIELDS = np.dtype([*((name, CONTENT[name]) for name in CONTENT.names or ()), ("copies", "<i8"), ("entry", ENTRY)])
_ROWS = "unit binary, day int, row_type int, quantity long, entry binary, copies long"
_FOUND = pa.schema([("unit", pa.binary()), ("entry", pa.binary()), ("cell", pa.int64()), ("number", pa.int64())])


def choose_rows(
    rows: DataFrame, table: pa.Table, days: range, n_row_types: int, caps: Caps, key: bytes
) -> tuple[IntArray, pa.Table]:
    """Count the rows of some days that are chosen, and choose more of them as far as the caps have room.

    Rows of quantity 0 count nothing: they are dropped first, so that they take no other row's place.

    Args:
        rows: columns day, row_type, quantity, unit; days and row types inside the domain.
        table: all that was chosen before: columns unit, entry (binary) and copies.
        days: that the run's nodes hold.
        n_row_types: number of row types.
        caps: of one unit in all runs.
        key: the stream's key of chosen rows.

    Returns:
        Counts by day and row type, shape (len(days), n_row_types), and what was chosen now: columns as of ``table``.

    Raises:
        SchemaError: if the input cannot be read.
        DplibError: if Spark fails otherwise.
    """
    with quiet_spark_errors("choose the rows"):
        found = taken_rows(rows, table, days, n_row_types, caps, key).toArrow().combine_chunks()
    is_cell = found.column("unit").is_null()
    cells, chosen = found.filter(is_cell), found.filter(pc.invert(is_cell))
    counts = np.zeros(len(days) * n_row_types, dtype=np.int64)
    _add(counts, cells.column("cell").to_numpy(), cells.column("number").to_numpy())
    return counts.reshape(len(days), n_row_types), pa.table(
        {name: chosen.column(of) for name, of in (("unit", "unit"), ("entry", "entry"), ("copies", "number"))}
    )


def taken_rows(rows: DataFrame, table: pa.Table, days: range, n_row_types: int, caps: Caps, key: bytes) -> DataFrame:
    """What tasks find, lazy: entries with their copies (columns unit, entry, number), and sums (cell, number)."""
    # As bytes: a table's text need not be valid UTF-8.
    mine = rows.where(F.col("quantity") > 0).where(F.col("day").between(days.start, days.stop - 1))
    named = mine.select("day", "row_type", "quantity", F.col("unit").cast("binary")).mapInArrow(_pseudonyms(key), _ROWS)
    pieces = [table.slice(at, CHUNK_ROWS) for at in range(0, table.num_rows, CHUNK_ROWS)]
    before = [rows.sparkSession.createDataFrame(_as_rows(piece)) for piece in pieces]
    every = reduce(DataFrame.unionByName, before, named)
    in_order = every.repartition("unit").sortWithinPartitions("unit", "day", "row_type", "quantity")
    return in_order.mapInArrow(
        _choosing(days.start, n_row_types, caps, key), "unit binary, entry binary, cell long, number long"
    )


def _add(counts: IntArray, cell: IntArray, number: IntArray) -> None:
    """Add sums of cells up; none leaves 64 bits, since each is `MOST` at most."""
    order = np.argsort(cell, kind="stable")
    cell, number = cell[order], number[order]
    while len(cell):
        first = np.append(True, cell[1:] != cell[:-1])
        counts[cell[first]] = number[first] + np.minimum(counts[cell[first]], MOST - number[first])
        cell, number = cell[~first], number[~first]


def _pseudonyms(key: bytes) -> Callable[[Batches], Batches]:
    """The function that puts pseudonyms in the place of units."""

    def name(batches: Batches) -> Batches:
        for batch in batches:
            units = batch.column("unit").dictionary_encode()
            names = pa.array([pseudonym(unit, key) for unit in units.dictionary.to_pylist()], pa.binary())
            n = batch.num_rows
            columns = [names.take(units.indices), *(batch.column(each) for each in CONTENT.names or ())]
            columns += [pa.nulls(n, pa.binary()), pa.array(np.ones(n, np.int64))]
            yield pa.RecordBatch.from_arrays(columns, names=["unit", *(CONTENT.names or ()), "entry", "copies"])

    return name


def _as_rows(table: pa.Table) -> pa.Table:
    """What was chosen before, as rows that come before all others of their units."""
    n = table.num_rows
    return pa.table(
        {
            "unit": table.column("unit").cast(pa.binary()),
            "day": pa.array(np.full(n, BEFORE, np.int32)),
            "row_type": pa.array(np.zeros(n, np.int32)),
            "quantity": pa.array(np.zeros(n, np.int64)),
            "entry": table.column("entry").cast(pa.binary()),
            "copies": table.column("copies").cast(pa.int64()),
        }
    )


def _choosing(first_day: int, n_row_types: int, caps: Caps, key: bytes) -> Callable[[Batches], Batches]:
    """The function that counts and chooses, of batches in which each unit's rows stand together."""
    held_rows = HELD_ROWS

    def shorten(rows: UnitRows) -> UnitRows:
        # What goes now would not be chosen at the end: more rows take places, and give none.
        found, choice = _chosen_of(rows, caps, key)
        kept = np.flatnonzero(choice.counted)
        content = np.zeros(len(kept), _FIELDS)
        for name in CONTENT.names or ():
            content[name] = found.content[name][kept]
        content["copies"] = choice.counted[kept]
        entries = rows.part(rows.content["day"] == BEFORE)
        shorter = replace(rows, content=content, unit=found.unit[kept])
        return shorter.after(entries if len(entries.unit) else None)

    def take(batches: Batches) -> Batches:
        sums = CellSums()
        for rows in whole_units(batches, _FIELDS, held_rows, 4 * caps.rows, shorten):
            found, choice = _chosen_of(rows, caps, key)
            day, row_type, quantity = (found.content[name].astype(np.int64) for name in CONTENT.names or ())
            counted, added = np.flatnonzero(choice.counted), np.flatnonzero(choice.added)
            cells = (day - first_day) * n_row_types + row_type
            sums.add(cells[counted], (quantity * choice.counted)[counted])
            yield _found(
                {
                    "unit": [found.names[unit] for unit in found.unit[added].tolist()],
                    "entry": [entry.tobytes() for entry in choice.entry[added]],
                    "number": choice.added[added],
                }
            )
        cell, number = sums.found()
        yield _found({"cell": cell, "number": number})

    return take


def _chosen_of(rows: UnitRows, caps: Caps, key: bytes) -> tuple[Snapshot, Choice]:
    """The rows of whole units without entries of the table, and what of them counts and is chosen."""
    is_entry = rows.content["day"] == BEFORE
    entries, own = rows.part(is_entry), rows.part(~is_entry)
    content = np.empty(len(own.unit), CONTENT)
    for name in CONTENT.names or ():
        content[name] = own.content[name]
    snapshot = Snapshot.of(own.unit, content, own.content["copies"].astype(np.int64), rows.names)
    before = Chosen(entries.unit, entries.content["entry"], entries.content["copies"].astype(np.int64))
    return snapshot, choose(snapshot, before, caps, key)


def _found(columns: dict[str, Any]) -> pa.RecordBatch:
    """A part of what a task finds; columns that are not given are null."""
    size = len(columns["number"])
    return pa.RecordBatch.from_arrays(
        [
            pa.array(columns[field.name], field.type) if field.name in columns else pa.nulls(size, field.type)
            for field in _FOUND
        ],
        schema=_FOUND,
    )
