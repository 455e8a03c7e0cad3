"""Configuration of the job ``range-histograms``.

*Measurement settings* (``privacy``, ``histogram``, ``tree``, ``queries``, ``measure``, and how the ``input`` is read)
decide the counts and the noise, and changing one of them spends anew; *publish settings* (``publish``) only shape what
is made of the stored measurement and never spend. The file says besides where things are
(`dplib.config.job_config.Surroundings`).
"""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal, Self, TypeGuard

from pydantic import Field, field_validator, model_validator

from dplib.config.day_window import DayClock, DayWindow
from dplib.config.fold import folding
from dplib.config.job_config import JobConfig, Publication, ReleaseSettings, require_unit_column
from dplib.config.measure import Measure, Target
from dplib.config.sections import Exact, RowPrivacySettings, Section
from dplib.config.stream import Query, RecentDays, Stream, require_streamable, with_horizon
from dplib.config.value_input import HistogramInput
from dplib.jobs.range_histograms.histogram_config import GroupTable, HistogramSettings, absent

NAME = "range-histograms"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into counts changes its result."""

Method = Literal[
    "auto", "blue", "workload_aware", "lue_dptree", "boost", "boost_un", "hierarchical_bins", "dwork", "adaptive"
]
WITH_CHILDREN = ("blue", "lue_dptree", "boost", "boost_un")
"""Methods whose number of children a node can be chosen."""


class WorkloadSettings(Section):
    """Which ranges will be asked for: one of the following."""

    length: Annotated[int, Field(ge=1, strict=True)] | None = None
    """All ranges of this many bins."""
    ranges: list[tuple[int, int]] | None = None
    """A list of ranges as pairs of bin numbers from 0, [first, end)."""
    starts: list[Annotated[float, Field(ge=0, le=1e100)]] | None = None
    """With `ends`: a range from bin f to bin g has the weight starts[f] x ends[g]."""
    ends: list[Annotated[float, Field(ge=0, le=1e100)]] | None = None

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        given = {name for name in ("length", "ranges", "starts", "ends") if getattr(self, name) is not None}
        if given not in ({"length"}, {"ranges"}, {"starts", "ends"}):
            raise ValueError(
                "tree.queries must be uniform, prefix, {length}, {ranges} or {starts, ends}, got "
                f"{' and '.join(sorted(given)) or 'nothing'}"
            )
        return self


class RangeQuestion(Section):
    """A kind of range that readers ask for, of each group and of each kind of sums of groups."""

    range: Literal["bin", "uniform", "prefix"] | Query | RecentDays | WorkloadSettings
    """Single bins, all bins together (total), all ranges, those that begin with the first bin, or a law of ranges; of a
    stream day, last 7 days, month to date, month, ..., each as it is known on its last day."""
    weight: Annotated[Exact, Field(gt=0)] = Fraction(1)
    """How much its error counts where the tree and shares of the budget are chosen, beside the other queries'."""
    target: Annotated[Target | None, Field(exclude_if=absent)] = None
    """The plan says whether it is met, and at which budget it would be."""


class TreeSettings(Section):
    """How the histogram is measured."""

    method: Method = "auto"
    """auto: for the section `queries` where it is given, else `blue` for uniform queries, `workload_aware` for
    others."""
    branching: Annotated[int, Field(ge=2, le=65_536, strict=True)] | None = None
    """Children of every node; for blue, lue_dptree, boost and boost_un; found by the method where absent."""
    queries: Literal["uniform", "prefix"] | WorkloadSettings = "uniform"
    """The ranges for which the expected error shall be small."""

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.branching is not None and self.resolved_method not in WITH_CHILDREN:
            allowed = ", ".join(WITH_CHILDREN)
            raise ValueError(
                f"tree.branching must be absent unless tree.method is one of {allowed}, got {self.branching}"
            )
        return self

    @property
    def resolved_method(self) -> str:
        """The method after `auto` is decided."""
        if self.method != "auto":
            return self.method
        return "blue" if self.queries == "uniform" else "workload_aware"


class RangePublish(Publication):
    """What is made of the stored measurement; never spends."""

    layout: Literal["auto", "driver", "blocks"] = "auto"
    """Where it runs: one process, or groups in parallel on Spark."""


