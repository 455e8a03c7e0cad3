"""Groupings of the items of a public table: the setting, which items each total holds, and what it is called.

A total is named by the values that its items share: ``region=north, category=tea``, in the order of its grouping's
columns; the total of all items is the ``grand total``. A combination that no item has is no total.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from dplib.arrays import IntArray
from dplib.config.item_table import ItemTable, TableItems
from dplib.config.names import ListFile
from dplib.config.sections import Section
from dplib.constraints.groupings import Groupings, grouped_items
from dplib.errors import ConfigError
from dplib.validate import did_you_mean

GRAND_TOTAL = "grand total"
"""Name of the grouping without columns, and of its total."""
ITEMS = "items"
"""What tables of releases call the rows of items among the groupings."""


class Grouping(Section):
    """A split of the items by their values in some columns of their table; each part is a total."""

    by: list[str]
    """Attributes or key columns of `domain.items`; none for the grand total."""
    measured: Annotated[bool | None, Field(exclude_if=lambda measured: measured is None)] = None
    """Whether its totals get noisy counts of their own (they then count in the sensitivity); false where absent."""

    @property
    def label(self) -> str:
        """The grouping in plans and reports."""
        return ", ".join(self.by) or GRAND_TOTAL


_OF_TABLES = frozenset({"columns", "attributes", "first_day", "last_day", "table"})


def kind_of_names(value: object) -> str:
    """Whether a setting of names is a table with columns or a list: pydantic's discriminator."""
    of_table = isinstance(value, ItemTable) or (isinstance(value, Mapping) and not _OF_TABLES.isdisjoint(value))
    return "table" if of_table else "list"


def listed_groupings(given: object) -> object:
    """The setting with each list of columns as an entry of its own."""
    each_of = given if isinstance(given, list) else []
    return [{"by": each} if isinstance(each, list) else each for each in each_of] or given


def check_groupings(
    section: str,
    groupings: Sequence[Grouping] | None,
    items: list[str] | ListFile | ItemTable | None,
    names: str = "items",
) -> None:
    """Refuse groupings that do not fit the table of items.

    Args:
        section: in which they stand.
        groupings: the setting.
        items: that of the items.
        names: what the latter is called there.

    Raises:
        ValueError: as pydantic's validators raise it.
    """
    if groupings is None:
        return
    if not isinstance(items, ItemTable):
        raise ValueError(
            f"{section}.groupings must be absent unless {section}.{names} is a table with columns, got some"
        )
    known = [*items.columns, *items.attributes]
    for number, grouping in enumerate(groupings):
        for name in grouping.by:
            if name not in known:
                rule = f"{section}.groupings.{number} must hold columns or attributes of {section}.{names}"
                raise ValueError(f"{rule}, got {name}{did_you_mean(name, known)}")
        sets = [frozenset(each.by) for each in groupings[: number + 1]]
        if len(sets[-1]) < len(grouping.by) or sets[-1] in sets[:-1]:
            raise ValueError(f"{section}.groupings.{number} must hold each set of columns once, got {grouping.label}")
        if sets[-1] >= set(items.columns):
            raise ValueError(
                f"{section}.groupings.{number} must join {names}, got {grouping.label}, whose totals are single {names}"
            )


def resolve_groupings(given: Sequence[Grouping], items: TableItems, section: str = "domain") -> Groupings | None:
    """The totals of the groupings of a configuration; None where it has none.

    Raises:
        ConfigError: if two totals, or a total and an item, have one name.
    """
    if not given:
        return None
    parts = [part_numbers(items, grouping.by) for grouping in given]
    names = [total_names(items, grouping.by, part) for grouping, part in zip(given, parts, strict=True)]
    known = set(items.names)
    for number, each in enumerate(names):
        for name in each:
            if name in known:
                rule = "make names that no item and no other total has"
                raise ConfigError(f"{section}.groupings.{number}", rule, f"{name} twice")
            known.add(name)
    return grouped_items(parts, names, [bool(each.measured) for each in given], [each.label for each in given])


