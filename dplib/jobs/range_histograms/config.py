"""Configuration of the job ``range-histograms``.

*Measurement settings* (``privacy``, ``histogram``, ``tree``, ``queries``, ``measure``, and how the ``input`` is read)
decide the counts and the noise, and changing one of them spends anew; *publish settings* (``publish``) only shape what
is made of the stored measurement and never spend. The file says besides where things are
(`dplib.config.job_config.Surroundings`).
"""

import datetime as dt
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self, TypeGuard

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from dplib.config.day_window import DayClock, DayWindow
from dplib.config.item_groupings import Grouping, check_groupings, kind_of_names, listed_groupings
from dplib.config.item_table import ItemTable, TableItems
from dplib.config.job_config import JobConfig, Publication, ReleaseSettings, require_unit_column
from dplib.config.measure import Measure, Target
from dplib.config.names import ListFile, declared_names
from dplib.config.sections import Exact, RowPrivacySettings, Section
from dplib.config.value_input import HistogramInput

NAME = "range-histograms"
COUNTING_VERSION = 1
"""Raised when the code that turns rows into counts changes its result."""
MAX_BINS = 1 << 22
"""Bins of one histogram at most."""

Method = Literal[
    "auto", "blue", "workload_aware", "lue_dptree", "boost", "boost_un", "hierarchical_bins", "dwork", "adaptive"
]
WITH_CHILDREN = ("blue", "lue_dptree", "boost", "boost_un")
"""Methods whose number of children a node can be chosen."""


class EvenEdges(Section):
    """Bins of one width."""

    start: Exact
    """Lower end of the first bin."""
    stop: Exact
    """Upper end of the last bin, a whole number of widths above `start`."""
    width: Exact

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.width <= 0 or self.stop <= self.start:
            raise ValueError("must have a width above 0 and stop above start, got others")
        if (self.stop - self.start) % self.width:
            raise ValueError("must have a whole number of widths between start and stop, got a part left over")
        return self

    def edges(self) -> list[Fraction]:
        """All edges, exactly."""
        return [self.start + self.width * k for k in range(int((self.stop - self.start) / self.width) + 1)]


class Days(Section):
    """Bins of one or more whole days; both ends inclusive."""

    first: dt.date
    last: dt.date
    days_per_bin: Annotated[int, Field(ge=1, strict=True)] = 1
    """Width of a bin; the last one may be shorter."""

    @model_validator(mode="after")
    def _order(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"must have last not before first, got {self.last} before {self.first}")
        return self


class GroupTable(ItemTable):
    """A public CSV file with one row a group: the column that names it, and attributes."""

    setting: ClassVar[str] = "histogram.groups"
    reserved: ClassVar[frozenset[str]] = frozenset(
        ["group", "grouping", "bin", "node", "level", "lo", "hi", "noisy", "variance", "estimate", "std_error", "count"]
    )

    @model_validator(mode="after")
    def _groups_alone(self) -> Self:
        if len(self.columns) > 1 or self.first_day or self.last_day:
            got = "days" if self.first_day or self.last_day else f"{len(self.columns)} columns"
            raise ValueError(f"histogram.groups must have one column that names a group and no days, got {got}")
        return self

    @property
    def listed(self) -> TableItems:
        """The groups, once the table is read."""
        return self.items(dt.date.min, dt.date.max)


def _absent(value: object) -> bool:
    return value is None


class Totals(Section):
    """Sums of groups."""

    totals: dict[str, list[str]]
    """Total's name to its members, which are groups or other totals."""
    name: Annotated[str | None, Field(min_length=1)] = Field(default=None, exclude_if=_absent)
    """What these are called together, such as regions; made of their place where absent."""
    measured: Annotated[bool | None, Field(exclude_if=_absent)] = None
    """Whether they get noisy counts of their own, where `measure` does not say so; false where absent."""


