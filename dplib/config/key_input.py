"""Settings of jobs whose rows hold a key that is not declared: which columns name it, and whose row it is."""

from typing import Self

from pydantic import model_validator

from dplib.config.fold import FoldedNames
from dplib.config.sections import MappedColumns, Source


class KeyColumns(MappedColumns):
    """Which input column holds what."""

    key: str | None = None
    """What is selected, such as a product; give this or `keys`."""
    keys: list[str] | None = None
    """Several columns whose values together are one key."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.key is None) == (self.keys is None):
            raise ValueError("input.columns must name either key or keys, got " + ("both" if self.keys else "neither"))
        if self.keys is not None and len(self.keys) < 2:
            raise ValueError("input.columns.keys must be a list of two columns at least, got a shorter list")
        return self

    @property
    def names(self) -> dict[str, str]:
        """Role to input column; several columns of a key have the roles key.0, key.1, ..."""
        several = {f"key.{number}": column for number, column in enumerate(self.keys or ())}
        return {role: column for role, column in {"key": self.key, "unit": self.unit}.items() if column} | several


class KeyInput(Source, FoldedNames):
    """Where the rows are and how to read them."""

    columns: KeyColumns
