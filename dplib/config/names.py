"""Declared names, such as items and groups: listed in the configuration or in a public file."""

import csv
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from dplib.config.paths import local_path, read_text
from dplib.config.sections import Section
from dplib.config.table_text import CONTROLS, delimiter_of
from dplib.errors import ConfigError
from dplib.validate import did_you_mean

MAX_BYTES = 1 << 28
"""Of a list of names."""
BLANKS = " \t\r\n\f\v\ufeff"
"""What is cut from both ends of a text of a row before it is compared with a name."""


class ListFile(Section):
    """A public text file with one name a line, a public CSV file with the names in one column, or a release of keys."""

    file: str | None = None
    """Path relative to the configuration; `${NAME}` is an environment variable."""
    release: str | None = Field(default=None, exclude_if=lambda release: release is None)
    """In place of it the folder of a release of `key-selection`, whose keys are the names."""
    column: str | None = None
    """Column of a CSV file with a header, absent for a plain list; of keys of several columns key_0, key_1, ..."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.file is None) == (self.release is None):
            raise ValueError("must name either file or release, got " + ("both" if self.file else "neither"))
        return self

    def names(self, base: Path, setting: str, joined: str | None = None) -> list[str]:
        """The names in file order, white space at the ends and empty lines removed; of a release in the order of text.

        Args:
            base: folder that the path is relative to.
            setting: for messages.
            joined: what stands between the parts of a released key of several columns where no column is named.

        Raises:
            ConfigError: if the file or the release cannot be read or lacks the column.
        """
        if self.release is not None:
            # Imported where it is needed: it brings pyarrow.
            from dplib.config.key_release import released_keys

            folder = local_path(f"{setting}.release", self.release, base)
            return released_keys(folder, self.column, f"{setting}.release", self.release, joined)
        assert self.file is not None
        path = local_path(f"{setting}.file", self.file, base)
        text = read_text(f"{setting}.file", path, MAX_BYTES, self.file)
        cells = text.splitlines() if self.column is None else self._cells(text, setting, self.column)
        return [cell.strip() for cell in cells if cell.strip()]

    def _cells(self, text: str, setting: str, column: str) -> list[str]:
        try:
            reader = csv.DictReader(text.splitlines(), delimiter=delimiter_of(text, [column]), strict=True)
            known = [name for name in reader.fieldnames or () if name]
            if column not in known:
                shown = column + did_you_mean(column, known)
                raise ConfigError(f"{setting}.column", f"be a column of {self.file}", shown)
            return [row[column] or "" for row in reader]
        except csv.Error as error:
            raise ConfigError(f"{setting}.file", "be a CSV file", f"{self.file}: {error}") from error


def declared_names(given: list[str] | ListFile, base: Path, setting: str) -> tuple[str, ...]:
    """The names of a setting, read from the public file where one is named.

    Raises:
        ConfigError: if the file cannot be read, there is no name, or a name is empty or stands twice.
    """
    names = given.names(base, setting) if isinstance(given, ListFile) else given
    seen: set[str] = set()
    for name in names:
        if not name or name != name.strip(BLANKS):
            raise ConfigError(setting, "hold names without blanks at their ends", f"{name!r}")
        if CONTROLS.search(name):
            raise ConfigError(setting, "hold names without control characters", f"{name!r}")
        if name in seen:
            raise ConfigError(setting, "hold each name once", f"{name} twice")
        seen.add(name)
    if not names:
        raise ConfigError(setting, "hold at least one name", "none")
    return tuple(names)
