"""Items from a public table: key columns that name an item together, attributes, and the days on which it exists.

The table is a CSV file with a header line. What of it decides a release stands in the release's settings as one text:
the rows of items that exist on some day of the domain, sorted by their keys, the days cut to the domain's; columns that
are not named, the order of rows and days outside the domain change nothing.

Cost: O(n log n) in the rows: 100,000 take about a second.
"""

import csv
import datetime as dt
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from dplib.arrays import BoolArray, IntArray
from dplib.config.names import BLANKS, MAX_BYTES, ListFile
from dplib.config.paths import local_path, read_text
from dplib.config.sections import Section
from dplib.config.table_text import CONTROLS, delimiter_of, with_names, with_row
from dplib.errors import ConfigError
from dplib.validate import did_you_mean, require

NAME_SEPARATOR = " / "
"""Between the values of an item's name."""
KEY_SEPARATOR = "\x1f"
"""Between the values by which rows name an item: no value of the table holds it, so no row means another item."""
RESERVED = frozenset(["item", "grouping", "node", "level", "first_day", "last_day"])
RESERVED |= {"noisy", "variance", "estimate", "std_error", "count"}
"""Columns that the tables of a release have besides those of the items' table."""


def _absent(value: object) -> bool:
    return value is None


class ItemTable(Section):
    """A public CSV file with one row an item."""

    setting: ClassVar[str] = "domain.items"
    """Where it stands in a configuration."""
    reserved: ClassVar[frozenset[str]] = RESERVED
    """Columns of a release's tables that none of its own may be called like."""
    file: Annotated[str | None, Field(exclude_if=_absent)] = None
    """Path relative to the configuration; `${NAME}` is an environment variable."""
    only: Annotated[ListFile | None, Field(exclude_if=_absent)] = None
    """Which of them are items, by a list of names or a release of `key-selection`: `{release: releases/shop-000001}`;
    all where absent."""
    columns: Annotated[list[str], Field(min_length=1)]
    """Columns whose values name an item together."""
    attributes: list[str] = Field(default_factory=list)
    """Columns by which items can be grouped and asked for."""
    first_day: Annotated[str | None, Field(exclude_if=_absent)] = None
    """Column with the first day on which an item exists, YYYY-MM-DD; empty for the domain's first day."""
    last_day: Annotated[str | None, Field(exclude_if=_absent)] = None
    """Column with the last such day, inclusive; empty for the domain's last day."""
    table: Annotated[str | None, Field(exclude_if=_absent)] = None
    """What of the table decides, as releases hold it; in place of `file`."""

    @model_validator(mode="after")
    def _plain(self) -> Self:
        if (self.file is None) == (self.table is None):
            raise ValueError(f"{self.setting}.file must name a CSV file, got nothing")
        named = self.named
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ValueError(f"{self.setting} must name each column once, got {twice[0]} twice")
        shown = [*(self.columns if len(self.columns) > 1 else ()), *self.attributes]
        reserved = sorted(self.reserved.intersection(shown))
        if reserved:
            rule = f"differ from the other columns of a release's tables ({', '.join(sorted(self.reserved))})"
            raise ValueError(f"{self.setting} must name columns that {rule}, got {reserved[0]}")
        return self

    @property
    def named(self) -> list[str]:
        """All columns that are read: keys, attributes, days."""
        return [*self.columns, *self.attributes, *(name for name in (self.first_day, self.last_day) if name)]

    def read(
        self,
        base: Path,
        first_day: dt.date,
        last_day: dt.date,
        added: Mapping[str, str] | None = None,
        folded: Callable[[str], str] = str,
    ) -> Self:
        """The same with what decides in place of the file.

        Args:
            base: folder that the path is relative to.
            first_day: of the domain.
            last_day: of the domain, inclusive.
            added: one more row, a value by column; its days are all.
            folded: takes from a name what makes no difference to `only`.

        Raises:
            ConfigError: if the file cannot be read, lacks a column, or a row is wrong.
        """
        given = self.table
        if given is None:
            assert self.file is not None
            path = local_path(f"{self.setting}.file", self.file, base)
            given = read_text(f"{self.setting}.file", path, MAX_BYTES, self.file)
            if self.only is not None:
                wanted = self.only.names(base, f"{self.setting}.only", joined=NAME_SEPARATOR)
                given = with_names(given, self.columns, wanted, NAME_SEPARATOR, folded)
            given = given if added is None else with_row(given, added)
        rows = _Rows(self, given, first_day, last_day)
        days = {} if rows.has_days else {"first_day": None, "last_day": None}
        return self.model_copy(update={"file": None, "only": None, "table": rows.text(), **days})

    def items(self, first_day: dt.date, last_day: dt.date) -> "TableItems":
        """The items of what `read` returned."""
        assert self.table is not None
        return _Rows(self, self.table, first_day, last_day).items()