class HistogramSettings(Section):
    """The public keys of the release: every bin of every group, whether or not rows exist."""

    edges: list[Exact] | EvenEdges | None = None
    """Numbers: bins [a, b), the last one closed; a list of edges, or {start, stop, width}."""
    days: Days | None = None
    """Timestamps: {first, last}, one bin a day or every `days_per_bin` days."""
    categories: list[str] | ListFile | None = None
    """Categories in their order; neighbours in it share a range."""
    groups: (
        list[str]
        | Annotated[
            Annotated[ListFile, Tag("list")] | Annotated[GroupTable, Tag("table")], Discriminator(kind_of_names)
        ]
        | None
    ) = None
    """One histogram for each; needs input.columns.group. Names, `{file: groups.txt}`, or a table with attributes:
    `{file: shops.csv, columns: [shop], attributes: [region]}`."""
    groupings: Annotated[list[Grouping] | None, Field(exclude_if=_absent)] = None
    """Sums of the groups of a table: `[[region], []]`, or `{by: [region], measured: true}`."""
    totals: Annotated[list[Totals] | None, Field(exclude_if=_absent)] = None
    """Sums of listed groups: `[{totals: {coast: [north, east]}, measured: true}]`."""
    outside: Literal["drop", "clamp"] = "drop"
    """Numbers beyond the edges: dropped, or counted in the first or the last bin."""
    total_is_public: bool = False
    """The number of rows that count is public for each group and published as it is; needs replace_one."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        given = [name for name in ("edges", "days", "categories") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"histogram must have one of edges, days or categories, got {' and '.join(given) or 'none'}"
            )
        check_groupings("histogram", self.groupings, self.groups, "groups")
        if self.totals is not None and self.groups is None:
            raise ValueError("histogram.totals must be absent unless histogram.groups is given, got some")
        if self.edges is None and self.outside == "clamp":
            raise ValueError(f"histogram.outside must be drop where bins are {given[0]}, got clamp")
        return self

    @field_validator("groupings", mode="before")
    @classmethod
    def _lists(cls, given: object) -> object:
        return listed_groupings(given)

    @field_validator("edges")
    @classmethod
    def _increasing(cls, edges: list[Fraction] | EvenEdges | None) -> list[Fraction] | EvenEdges | None:
        if isinstance(edges, list):
            numbers = [float(edge) for edge in edges]
            if len(edges) < 2 or any(after <= before for before, after in pairwise(numbers)):
                raise ValueError("must be at least two numbers, each above the one before, got others")
        return edges

    def group_names(self, base: Path) -> tuple[str, ...] | None:
        """The groups; None where there is one histogram."""
        if isinstance(self.groups, GroupTable):
            return self.groups.read(base, dt.date.min, dt.date.max).listed.names
        return None if self.groups is None else declared_names(self.groups, base, "histogram.groups")

    @property
    def add_up(self) -> bool:
        """Whether sums of groups are declared."""
        return bool(self.groupings or self.totals)

    def category_names(self, base: Path) -> tuple[str, ...]:
        """The categories in order; empty where bins are numbers or days."""
        return () if self.categories is None else declared_names(self.categories, base, "histogram.categories")


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

    range: Literal["bin", "total", "uniform", "prefix"] | WorkloadSettings
    """Single bins, all bins together, all ranges, those that begin with the first bin, or a law of ranges."""
    weight: Annotated[Exact, Field(gt=0)] = Fraction(1)
    """How much its error counts where the tree and shares of the budget are chosen, beside the other queries'."""
    target: Annotated[Target | None, Field(exclude_if=_absent)] = None
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
    measure: Annotated[Measure | Literal["auto"] | None, Field(exclude_if=_absent)] = None
    """auto: the shares of the groups and of each kind of their sums that serve the queries best, or `{shares: ..}`;
    where absent, what is measured has the same noise at each node."""
    queries: Annotated[tuple[RangeQuestion, ...] | None, Field(exclude_if=_absent, min_length=1)] = None
    """Kinds of ranges that the tree (method auto) and the shares (measure: auto) serve and whose errors the plan shows:
    `[bin, {range: {length: 7}, weight: 2}, total]`."""
    publish: RangePublish = RangePublish()

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

    @property
    def method(self) -> str:
        """The method after `auto` is decided."""
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
        given, groups = self.histogram, self.histogram.group_names(base)
        read = {
            "groups": given.groups.read(base, dt.date.min, dt.date.max)
            if isinstance(given.groups, GroupTable)
            else (None if groups is None else list(groups)),
            "categories": None if given.categories is None else list(given.category_names(base)),
        }
        return RangesRelease.of(self, histogram=given.model_copy(update=read))
