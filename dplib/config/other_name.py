"""The name that takes what is not listed: ``other`` beside items and groups.

A row whose name is none of the listed ones counts under this one name instead of being dropped; a row without a name is
dropped as before. Which name a row counts under is a public function of the row alone, so that caps and sensitivities
are those of any other name.
"""

from pathlib import Path

from dplib.config.item_table import ItemTable, TableItems
from dplib.config.names import ListFile, declared_names
from dplib.validate import did_you_mean, require, require_known

OtherName = str | dict[str, str]
"""A name; or of a table the row that it adds, a value by column."""


def check_other(setting: str, other: OtherName | None, names: list[str] | ListFile | ItemTable | None) -> None:
    """Refuse a row that does not fit the table of names, or a row where there is no table.

    Raises:
        ValueError: as pydantic's validators raise it.
    """
    if not isinstance(other, dict):
        return
    if not isinstance(names, ItemTable):
        raise ValueError(f"{setting} must be one name unless the names come from a table with columns, got a mapping")
    known = [*names.columns, *names.attributes]
    for column in other:
        if column not in known:
            rule = f"{setting} must give a value of each of {', '.join(known)}"
            raise ValueError(f"{rule}, got {column}{did_you_mean(column, known)}")
    for column in known:
        if column not in other:
            raise ValueError(f"{setting} must give a value of each of {', '.join(known)}, got none of {column}")


def with_other(setting: str, names: list[str], other: OtherName | None) -> list[str]:
    """Listed names and, as the last one, that of the rest, unless it is listed.

    Raises:
        ConfigError: if it is no name.
    """
    if other is None or other in names:
        return names
    assert isinstance(other, str)
    return [*names, *declared_names([other], Path(), setting)]


def require_other(
    setting: str, other: str | None, names: tuple[str, ...], table: TableItems | None, n_days: int
) -> None:
    """Refuse a name that a table does not have on all days of the domain: a row of any of them may count there.

    Raises:
        ConfigError: naming the setting.
    """
    if other is None or table is None:
        return
    require_known(setting, other, names, "be a name of the table, or a row for it")
    whole = table.days is None or table.days[names.index(other)].tolist() == [0, n_days]
    require(whole, setting, "be a name that exists on all days", other)
