"""The tables of a release, one file each; the same keys in all of them.

    measurement/    statistic, key, noisy, variance           variance null where it depends on the graph
    estimates/      statistic, key, estimate, std_error       std_error null where it is not known
    published/      statistic, key, count

``key`` is the degree of a histogram's bin (the last bin holds all higher degrees too); the place in the sorted sequence
from 0; the position of the vertex; for ``adjacency`` 0 for the whole graph and then every pair of blocks
(`dplib.jobs.network_statistics.part_tables` has the graph itself, its blocks and what was chosen); 0 for statistics
that are one number.
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
from dplib.mechanisms import tree_counts
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import read_table, write_table

ESTIMATES, PUBLISHED = "estimates", "published"
BLOCK = "statistics"
_KEYS = ("statistic", "key")


def noise_variance(measured: Measurement) -> float:
    """Variance of one noisy number; NaN where it depends on the graph and is withheld."""
    if measured.parameter is None:
        return float("nan")
    return tree_counts.noise_variance(measured.mechanism, measured.parameter)


def write_measurement(directory: Path, design: Design, noisy: Mapping[Statistic, IntArray]) -> None:
    """Write ``measurement/``."""
    variance = {each.statistic: np.full(each.size, noise_variance(each)) for each in design.measurements}
    _write(directory / MEASUREMENT, design.measurements, {"noisy": noisy, "variance": variance}, csv=False)


def write_estimates(
    directory: Path, design: Design, estimate: Mapping[Statistic, FloatArray], std_error: Mapping[Statistic, FloatArray]
) -> None:
    """Write ``estimates/``."""
    csv = design.config.publish.output.csv
    _write(directory / ESTIMATES, design.released, {"estimate": estimate, "std_error": std_error}, csv)


def write_published(directory: Path, design: Design, counts: Mapping[Statistic, IntArray]) -> None:
    """Write ``published/``."""
    _write(directory / PUBLISHED, design.released, {"count": counts}, design.config.publish.output.csv)


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


def read_values(folder: Path, column: str, design: Design) -> dict[Statistic, npt.NDArray[np.generic]]:
    """One column of a table by statistic, each of shape (size,); NaN for null.

    Raises:
        IntegrityError: if a number is missing or stands twice.
    """
    table = read_table(folder, [*_KEYS, column], blocks=(BLOCK,))
    names = np.array(table.column("statistic").to_pylist(), dtype=object)
    keys, values = table.column("key").to_numpy(), table.column(column).to_numpy()
    found = {}
    for each in design.measurements if folder.name == MEASUREMENT else design.released:
        own = np.flatnonzero(names == str(each.statistic))
        if not np.array_equal(keys[own], np.arange(each.size)):
            raise IntegrityError(f"table {folder.name} must hold every number of {each.statistic} once, got others")
        found[each.statistic] = values[own]
    return found