def part_numbers(items: TableItems, columns: Sequence[str]) -> IntArray:
    """Number of the combination of values in some columns that each item has, by the values' order."""
    part = np.zeros(items.n_items, dtype=np.int64)
    for name in columns:
        number = items.columns.index(name)
        # Renumbered at each column, so that no product of sizes leaves 64 bits.
        part = np.unique(part * len(items.values[number]) + items.codes[number], return_inverse=True)[1]
    return part.astype(np.int64)


def total_names(items: TableItems, columns: Sequence[str], part: IntArray) -> list[str]:
    """Name of each part of a grouping."""
    if not columns:
        return [GRAND_TOTAL]
    first = np.unique(part, return_index=True)[1]
    numbers = [items.columns.index(name) for name in columns]
    return [
        value_name({items.columns[number]: items.values[number][items.codes[number, at]] for number in numbers})
        for at in first.tolist()
    ]


def value_name(values: dict[str, str]) -> str:
    """The name of what all items with these values add up to."""
    return ", ".join(f"{column}={value}" for column, value in values.items())


def table_columns(
    items: TableItems, groupings: Groupings | None, series: Sequence[str]
) -> dict[str, tuple[IntArray, tuple[str, ...]]]:
    """What the tables of a release say of each series beside its name.

    Args:
        items: the table's.
        groupings: their totals.
        series: names of all series, the items first; others than these are declared totals.

    Returns:
        Column to the code of each series, shape (n_series,), and the texts that the codes stand for: ``grouping``, then
        the key columns, where they are several, and the attributes. The empty text stands for different values.
    """
    place = {name: number for number, name in enumerate(series)}
    n_items = items.n_items
    labels: tuple[str, ...] = ("", ITEMS)
    of_grouping = np.zeros(len(series), dtype=np.int64)
    of_grouping[:n_items] = 1
    columns = np.zeros((len(items.columns), len(series)), dtype=np.int64)
    columns[:, :n_items] = items.codes + 1
    if groupings is not None:
        labels += groupings.labels
        numbers = np.array([place[name] for name in groupings.names], dtype=np.int64)
        of_grouping[numbers] = groupings.grouping + 2
        for grouping, part in enumerate(groupings.part_of):
            columns[:, numbers[groupings.grouping == grouping]] = shared_values(items, part - part.min()) + 1
    shown = range(0 if items.n_keys > 1 else 1, len(items.columns))
    return {"grouping": (of_grouping, labels)} | {
        items.columns[number]: (columns[number], ("", *items.values[number])) for number in shown
    }


def shared_values(items: TableItems, part: IntArray) -> IntArray:
    """The code that the items of each part share in each column; -1 in columns in which some part has several.

    A column is a function of the grouping where each part has one value: the category of a product's total.

    Args:
        items: the table's.
        part: number of each item's part, shape (n_items,).

    Returns:
        Shape (n_columns, n_parts).
    """
    first = np.unique(part, return_index=True)[1]
    found = items.codes[:, first]
    found[(items.codes != found[:, part]).any(axis=1)] = -1
    return found


def series_days(items: TableItems, groupings: Groupings | None, series: Sequence[str], n_days: int) -> IntArray | None:
    """First day of each series and one past its last, shape (n_series, 2); None where all series have all days.

    A total has days from the first of its items to the last; between them some have no item, and its count is 0 there.
    """
    if items.days is None:
        return None
    found = np.tile(np.array([0, n_days], dtype=np.int64), (len(series), 1))
    found[: items.n_items] = items.days
    if groupings is not None:
        place = {name: number for number, name in enumerate(series)}
        numbers = np.array([place[name] for name in groupings.names], dtype=np.int64)
        found[numbers] = [n_days, 0]
        for part in groupings.part_of:
            np.minimum.at(found[:, 0], numbers[part], items.days[:, 0])
            np.maximum.at(found[:, 1], numbers[part], items.days[:, 1])
    return found
