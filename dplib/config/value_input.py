"""Settings of jobs whose rows hold one value each: which columns say what is binned, for which group and unit."""

from dplib.config.sections import MappedColumns, Source, Timestamps


class HistogramColumns(MappedColumns):
    """Which input column holds what."""

    value: str
    """What is binned: a number, a moment or a category."""
    group: str | None = None
    """Which histogram a row belongs to; absent for a single histogram."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""


class HistogramInput(Source, Timestamps):
    """Where the rows are and how to read them."""

    columns: HistogramColumns
