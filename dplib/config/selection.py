"""What a question names: items, totals, and values of the items' table; sums of them.

``region=north`` stands for all items with that value. Values of one column add up to a choice (north or south), values
of several columns hold together; each combination that some item has is one answer, also where no grouping has it as a
total: estimates are consistent, so a total and the sum of its items are the same number with the same error.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from dplib.arrays import IntArray
from dplib.config.item_groupings import part_numbers, total_names, value_name
from dplib.config.item_table import TableItems
from dplib.constraints.groupings import Groupings
from dplib.errors import ConfigError
from dplib.validate import did_you_mean, require

SHOWN = 3
"""Parts of a sum that its name lists."""


@dataclass(frozen=True, eq=False)
class NamedSeries:
    """What the series of a release are called, and which items each adds up.

    Attributes:
        series: their names: the items, then the totals.
        n_items: how many are items.
        group_names: what the items, and the totals of a kind, are called together.
        grouping: number of each series' such name, shape (n_series,).
        table: the public table that the items are of; None where they are listed.
        groupings: totals of the table's groupings.
        declared: columns of each of these.
        members: of each listed total its items or other totals.
        option: of the command line that names series.
        word: what each of them is.
    """

    series: tuple[str, ...]
    n_items: int
    group_names: tuple[str, ...]
    grouping: IntArray
    table: TableItems | None = None
    groupings: Groupings | None = None
    declared: Sequence[Sequence[str]] = ()
    members: Mapping[str, Sequence[str]] = field(default_factory=dict)
    option: str = "--item"
    word: str = "an item or total"

    @cached_property
    def number(self) -> dict[str, int]:
        """Number of each series."""
        return {name: number for number, name in enumerate(self.series)}

    def group(self, name: str) -> list[str]:
        """Names of all items, or of all totals that are called so together."""
        own = np.flatnonzero(self.grouping == self.group_names.index(name))
        return [self.series[number] for number in own.tolist()]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {} if self.groupings is None else {name: n for n, name in enumerate(self.groupings.names)}

    def items(self, series: int) -> IntArray:
        """Numbers of the items that a series is, or is the sum of."""
        name = self.series[series]
        if series < self.n_items:
            return np.array([series], dtype=np.int64)
        if self.groupings is not None and name in self._rows:
            return self.groupings.membership[[self._rows[name]]].indices.astype(np.int64)
        return np.unique(np.concatenate([self.items(self.number[member]) for member in self.members[name]]))


@dataclass(frozen=True, eq=False)
class Selection:
    """One answer's counts.

    Attributes:
        name: of the answer.
        series: numbers of the series that add up to it, shape (m,).
    """

    name: str
    series: IntArray


def select(names: NamedSeries, items: Sequence[str], where: Sequence[str], add_up: bool) -> list[Selection]:
    """The answers that are asked for.

    Args:
        names: of the release's series.
        items: items, totals, or what several are called together; all where this and ``where`` are empty.
        where: texts ``column=value``.
        add_up: whether the sum of all is asked for, in place of each.

    Raises:
        ConfigError: if a name, a column or a value is unknown, no item has the values together, or an item would be
            counted twice in a sum.
    """
    require(bool(items) or bool(where) or not add_up, "--sum", f"be given with {names.option} or --where", "neither")
    number, found = names.number, []
    for name in items or (() if where else names.series):
        if name not in number and name not in names.group_names:
            raise ConfigError(names.option, f"be {names.word} of the release", name + _meant(names, name))
        group = () if name in number else names.group(name)
        found += [Selection(each, np.array([number[each]], dtype=np.int64)) for each in group or (name,)]
    if where:
        found += _combinations(names, where)
    return [_sum_of(names, found)] if add_up else found


def _meant(names: NamedSeries, name: str) -> str:
    """What a wrong name probably means: a value of the table alone, or a name that is near."""
    table = names.table
    if table is not None:
        for column, values in zip(table.columns, table.values, strict=True):
            if name in values:
                return f"; did you mean --where {value_name({column: name})}?"
    return did_you_mean(name, [*names.series, *names.group_names])


def _combinations(names: NamedSeries, where: Sequence[str]) -> list[Selection]:
    """One selection for each combination of the values that some item has."""
    if names.table is None:
        rule = "be given only for a release whose items come from a table with columns"
        raise ConfigError("--where", rule.replace("items", names.word.split()[1] + "s"), where[0])
    items = names.table
    asked: dict[str, list[str]] = {}
    for text in where:
        column, value = _column_and_value(items, text)
        asked.setdefault(column, []).append(value)
    kept = np.ones(items.n_items, dtype=bool)
    for column, values in asked.items():
        place = items.columns.index(column)
        kept &= np.isin(items.codes[place], [items.values[place].index(value) for value in values])
    if not kept.any():
        shown = value_name({column: " or ".join(values) for column, values in asked.items()})
        raise ConfigError("--where", "give values that some item has together", shown)
    part = part_numbers(items, tuple(asked))
    # Totals are named as the release has them, where it has them.
    same = [by for by in names.declared if set(by) == set(asked)]
    totals = total_names(items, same[0] if same else tuple(asked), part)
    return [_whole(totals[each], np.flatnonzero(part == each), names.number) for each in np.unique(part[kept]).tolist()]


def _whole(name: str, items: IntArray, number: dict[str, int]) -> Selection:
    """A combination: by its own total where there is one."""
    return Selection(name, np.array([number[name]], dtype=np.int64) if name in number else items)


def _column_and_value(items: TableItems, text: str) -> tuple[str, str]:
    require("=" in text, "--where", "have the form column=value", text)
    # A name that holds an equals sign is found before a shorter one.
    known = sorted((name for name in items.columns if text.startswith(f"{name}=")), key=len)
    if not known:
        column = text.partition("=")[0]
        rule = f"name a column of the items' table ({', '.join(items.columns)})"
        raise ConfigError("--where", rule, column + did_you_mean(column, items.columns))
    column, value = known[-1], text[len(known[-1]) + 1 :]
    values = items.values[items.columns.index(column)]
    if value not in values:
        hint = did_you_mean(value, values)
        raise ConfigError("--where", f"give a value that the column {column} has", f"{value or 'none'}{hint}")
    return column, value


def _sum_of(names: NamedSeries, parts: Sequence[Selection]) -> Selection:
    """The sum of all parts, each item at most once in it."""
    of_part = [np.unique(np.concatenate([names.items(int(series)) for series in part.series])) for part in parts]
    items, counts = np.unique(np.concatenate(of_part), return_counts=True)
    if counts.max() > 1:
        item = items[np.argmax(counts)]
        one, other = [part.name for part, own in zip(parts, of_part, strict=True) if item in own][:2]
        got = f"{one} and {other}, which both hold {names.series[item]}"
        raise ConfigError("--sum", f"add up what has no {names.word.split()[1]} in common", got)
    shown = [part.name for part in parts]
    more = [] if len(shown) <= SHOWN else [f"... ({len(shown)} in all)"]
    return Selection(" + ".join(shown[:SHOWN] + more), np.concatenate([part.series for part in parts]))
