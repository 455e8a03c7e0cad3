"""What every job's configuration holds: the settings of its releases, and their surroundings.

The file is flat; what it holds is of two kinds. `ReleaseSettings` decide and shape a release: they are hashed, an
officer reads them, and those that decide the numbers stand in the manifest. `Surroundings` say where things are: the
input with the options by which it is reached, the ledger, the secret, Spark. They may hold passwords, and only the
driver has them: a design, and with it whatever an executor or a reader of a release gets, is made of the former.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from dplib.config.day_window import DayWindow
from dplib.config.sections import PrivacySettings, Section, Source, SparkSettings

TABLE_NAME = r"^(measurement|estimates|published)(/[A-Za-z0-9_.-]+)*$"


class Output(Section):
    """Where releases are written."""

    path: str = "releases"
    """Folder of all releases, relative to this file."""
    csv: bool = False
    """Also write the published and estimated tables as CSV."""
    tables: dict[Annotated[str, Field(pattern=TABLE_NAME)], Annotated[str, Field(min_length=1)]] = Field(
        default_factory=dict, exclude=True
    )
    """Delta tables that get the rows of each release: name of its table (published, estimates/...) to a folder,
    relative to this file. No part of what is published: a change writes the release to the new place, nothing else."""


class Publication(Section):
    """What is made of the stored measurement; never spends."""

    output: Output = Output()


def require_unit_column(unit: str, column: str | None) -> None:
    """Refuse a unit without its column, and a column where every row is its own unit.

    Raises:
        ValueError: as pydantic's validators raise it.
    """
    if unit == "event" and column is not None:
        raise ValueError(f"input.columns.unit must be absent where privacy.unit is event, got {column}")
    if unit != "event" and column is None:
        raise ValueError(f"input.columns.unit must name the column of the {unit}, got nothing")


SAFE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"


class _Named(Section):
    job: str
    dataset: str = Field(pattern=SAFE_NAME)
    """The ledger's account that pays."""


class ReleaseSettings(_Named):
    """What decides and shapes a release."""

    published: ClassVar[frozenset[str]] = frozenset({"publish"})
    """Sections that shape a release and never spend."""
    unhashed: ClassVar[frozenset[str]] = frozenset()
    """Sections that change no byte of a release."""
    privacy: PrivacySettings
    publish: Publication = Publication()

    @classmethod
    def of(cls, config: "ReleaseSettings", **read: object) -> Self:
        """The settings of a release among those of a configuration.

        Args:
            config: the configuration, of the same job.
            read: sections with the contents of the files that the configuration names.
        """
        return cls.model_validate({name: getattr(config, name) for name in cls.model_fields} | read)

    def measured(self) -> dict[str, Any]:
        """The sections that decide the numbers, as JSON values."""
        return self.model_dump(mode="json", by_alias=True, exclude={*self.published, *self.unhashed})

    def shaping(self) -> dict[str, Any]:
        """The sections that shape a release and never spend, as JSON values."""
        return self.model_dump(mode="json", by_alias=True, include=set(self.published))


class Surroundings(_Named):
    """Where things are."""

    input: Source
    ledger: str = "sqlite:///ledger.db"
    """Address of the ledger; a SQLite path is relative to this file."""
    secret: str = "file:dplib.key"  # noqa: S105 - where the secret is, not the secret
    """Where the secret is: file:PATH, env:NAME or command:..."""
    spark: SparkSettings = SparkSettings()


class JobConfig(ReleaseSettings, Surroundings):
    """A configuration file."""

    config_version: Literal[1]

    def with_input(self, measured: dict[str, Any]) -> dict[str, Any]:
        """The settings that decide the numbers, with how the input is read, as they are hashed."""
        return measured | {"input": self.input.model_dump(mode="json")} | self.input.reading_format

    @property
    def day_window(self) -> DayWindow | None:
        """The days that the job reads; None where its rows may be of any day.

        A job that declares days drops the rows of others first, before caps choose among a unit's rows
        (`dplib.spark.rows.resolve.resolve_rows`, `dplib.spark.rows.bins.bin_rows`), so nothing that it publishes
        depends on them.
        """
        return None

    @property
    def horizon(self) -> tuple[str, str] | None:
        """First and last day of a stream, ISO 8601; None where all is measured in one run."""
        return None

    def days_read(self, date: str) -> list[str]:
        """Days whose rows the run of a day reads, each of which fills `{date}` in `input.path`: of streams alone."""
        return []
