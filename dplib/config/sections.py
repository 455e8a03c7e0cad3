"""The sections that every job's configuration shares.

Sections are frozen and refuse unknown keys. A field's docstring is the setting's documentation.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self
from zoneinfo import available_timezones

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from dplib.config.date_patterns import check_pattern
from dplib.config.paths import below, expand, has_scheme
from dplib.config.reader_options import FORMATS, check_format, check_options
from dplib.errors import ConfigError
from dplib.privacy.budget import ZCDP, ApproxDP, Budget, PureDP
from dplib.privacy.noise import Law
from dplib.privacy.rounding import as_fraction
from dplib.validate import did_you_mean


class Section(BaseModel):
    """Base of all sections: frozen, no unknown keys, field docstrings kept for the documentation."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, populate_by_name=True)

    def require_one(self, names: Sequence[str], rule: str) -> str:
        """The one of some settings that is given.

        Raises:
            ValueError: ``<rule>, got <those given>`` where none or several are.
        """
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"{rule}, got {' and '.join(given) or 'none'}")
        return given[0]


def _exact(value: object) -> Fraction:
    try:
        return as_fraction("value", value)
    except ConfigError as error:
        raise ValueError(f"must {error.rule}, got {error.got}") from None


Exact = Annotated[Fraction, BeforeValidator(_exact)]
"""A number read exactly as it is written: 0.1 is one tenth."""


class MappedColumns(Section):
    """Which input column holds what."""

    @property
    def names(self) -> dict[str, str]:
        """Role to input column, the roles that are mapped only."""
        return {role: column for role, column in self.model_dump().items() if column is not None}


DELTA = "delta"


class Source(Section):
    """Where the input is and how Spark reads it."""

    extra_formats: ClassVar[tuple[str, ...]] = ()
    """Formats that a job reads besides those of all jobs."""
    path: str | list[str] | None = None
    """A file, a folder, a glob or a list of them, relative to this file; `{date}` is the logical date (in a stream each
    day that its run reads), `${NAME}` an environment variable."""
    table: str | None = None
    """A catalogue table instead of a path."""
    format: str = "csv"
    """csv, json (one record a line), parquet, orc or delta: formats where no row can delete or fail others."""
    version: Annotated[int, Field(ge=0, strict=True)] | None = Field(
        default=None, exclude_if=lambda version: version is None
    )
    """Which version of a Delta table to read; the newest at the time of reading where absent."""
    options: dict[str, str] = Field(default_factory=dict)
    """Options of Spark's reader that are safe row by row (`dplib guide input`), for example `header: "true"`."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.path is None) == (self.table is None):
            raise ValueError(
                "input must name either path or table, got " + ("neither" if self.path is None else "both")
            )
        return self

    @model_validator(mode="after")
    def _safe_reader(self) -> Self:
        if self.table is not None:
            if self.options:
                given = ", ".join(self.options)
                raise ValueError(f"input.options must be absent where input.table is given, got {given}")
            return self
        check_format(self.format, self.extra_formats)
        if self.format.lower() in FORMATS:
            check_options(self.format, self.options)
        return self

    @model_validator(mode="after")
    def _delta(self) -> Self:
        delta = self.is_delta
        if self.version is not None and not delta:
            raise ValueError(
                "input.version may be given only with input.path and input.format delta, got another input"
            )
        if delta and not isinstance(self.path, str):
            raise ValueError("input.path must name one table where input.format is delta, got a list")
        return self

    @property
    def is_delta(self) -> bool:
        """Whether the input is a Delta table by its path."""
        return self.path is not None and self.format.lower() == DELTA

    @field_validator("path")
    @classmethod
    def _not_empty(cls, path: str | list[str] | None) -> str | list[str] | None:
        if path is not None and (not path or (isinstance(path, list) and not all(path))):
            raise ValueError("must not be empty, got an empty path")
        return path

    @property
    def reading_format(self) -> dict[str, int]:
        """What settings hold besides where the input is read by another rule than in earlier versions."""
        return {}

    @property
    def shown(self) -> str:
        """The table or the paths as they are configured, for messages."""
        return self.table or (self.path if isinstance(self.path, str) else ", ".join(self.path or []))

    def places(self, base: Path) -> list[str]:
        """The paths, variables expanded, absolute against ``base`` unless they are absolute or carry a scheme."""
        return [path if has_scheme(path) else str(base / path) for path in self._expanded()]

    def paths(self, base: Path) -> list[str]:
        """The paths as Spark takes them: what they say may be a pattern, the folder they start from is literal."""
        return [path if has_scheme(path) else below(base, path) for path in self._expanded()]

    def _expanded(self) -> list[str]:
        given = [self.path] if isinstance(self.path, str) else list(self.path or [])
        return [expand("input.path", path) for path in given]


class Timestamps(Section):
    """How the moment of a row becomes a day."""

    date_format: str = "yyyy-MM-dd"
    """Spark's pattern of the day column; ignored where the column already is a date or a timestamp."""
    timezone: str = "UTC"
    """Fixed time zone in which a timestamp becomes a day; never the session's."""

    @field_validator("date_format")
    @classmethod
    def _one_meaning(cls, pattern: str) -> str:
        try:
            check_pattern(pattern)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return pattern

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        # The list is read from hundreds of files.
        if zone != "UTC" and zone not in available_timezones():
            hint = did_you_mean(zone, sorted(available_timezones()))
            raise ValueError(f"must be a time zone of the tz database such as UTC or Europe/London, got {zone}{hint}")
        return zone