def _several(given: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    return isinstance(given, list | tuple)


class RangesRelease(ReleaseSettings):
    """Range counts of one or many histograms, each on its own interval tree."""

    job: Literal["range-histograms"]
    privacy: RowPrivacySettings
    histogram: HistogramSettings
    tree: TreeSettings = TreeSettings()
    measure: Annotated[Measure | Literal["auto"] | None, Field(exclude_if=absent)] = None
    """auto: the shares of the groups and of each kind of their sums that serve the queries best, or `{shares: ..}`;
    where absent, what is measured has the same noise at each node."""
    queries: Annotated[tuple[RangeQuestion, ...] | None, Field(exclude_if=absent, min_length=1)] = None
    """Kinds of ranges that the tree (method auto) and the shares (measure: auto) serve and whose errors the plan shows:
    `[bin, {range: {length: 7}, weight: 2}, total]`."""
    stream: Annotated[Stream | None, Field(exclude_if=absent)] = None
    """Days are measured and published one by one under one reservation (`dplib guide streams`)."""
    publish: RangePublish = RangePublish()

    @model_validator(mode="before")
    @classmethod
    def _horizon(cls, given: object) -> object:
        """The bins of a stream are the days of its horizon."""
        histogram = given.get("histogram") if isinstance(given, Mapping) and given.get("stream") else None
        for name in ("edges", "categories"):
            if isinstance(histogram, Mapping) and histogram.get(name) is not None:
                raise ValueError(f"histogram.{name} must be absent in a stream, whose bins are its days, got some")
        return with_horizon(given, "histogram.days", ("first", "last"))

    @field_validator("tree", mode="before")
    @classmethod
    def _auto(cls, tree: object) -> object:
        return {} if tree == "auto" else tree

    @field_validator("queries", mode="before")
    @classmethod
    def _plain(cls, queries: object) -> object:
        return (
            [{"range": each} if isinstance(each, str) else each for each in queries] if _several(queries) else queries
        )

    @model_validator(mode="after")
    def _sums_of_groups(self) -> Self:
        if self.queries is not None and self.tree.queries != "uniform":
            raise ValueError("tree.queries must be absent where queries is given, got both")
        if self.measure is not None and not self.histogram.add_up:
            raise ValueError("measure must be absent unless histogram.groupings or histogram.totals are given, got it")
        if self.method == "adaptive" and (self.histogram.add_up or self.queries is not None):
            given = "queries" if self.queries is not None else "sums of groups"
            raise ValueError(f"tree.method must be another one than adaptive with {given}, got adaptive")
        if self.histogram.add_up and self.publish.layout == "blocks":
            raise ValueError("publish.layout must be auto or driver where groups add up, got blocks")
        return self

    @model_validator(mode="after")
    def _of_days(self) -> Self:
        for question in self.queries or ():
            if isinstance(question.range, WorkloadSettings) or question.range in ("bin", "uniform", "prefix"):
                if self.stream is not None:
                    shown = question.range if isinstance(question.range, str) else "ranges of bins"
                    raise ValueError(f"queries must be of days, such as last 7 days, in a stream, got {shown}")
            elif self.stream is None and question.range != "total":
                raise ValueError(f"queries must be ranges of bins where there is no stream, got {question.range}")
        return self

    @property
    def method(self) -> str:
        """The method after `auto` is decided."""
        if self.stream is not None:
            return "calendar"
        return "questions" if self.queries is not None and self.tree.method == "auto" else self.tree.resolved_method

    @property
    def questions(self) -> tuple[RangeQuestion, ...]:
        """What is asked for: the section `queries`, or the law of `tree.queries`."""
        return self.queries or (RangeQuestion(range=self.tree.queries),)


class RangeHistogramsConfig(RangesRelease, JobConfig):
    """A configuration of the job."""

    input: HistogramInput

    @model_validator(mode="after")
    def _columns(self) -> Self:
        columns, histogram, privacy = self.input.columns, self.histogram, self.privacy
        require_unit_column(privacy.unit, columns.unit)
        if (columns.group is None) != (histogram.groups is None):
            have, lack = ("input.columns.group", "histogram.groups")
            if columns.group is None:
                have, lack = lack, have
            raise ValueError(f"{lack} must be set where {have} is, got nothing")
        if histogram.total_is_public and privacy.neighbors != "replace_one":
            raise ValueError("privacy.neighbors must be replace_one where histogram.total_is_public, got add_remove")
        if self.tree.resolved_method == "adaptive":
            if not privacy.mechanism.is_pure:
                raise ValueError("tree.method must be another one than adaptive for Gaussian noise, got adaptive")
            if histogram.total_is_public:
                raise ValueError("histogram.total_is_public must be false for tree.method adaptive, got true")
        return self

    @model_validator(mode="after")
    def _stream_alone(self) -> Self:
        if self.stream is None:
            return self
        require_streamable(self.stream, self.input, self.publish.output.tables, self.privacy.quality_share)
        if self.tree != TreeSettings():
            raise ValueError("tree must be absent where stream.levels says it, got one")
        if self.histogram.total_is_public:
            raise ValueError("histogram.total_is_public must be false in a stream, whose total grows, got true")
        if self.histogram.days is not None and self.histogram.days.days_per_bin != 1:
            got = self.histogram.days.days_per_bin
            raise ValueError(f"histogram.days.days_per_bin must be 1 in a stream, got {got}")
        if self.publish.layout == "blocks":
            raise ValueError("publish.layout must be auto or driver in a stream, got blocks")
        return self

    @property
    def horizon(self) -> tuple[str, str] | None:
        """That of the stream."""
        days = self.histogram.days
        return None if self.stream is None or days is None else (days.first.isoformat(), days.last.isoformat())

    def days_read(self, date: str) -> list[str]:
        """Those of the stream."""
        return [] if self.stream is None else self.stream.days_read(date)

    @property
    def day_window(self) -> DayWindow | None:
        """The days that are the bins; None where the bins are something else."""
        days = self.histogram.days
        if days is None:
            return None
        return DayWindow(
            days.first, days.last, DayClock(self.input.columns.value, self.input.date_format, self.input.timezone)
        )

    def release(self, base: Path) -> RangesRelease:
        """The settings of the release, with the contents of listed files."""
        given, groups = self.histogram, self.histogram.groups
        if isinstance(groups, GroupTable):
            groups = given.group_table(base, groups, folding(self.input.fold))
        elif groups is not None:
            groups = list(given.group_names(base) or ())
        read = {
            "other": given.other_name,
            "groups": groups,
            "categories": None if given.categories is None else list(given.category_names(base)),
        }
        return RangesRelease.of(self, histogram=given.model_copy(update=read))
