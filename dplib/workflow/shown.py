"""What a job has to say on a terminal, as values that others print."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes:
        title: above it; empty for none.
        columns: their names.
        rows: a text for each column.
        right: names of the columns that are aligned to the right.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[str] = frozenset()


Shown = str | TextTable
"""A line or a table."""