@dataclass(frozen=True, eq=False)
class TableItems:
    """The items of a table, sorted by their keys.

    Attributes:
        columns: names of the key columns, then of the attributes.
        n_keys: how many of them are keys.
        values: of each column the values that occur, sorted.
        codes: number of each item's value in each column, shape (n_columns, n_items).
        days: first day of each item and one past its last, from the domain's first, shape (n_items, 2); None where
            every item exists on all days.
        setting: where the table stands in a configuration.
    """

    columns: tuple[str, ...]
    n_keys: int
    values: tuple[tuple[str, ...], ...]
    codes: IntArray
    days: IntArray | None
    setting: str = ItemTable.setting

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.codes.shape[1])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """One name an item, made of its keys.

        Raises:
            ConfigError: if two items have the same one.
        """
        names = self._joined(NAME_SEPARATOR)
        if len(set(names)) < len(names):
            again = Counter(names).most_common(1)[0][0]
            columns = ", ".join(self.columns[: self.n_keys])
            rule = f'make names that differ when the values of {columns} are joined by "{NAME_SEPARATOR}"'
            raise ConfigError(self.setting, rule, f"{again} twice")
        return names

    @property
    def keys(self) -> tuple[str, ...]:
        """The text by which rows name each item."""
        return self._joined(KEY_SEPARATOR)

    def _joined(self, separator: str) -> tuple[str, ...]:
        columns = [self.column(number) for number in range(self.n_keys)]
        return tuple(separator.join(parts) for parts in zip(*columns, strict=True))

    def column(self, number: int) -> list[str]:
        """The value of each item in a column."""
        values = self.values[number]
        return [values[code] for code in self.codes[number].tolist()]


