"""Sums of quantities by cell, as a task of Spark holds them.

A sum beyond 64 bits stops at `MOST`: that takes a unit's change of a count nowhere beyond what it was, and no number of
rows ends a run.
"""

import numpy as np
import pyarrow as pa

from dplib.arrays import IntArray

MOST = 1 << 62
"""A cell's count at most. Quantities are not negative, so a sum that leaves 64 bits is above it."""
HELD_CELLS = 1 << 20
"""Numbers that a task holds before it adds up those of the same cell."""


class CellSums:
    """Sums of quantities by cell."""

    def __init__(self) -> None:
        self._cells: list[IntArray] = []
        self._numbers: list[IntArray] = []
        self.n_held = 0
        """Numbers that are held: sums, and quantities that are not added up yet."""

    def add(self, cell: IntArray, number: IntArray) -> None:
        """Add quantities."""
        self._cells.append(cell)
        self._numbers.append(number)
        self.n_held += len(cell)
        if self.n_held > HELD_CELLS:
            cell, number = self.found()
            self._cells, self._numbers, self.n_held = [cell], [number], len(cell)

    def found(self) -> tuple[IntArray, IntArray]:
        """The cells, each once, with their sums, each `MOST` at most."""
        nothing = np.zeros(0, np.int64)
        cells = pa.array(np.concatenate([nothing, *self._cells])).dictionary_encode()
        sums = np.zeros(len(cells.dictionary), np.int64)
        # What is held between two calls is of fewer than 2^22 units, each with 10^12 at most: no sum leaves 64 bits.
        np.add.at(sums, cells.indices.to_numpy(), np.concatenate([nothing, *self._numbers]))
        return cells.dictionary.to_numpy(), np.minimum(sums, MOST)
