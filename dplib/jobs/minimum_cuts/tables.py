"""The tables of a release.

    measurement/                statistic, key, noisy, variance     whole numbers as drawn
    measurement/choices/        statistic, draw, vertex             vertices on the side of a chosen cut that lacks the
                                                                    first declared vertex; absent where nothing chooses
    estimates/numbers/          statistic, estimate, std_error      std_error null where it is not known
    estimates/cuts/             statistic, cut, side_size, noisy_value, std_error
    estimates/members/          statistic, cut, vertex              sides as in choices
    estimates/graph/            source, target, weight              the synthetic graph, pairs of weight above 0
    estimates/cactus_nodes/     node, vertex                        of the synthetic graph where it is connected
    estimates/cactus_edges/     edge, one, other, ring              ring -1 for tree edges
    estimates/vertices/         vertex, name                        where vertices have names

``key`` is the place of a pair in the order (0, 1), (0, 2), ... for the synthetic graph, the draw for chosen cuts, else
0. ``vertex`` is the declared number, or the place in the list of declared names from 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.arrays import BoolArray, IntArray
from dplib.errors import IntegrityError
from dplib.jobs.minimum_cuts.design import Design
from dplib.release.release_tables import ReleaseTables
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import Column, read_table, write_table

ESTIMATES, CHOICES = "estimates", "choices"
_KEYS = ("statistic", "key")


@dataclass(frozen=True, eq=False)
class StoredReleases:
    """A stored measurement.

    Attributes:
        noisy: statistic to its numbers as drawn.
        chosen: release to the sides of its chosen cuts, True on the side without vertex 0, shape (n_cuts, n_vertices).
    """

    noisy: dict[str, IntArray]
    chosen: dict[str, BoolArray]


def _repeated(names: Sequence[str], sizes: Sequence[int]) -> pa.Array:
    places = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(list(names), pa.string()))


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays]).astype(np.int64)


class Tables(ReleaseTables[Design]):
    """The job's."""

    def write_measurement(self, stored: StoredReleases) -> None:
        """Write ``measurement/``."""
        names = list(stored.noisy)
        sizes = [len(stored.noisy[name]) for name in names]
        columns = {
            "statistic": _repeated(names, sizes),
            "key": _joined([np.arange(size) for size in sizes]),
            "noisy": _joined([stored.noisy[name] for name in names]),
            "variance": np.repeat([self.design.variance_of(name) for name in names], sizes),
        }
        folder = self.directory / MEASUREMENT
        write_table(folder, "statistics", columns, sort_by=_KEYS)
        if stored.chosen:
            rows = self.members(stored.chosen, "draw")
            write_table(folder / CHOICES, CHOICES, rows, sort_by=("statistic", "draw", "vertex"))

    def read_measurement(self) -> StoredReleases:
        """Read ``measurement/``.

        Raises:
            IntegrityError: if a number is missing or stands twice.
        """
        folder = self.directory / MEASUREMENT
        table = read_table(folder, [*_KEYS, "noisy"])
        names = np.array(table.column("statistic").to_pylist(), dtype=object)
        keys, values = table.column("key").to_numpy(), table.column("noisy").to_numpy().astype(np.int64)
        noisy = {}
        for name in sorted(set(names.tolist())):
            own = np.flatnonzero(names == name)
            if not np.array_equal(keys[own], np.arange(len(own))):
                raise IntegrityError(f"table {MEASUREMENT} must hold every number of {name} once, got others")
            noisy[name] = values[own]
        chosen = self.read_sides(folder / CHOICES, "draw") if (folder / CHOICES).is_dir() else {}
        return StoredReleases(noisy, chosen)

    def write(self, name: str, rows: Mapping[str, Column], *sort_by: str) -> None:
        """Write a table of ``estimates/``."""
        csv = self.design.config.publish.output.csv
        write_table(self.directory / ESTIMATES / name, name, rows, sort_by=sort_by, csv=csv)

    def members(self, sides: Mapping[str, BoolArray], called: str) -> dict[str, Column]:
        """Rows (statistic, cut, vertex) of the vertices on the sides; ``called`` names the second column."""
        found = {name: np.nonzero(each) for name, each in sides.items()}
        return {
            "statistic": _repeated(list(found), [len(cut) for cut, _ in found.values()]),
            called: _joined([cut for cut, _ in found.values()]),
            "vertex": _joined([vertex for _, vertex in found.values()]) + self.design.vertices.first,
        }

    def read_sides(self, folder: Path, called: str) -> dict[str, BoolArray]:
        """Sides by statistic from a table of members.

        Raises:
            IntegrityError: if a vertex is none of the declared ones.
        """
        table = read_table(folder, ["statistic", called, "vertex"])
        names = np.array(table.column("statistic").to_pylist(), dtype=object)
        cut = table.column(called).to_numpy().astype(np.int64)
        vertex = table.column("vertex").to_numpy().astype(np.int64) - self.design.vertices.first
        if len(vertex) and (vertex.min() < 0 or vertex.max() >= self.design.n_vertices):
            raise IntegrityError(f"table {folder.name} must hold declared vertices, got another")
        found = {}
        for name in sorted(set(names.tolist())):
            own = names == name
            found[name] = np.zeros((int(cut[own].max()) + 1, self.design.n_vertices), dtype=np.bool_)
            found[name][cut[own], vertex[own]] = True
        return found
