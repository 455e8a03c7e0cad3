"""What every job's configuration holds, and where its releases are written."""

from typing import Annotated, Literal

from pydantic import Field

from dplib.config.day_window import DayWindow
from dplib.config.sections import Protection, Section, Source, SparkSettings

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


class JobConfig(Section):
    """What every job's configuration holds."""

    config_version: Literal[1]
    job: str
    dataset: str = Field(pattern=SAFE_NAME)
    """The ledger's account that pays."""
    input: Source
    privacy: Protection
    publish: Publication = Publication()
    ledger: str = "sqlite:///ledger.db"
    """Address of the ledger; a SQLite path is relative to this file."""
    secret: str = "file:dplib.key"  # noqa: S105 - where the secret is, not the secret
    """Where the secret is: file:PATH, env:NAME or command:..."""
    spark: SparkSettings = SparkSettings()

    @property
    def day_window(self) -> DayWindow | None:
        """The days that the job reads; None where its rows may be of any day.

        A job that declares days drops the rows of others first, before caps choose among a unit's rows
        (`dplib.spark.rows.resolve.resolve_rows`, `dplib.spark.rows.bins.bin_rows`), so nothing that it publishes
        depends on them.
        """
        return None
