"""Settings of jobs whose rows hold one value each: which columns say what is binned, for which group and unit."""

from dplib.config.sections import Moments, Section, Source


class HistogramColumns(Section):
    """Which input column holds what."""

    value: str
    """What is binned: a number, a moment or a category."""
    group: str | None = None
    """Which histogram a row belongs to; absent for a single histogram."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""

    @property
    def names(self) -> dict[str, str]:
        """Role to input column, the roles that are mapped only."""
        return {role: column for role, column in self.model_dump().items() if column is not None}


class HistogramInput(Source, Moments):
    """Where the rows are and how to read them."""

    columns: HistogramColumns
