"""The tables of a release: the keys with round and noisy weight as they were drawn, and as they are published."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.config.item_table import KEY_SEPARATOR
from dplib.config.table_text import CONTROLS
from dplib.jobs.key_selection.design import Design
from dplib.release.tables import Column, read_table, write_table

MEASUREMENT, PUBLISHED, BLOCK = "measurement", "published", "keys"


@dataclass(frozen=True)
class Selected:
    """What was released, sorted by key.

    Attributes:
        keys: the texts of each key's columns.
        rounds: the round of each, from 1.
        noisy: noisy weights in units of the fixed-point scale; 0 where there are none.
    """

    keys: tuple[tuple[str, ...], ...]
    rounds: tuple[int, ...]
    noisy: tuple[int, ...]

    @classmethod
    def of(cls, found: list[tuple[bytes, int, int | None]]) -> "Selected":
        """Released keys that can be names; others, which only tables of other encodings hold, are left out."""
        named = []
        for raw, number, noisy in found:
            parts = tuple(raw.decode(errors="replace").split(KEY_SEPARATOR))
            if not any("\ufffd" in part or CONTROLS.search(part) for part in parts):
                named.append((parts, number, noisy or 0))
        keys, rounds, noisy_weights = zip(*sorted(named), strict=True) if named else ((), (), ())
        return cls(tuple(keys), tuple(rounds), tuple(noisy_weights))

    @property
    def names(self) -> list[str]:
        """The keys as one text each."""
        return [" / ".join(parts) for parts in self.keys]


def write_measurement(design: Design, directory: Path, found: Selected) -> None:
    """Write ``measurement/``."""
    columns: dict[str, Column] = dict(_texts(design, found)) | {"round": np.array(found.rounds, np.int64)}
    if design.noisy is not None:
        columns["noisy"] = np.array(found.noisy, np.int64)
        columns["variance"] = np.full(len(found.keys), (design.std_error * design.scale) ** 2)
    write_table(directory / MEASUREMENT, BLOCK, columns, design.key_columns, design.config.publish.output.csv)


def write_tables(design: Design, directory: Path, found: Selected) -> None:
    """Write ``published/``."""
    columns: dict[str, Column] = dict(_texts(design, found))
    if design.noisy is not None:
        columns["weight"] = np.array(found.noisy, np.float64) / design.scale
        columns["std_error"] = np.full(len(found.keys), design.std_error)
    write_table(directory / PUBLISHED, BLOCK, columns, design.key_columns, design.config.publish.output.csv)


def _texts(design: Design, found: Selected) -> dict[str, Column]:
    # Given as texts: an array of no rows has no type of its own.
    return {
        name: pa.array([parts[place] for parts in found.keys], pa.string()).dictionary_encode()
        for place, name in enumerate(design.key_columns)
    }


def read_selected(design: Design, directory: Path, table: str = MEASUREMENT) -> Selected:
    """Read a table back."""
    read = read_table(directory / table)
    keys = tuple(zip(*(read.column(name).to_pylist() for name in design.key_columns), strict=True))
    if table == MEASUREMENT:
        noisy = read.column("noisy").to_pylist() if design.noisy else [0] * len(keys)
        return Selected(keys, tuple(read.column("round").to_pylist()), tuple(noisy))
    weights = read.column("weight").to_numpy() if design.noisy else np.zeros(len(keys))
    return Selected(keys, (0,) * len(keys), tuple(np.rint(weights * design.scale).astype(int).tolist()))
