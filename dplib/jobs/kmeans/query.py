"""Answers from a release: a center with its errors, or the nearest center of a point; reads the release only."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from dplib.errors import ConfigError
from dplib.jobs.kmeans.config import NAME
from dplib.jobs.kmeans.design import Design
from dplib.jobs.kmeans.tables import Tables
from dplib.release.answers import table_of
from dplib.release.manifest import Manifest, public_design
from dplib.release.question import Question
from dplib.validate import require

SURE = 2.0
"""Standard errors up to which a weight may be noise alone."""


@dataclass(frozen=True)
class Answer:
    """One center.

    Attributes:
        center: its number.
        coordinates: by name.
        std_errors: by name; None where none is known.
        weight: noisy number of points; None where none was measured.
        weight_error: its standard error; None where none is known.
        may_be_noise: whether the weight is no larger than twice its error; None where there is none.
        distance: from the point asked for, in (scaled) coordinates; None where none was.
    """

    center: int
    coordinates: dict[str, float]
    std_errors: dict[str, float | None]
    weight: float | None
    weight_error: float | None
    may_be_noise: bool | None
    distance: float | None = None


def design_of(manifest: Manifest) -> Design:
    """The design of a release; `ConfigError` if it is of another job."""
    return Design.from_public(public_design(manifest, NAME))


def ask(directory: Path, manifest: Manifest, asked: Question) -> list[Answer]:
    """Centers by number, or the one nearest to a point.

    Raises:
        ConfigError: as of `query_release`, or if something is asked for that the job has not.
    """
    asked.require_only(NAME, "names", "start")
    return query_release(directory, manifest, asked.names, asked.start)


def query_release(directory: Path, manifest: Manifest, numbers: Sequence[str], point: str | None) -> list[Answer]:
    """Some centers, or the one nearest to a point.

    Args:
        directory: the release.
        manifest: its manifest.
        numbers: of centers; all, the heaviest first, where empty.
        point: coordinates with commas between them; the nearest of the centers asked for is returned alone.

    Raises:
        ConfigError: if a number is no center's, or the point has other coordinates.
    """
    design = design_of(manifest)
    tables = Tables(directory, design)
    (centers, errors), (weights, weight_errors) = tables.read_centers(), tables.read_weights()
    for number in numbers:
        if not (number.isascii() and number.isdecimal() and int(number) < len(weights)):
            raise ConfigError("--item", f"be a center from 0 to {len(weights) - 1}", number)
    wanted = [int(number) for number in numbers] or [int(each) for each in np.argsort(-weights, kind="stable")]
    distance: dict[int, float] = {}
    if point is not None:
        at = _point(point, len(design.coordinates))
        away = (centers[wanted] - at) / np.array(design.frame.divisors)
        lengths = np.sqrt((away**2).sum(axis=1))
        nearest = int(np.argmin(lengths))
        wanted, distance = [wanted[nearest]], {wanted[nearest]: float(lengths[nearest])}
    names = design.coordinates
    return [
        Answer(
            center=each,
            coordinates=dict(zip(names, centers[each].tolist(), strict=True)),
            std_errors={name: _known(value) for name, value in zip(names, errors[each], strict=True)},
            weight=_known(weights[each]),
            weight_error=_known(weight_errors[each]),
            may_be_noise=bool(weights[each] <= SURE * weight_errors[each]) if _known(weight_errors[each]) else None,
            distance=distance.get(each),
        )
        for each in wanted
    ]


def tidy(directory: Path, manifest: Manifest) -> pa.Table:
    """Every center, the heaviest first; a column and its error a coordinate."""
    return table_of(query_release(directory, manifest, (), None))


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _point(text: str, dimension: int) -> np.ndarray:
    try:
        found = np.array([float(part) for part in text.split(",")])
    except ValueError:
        found = np.empty(0)
    require(
        len(found) == dimension and bool(np.isfinite(found).all()),
        "--from",
        f"be a point of {dimension} numbers with commas between them",
        text,
    )
    return found
