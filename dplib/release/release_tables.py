"""The tables of one release: where they lie and what they are of. Each job reads and writes its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

AnyDesign = TypeVar("AnyDesign")


@dataclass(frozen=True)
class ReleaseTables(Generic[AnyDesign]):
    """The tables of one release, or of one that is being made.

    Attributes:
        directory: the release, or the staging directory.
        design: the design that it was measured by.
    """

    directory: Path
    design: AnyDesign
