"""The tables of one release: where they lie and what they are of. Each job reads and writes its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from dplib.canonical import canonical_json
from dplib.config.measure import Measure
from dplib.errors import IntegrityError

AnyDesign = TypeVar("AnyDesign")

MEASURE = "measure.json"


@dataclass(frozen=True)
class ReleaseTables(Generic[AnyDesign]):
    """The tables of one release, or of one that is being made.

    Attributes:
        directory: the release, or the staging directory.
        design: the design that it was measured by.
    """

    directory: Path
    design: AnyDesign


def write_measure(measurement: Path, measure: Measure | None) -> None:
    """Store the shares of the budget by kind of series, where there are any: ``auto`` may choose others later."""
    if measure is not None:
        (measurement / MEASURE).write_bytes(canonical_json(measure.model_dump(mode="json")))


def read_measure(measurement: Path) -> Measure | None:
    """The shares of a stored measurement; None where all measured series have the same noise.

    Raises:
        IntegrityError: if they cannot be read.
    """
    place = measurement / MEASURE
    try:
        return Measure.model_validate_json(place.read_bytes()) if place.exists() else None
    except (OSError, ValueError):
        name = measurement.parent.name
        raise IntegrityError(f"{MEASURE} of the measurement must hold shares, got {name} without") from None
