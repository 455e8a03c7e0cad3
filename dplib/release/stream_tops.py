"""The files of a stream's version, one a top: which are made, which are those of the version before.

    <stream>/measurement/2026-03-31/nodes.parquet    what was measured on a day: written once
    <stream>/000090/                                 a version: a release of its own, which later ones leave as it is
        estimates/top-00000.parquet                  one file a top: its parts' nodes, with their status
        published/top-00000.parquet

``status`` is *final* where no later run changes the row, else *preliminary*. A top that is final keeps its file: it is
the same one in every later version.
"""

import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dplib.arrays import FloatArray, IntArray
from dplib.estimates.stream_state import StreamState
from dplib.release.stream_version import StreamVersion, holes
from dplib.release.tables import read_table
from dplib.trees.growing import GrowingTree

FINAL, PRELIMINARY = "final", "preliminary"
NODES = "nodes"
"""Name of the file of a day's measurement."""
TABLES = ("estimates", "published")


@dataclass(frozen=True)
class OpenTop:
    """A top whose files are to be made.

    Attributes:
        node: its number.
        name: of its files.
        status: of its rows.
    """

    node: int
    name: str
    status: str


def open_tops(state: GrowingTree, version: StreamVersion, directory: Path) -> Iterator[OpenTop]:
    """The tops whose files are to be made; final ones take theirs over from the version before.

    Args:
        state: what is measured.
        version: its days, and the version before.
        directory: the staging directory.
    """
    for number, top in enumerate(state.tops.tolist()):
        name, final = f"top-{number:05d}", state.is_final(top)
        if final and version.was_final(number) and _took_over(version, name, directory):
            continue
        yield OpenTop(top, name, FINAL if final else PRELIMINARY)


def _took_over(version: StreamVersion, name: str, directory: Path) -> bool:
    """Whether the version before has a top's files; they get further names where the file system allows it."""
    if version.previous is None:
        return False
    found = [path for table in TABLES for path in sorted((version.previous / table).glob(f"{name}.*"))]
    for path in found:
        target = directory / path.relative_to(version.previous)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, target)
        except OSError:
            target.write_bytes(path.read_bytes())
    return bool(found)


def read_days(
    measurement: Path, dates: Iterable[dt.date], nodes: IntArray, key: str, numbers: Mapping[str, int]
) -> FloatArray:
    """The noisy counts of some nodes as they were measured on their days, shape (n_nodes, n_series); 0 elsewhere.

    Args:
        measurement: the stream's folder of measured days.
        dates: the days.
        nodes: numbers of the nodes, increasing.
        key: column that names a series.
        numbers: number of each series.
    """
    noisy = np.zeros((len(nodes), len(numbers)))
    for date in dates:
        rows = read_table(measurement / date.isoformat(), [key, "node", "noisy"], blocks=[NODES])
        names = rows.column(key).combine_chunks()
        series = np.array([numbers[name] for name in names.dictionary.to_pylist()], dtype=np.int64)
        node = rows.column("node").to_numpy()
        place = np.minimum(np.searchsorted(nodes, node), len(nodes) - 1)
        own = nodes[place] == node
        codes = names.indices.to_numpy(zero_copy_only=False)
        noisy[place[own], series[codes[own]]] = rows.column("noisy").to_numpy()[own]
    return noisy


def stream_details(state: StreamState[Any], version: StreamVersion) -> dict[str, Any]:
    """What a version's manifest says of its stream."""
    final = [place for place, top in enumerate(state.tops.tolist()) if state.is_final(top)]
    horizon = (state.date(0).isoformat(), state.date(len(state.days) - 1).isoformat())
    return {
        "horizon": list(horizon),
        "days": dict(version.days),
        "shaping": version.shaping,
        "missing": holes(version.dates, horizon),
        "final": final,
        "final_days": int((state.days & state.final_days).sum()),
        "closed": version.is_closed,
    }
