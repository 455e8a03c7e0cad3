"""The section ``stream`` of jobs that can publish day by day, and what is asked of recent days."""

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal, Self, TypeVar

import numpy as np
from pydantic import Field, model_validator

from dplib.config.sections import Exact, Section, Source
from dplib.errors import ConfigError
from dplib.trees.calendar import WEEKS, calendar_levels

CalendarLevel = Literal["day", "week", "month", "quarter", "year"] | Annotated[str, Field(pattern=f"^{WEEKS}$")]
Query = Literal["day", "week", "month", "quarter", "year", "total"]
RecentDays = Annotated[str, Field(pattern=r"^(last ([2-9]|[1-9][0-9]{1,3}) days|(week|month|quarter|year) to date)$")]
"""Ranges that end on the day on which they are asked for: of streams."""
DEFAULT_QUERIES = ("day", "last 7 days", "last 28 days", "year to date")
"""What a stream's plan shows and `levels: auto` serves where no query is declared."""
DATE = "{date}"
AnySource = TypeVar("AnySource", bound=Source)


class Stream(Section):
    """A release that grows day by day: reserved once for its horizon, measured as its days end."""

    horizon: Annotated[list[dt.date], Field(min_length=2, max_length=2)]
    """First and last day, in place of those that the release declares elsewhere."""
    levels: Literal["auto"] | list[CalendarLevel] = "auto"
    """Levels of the tree over days that are measured; auto chooses levels and shares for the `queries`, each as it is
    known on its last day."""
    shares: list[Exact] | None = None
    """Share of the budget of each level from the coarsest down, in any unit; equal where absent."""

    @model_validator(mode="after")
    def _levels_and_shares(self) -> Self:
        first, last = self.horizon
        if self.levels != "auto" and first <= last:  # The section that gets these days says what is wrong with them.
            try:
                calendar_levels(first, last, self.levels)
            except ConfigError as error:
                raise ValueError(str(error.of("stream.levels"))) from None
        if self.shares is not None and not (all(share >= 0 for share in self.shares) and sum(self.shares[-1:]) > 0):
            raise ValueError("stream.shares must be numbers of at least 0, the last one above 0, got another")
        if self.levels == "auto" and self.shares is not None:
            raise ValueError("stream.shares must be absent where stream.levels is auto, which chooses them, got some")
        return self

    def days_read(self, date: str) -> list[str]:
        """Days of all periods that end with a day, whose rows its run reads; of the whole horizon without a day.

        Args:
            date: a day of the horizon, ISO 8601, or empty.
        """
        assert self.levels != "auto"  # as `require_streamable` has it where it is asked
        (first, last), begin = self.horizon, 0
        end = (last - first).days + 1
        if date:
            end = (dt.date.fromisoformat(date) - first).days + 1
            known = calendar_levels(first, last, self.levels)
            edges = [known.edges[known.level_of[name]] for name in self.levels]
            begin = min(int(each[np.searchsorted(each, end) - 1]) for each in edges if end in each)
        return [(first + dt.timedelta(days=day)).isoformat() for day in range(begin, end)]


class StreamTree(Section):
    """The tree of a stream, decided: what `levels: auto` chooses stays what it was on the first day."""

    levels: list[CalendarLevel]
    """Below the root, the whole horizon."""
    root: bool
    """Whether the root is measured."""
    shares: list[Exact]
    """Share of the budget of the root, where it is measured, and of each level from the coarsest down."""

    @property
    def names(self) -> list[str]:
        """Of the levels that have shares."""
        return ["all days", *self.levels][-len(self.shares) :]


def with_horizon(given: object, section: str, names: tuple[str, str]) -> object:
    """Settings with a stream's horizon as the days of another section, and the queries of streams where none is.

    Args:
        given: the settings; returned as they are where there is no stream, or what they are is none.
        section: path of the section that declares first and last day, its names joined by points.
        names: of these.

    Raises:
        ValueError: if that section declares other days.
    """
    stream = given.get("stream") if isinstance(given, Mapping) else None
    ends = stream.get("horizon") if isinstance(stream, Mapping) else None
    if not isinstance(given, Mapping) or not isinstance(ends, Sequence) or len(ends) != 2:
        return given
    filled = _filled(given, section.split("."), section, dict(zip(names, ends, strict=True)))
    return filled if filled is given else {**filled, "queries": given.get("queries", DEFAULT_QUERIES)}


def _filled(
    given: Mapping[str, object], path: Sequence[str], section: str, days: Mapping[str, object]
) -> Mapping[str, object]:
    """The settings with days in the section that a path names; as they are where it is no section."""
    if not path:
        for name, end in days.items():
            if given.get(name, end) != end:
                raise ValueError(f"{section}.{name} must be absent where stream.horizon says it, got {given[name]}")
        return {**given, **days}
    inner = given.get(path[0])
    inner = {} if inner is None and len(path) == 1 and "." in section else inner
    return {**given, path[0]: _filled(inner, path[1:], section, days)} if isinstance(inner, Mapping) else given


def with_days(source: AnySource, days: Callable[[], Sequence[str]]) -> AnySource:
    """An input each of whose paths that holds `{date}` stands for the paths of some days."""
    given = [source.path] if isinstance(source.path, str) else source.path or []
    if not any(DATE in path for path in given):
        return source
    filled = [[path.replace(DATE, day) for day in days()] if DATE in path else [path] for path in given]
    return source.model_copy(update={"path": [path for paths in filled for path in paths]})


def require_streamable(stream: Stream, source: Source, tables: object, quality_share: object) -> None:
    """Refuse what a stream has not.

    Args:
        stream: its section.
        source: its input.
        tables: where its tables would go besides.
        quality_share: part of the budget for the quality of the input.

    Raises:
        ValueError: as pydantic's validators raise it.
    """
    if quality_share is not None:
        raise ValueError("privacy.quality_share must be absent in a stream, got one")
    if tables:
        raise ValueError("publish.output.tables must be absent in a stream, whose rows are revised, got some")
    if any(DATE in path for path in ([source.path] if isinstance(source.path, str) else source.path or [])):
        if stream.levels == "auto":
            raise ValueError(
                "stream.levels must be a list where input.path holds {date}, whose files are those of the periods that "
                "end with a day, got auto"
            )
        if source.is_delta:
            raise ValueError("input.path must name the rows of all days where a stream reads a Delta table, got {date}")
