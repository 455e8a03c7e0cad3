"""Everything that the settings of `rows-by-day` decide.

Guarantee. A unit keeps at most m rows and each adds 1 to one day, so the counts change by at most m in L1 norm where a
unit comes or goes, by 2 m where one is replaced. Discrete Laplace noise of that over epsilon in every day makes them
epsilon-differentially private (`dplib.mechanisms.tree_counts`).
"""

import datetime as dt
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dplib.mechanisms.tree_counts import SAMPLER_FORMAT, noise_variance
from dplib.privacy.budget import epsilon_or_rho
from dplib.privacy.calibration import discrete_laplace_scale
from dplib.privacy.events import DiscreteGaussianEvent, DiscreteLaplaceEvent
from dplib.privacy.measurement import Measurement
from dplib.release.manifest import Manifest
from dplib.spark.rows.bins import BinDomain
from dplib.workflow.design import require_useful_noise
from dplib.workflow.manifest import public_design
from dplib.workflow.quality import quality_events
from tests.support.rows_by_day.config import NAME, RowsByDayConfig


@dataclass(frozen=True)
class Design:
    """A release before its rows: configuration, resolved measurement settings, the measurement of the days."""

    config: RowsByDayConfig
    settings: dict[str, Any]
    counts: Measurement

    @classmethod
    def resolve(cls, config: RowsByDayConfig, _: Path) -> "Design":
        """Derive the design of a configuration."""
        privacy = config.privacy
        rows = privacy.rows_per_unit * (2 if privacy.neighbors == "replace_one" else 1)
        l1 = Fraction(rows)
        scale = discrete_laplace_scale(l1, epsilon_or_rho(privacy.main_budget))
        require_useful_noise("scale", scale)
        settings = config.model_dump(mode="json", include={"dataset", "job", "input", "privacy", "days"})
        counts = Measurement(DiscreteLaplaceEvent("rows by day", l1, scale))
        return cls(config, settings | {"sampler_format": SAMPLER_FORMAT}, counts)

    @property
    def publish_settings(self) -> dict[str, Any]:
        """The settings that shape a release and never spend."""
        return self.config.model_dump(mode="json", include={"publish"}) | {"publish_format": 1}

    @property
    def events(self) -> tuple[DiscreteLaplaceEvent | DiscreteGaussianEvent, ...]:
        """What the release spends."""
        return (self.counts.event, *quality_events(self.config))

    @property
    def variance(self) -> float:
        """Of the noise of a day."""
        return noise_variance(self.counts.mechanism, self.counts.parameter)

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
        return {name: self.settings[name] for name in ("dataset", "job", "privacy", "days")}

    @classmethod
    def of_release(cls, manifest: Manifest) -> "Design":
        """The design of a release."""
        public = public_design(manifest, NAME)
        columns = {"value": "value"} | ({"unit": "unit"} if public["privacy"]["unit"] != "event" else {})
        given = {"config_version": 1, "input": {"path": "none", "columns": columns}}
        return cls.resolve(RowsByDayConfig.model_validate(public | given), Path())
