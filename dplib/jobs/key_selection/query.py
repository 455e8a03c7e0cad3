"""What a release of keys answers: whether a key was released, and with which weight."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from dplib.jobs.key_selection.config import NAME
from dplib.jobs.key_selection.design import Design
from dplib.jobs.key_selection.tables import PUBLISHED, read_selected
from dplib.release.manifest import Manifest
from dplib.release.question import Question
from dplib.release.tables import read_table


@dataclass(frozen=True)
class Answer:
    """A key, whether it was released, and with which weight.

    Attributes:
        key: its text; of several columns joined by " / ".
        released: whether it is in the release.
        weight: noisy; None where there is none.
        std_error: of the weight.
    """

    key: str
    released: bool
    weight: float | None
    std_error: float | None


def ask(directory: Path, manifest: Manifest, asked: Question) -> list[Answer]:
    """The keys of a release, or whether those that are named are among them.

    Raises:
        ConfigError: if something is asked for that the job has not.
    """
    asked.require_only(NAME, "names")
    design = Design.of_release(manifest)
    found = read_selected(design, directory, PUBLISHED)
    weights = dict(zip(found.names, found.noisy, strict=True))

    def answer(key: str) -> Answer:
        if design.noisy is None or key not in weights:
            return Answer(key, key in weights, None, None)
        return Answer(key, True, weights[key] / design.scale, design.std_error)

    return [answer(key) for key in asked.names or found.names]


def tidy(directory: Path, _: Manifest) -> pa.Table:
    """The keys, with weights and their errors where there are some."""
    return read_table(directory / PUBLISHED)
