"""The tables of a release.

    measurement/            draw, statistic, cell, coordinate, noisy, variance
    measurement/choices/    draw, statistic, choice, rate           what the exponential mechanism chose, by position
    estimates/centers       center, coordinate, value, std_error    std_error null where none is known
    estimates/weights       center, weight, std_error               weight null where none was measured

``draw`` is the place in the order of drawing. ``cell`` is the position of a cell, leaf or cluster; ``coordinate`` is 0
for counts and lists, 1 ... d for sums. Measured numbers are counts, or sums in units of the public space (see the
manifest), or merged reports, whose variance is null; centers are in the units of the input.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from dplib.arrays import FloatArray, IntArray
from dplib.clustering.record import Record
from dplib.errors import IntegrityError
from dplib.jobs.kmeans.design import Design
from dplib.privacy.noise import Law
from dplib.release.release_tables import ReleaseTables
from dplib.release.staging import MEASUREMENT
from dplib.release.tables import Column, read_table, write_table

ESTIMATES, CHOICES = "estimates", "choices"
LOCAL = "local"
"""Mechanism of merged reports."""
DRAWS, CENTERS, WEIGHTS = "draws", "centers", "weights"


@dataclass(frozen=True, eq=False)
class Draw:
    """One answered question.

    Attributes:
        statistic: its name.
        mechanism: ``discrete_laplace``, ``discrete_gaussian``, ``exponential`` or ``local``.
        parameter: scale, sigma^2, rate, or epsilon of a report.
        noisy: noisy numbers of one or two axes; the position of what was chosen.
    """

    statistic: str
    mechanism: str
    parameter: Fraction
    noisy: IntArray

    @property
    def variance(self) -> float:
        """Of the noise on each number; NaN for merged reports, where it depends on the users."""
        return float("nan") if self.mechanism == LOCAL else Law(self.mechanism).variance(self.parameter)


def _names(draws: Sequence[Draw], sizes: Sequence[int]) -> pa.DictionaryArray:
    names = sorted({draw.statistic for draw in draws})
    codes = np.repeat([names.index(draw.statistic) for draw in draws], sizes)
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names))


class Tables(ReleaseTables[Design]):
    """The tables of one release."""

    def write_draws(self, draws: Sequence[Draw]) -> None:
        """Write ``measurement/``."""
        numbers = [(place, draw) for place, draw in enumerate(draws) if draw.mechanism != "exponential"]
        chosen = [(place, draw) for place, draw in enumerate(draws) if draw.mechanism == "exponential"]
        if numbers:
            sizes = [draw.noisy.size for _, draw in numbers]
            shapes = [draw.noisy.shape for _, draw in numbers]
            places = [np.arange(size) for size in sizes]
            columns = {
                "draw": np.repeat([place for place, _ in numbers], sizes),
                "statistic": _names([draw for _, draw in numbers], sizes),
                "cell": np.concatenate(
                    [at // (shape[1] if len(shape) == 2 else 1) for at, shape in zip(places, shapes, strict=True)]
                ),
                "coordinate": np.concatenate(
                    [at % shape[1] + 1 if len(shape) == 2 else 0 * at for at, shape in zip(places, shapes, strict=True)]
                ),
                "noisy": np.concatenate([draw.noisy.ravel() for _, draw in numbers]),
                "variance": np.repeat([draw.variance for _, draw in numbers], sizes),
            }
            write_table(self.directory / MEASUREMENT, DRAWS, columns, sort_by=("draw", "cell", "coordinate"))
        if chosen:
            columns = {
                "draw": np.array([place for place, _ in chosen]),
                "statistic": _names([draw for _, draw in chosen], [1] * len(chosen)),
                "choice": np.array([int(draw.noisy[0]) for _, draw in chosen]),
                "rate": np.array([float(draw.parameter) for _, draw in chosen]),
            }
            write_table(self.directory / MEASUREMENT / CHOICES, DRAWS, columns, sort_by=("draw",))

    def read_records(self) -> list[Record]:
        """The stored answers in the order of drawing, as `dplib.clustering.record` replays them.

        Raises:
            IntegrityError: if a draw is missing or incomplete.
        """
        found: dict[int, Record] = {}
        folder = self.directory / MEASUREMENT
        if (folder / f"{DRAWS}.parquet").is_file():
            table = read_table(folder, ["draw", "statistic", "cell", "coordinate", "noisy"], blocks=(DRAWS,))
            draw, coordinate = table.column("draw").to_numpy(), table.column("coordinate").to_numpy()
            noisy, names = table.column("noisy").to_numpy(), table.column("statistic")
            starts = np.flatnonzero(np.diff(draw, prepend=-1))
            for first, end in zip(starts, np.append(starts, len(draw))[1:], strict=True):
                width = int(coordinate[first:end].max())
                values = np.array(noisy[first:end], dtype=np.int64)
                if width and len(values) % width:
                    raise IntegrityError("measurement must hold every coordinate of a sum, got some")
                found[int(draw[first])] = names[int(first)].as_py(), values.reshape(-1, width) if width else values
        if (folder / CHOICES / f"{DRAWS}.parquet").is_file():
            table = read_table(folder / CHOICES, ["draw", "statistic", "choice"], blocks=(DRAWS,))
            for row in table.to_pylist():
                found[row["draw"]] = row["statistic"], np.array([row["choice"]], dtype=np.int64)
        if sorted(found) != list(range(len(found))):
            raise IntegrityError("measurement must hold every draw once, got others")
        return [found[place] for place in range(len(found))]

    def write_centers(self, centers: FloatArray, std_errors: FloatArray) -> None:
        """Write ``estimates/centers``; centers and errors of shape (k, d), infinite errors as null."""
        k, d = centers.shape
        columns = {
            "center": np.repeat(np.arange(k), d),
            "coordinate": pa.DictionaryArray.from_arrays(
                pa.array(np.tile(np.arange(d, dtype=np.int32), k)), pa.array(list(self.design.coordinates))
            ),
            "value": centers.ravel(),
            "std_error": np.where(np.isfinite(std_errors), std_errors, np.nan).ravel(),
        }
        self._write_estimates(CENTERS, columns, ("center", "coordinate"))

    def write_weights(self, weights: FloatArray, std_errors: FloatArray) -> None:
        """Write ``estimates/weights``; both of shape (k,), unknown ones NaN."""
        columns = {"center": np.arange(len(weights)), "weight": weights, "std_error": std_errors}
        self._write_estimates(WEIGHTS, columns, ("center",))

    def _write_estimates(self, block: str, columns: Mapping[str, Column], sort_by: Sequence[str]) -> None:
        csv = self.design.config.publish.output.csv
        write_table(self.directory / ESTIMATES, block, columns, sort_by=sort_by, csv=csv)

    def read_centers(self) -> tuple[FloatArray, FloatArray]:
        """Centers and standard errors, NaN where none is known, of shape (k, d), coordinates in the design's order.

        Raises:
            IntegrityError: if a number is missing.
        """
        table = read_table(
            self.directory / ESTIMATES, ["center", "coordinate", "value", "std_error"], blocks=(CENTERS,)
        )
        place = {name: position for position, name in enumerate(self.design.coordinates)}
        center, d = table.column("center").to_numpy(), len(place)
        axis = np.array([place.get(name, -1) for name in table.column("coordinate").to_pylist()])
        k = int(center.max(initial=-1)) + 1
        if len(center) != k * d or len(np.unique(center * d + axis)) != k * d or (axis < 0).any():
            raise IntegrityError("table centers must hold every coordinate of every center once, got others")
        found = np.empty((2, k, d))
        for row, name in enumerate(("value", "std_error")):
            found[row, center, axis] = table.column(name).to_numpy()
        return found[0], found[1]

    def read_weights(self) -> tuple[FloatArray, FloatArray]:
        """Weights and their standard errors, NaN where none is known, of shape (k,)."""
        table = read_table(self.directory / ESTIMATES, ["center", "weight", "std_error"], blocks=(WEIGHTS,))
        return table.column("weight").to_numpy(), table.column("std_error").to_numpy()
