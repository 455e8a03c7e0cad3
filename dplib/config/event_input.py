"""Settings of jobs whose rows are events: which columns say what happened when, how often and to whom."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dplib.config.fold import FoldedNames
from dplib.config.sections import MappedColumns, Source, Timestamps
from dplib.validate import did_you_mean, require


class Columns(MappedColumns):
    """Which input column holds what."""

    day: str
    """When the event happened; read with `date_format` in `timezone`."""
    item: str | list[str] | None = None
    """What was counted, where a row is an item line; a list where several columns name an item (`domain.items.columns`,
    in that order)."""
    items: Annotated[Literal["all"] | list[str] | None, Field(exclude_if=lambda items: items is None)] = None
    """Where a row holds several items: their columns, each called like its item; all for a column of each item. The
    cells are quantities, and `privacy.max_quantity` caps their sum."""
    package: str | None = None
    """Which package was bought, where a row is a package; give this or `item`."""
    quantity: str | None = None
    """How many; 1 for each row where absent."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        self.require_one(("item", "items", "package"), "input.columns must name one of item, items or package")
        if self.items is not None and self.quantity is not None:
            raise ValueError(
                f"input.columns.quantity must be absent where a row has several items, got {self.quantity}"
            )
        if isinstance(self.items, list) and not 0 < len(self.items) == len(set(self.items)):
            raise ValueError("input.columns.items must be `all` or name at least one column, each once, got others")
        if isinstance(self.item, list) and len(self.item) < 2:
            raise ValueError("input.columns.item must be one column, or a list of several, got a shorter list")
        return self

    @property
    def names(self) -> dict[str, str]:
        """Role to input column; several columns that name an item have the roles item.0, item.1, ...

        Columns that hold an item each have the roles items.0, items.1, ..., once they are listed (`Input.listed`).
        """
        several = self.item if isinstance(self.item, list) else []
        plain = {role: column for role, column in super().names.items() if isinstance(column, str) and role != "items"}
        wide = self.items if isinstance(self.items, list) else []
        plain |= {f"items.{number}": column for number, column in enumerate(wide)}
        return plain | {f"item.{number}": column for number, column in enumerate(several)}


class Input(Source, Timestamps, FoldedNames):
    """Where the rows are and how to read them."""

    columns: Columns

    @model_validator(mode="after")
    def _names_in_rows(self) -> Self:
        if self.fold is not None and self.columns.items is not None:
            raise ValueError(
                "input.fold must be absent where columns hold items, which are found by their names, got some"
            )
        return self

    def listed(self, items: Sequence[str]) -> Self:
        """The same with the items in place of `all`."""
        if self.columns.items != "all":
            return self
        return self.model_copy(update={"columns": self.columns.model_copy(update={"items": list(items)})})


def require_item_columns(columns: Literal["all"] | list[str] | None, items: Sequence[str], has_other: bool) -> None:
    """Refuse a column of a wide row that counts nowhere.

    Args:
        columns: `input.columns.items`.
        items: names of the items.
        has_other: whether what is no item counts as another one.

    Raises:
        ConfigError: naming the column.
    """
    known = set(items)
    for name in columns if isinstance(columns, list) and not has_other else ():
        rule = "name items of domain.items, or domain.other must be given"
        require(name in known, "input.columns.items", rule, name + did_you_mean(name, items))
