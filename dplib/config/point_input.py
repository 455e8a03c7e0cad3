"""Settings of jobs whose rows are points: which columns hold their coordinates."""

from typing import Self

from pydantic import field_validator, model_validator

from dplib.config.sections import Section, Source


class PointColumns(Section):
    """Which input columns hold a row's point."""

    coordinates: list[str] | None = None
    """One column of numbers a coordinate, in order; give these or `vector`."""
    vector: str | None = None
    """One column of arrays of numbers; a row whose array has another length counts as missing."""
    report: str | None = None
    """One column of reports that units made themselves, in place of points (`dplib.jobs.kmeans.report_text`). For
    methods of the local model that ask in one round: ldp_tree up to 6 coordinates, and noisy_coordinates."""
    unit: str | None = None
    """Whose row it is; absent where each row is its own privacy unit."""

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        names = ("coordinates", "vector", "report")
        self.require_one(names, "input.columns must name one of coordinates, vector or report")
        return self

    @field_validator("coordinates")
    @classmethod
    def _different(cls, coordinates: list[str] | None) -> list[str] | None:
        if coordinates is not None and (not coordinates or len(set(coordinates)) < len(coordinates)):
            raise ValueError("must be one or more different columns, got others")
        return coordinates

    @property
    def names(self) -> dict[str, str]:
        """Role to input column, the roles that are mapped only."""
        found = {f"coordinates.{number}": name for number, name in enumerate(self.coordinates or ())}
        found |= {name: column for name in ("vector", "report") if (column := getattr(self, name)) is not None}
        return found | ({"unit": self.unit} if self.unit is not None else {})


class PointInput(Source):
    """Where the rows are and how to read them."""

    columns: PointColumns
