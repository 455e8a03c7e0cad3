"""The private table of chosen rows of a stream whose units span days (`dplib.mechanisms.chosen_rows`).

    <output>/.chosen-<stream>/<digest>.parquet    what one run chose: written once, mode 0600 in a folder of 0700

The table is all of these files together, in the order in which the ledger recorded their runs. A file's name is a keyed
digest of the name before it and of its own rows, so the newest name stands for the whole table; the ledger keeps it
with the day, and takes only the day whose run started from the table that it knows. A file that is lost, changed or
older is found before a row is read: the stream can then be closed and published, not continued.

Private: whoever reads it learns how many rows of how many units were chosen, and of one unit's rows which are of one
day; names, days and contents only with the key. Deleted when the stream takes no more days.
"""

import io
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pa_parquet

from dplib.arrays import IntArray
from dplib.errors import ConfigError, IntegrityError
from dplib.mechanisms.chosen_rows import ENTRY, UNIT_BYTES
from dplib.release.staging import flush_directory, locked

STAGED = "chosen"
"""Folder in a staging directory that holds what its run chose."""
UNIT = np.dtype(f"V{UNIT_BYTES}")
_NAME = re.compile(r"[0-9a-f]{32}")
_TABLE = b"table"


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Rows of a table, of one run or of several.

    Attributes:
        unit: pseudonyms, shape (n,), of `UNIT`.
        entry: shape (n,), of `ENTRY`.
        copies: shape (n,).
    """

    unit: npt.NDArray[np.void]
    entry: npt.NDArray[np.void]
    copies: IntArray

    @classmethod
    def of(cls, table: pa.Table) -> "ChosenRows":
        """From columns unit, entry (binary) and copies."""
        unit, entry = _values(table.column("unit"), UNIT), _values(table.column("entry"), ENTRY)
        return cls(unit, entry, table.column("copies").to_numpy().astype(np.int64))

    def in_order(self) -> "ChosenRows":
        """The same rows in the one order that does not hang on how they came."""
        words = [values.view(">u8").reshape(len(values), -1) for values in (self.unit, self.entry) if len(values)]
        order = np.lexsort(np.hstack(words).T[::-1]) if words else np.zeros(0, np.int64)
        return ChosenRows(self.unit[order], self.entry[order], self.copies[order])

    @classmethod
    def together(cls, parts: "Sequence[ChosenRows]") -> "ChosenRows":
        """Those of several runs."""
        nothing = cls(np.zeros(0, UNIT), np.zeros(0, ENTRY), np.zeros(0, np.int64))
        every = [nothing, *parts]
        return cls(*(np.concatenate([getattr(each, name) for each in every]) for name in ("unit", "entry", "copies")))

    def table(self) -> pa.Table:
        """As columns unit, entry and copies."""
        columns = [
            pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(values.dtype.itemsize), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))]
            )
            for values in (self.unit, self.entry)
        ]
        return pa.table([*columns, pa.array(self.copies, pa.int64())], names=["unit", "entry", "copies"])

    def name(self, before: str, key: bytes) -> str:
        """The file's name: a keyed digest of these rows, after the table of that name."""
        digest = blake2b(before.encode().ljust(2 * UNIT_BYTES), key=key, person=_TABLE, digest_size=UNIT_BYTES)
        for values in (self.unit, self.entry, self.copies.astype("<i8")):
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class ChosenTable:
    """The table of a stream.

    Attributes:
        folder: that holds its files.
        names: of its files, in the order of their runs.
    """

    folder: Path
    names: tuple[str, ...]

    @classmethod
    def beside(cls, output: Path, release_id: str, names: Sequence[str]) -> "ChosenTable":
        """The table of a stream in an output folder."""
        return cls(output / f".chosen-{release_id}", tuple(names))

    def lying(self) -> set[str]:
        """Names of the files that are there."""
        return {path.stem for path in self.folder.glob("*.parquet")} if self.folder.is_dir() else set()

    def require_newest(self, lying: set[str], stream: str) -> None:
        """Refuse to go on from a table that the ledger does not know, or that is not whole.

        Args:
            lying: names of the files that were there before the ledger was asked.
            stream: its release id.

        Raises:
            ConfigError: if the ledger is older than the table.
            IntegrityError: if a file is missing.
        """
        if not lying <= set(self.names):
            raise ConfigError("ledger", f"be as new as the chosen rows of {stream}", "an older one")
        if not self.lying() >= set(self.names):
            raise IntegrityError(
                f"{stream} must have its table of chosen rows in {self.folder.name}, got none or a part of it: the "
                "stream can be closed and published (dplib stream close), not continued"
            )

    def read(self, key: bytes) -> ChosenRows:
        """All rows.

        Raises:
            IntegrityError: if a file is missing or changed.
        """
        parts, before = [], ""
        for name in self.names:
            try:
                rows = ChosenRows.of(pa_parquet.read_table(self._file(name)))
            except (pa.ArrowException, OSError, KeyError, ValueError):
                rows = None
            if rows is None or rows.name(before, key) != name:
                raise IntegrityError(f"{self.folder.name} must hold the chosen rows that the ledger names, got others")
            parts.append(rows)
            before = name
        return ChosenRows.together(parts)

    def add(self, rows: ChosenRows, staging: Path, key: bytes) -> str:
        """Write what a run chose into its staging directory; returns the name."""
        rows = rows.in_order()
        name = rows.name(self.names[-1] if self.names else "", key)
        written = io.BytesIO()
        pa_parquet.write_table(rows.table(), written, version="2.6", compression="zstd", use_dictionary=False)
        folder = staging / STAGED
        folder.mkdir(mode=0o700)
        descriptor = os.open(folder / f"{name}.parquet", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(written.getbuffer())
        return name

    def place(self, staged: Path, name: str) -> None:
        """Move what a recorded run chose from its staging directory to the others; again without effect."""
        target, source = self._file(name), staged / STAGED / f"{name}.parquet"
        with locked(self.folder.parent):
            if not target.is_file() and source.is_file():
                self.folder.mkdir(mode=0o700, exist_ok=True)
                os.rename(source, target)
                for folder in (self.folder, self.folder.parent):
                    flush_directory(folder)

    def remove(self) -> None:
        """Delete the table."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _file(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise IntegrityError(f"{self.folder.name} must hold files that are named by digests, got another name")
        return self.folder / f"{name}.parquet"


def _values(column: pa.ChunkedArray, dtype: "np.dtype[np.void]") -> npt.NDArray[np.void]:
    """A binary column whose values have one length, shape (n,)."""
    whole = column.cast(pa.binary(dtype.itemsize)).combine_chunks()
    if not len(whole):
        return np.zeros(0, dtype)
    return np.frombuffer(whole.buffers()[1], dtype, len(whole), whole.offset * dtype.itemsize)


def staged_name(staging: Path) -> str | None:
    """Name of what a run chose, from its staging directory; None where its units do not span days."""
    return next((path.stem for path in (staging / STAGED).glob("*.parquet")), None)
