"""Settings of jobs whose rows are events: which columns say what happened when, how often and to whom."""

from typing import Self

from pydantic import model_validator

from dplib.config.sections import MappedColumns, Source, Timestamps


class Columns(MappedColumns):
    """Which input column holds what."""

    day: str
    """When the event happened; read with `date_format` in `timezone`."""
    item: str | list[str] | None = None
    """What was counted, where a row is an item line; a list where several columns name an item (`domain.items.columns`,
    in that order)."""
    package: str | None = None
    """Which package was bought, where a row is a package; give this or `item`."""
    quantity: str | None = None
    """How many; 1 for each row where absent."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if (self.item is None) == (self.package is None):
            raise ValueError(
                "input.columns must name either item or package, got " + ("both" if self.item else "neither")
            )
        if isinstance(self.item, list) and len(self.item) < 2:
            raise ValueError("input.columns.item must be one column, or a list of several, got a shorter list")
        return self

    @property
    def names(self) -> dict[str, str]:
        """Role to input column; where several columns name an item, their roles are item.0, item.1, ..."""
        several = self.item if isinstance(self.item, list) else []
        plain = {role: column for role, column in super().names.items() if not (several and role == "item")}
        return plain | {f"item.{number}": column for number, column in enumerate(several)}


class Input(Source, Timestamps):
    """Where the rows are and how to read them."""

    columns: Columns
