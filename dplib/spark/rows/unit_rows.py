"""Rows of a partition unit by unit: what Arrow batches hold, cut where a unit ends.

Rows come with each unit's together, or with those of one hash of their units' names together, which Spark sorts
without comparing names: units whose names have one hash are told apart here. A task holds a batch and the last units,
which may go on in the next one; how many rows of each are held is bounded by whoever says which of them can be left
out. More than one unit has the last hash only where somebody made names for it; then as many are held.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dplib.arrays import BoolArray, Int32Array, IntArray
from dplib.spark.engine.blocks import Batches

CELLS = "cells"
"""Column of wide rows: counts of several items, as many in each row."""
HASH = "hash"
"""Column of rows that are sorted by it: 64 bits of the unit's name."""
HELD_ROWS = 1 << 16
"""Rows that a task holds of the last units before it looks which can still be kept."""


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows in which each unit's stand together.

    Attributes:
        content: shape (n,), structured; of wide rows with a field of cells.
        unit: number of each row's unit, ascending, shape (n,).
        names: of the units, each once: a unit of many rows may have a long name.
        first_open: number of the first unit that may go on in the next batch.
        place: what rows of such units have in common: their hash, or their name.
    """

    content: npt.NDArray[np.void]
    unit: IntArray
    names: list[bytes]
    first_open: int
    place: object

    @classmethod
    def of(cls, batch: pa.RecordBatch, fields: np.dtype[np.void]) -> "UnitRows":
        """The rows of a batch: its column unit, those that ``fields`` name, and cells where rows have some.

        Bytes that are null are zeros.
        """
        if CELLS in batch.schema.names:
            cells = cells_of(batch)
            content = np.empty(batch.num_rows, [*fields.descr, (CELLS, "<i4", cells.shape[1:])])
            content[CELLS] = cells
        else:
            content = np.empty(batch.num_rows, fields)
        for name in fields.names or ():
            column, kind = batch.column(name), fields[name]
            if kind.kind == "V":
                whole = column.fill_null(bytes(kind.itemsize)).cast(pa.binary(kind.itemsize))
                content[name] = np.frombuffer(whole.buffers()[1], kind, len(whole), whole.offset * kind.itemsize)
            else:
                content[name] = column.to_numpy()
        units = batch.column("unit").dictionary_encode()  # numbered as they come
        unit, names = units.indices.to_numpy().astype(np.int64), units.dictionary.to_pylist()
        if HASH not in batch.schema.names:
            return cls(content, unit, names, int(unit[-1]), names[-1])
        hashes = batch.column(HASH).to_numpy()
        first = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))[-1]
        return cls(content, unit, names, int(unit[first]), int(hashes[-1]))._together()

    def _together(self) -> "UnitRows":
        """The same with each unit's rows together: those of one hash come in any order."""
        if np.all(self.unit[1:] >= self.unit[:-1]):
            return self
        return self.part(np.argsort(self.unit, kind="stable"))

    def after(self, held: "UnitRows | None") -> "UnitRows":
        """These rows behind those of units that may go on in them."""
        if held is None:
            return self
        known = {name: number for number, name in enumerate(held.names)}
        number = np.array([known.setdefault(name, len(known)) for name in self.names], np.int64)
        first_open = 0 if self.place == held.place else int(number[self.first_open])
        content, unit = np.concatenate([held.content, self.content]), np.concatenate([held.unit, number[self.unit]])
        return UnitRows(content, unit, list(known), first_open, self.place)._together()

    def cut(self) -> "tuple[UnitRows, UnitRows]":
        """The rows of all units but those that may go on, and the rows of these."""
        first, n_whole = int(np.searchsorted(self.unit, self.first_open)), self.first_open
        last = UnitRows(self.content[first:], self.unit[first:] - n_whole, self.names[n_whole:], 0, self.place)
        return replace(self, content=self.content[:first], unit=self.unit[:first]), last

    def part(self, rows: IntArray | BoolArray) -> "UnitRows":
        """Some of the rows, in their order."""
        return replace(self, content=self.content[rows], unit=self.unit[rows])


def cells_of(batch: pa.RecordBatch) -> Int32Array:
    """The cells of wide rows, as many of each, shape (n_rows, n_cells)."""
    flat = batch.column(CELLS).flatten().to_numpy().astype("<i4", copy=False)
    return np.asarray(flat.reshape(batch.num_rows, -1))


def whole_units(
    batches: Batches, fields: np.dtype[np.void], held_rows: int, least: int, shorten: Callable[[UnitRows], UnitRows]
) -> Iterator[UnitRows]:
    """The rows of whole units, a batch's at a time.

    Args:
        batches: each unit's rows together, or in the order of a column `HASH`.
        fields: columns that the rows have.
        held_rows: rows that are held as they are, as many times fewer as a wide one has cells.
        least: rows of one unit that are held in any case: twice what `shorten` leaves of it.
        shorten: takes out of units' rows those that no further ones would bring back.
    """
    held: UnitRows | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        whole, held = UnitRows.of(batch, fields).after(held).cut()
        if len(whole.unit):
            yield whole
        width = held.content[CELLS].shape[1] if CELLS in (held.content.dtype.names or ()) else 1
        if len(held.unit) > max(held_rows // width, least * len(held.names)):
            held = shorten(held)
    if held is not None:
        yield held
