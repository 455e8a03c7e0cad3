"""What a question names: items, totals, and values of the items' table; sums of them.

``region=north`` stands for all items with that value. Values of one column add up to a choice (north or south), values
of several columns hold together; each combination that some item has is one answer, also where no grouping has it as a
total: estimates are consistent, so a total and the sum of its items are the same number with the same error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dplib.arrays import IntArray
from dplib.config.item_table import TableItems
from dplib.errors import ConfigError
from dplib.jobs.consistent_histograms.design import Design
from dplib.jobs.consistent_histograms.item_groups import part_numbers, total_names, value_name
from dplib.validate import did_you_mean, require

SHOWN = 3
"""Parts of a sum that its name lists."""


@dataclass(frozen=True, eq=False)
class Selection:
    """One answer's counts.

    Attributes:
        name: of the answer.
        series: numbers of the series that add up to it, shape (m,).
    """

    name: str
    series: IntArray


def select(design: Design, items: Sequence[str], where: Sequence[str], add_up: bool) -> list[Selection]:
    """The answers that are asked for.

    Args:
        design: of the release.
        items: items, totals, or what several are called together; all where this and ``where`` are empty.
        where: texts ``column=value``.
        add_up: whether the sum of all is asked for, in place of each.

    Raises:
        ConfigError: if a name, a column or a value is unknown, no item has the values together, or an item would be
            counted twice in a sum.
    """
    require(bool(items) or bool(where) or not add_up, "--sum", "be given with --item or --where", "neither")
    number, found = design.series_number, []
    for name in items or (() if where else design.series):
        if name not in number and name not in design.group_names:
            raise ConfigError("--item", "be an item or total of the release", name + _meant(design, name))
        group = () if name in number else _group(design, name)
        found += [Selection(each, np.array([number[each]], dtype=np.int64)) for each in group or (name,)]
    if where:
        found += _combinations(design, where, number)
    return [_sum_of(design, found)] if add_up else found


def _group(design: Design, name: str) -> list[str]:
    """Names of all items, or of all totals that are called so together."""
    own = np.flatnonzero(design.constraints.series_grouping == design.group_names.index(name))
    return [design.series[number] for number in own.tolist()]


def _meant(design: Design, name: str) -> str:
    """What a wrong name probably means: a value of the table alone, or a name that is near."""
    table = design.table
    if table is not None:
        for column, values in zip(table.columns, table.values, strict=True):
            if name in values:
                return f"; did you mean --where {value_name({column: name})}?"
    return did_you_mean(name, [*design.series, *design.group_names])


def _combinations(design: Design, where: Sequence[str], number: dict[str, int]) -> list[Selection]:
    """One selection for each combination of the values that some item has."""
    if design.table is None:
        raise ConfigError("--where", "be given only for a release whose items come from a table with columns", where[0])
    items = design.table
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
    names = _names(design, items, tuple(asked), part)
    return [_whole(names[each], np.flatnonzero(part == each), number) for each in np.unique(part[kept]).tolist()]


def _names(design: Design, items: TableItems, columns: Sequence[str], part: IntArray) -> list[str]:
    """Names of a grouping's totals: as the release has them, where it has them."""
    declared = [grouping.by for grouping in design.config.domain.groupings or ()]
    same = [by for by in declared if set(by) == set(columns)]
    return total_names(items, same[0] if same else columns, part)


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


def _sum_of(design: Design, parts: Sequence[Selection]) -> Selection:
    """The sum of all parts, each item at most once in it."""
    held = _Held(design)
    of_part = [np.unique(np.concatenate([held.items(int(series)) for series in part.series])) for part in parts]
    items, counts = np.unique(np.concatenate(of_part), return_counts=True)
    if counts.max() > 1:
        item = items[np.argmax(counts)]
        one, other = [part.name for part, own in zip(parts, of_part, strict=True) if item in own][:2]
        got = f"{one} and {other}, which both hold {design.series[item]}"
        raise ConfigError("--sum", "add up what has no item in common", got)
    names = [part.name for part in parts]
    more = [] if len(names) <= SHOWN else [f"... ({len(names)} in all)"]
    return Selection(" + ".join(names[:SHOWN] + more), np.concatenate([part.series for part in parts]))


class _Held:
    """Which items a series is, or is the sum of."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._rows = {} if design.groupings is None else {name: n for n, name in enumerate(design.groupings.names)}
        self._members: dict[str, list[str]] = {}
        for constraint in design.config.constraints:
            for name, members in (constraint.totals or {}).items():
                self._members.setdefault(name, []).extend(members)

    def items(self, series: int) -> IntArray:
        """Numbers of the items."""
        design, name = self._design, self._design.series[series]
        if series < len(design.items):
            return np.array([series], dtype=np.int64)
        if design.groupings is not None and name in self._rows:
            return design.groupings.membership[[self._rows[name]]].indices.astype(np.int64)
        members = [self.items(design.series_number[member]) for member in self._members[name]]
        return np.unique(np.concatenate(members))