class BudgetSetting(Section):
    """How much privacy loss one release may cost: epsilon, or rho, or epsilon with delta."""

    epsilon: Exact | None = None
    delta: Exact | None = None
    rho: Exact | None = None

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = {name for name in ("epsilon", "delta", "rho") if getattr(self, name) is not None}
        if given not in ({"epsilon"}, {"rho"}, {"epsilon", "delta"}):
            raise ValueError(
                "privacy.budget must be epsilon, rho, or epsilon with delta, got "
                f"{' and '.join(sorted(given)) or 'nothing'}"
            )
        for name in given:
            if not getattr(self, name) > 0:
                raise ValueError(f"privacy.budget.{name} must be a number above 0, got {getattr(self, name)}")
        if self.delta is not None and self.delta >= 1:
            raise ValueError(f"privacy.budget.delta must be below 1, got {self.delta}")
        return self

    def budget(self) -> Budget:
        """The budget as a value of `dplib.privacy`."""
        if self.rho is not None:
            return ZCDP(self.rho)
        assert self.epsilon is not None
        return PureDP(self.epsilon) if self.delta is None else ApproxDP(self.epsilon, self.delta)


MAX_QUALITY_SHARE = Fraction(1, 2)


class PrivacySettings(Section):
    """Whose presence is protected, and at which budget."""

    unit: str = Field(pattern=r"^[a-z][a-z0-9_ -]*$")
    """What neighbouring data sets differ by: event (a row), order, customer, ..."""
    neighbors: str
    """Which two inputs the guarantee compares."""
    budget: BudgetSetting
    noise: Literal["auto", "discrete_laplace", "discrete_gaussian"] = "auto"
    """auto: discrete Laplace for a pure epsilon, discrete Gaussian otherwise."""
    quality_share: Exact | None = Field(default=None, exclude_if=lambda share: share is None)
    """Part of the budget that tells how many of the rows were counted, and which rule dropped the others; nothing is
    told where absent."""

    @model_validator(mode="after")
    def _noise_of_budget(self) -> Self:
        law, budget = self.law, self.budget
        if law is Law.LAPLACE and budget.epsilon is None:
            raise ValueError(
                "privacy.noise must be discrete_gaussian or auto for a budget in rho, got discrete_laplace"
            )
        if law is Law.LAPLACE and budget.delta is not None:
            raise ValueError("privacy.budget must have no delta for discrete_laplace noise, got one")
        if law is Law.GAUSSIAN and budget.rho is None and budget.delta is None:
            raise ValueError(
                "privacy.budget must be rho or have a delta for discrete_gaussian noise, got epsilon alone"
            )
        return self

    @model_validator(mode="after")
    def _quality(self) -> Self:
        share = self.quality_share
        if share is not None and not 0 < share <= MAX_QUALITY_SHARE:
            raise ValueError(f"privacy.quality_share must be above 0 and at most {MAX_QUALITY_SHARE}, got {share}")
        if share is not None and self.budget.delta is not None:
            raise ValueError(
                "privacy.quality_share must be absent where the budget has a delta (give it in rho), got one"
            )
        if (share is not None and "local" in (self.neighbors, getattr(self, "model", ""))) or (
            share is not None and self.neighbors == "vertex"
        ):
            raise ValueError(
                f"privacy.quality_share must be absent where the neighbours are {self.neighbors}, got {share}: "
                "nothing bounds the rows of one unit there, or nobody counts them"
            )
        return self

    @property
    def main_budget(self) -> Budget:
        """The budget without the share for the quality of the input."""
        budget, share = self.budget.budget(), self.quality_share
        if share is None or isinstance(budget, ApproxDP):
            return budget
        return PureDP(budget.epsilon * (1 - share)) if isinstance(budget, PureDP) else ZCDP(budget.rho * (1 - share))

    @property
    def quality_budget(self) -> PureDP | ZCDP | None:
        """That share; None where there is none."""
        budget, share = self.budget.budget(), self.quality_share
        if share is None or isinstance(budget, ApproxDP):
            return None
        return PureDP(budget.epsilon * share) if isinstance(budget, PureDP) else ZCDP(budget.rho * share)

    @property
    def law(self) -> Law | None:
        """The noise that was asked for; None where it is decided here."""
        return None if self.noise == "auto" else Law(self.noise)

    @property
    def mechanism(self) -> Law:
        """The noise after `auto` is decided."""
        pure = self.budget.rho is None and self.budget.delta is None
        return self.law or (Law.LAPLACE if pure else Law.GAUSSIAN)


