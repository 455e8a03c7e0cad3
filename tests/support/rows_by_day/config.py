"""The configuration of `rows-by-day`, and an example of it."""

import datetime as dt
from typing import Literal, Self

from pydantic import model_validator

from dplib.config.day_window import DayClock, DayWindow
from dplib.config.job_config import JobConfig, ReleaseSettings, require_unit_column
from dplib.config.sections import RowPrivacySettings, Section
from dplib.config.value_input import HistogramInput

NAME = "rows-by-day"
EXAMPLE = """\
config_version: 1
job: rows-by-day
dataset: visits
input: {path: visits.csv, options: {header: "true"}, columns: {value: date, unit: visitor}}
privacy: {unit: visitor, max_rows_per_unit: 2, budget: {epsilon: 1}}
days: {first: 2026-01-01, last: 2026-01-14}
"""


class Days(Section):
    """The days that are counted, whether or not rows exist; both ends inclusive."""

    first: dt.date
    last: dt.date


class RowsByDay(ReleaseSettings):
    """How many rows each day has."""

    job: Literal["rows-by-day"]
    privacy: RowPrivacySettings
    days: Days


class RowsByDayConfig(RowsByDay, JobConfig):
    """A configuration of the job."""

    input: HistogramInput

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        require_unit_column(self.privacy.unit, self.input.columns.unit)
        if self.days.last < self.days.first:
            raise ValueError(f"days.last must not be before {self.days.first}, got {self.days.last}")
        if self.privacy.mechanism != "discrete_laplace":
            raise ValueError("privacy.budget must be epsilon alone, since the noise is discrete Laplace, got another")
        return self

    @property
    def day_window(self) -> DayWindow:
        """The days that are counted."""
        clock = DayClock(self.input.columns.value, self.input.date_format, self.input.timezone)
        return DayWindow(self.days.first, self.days.last, clock)
