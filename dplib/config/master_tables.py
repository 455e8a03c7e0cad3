"""Totals and packages from columns of a public table, such as the product master or a menu, in place of typed lists.

What of the table decides stands in the release's settings as if it had been typed: rows of items that the domain does
not have, other columns and the order of rows change nothing.
"""

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dplib.config.item_table import NAME_SEPARATOR
from dplib.config.names import BLANKS, MAX_BYTES
from dplib.config.paths import local_path, read_text
from dplib.config.sections import Section
from dplib.config.table_text import CONTROLS, delimiter_of
from dplib.errors import ConfigError
from dplib.validate import did_you_mean, require

ItemColumns = str | Annotated[list[str], Field(min_length=1)]
"""The column that names an item, or those that do so together."""


class TotalsTable(Section):
    """A public CSV file with a row an item, and a column by whose values items are added up."""

    file: str
    """Path relative to the configuration; `${NAME}` is an environment variable."""
    item: ItemColumns
    by: str
    """Each of its values is a total; an item whose cell is empty belongs to none."""

    def read(
        self, base: Path, setting: str, items: Iterable[str], folded: Callable[[str], str] = str
    ) -> dict[str, list[str]]:
        """The totals by name, with their items in order; both sorted.

        Args:
            base: folder that the path is relative to.
            setting: for messages.
            items: names of the domain's items.
            folded: takes from a name what makes no difference.

        Raises:
            ConfigError: if the file cannot be read, lacks a column, or gives no total of the domain's items.
        """
        found: dict[str, set[str]] = {}
        known = {folded(item): item for item in items}
        for name, (total,) in _rows(self.file, base, setting, self.item, [self.by]):
            if total and folded(name) in known:
                found.setdefault(total, set()).add(known[folded(name)])
        require(bool(found), setting, "give a total of an item of domain.items", "none")
        return {total: sorted(found[total]) for total in sorted(found)}


class PackagesTable(Section):
    """A public CSV file with a row for each item of a package."""

    file: str
    """Path relative to the configuration; `${NAME}` is an environment variable."""
    package: str
    """Column of the package's name."""
    item: ItemColumns
    pieces: str | None = None
    """Column that says how many of the item are in it; one where absent."""

    def read(self, base: Path, setting: str) -> dict[str, dict[str, int]]:
        """The contents of each package, sorted.

        Args:
            base: folder that the path is relative to.
            setting: for messages.

        Raises:
            ConfigError: if the file cannot be read, lacks a column, or holds a package's item twice.
        """
        found: dict[str, dict[str, int]] = {}
        others = [self.package] if self.pieces is None else [self.package, self.pieces]
        for name, cells in _rows(self.file, base, setting, self.item, others):
            package, pieces = cells[0], cells[1] if self.pieces else "1"
            require(bool(package), setting, "name a package in each row", f"none for {name}")
            require(name not in found.get(package, {}), setting, "hold each item of a package once", f"{name} twice")
            whole = pieces.isascii() and pieces.isdecimal() and len(pieces) < 10
            require(whole, setting, f"hold whole numbers in column {self.pieces}", pieces or "nothing")
            found.setdefault(package, {})[name] = int(pieces)
        return {package: dict(sorted(found[package].items())) for package in sorted(found)}


def _rows(file: str, base: Path, setting: str, item: ItemColumns, others: list[str]) -> list[tuple[str, list[str]]]:
    """The item's name and some other cells of each row."""
    own = [item] if isinstance(item, str) else item
    text = read_text(f"{setting}.file", local_path(f"{setting}.file", file, base), MAX_BYTES, file)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text, [*own, *others]), strict=True)
    try:
        header, *rows = [[cell.strip(BLANKS) for cell in row] for row in reader if row] or [[]]
    except csv.Error as error:
        raise ConfigError(f"{setting}.file", "be a CSV file", f"{file}: {error}") from None
    for name in (*own, *others):
        if header.count(name) != 1:
            hint = did_you_mean(name, header) if name not in header else ", which stands there twice"
            raise ConfigError(setting, f"name columns of {file}", f"{name}{hint}")
    places = [header.index(name) for name in (*own, *others)]
    found: list[tuple[str, list[str]]] = []
    for row in rows:
        shown = f"{len(row)} in place of {len(header)}"
        require(len(row) == len(header), setting, "have as many cells in each row as in its header", shown)
        cells = [row[place] for place in places]
        plain = CONTROLS.search("".join(cells)) is None
        require(plain, setting, "hold values without control characters", f"one in row {len(found) + 1}")
        found.append((NAME_SEPARATOR.join(cells[: len(own)]), cells[len(own) :]))
    return found
