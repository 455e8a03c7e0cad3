"""A checked configuration, ready to run."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dplib.canonical import settings_hash
from dplib.config.day_window import DayWindow
from dplib.config.job_config import JobConfig
from dplib.config.load import check, read_settings
from dplib.config.paths import local_path
from dplib.config.sections import Source
from dplib.config.stream import with_days
from dplib.ledger.runs import Run, RunKey
from dplib.secret.places import withhold
from dplib.validate import require
from dplib.workflow.design import AnyDesign, JobDesign
from dplib.workflow.settings import counted_settings, free_settings, input_place, measurement_settings, plan_settings

if TYPE_CHECKING:
    from dplib.ledger.ledger import Ledger

AnyConfig = TypeVar("AnyConfig", bound=JobConfig)
AnySource = TypeVar("AnySource", bound=Source)
Design_co = TypeVar("Design_co", bound=JobDesign, covariant=True)


@dataclass(frozen=True)
class Prepared(Generic[Design_co]):
    """A design with the place and the date of its configuration.

    Attributes:
        design: the design.
        config: the configuration: where things are, for the driver alone.
        base: folder that relative paths refer to.
        date: logical date, empty where there is none.
    """

    design: Design_co
    config: JobConfig
    base: Path
    date: str

    def source(self, kind: type[AnySource]) -> AnySource:
        """The input, of the kind that the job reads; of a stream with the files of the days that the run reads."""
        found = self.config.input
        assert isinstance(found, kind)
        return found if self.config.horizon is None else with_days(found, lambda: self.config.days_read(self.date))

    @property
    def output(self) -> Path:
        """Folder of all releases."""
        path = self.config.publish.output.path
        why = ", since releases appear by one rename"
        return local_path("publish.output.path", path, self.base, why).resolve()

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All that the configuration says about the measurement; options may hold passwords."""
        return measurement_settings(self.config, self.design)

    @cached_property
    def key(self) -> RunKey:
        """What makes two runs the same run."""
        config, counted = self.config, settings_hash(counted_settings(self.plan_settings))
        # Under which versions before would have made the run.
        former = settings_hash(self.settings)
        known = () if former == counted else (former,)
        place = input_place(config.input, self.base)
        return RunKey(config.dataset, config.job, self.logical_date, counted, known, place)

    @property
    def logical_date(self) -> str:
        """The date that tells runs of the same settings apart; all days of a stream are one run."""
        return self.date if self.config.horizon is None else STREAM

    @property
    def plan_settings(self) -> dict[str, Any]:
        """The measurement settings that an officer reads and the ledger keeps."""
        return plan_settings(self.settings)

    def publish_hash(self, run: Run) -> str:
        """Hash of all that shapes the release of a run's measurement and spends nothing.

        A run that was made under a former hash holds the free settings already.
        """
        days = {"days": sorted(day.date for day in run.days), "closed": run.is_closed} if run.days else {}
        return settings_hash(self._shaping(run) | days)

    def shaping_hash(self, run: Run) -> str:
        """The same but for which days a stream has measured."""
        return settings_hash(self._shaping(run))

    def _shaping(self, run: Run) -> dict[str, Any]:
        free = free_settings(self.plan_settings) if run.key.settings_hash == self.key.settings_hash else {}
        return self.design.publish_settings | free

    @property
    def window(self) -> DayWindow | None:
        """The days that the run reads; None where its rows may be of any day."""
        return self.config.day_window

    def open_ledger(self) -> "Ledger":
        """The ledger of the configuration."""
        # Imported where it is needed: it brings SQLAlchemy, and questions to a release need no ledger.
        from dplib.ledger.ledger import Ledger
        from dplib.ledger.schema import resolve_ledger_url

        return Ledger.open(resolve_ledger_url(self.config.ledger, self.base))


STREAM = "stream"
"""Stands for the logical date of all days of a stream."""
Resolve = Callable[[Mapping[str, object], Path, str], Prepared[Design_co]]


def resolver(model: type[AnyConfig], resolve: Callable[[AnyConfig, Path], AnyDesign]) -> Resolve[AnyDesign]:
    """From settings, the folder of their relative paths and a date to what is ready to run, whatever the job."""

    def resolved(settings: Mapping[str, object], base: Path, date: str) -> Prepared[AnyDesign]:
        config = check(model, settings)
        # Whatever the command starts from here on does not inherit it, whether or not the secret is needed.
        withhold(config.secret)
        return Prepared(resolve(config, base), config, base, date)

    return resolved


def prepare(resolve: "Resolve[Design_co]", path: Path, assignments: Sequence[str], date: str) -> Prepared[Design_co]:
    """Load, check and resolve a configuration; the date is empty where there is none.

    Raises:
        ConfigError: naming the setting that is wrong.
    """
    require(not date or _is_moment(date), "--date", "be a day such as 2024-05-03, or a moment of ISO 8601", date)
    found = resolve(read_settings(path, assignments, date), path.resolve().parent, date)
    horizon = found.config.horizon
    if horizon is not None and date:
        require(horizon[0] <= date <= horizon[1], "--date", f"be a day from {horizon[0]} to {horizon[1]}", date)
    # Environment variables that paths name are missed here, not when something was spent.
    found.config.input.paths(found.base)
    _ = found.output
    return found


def _is_moment(text: str) -> bool:
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