class RowPrivacySettings(PrivacySettings):
    """Whose presence is protected, how many rows one unit may contribute, and at which budget."""

    neighbors: Literal["add_remove", "replace_one"] = "add_remove"
    """add_remove: one unit more or less; replace_one: one unit exchanged (needed with public invariants)."""
    max_rows_per_unit: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = None
    """Public cap on the rows of one unit; further rows are dropped by a keyed hash. 1 where the unit is event."""
    quality_rows: Annotated[int, Field(ge=1, le=1000, strict=True)] | None = Field(
        default=None, exclude_if=lambda rows: rows is None
    )
    """Rows of one unit, chosen by a keyed hash, by which `quality_share` tells how many were counted; 1 where absent.
    More weigh units by their rows, with as much more noise."""

    @model_validator(mode="after")
    def _caps(self) -> Self:
        if self.unit == "event" and self.max_rows_per_unit not in (None, 1):
            raise ValueError(
                f"privacy.max_rows_per_unit must be 1 or absent where the unit is event, got {self.max_rows_per_unit}"
            )
        if self.unit != "event" and self.max_rows_per_unit is None:
            raise ValueError(f"privacy.max_rows_per_unit must be set where the unit is {self.unit}, got nothing")
        if self.quality_rows is not None and (self.quality_share is None or self.unit == "event"):
            raise ValueError(
                "privacy.quality_rows must be absent without privacy.quality_share and where the unit is event, got "
                f"{self.quality_rows}"
            )
        return self

    @property
    def spans_days(self) -> bool:
        """Whether one unit can have rows on several days."""
        return self.unit != "event"

    @property
    def rows_per_unit(self) -> int:
        """The cap m of privacy statements."""
        return self.max_rows_per_unit or 1


class EventPrivacySettings(RowPrivacySettings):
    """The caps of rows with days and quantities besides."""

    max_rows_per_day: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] | None = None
    """Optional public cap on one unit's rows a day; sharpens Gaussian noise on fine levels."""
    max_quantity: Annotated[int, Field(ge=1, le=1_000_000, strict=True)] = 1
    """Public cap of one row's quantity; larger ones count as this, negative ones as 0."""

    @property
    def rows_per_day(self) -> int:
        """The cap r of privacy statements: at most `rows_per_unit`."""
        return min(self.max_rows_per_day or self.rows_per_unit, self.rows_per_unit)


class SparkSettings(Section):
    """How to start Spark when the job is not run by spark-submit."""

    master: str = "local[*]"
    """Ignored under spark-submit and where `remote` is given."""
    remote: str | None = None
    """A Spark Connect server, sc://HOST:PORT, with `${NAME}` for an environment variable; else that in SPARK_REMOTE."""
    conf: dict[str, str] = Field(default_factory=dict)
    """Further Spark settings."""

    @property
    def remote_address(self) -> str | None:
        """The Connect server's address, variables expanded."""
        return None if self.remote is None else expand("spark.remote", self.remote)
