"""Everything that the settings of `rows-by-day` decide.

Guarantee. A unit keeps at most m rows and each adds 1 to one day, so the counts change by at most m in L1 norm where a
unit comes or goes, by 2 m where one is replaced. Discrete Laplace noise of that over epsilon in every day makes them
epsilon-differentially private (`dplib.mechanisms.tree_counts`).
"""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from dplib.config.input_quality import quality_events
from dplib.config.value_input import BinDomain
from dplib.privacy.noise import SAMPLER_FORMAT, Noise, NoiseEvent, require_useful_noise
from dplib.release.manifest import Manifest, public_design
from tests.support.rows_by_day.config import NAME, RowsByDay


@dataclass(frozen=True)
class Design:
    """A release before its rows: its settings, and the measurement of the days."""

    config: RowsByDay
    counts: NoiseEvent

    @classmethod
    def of(cls, config: RowsByDay) -> "Design":
        """Derive the design of a release."""
        privacy = config.privacy
        rows = privacy.rows_per_unit * (2 if privacy.neighbors == "replace_one" else 1)
        noise = Noise.within(privacy.main_budget, rows, rows**2)
        require_useful_noise(noise.law.parameter_name, noise.parameter)
        return cls(config, noise.event("rows by day"))

    @property
    def formats(self) -> dict[str, int]:
        """Versions of what decides the noise besides the settings."""
        return {"sampler_format": SAMPLER_FORMAT}

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.shaping() | {"publish_format": 1}

    @property
    def events(self) -> tuple[NoiseEvent, ...]:
        """What the release spends."""
        return (self.counts, *quality_events(self.config))

    @property
    def variance(self) -> float:
        """Of the noise of a day."""
        return self.counts.noise.variance

    @property
    def days(self) -> list[dt.date]:
        """The days, in order."""
        first, last = self.config.days.first, self.config.days.last
        return [first + dt.timedelta(days=day) for day in range((last - first).days + 1)]

    @property
    def domain(self) -> BinDomain:
        """The days as bins of rows."""
        return BinDomain(first_day=self.config.days.first, n_days=len(self.days))

    def public(self) -> dict[str, Any]:
        """The settings that a reader of the release needs."""
        return self.config.measured()

    @classmethod
    def of_release(cls, manifest: Manifest) -> "Design":
        """The design of a release."""
        return cls.of(RowsByDay.model_validate(public_design(manifest, NAME)))
