"""What a version of a stream is made from, and which of its days are missing."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dplib.errors import IntegrityError
from dplib.release.chosen_table import ChosenTable
from dplib.release.manifest import STREAM, Manifest, load_manifest

AnyShape = TypeVar("AnyShape")


@dataclass(frozen=True)
class StreamVersion:
    """What a version is made from.

    Attributes:
        days: that are measured, ISO 8601, in order, with the hash of each one's measurement.
        is_closed: whether no day is measured any more.
        measurement: folder of the measured days.
        newest: folder of the version before, as the ledger names it; None where there is none.
        chosen: the table of chosen rows, where units span days; None where nobody measures.
        shaping: hash of the settings that shape a release: others make other files.
    """

    days: Mapping[str, str]
    is_closed: bool
    measurement: Path
    newest: Path | None = None
    chosen: ChosenTable | None = None
    shaping: str = ""

    @property
    def dates(self) -> tuple[str, ...]:
        """The measured days."""
        return tuple(self.days)

    def measured_by(self, read: Callable[[Path], AnyShape]) -> AnyShape | None:
        """What all days were measured by, a tree and shares; None where none is.

        Args:
            read: from the folder of a day's measurement.

        Raises:
            IntegrityError: if days were measured by different ones.
        """
        shapes = [read(self.measurement / date) for date in self.dates]
        if any(shape != shapes[0] for shape in shapes):
            raise IntegrityError("days of a stream must be measured on one tree, got several")
        return shapes[0] if shapes else None

    def was_final(self, top: int) -> bool:
        """Whether the numbers of a top (by its place) were final in the version before, made by the same settings."""
        if self.before is None:
            return False
        stream: Any = self.before.details[STREAM]
        return stream["shaping"] == self.shaping and top in stream["final"]

    @property
    def previous(self) -> Path | None:
        """The version before; None where there is none, or what is there is not what was written."""
        return None if self.before is None else self.newest

    @cached_property
    def before(self) -> Manifest | None:
        """The manifest of `previous`."""
        if self.newest is None:
            return None
        try:
            found = load_manifest(self.newest)
        except IntegrityError:
            return None
        return found if all(entry.is_intact(self.newest) for entry in found.files) else None


def holes(dates: Sequence[str], horizon: tuple[str, str]) -> list[str]:
    """Days before the newest measured one that are not measured."""
    if not dates:
        return []
    first, known = dt.date.fromisoformat(horizon[0]), set(dates)
    n_days = (dt.date.fromisoformat(max(dates)) - first).days
    return [day for day in ((first + dt.timedelta(days=n)).isoformat() for n in range(n_days)) if day not in known]