class _Rows:
    """The rows of a table, checked and in their canonical order."""

    def __init__(self, table: ItemTable, text: str, first_day: dt.date, last_day: dt.date) -> None:
        self._table = table
        self._shown = table.file or "the table"
        self._domain = (first_day, last_day)
        self._lines, cells = self._read(text)
        self._columns = [*table.columns, *table.attributes]
        for name in self._columns:
            self._require_given(name, cells[name])
        coded = [_coded(cells[name]) for name in self._columns]
        firsts = self._days(table.first_day, cells, dt.date.min)
        lasts = self._days(table.last_day, cells, dt.date.max)
        self._values = [values for values, _ in coded]
        codes = np.array([numbers for _, numbers in coded], dtype=np.int64).reshape(len(coded), -1)
        names = NAME_SEPARATOR.join
        wrong = np.flatnonzero(lasts < firsts)
        if len(wrong):
            at = int(wrong[0])
            name = names(cells[column][at] for column in table.columns)
            raise ConfigError(
                f"{self._table.setting}.last_day",
                f"hold no day before that of {self._table.setting}.first_day",
                f"{dt.date.fromordinal(int(lasts[at]))} before {dt.date.fromordinal(int(firsts[at]))} for {name}",
            )
        order = np.lexsort(codes[: len(table.columns)][::-1])
        self._require_distinct(codes[:, order])
        first, last = (day.toordinal() for day in self._domain)
        order = order[(firsts[order] <= last) & (lasts[order] >= first)]
        require(len(order) > 0, self._table.setting, "hold an item that exists on a day of the domain", "none")
        self._codes = codes[:, order]
        self._days_of = np.stack([np.maximum(firsts, first), np.minimum(lasts, last) + 1], axis=1)[order] - first

    @property
    def has_days(self) -> bool:
        """Whether some item does not exist on all days."""
        return not self._everywhere.all()

    @property
    def _everywhere(self) -> BoolArray:
        n_days = (self._domain[1] - self._domain[0]).days + 1
        return np.asarray(self._days_of == np.array([0, n_days]))

    def items(self) -> TableItems:
        """The items."""
        used = [np.unique(row, return_inverse=True) for row in self._codes]
        return TableItems(
            columns=tuple(self._columns),
            n_keys=len(self._table.columns),
            values=tuple(
                tuple(values[code] for code in kept) for values, (kept, _) in zip(self._values, used, strict=True)
            ),
            codes=np.array([numbers for _, numbers in used], dtype=np.int64),
            days=self._days_of if self.has_days else None,
            setting=self._table.setting,
        )

    def text(self) -> str:
        """What of the table decides."""
        columns = [
            [values[code] for code in row.tolist()] for values, row in zip(self._values, self._codes, strict=True)
        ]
        header = list(self._columns)
        if self.has_days:
            first, everywhere = self._domain[0].toordinal(), self._everywhere
            for side, name in enumerate((self._table.first_day, self._table.last_day)):
                if name is not None:
                    ordinals = (self._days_of[:, side] + first - side).tolist()
                    header.append(name)
                    columns.append(
                        [
                            "" if whole else dt.date.fromordinal(day).isoformat()
                            for day, whole in zip(ordinals, everywhere[:, side].tolist(), strict=True)
                        ]
                    )
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([header, *zip(*columns, strict=True)])
        return written.getvalue()

    def _read(self, text: str) -> tuple[list[int], dict[str, list[str]]]:
        """Line of each row, and the cells of each column that is named."""
        sign = delimiter_of(text, self._table.named)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True)
        try:
            header = [cell.strip(BLANKS) for cell in next(reader, [])]
            rows = [(reader.line_num, row) for row in reader if row]
        except csv.Error as error:
            raise ConfigError(f"{self._table.setting}.file", "be a CSV file", f"{self._shown}: {error}") from error
        self._require_columns(header)
        for line, row in rows:
            if len(row) != len(header):
                rule = "have as many cells in each row as in its header"
                raise ConfigError(
                    f"{self._table.setting}.file", rule, f"{len(row)} in place of {len(header)} in line {line}"
                )
        places = {name: header.index(name) for name in self._table.named}
        require(len(rows) > 0, self._table.setting, "hold at least one item", "none")
        return [line for line, _ in rows], {
            name: [row[place].strip(BLANKS) for _, row in rows] for name, place in places.items()
        }

    def _require_columns(self, header: Sequence[str]) -> None:
        table = self._table
        roles = {"columns": table.columns, "attributes": table.attributes}
        roles |= {"first_day": [table.first_day] if table.first_day else []}
        roles |= {"last_day": [table.last_day] if table.last_day else []}
        for role, names in roles.items():
            for name in names:
                if header.count(name) != 1:
                    hint = did_you_mean(name, header) if name not in header else ", which stands there twice"
                    raise ConfigError(
                        f"{self._table.setting}.{role}", f"name columns of {self._shown}", f"{name}{hint}"
                    )

    def _require_given(self, name: str, cells: Sequence[str]) -> None:
        if "" in cells:
            line = self._lines[list(cells).index("")]
            raise ConfigError(self._table.setting, "have a value in each row", f"none in column {name}, line {line}")
        if CONTROLS.search("".join(cells)):
            at = next(number for number, cell in enumerate(cells) if CONTROLS.search(cell))
            where = f"one in column {name}, line {self._lines[at]}"
            raise ConfigError(self._table.setting, "hold values without control characters", where)

    def _days(self, name: str | None, cells: dict[str, list[str]], default: dt.date) -> IntArray:
        """Ordinal of the day in a column."""
        if name is None:
            return np.full(len(self._lines), default.toordinal(), dtype=np.int64)
        known = {"": default.toordinal()}
        for line, cell in zip(self._lines, cells[name], strict=True):
            if cell not in known:
                known[cell] = self._ordinal(cell, name, line)
        return np.array([known[cell] for cell in cells[name]], dtype=np.int64)

    def _ordinal(self, cell: str, name: str, line: int) -> int:
        with suppress(ValueError):
            day = dt.date.fromisoformat(cell)
            if day.isoformat() == cell:
                return day.toordinal()
        raise ConfigError(self._table.setting, f"hold days YYYY-MM-DD in column {name}", f"{cell} in line {line}")

    def _require_distinct(self, codes: IntArray) -> None:
        """Refuse two rows of one item; codes are in the order of the keys."""
        n_keys = len(self._table.columns)
        same = np.flatnonzero((codes[:n_keys, 1:] == codes[:n_keys, :-1]).all(axis=0))
        if not len(same):
            return
        at = int(same[0])
        name = NAME_SEPARATOR.join(self._values[column][codes[column, at]] for column in range(n_keys))
        for column in range(n_keys, len(codes)):
            one, other = (self._values[column][codes[column, place]] for place in (at, at + 1))
            if one != other:
                rule = f"give each item one value of {self._columns[column]}"
                raise ConfigError(self._table.setting, rule, f"{one} and {other} for {name}")
        raise ConfigError(self._table.setting, "hold each item once", f"{name} twice")


def _coded(cells: Sequence[str]) -> tuple[list[str], list[int]]:
    """The values that occur, sorted, and the number of each cell's."""
    values = sorted(set(cells))
    number = {value: place for place, value in enumerate(values)}
    return values, [number[cell] for cell in cells]
