"""Rows of a partition unit by unit: what Arrow batches hold, cut where a unit ends.

Rows come with each unit's together. A task holds a batch and the last unit, which may go on in the next one; how many
rows of it are held is bounded by whoever says which of them can be left out.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dplib.arrays import BoolArray, Int32Array, IntArray
from dplib.spark.engine.blocks import Batches

CELLS = "cells"
"""Column of wide rows: counts of several items, as many in each row."""
HELD_ROWS = 1 << 16
"""Rows of one unit that a task holds before it looks which can still be kept."""


@dataclass(frozen=True, eq=False)
class UnitRows:
    """Rows in which each unit's stand together.

    Attributes:
        content: shape (n,), structured; of wide rows with a field of cells.
        unit: number of each row's unit, ascending, shape (n,).
        names: of the units, each once: a unit of many rows may have a long name.
    """

    content: npt.NDArray[np.void]
    unit: IntArray
    names: list[bytes]

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
        return cls(content, units.indices.to_numpy().astype(np.int64), units.dictionary.to_pylist())

    def after(self, held: "UnitRows | None") -> "UnitRows":
        """These rows behind those of one unit, which may be the first of these."""
        if held is None:
            return self
        goes_on = held.names[0] == self.names[0]
        unit = np.concatenate([np.zeros(len(held.unit), np.int64), self.unit + (not goes_on)])
        names = self.names if goes_on else held.names + self.names
        return UnitRows(np.concatenate([held.content, self.content]), unit, names)

    def cut(self) -> "tuple[UnitRows, UnitRows]":
        """The rows of all units but the last, and those of the last."""
        first = int(np.searchsorted(self.unit, self.unit[-1]))
        last = UnitRows(self.content[first:], self.unit[first:] - self.unit[-1], self.names[-1:])
        return UnitRows(self.content[:first], self.unit[:first], self.names), last

    def part(self, rows: IntArray | BoolArray) -> "UnitRows":
        """Some of the rows, in their order."""
        return UnitRows(self.content[rows], self.unit[rows], self.names)


def cells_of(batch: pa.RecordBatch) -> Int32Array:
    """The cells of wide rows, as many of each, shape (n_rows, n_cells)."""
    flat = batch.column(CELLS).flatten().to_numpy().astype("<i4", copy=False)
    return np.asarray(flat.reshape(batch.num_rows, -1))


def whole_units(
    batches: Batches, fields: np.dtype[np.void], held_rows: int, least: int, shorten: Callable[[UnitRows], UnitRows]
) -> Iterator[UnitRows]:
    """The rows of whole units, a batch's at a time.

    Args:
        batches: each unit's rows together.
        fields: columns that the rows have.
        held_rows: rows of one unit that are held as they are, as many times fewer as a wide one has cells.
        least: rows of one unit that are held in any case.
        shorten: takes out of a unit's rows those that no further ones would bring back.
    """
    held: UnitRows | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        # The last unit may go on in the next batch.
        whole, held = UnitRows.of(batch, fields).after(held).cut()
        if len(whole.unit):
            yield whole
        width = held.content[CELLS].shape[1] if CELLS in (held.content.dtype.names or ()) else 1
        if len(held.unit) > max(held_rows // width, least):
            held = shorten(held)
    if held is not None:
        yield held
