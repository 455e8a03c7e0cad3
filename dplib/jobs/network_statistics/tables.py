"""The tables of a release, one file each; the same keys in all of them.

    measurement/    statistic, key, noisy, variance           variance null where it depends on the graph
    estimates/      statistic, key, estimate, std_error       std_error null where it is not known
    published/      statistic, key, count

``key`` is the degree of a histogram's bin (the last bin holds all higher degrees too); the place in the sorted sequence
from 0; the position of the vertex; for ``adjacency`` 0 for the whole graph and then every pair of blocks
(`dplib.jobs.network_statistics.noisy_graph_tables` has the graph itself, its blocks and what was chosen); 0 for
statistics that are one number.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dplib.arrays import FloatArray, IntArray
from dplib.errors import IntegrityError
from dplib.graphs.statistics.network_sensitivity import Statistic
from dplib.jobs.network_statistics.design import Design
from dplib.jobs.network_statistics.measurements import Derived, Measurement
from dplib.release.release_tables import ReleaseTables
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import read_table, write_table

ESTIMATES, PUBLISHED = "estimates", "published"
BLOCK = "statistics"
_KEYS = ("statistic", "key")


class Tables(ReleaseTables[Design]):
    """The job's."""

    def write_measurement(self, noisy: Mapping[Statistic, IntArray]) -> None:
        """Write ``measurement/``."""
        measured = self.design.measurements
        variance = {
            each.statistic: np.full(each.size, np.nan if each.noise is None else each.noise.variance)
            for each in measured
        }
        _write(self.directory / MEASUREMENT, measured, {"noisy": noisy, "variance": variance}, csv=False)

    def write_estimates(
        self, estimate: Mapping[Statistic, FloatArray], std_error: Mapping[Statistic, FloatArray]
    ) -> None:
        """Write ``estimates/``."""
        columns = {"estimate": estimate, "std_error": std_error}
        _write(self.directory / ESTIMATES, self.design.released, columns, self.design.config.publish.output.csv)

    def write_published(self, counts: Mapping[Statistic, IntArray]) -> None:
        """Write ``published/``."""
        csv = self.design.config.publish.output.csv
        _write(self.directory / PUBLISHED, self.design.released, {"count": counts}, csv)

    def read(self, table: str, column: str) -> dict[Statistic, npt.NDArray[np.generic]]:
        """One column of a table by statistic, each of shape (size,); NaN for null.

        Raises:
            IntegrityError: if a number is missing or stands twice.
        """
        rows = read_table(self.directory / table, [*_KEYS, column], blocks=(BLOCK,))
        names = np.array(rows.column("statistic").to_pylist(), dtype=object)
        keys, values = rows.column("key").to_numpy(), rows.column(column).to_numpy()
        found = {}
        for each in self.design.measurements if table == MEASUREMENT else self.design.released:
            own = np.flatnonzero(names == str(each.statistic))
            if not np.array_equal(keys[own], np.arange(each.size)):
                raise IntegrityError(f"table {table} must hold every number of {each.statistic} once, got others")
            found[each.statistic] = values[own]
        return found


def _write(
    directory: Path,
    released: Sequence[Measurement | Derived],
    columns: Mapping[str, Mapping[Statistic, IntArray] | Mapping[Statistic, FloatArray]],
    csv: bool,
) -> None:
    sizes = [each.size for each in released]
    names = [str(each.statistic) for each in released]
    places = np.repeat(np.arange(len(names), dtype=np.int32), sizes)
    values = {
        name: np.concatenate([by_statistic[each.statistic] for each in released])
        for name, by_statistic in columns.items()
    }
    keys = {
        "statistic": pa.DictionaryArray.from_arrays(pa.array(places), pa.array(names)),
        "key": np.concatenate([np.arange(size) for size in sizes]),
    }
    write_table(directory, BLOCK, keys | values, sort_by=_KEYS, csv=csv)
